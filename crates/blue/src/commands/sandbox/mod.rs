//! `blue sandbox`

mod listen;
mod serve;

use std::path::PathBuf;

use blue_sandbox::{Config, Flavor, Seed};
use blue_tools::{ErrorCode, ToolError};
pub(super) use listen::Listen;
pub(super) use serve::{Asked, Ready, Running};

use super::{Cx, Stop};
use crate::render::{Page, Report, Style};

/// Run a small forge on this machine, for tests and experiments
///
/// Serves the same repositories by Gitea's REST API, by GitHub's, and by git over HTTP. Prints its
/// address, users and tokens, and runs until Ctrl-C. With `--json` that is one line, printed once
/// it is ready.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Keep everything in this folder [default: a temporary one]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Address and port to listen on; warns if other machines can reach it
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", value_parser = Listen::parse)]
    listen: Listen,
    /// Which forge the Gitea API answers as
    #[arg(long, value_enum, default_value_t)]
    flavor: FlavorArg,
    /// Initial content of a new folder: `demo`, `empty` or a YAML file
    #[arg(long, default_value = "empty")]
    seed: String,
    /// Let an admin inject faults: delays, error statuses, cut connections
    #[arg(long)]
    faults: bool,
}

const EXAMPLES: &str = "\
Examples:
  blue sandbox --seed demo
  blue sandbox --dir ./forge --listen 127.0.0.1:3000 --flavor forgejo
  blue sandbox --json --faults";

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum FlavorArg {
    /// Gitea 1.26
    #[default]
    Gitea,
    /// Forgejo 11
    Forgejo,
    /// Forgejo 7: no comparison of branches, no Actions API
    #[value(name = "forgejo-7")]
    Forgejo7,
    /// Forgejo 15: lists workflow runs
    #[value(name = "forgejo-15")]
    Forgejo15,
}

pub(crate) async fn run(cx: &Cx, args: Args) -> Result<(), Stop> {
    let config = Config {
        dir: args.dir.map(|dir| cx.env.cwd().join(dir)),
        listen: args.listen.address(),
        flavor: match args.flavor {
            FlavorArg::Gitea => Flavor::Gitea,
            FlavorArg::Forgejo => Flavor::Forgejo,
            FlavorArg::Forgejo7 => Flavor::Forgejo7,
            FlavorArg::Forgejo15 => Flavor::Forgejo15,
        },
        seed: seed(cx, &args.seed)?,
        faults: args.faults,
        ..Config::default()
    };
    let mut running = Running::start(cx, config).await?;
    let ready = running.ready();
    let done = running.until_stopped(cx, &ready).await;
    running.shutdown().await;
    done
}

fn seed(cx: &Cx, text: &str) -> Result<Seed, ToolError> {
    match text {
        "demo" => Ok(Seed::Demo),
        "empty" => Ok(Seed::Empty),
        path => {
            let file = cx.env.cwd().join(path);
            if file.is_file() {
                return Ok(Seed::File(file));
            }
            let message = format!("`{path}` is neither `demo` nor `empty` nor a file");
            Err(ToolError::new(ErrorCode::Usage, message))
        }
    }
}

impl Report for Ready {
    fn page(&self, page: &mut Page) {
        page.line(&format!("The sandbox runs at {}", self.url), Style::Bold)
            .blank();
        self.show_users(page);
        page.blank().fields(&[
            ("Gitea API", self.gitea_api.as_str().into()),
            ("GitHub API", self.github_api.as_str().into()),
        ]);
        page.blank().line("Ctrl-C stops it.", Style::Dim);
    }
}
