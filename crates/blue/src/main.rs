//! `blue`: the program around the parts
//!
//! The only place that reads arguments and environment, prints, or exits.

mod cli;
mod commands;
mod env;
mod habits;
mod mcp;
mod open_files;
mod render;
mod telemetry;
mod version;

use std::{
    ffi::OsString,
    io::{self, Write},
    process::ExitCode,
};

use blue_tools::ErrorCode;
use clap::error::ErrorKind;
use cli::Cli;
use commands::{Cx, Stop};
use env::Env;
use render::Screen;

fn main() -> ExitCode {
    let argv: Vec<OsString> = std::env::args_os().collect();
    let env = Env::read();
    let cli = match cli::parse(&argv, &env) {
        Ok(cli) => cli,
        Err(error) => return finish(not_parsed(&error, &env, &argv)),
    };
    let screen = Screen::new(&env, cli.global.json);
    finish(match run(cli, env, screen) {
        Ok(()) => Ok(0),
        Err(Stop::Failed(error)) => screen.fail(&error).map(|()| exit_code(error.code)),
        Err(Stop::Reported(code)) => Ok(exit_code(code)),
        Err(Stop::Exit(code)) => Ok(code),
        Err(Stop::Output(error)) => Err(error),
    })
}

fn run(cli: Cli, mut env: Env, screen: Screen) -> Result<(), Stop> {
    env.check()?;
    if let Some(dir) = &cli.global.cwd {
        env.enter(dir)?;
    }
    telemetry::init(&env, cli.global.verbose, screen, cli.call.logs())?;
    let screen = if env.log().is_some() || cli.global.verbose > 0 {
        screen.still()
    } else {
        screen
    };
    commands::run(cli.call, &Cx { env, screen })
}

/// 1 for a failure, 2 for wrong usage, 64 for bad configuration
fn exit_code(code: ErrorCode) -> u8 {
    match code {
        ErrorCode::Usage => 2,
        ErrorCode::Config => 64,
        _ => 1,
    }
}

/// A reader that went away (`blue … | head`) is no failure; a full disk is
fn finish(printed: io::Result<u8>) -> ExitCode {
    match printed {
        Ok(code) => code.into(),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: could not write the output: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Print a help page, the version, or what is wrong with the command line
fn not_parsed(error: &clap::Error, env: &Env, argv: &[OsString]) -> io::Result<u8> {
    let json = cli::wants_json(argv);
    let screen = Screen::new(env, json);
    match error.kind() {
        ErrorKind::DisplayVersion if json => Screen::json(&version::BUILD).map(|()| 0),
        ErrorKind::DisplayHelp if json => {
            let help = serde_json::json!({ "help": error.render().to_string() });
            Screen::json(&help).map(|()| 0)
        }
        ErrorKind::DisplayVersion | ErrorKind::DisplayHelp => error.print().map(|()| 0),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if !json => error.print().map(|()| 2),
        _ => {
            let error = cli::mistake(error, argv);
            screen.fail(&error).map(|()| exit_code(error.code))
        }
    }
}
