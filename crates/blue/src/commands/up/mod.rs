//! `blue up`

mod clients;

use blue_sandbox::{Config, Seed};
use clients::{Lines, Server};
use serde::Serialize;

use super::{
    Cx, Stop,
    sandbox::{Listen, Ready, serve},
};
use crate::render::{Page, Report, Style};

/// Start a forge to play with: demo users and repositories, nothing to configure
///
/// Runs the sandbox forge with its demo on this machine and says what to try next, also the one line
/// that adds it to an agent. Nothing is kept when it stops.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Address and port; anything but this machine itself gets a warning
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", value_parser = Listen::parse)]
    listen: Listen,
}

const EXAMPLES: &str = "\
Examples:
  blue up
  blue up --listen 3000";

pub(crate) async fn run(cx: &Cx, args: Args) -> Result<(), Stop> {
    let config = Config {
        listen: args.listen.address(),
        seed: Seed::Demo,
        ..Config::default()
    };
    let program = cx.env.program();
    let file = cx.env.program_file();
    serve(cx, config, |ready| {
        // The first user is the admin; work is done as somebody else where there is one.
        let worker = ready.users.iter().find(|user| !user.admin);
        let token = worker.or(ready.users.first()).map(|user| &user.token);
        let token = token.cloned().unwrap_or_default();
        let server = Server {
            program: file,
            url: ready.url.clone(),
            token: token.clone(),
        };
        Up {
            ready,
            add_to: server.lines(),
            token,
            program,
        }
    })
    .await
}

/// The same object as of `blue sandbox` and the lines for agents, with another page
#[derive(Debug, Serialize)]
struct Up {
    #[serde(flatten)]
    ready: Ready,
    add_to: Lines,
    #[serde(skip)]
    token: String,
    #[serde(skip)]
    program: String,
}

impl Report for Up {
    fn page(&self, page: &mut Page) {
        let Self {
            ready,
            add_to,
            token,
            program,
        } = self;
        page.line(&format!("A forge runs at {}", ready.url), Style::Bold)
            .line(
                "Open it in a browser, and sign in as one of these:",
                Style::Plain,
            )
            .blank();
        ready.show_users(page);
        page.blank()
            .line("Try next, in another terminal:", Style::Plain)
            .code(&format!(
                "export GITEA_URL={} GITEA_TOKEN={token}",
                ready.url
            ))
            .code(&format!(
                "git clone {}/acme/storefront.git && cd storefront",
                ready.url
            ))
            .code(&format!("{program} repo status"))
            .code(&format!("{program} pr verify 1"));
        page.blank()
            .line("Or give it to an agent, with one line:", Style::Plain);
        for (agent, line) in [
            ("Claude Code", &add_to.claude_code),
            ("Codex", &add_to.codex),
            ("VS Code", &add_to.vscode),
            ("Cursor", &add_to.cursor),
        ] {
            page.line(agent, Style::Dim).code(line);
        }
        page.blank()
            .line("Ctrl-C stops it; nothing is kept.", Style::Dim);
    }
}
