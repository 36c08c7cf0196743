//! `blue broker`

mod admin;
mod audit;
mod backend;
mod beside;
mod clients;
mod doctor;
mod flags;
mod grants;
mod keys;
mod serve;
mod setup;
mod users;

use std::{io, path::PathBuf};

use blue_broker::config::{Config, File, Given};
use blue_tools::{ErrorCode, ToolError};

use super::{Cx, Stop};

pub(crate) use beside::Beside;

/// Let people use the tools from remote MCP clients, signed in with their forge account
///
/// An OAuth 2.1 server in front of a Forgejo or Gitea: each person signs in with the forge, their
/// clients get tokens of the broker, and the forge's own tokens never leave it. Settings come from
/// flags, then variables, then the file, then defaults.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Read settings from this TOML file
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    #[command(flatten)]
    flags: flags::Flags,
    /// Only say what is wrong with the settings
    #[arg(long)]
    check: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

/// What an admin does beside running it
#[derive(Debug, clap::Subcommand)]
enum Command {
    Setup(setup::Args),
    Doctor(doctor::Args),
    #[command(subcommand)]
    Clients(clients::Command),
    #[command(subcommand)]
    Users(users::Command),
    #[command(subcommand)]
    Grants(grants::Command),
    #[command(subcommand)]
    Keys(keys::Command),
    Audit(audit::Args),
}

impl Args {
    /// Whether it runs until it is stopped
    pub(crate) fn serves(&self) -> bool {
        self.command.is_none()
    }
}

const EXAMPLES: &str = "\
Examples:
  blue broker --config broker.toml --check
  blue broker --config broker.toml
  blue broker clients list --config broker.toml";

pub(crate) async fn run(cx: &Cx, args: Args) -> Result<(), Stop> {
    // Before there is an application, the settings cannot be whole.
    let args = match args.command {
        Some(Command::Setup(setup)) => {
            return setup::run(cx, setup, &args.flags, args.config.as_deref()).await;
        }
        _ => args,
    };
    let config = config(cx, args.config, args.flags)?;
    match args.command {
        Some(Command::Doctor(args)) => return doctor::run(cx, &config, args).await,
        Some(Command::Clients(command)) => return clients::run(cx, &config, command).await,
        Some(Command::Users(command)) => return users::run(cx, &config, command).await,
        Some(Command::Grants(command)) => return grants::run(cx, &config, command).await,
        Some(Command::Keys(command)) => return keys::run(cx, &config, command).await,
        Some(Command::Audit(args)) => return audit::run(cx, &config, args).await,
        Some(Command::Setup(_)) | None => {}
    }
    if args.check {
        // How the forge is reached is a setting, too.
        serve::parts(cx)?;
        return cx
            .screen
            .show(&serve::Checked { ok: true })
            .map_err(Stop::Output);
    }
    serve::serve(cx, config).await
}

fn config(cx: &Cx, file: Option<PathBuf>, flags: flags::Flags) -> Result<Config, ToolError> {
    let mut denied = false;
    let file = file.map(|path| {
        let path = cx.env.cwd().join(path);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            denied = error.kind() == io::ErrorKind::PermissionDenied;
            format!("could not be read: {error}")
        });
        File { path, text }
    });
    let given = Given {
        flags: flags.0,
        vars: cx.env.broker(),
        file,
        cwd: cx.env.cwd().to_owned(),
    };
    let home = cx.env.broker_home().ok_or_else(|| {
        ToolError::new(
            ErrorCode::Config,
            "there is no folder for the broker's data",
        )
        .with_hint("set `BLUE_BROKER_DATA` or `HOME`")
    })?;
    Config::read(&given, &home).map_err(|faults| {
        let mut lines: Vec<String> = faults.0.iter().map(ToString::to_string).collect();
        // How the forge is reached and what may be touched are settings, too.
        let others = [cx.env.http().err(), cx.env.allow().err()];
        lines.extend(others.into_iter().flatten().map(|error| error.message));
        let error = wrong_settings(&lines);
        if denied {
            return error.with_hint("run it as the account of the broker, or as root");
        }
        if given.file.is_some() {
            return error;
        }
        error.with_hint(
            "`--config FILE` reads them from a file; `docs/configuration.md` lists every setting",
        )
    })
}

/// All that is wrong with the settings, in one error
fn wrong_settings(faults: &[String]) -> ToolError {
    let message = match faults {
        [one] => one.clone(),
        all => format!(
            "{} settings are wrong or missing:\n{}",
            all.len(),
            all.join("\n")
        ),
    };
    ToolError::new(ErrorCode::Config, message)
        .with_hint("`docs/configuration.md` lists every setting")
}
