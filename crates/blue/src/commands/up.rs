//! `blue up`

use blue_sandbox::{Config, Seed};
use serde::Serialize;

use super::{
    Cx, Stop,
    sandbox::{Listen, Ready, serve},
};
use crate::render::{Page, Report, Style};

/// Start a forge to play with: demo users and repositories, nothing to configure
///
/// Runs the sandbox forge with its demo on this machine and says what to try next. Nothing is kept
/// when it stops.
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
    serve(cx, config, |ready| Up { ready, program }).await
}

/// The same object as of `blue sandbox`, with another page
#[derive(Debug, Serialize)]
struct Up {
    #[serde(flatten)]
    ready: Ready,
    #[serde(skip)]
    program: String,
}

impl Report for Up {
    fn page(&self, page: &mut Page) {
        let Self { ready, program } = self;
        page.line(&format!("A forge runs at {}", ready.url), Style::Bold)
            .line(
                "Open it in a browser, and sign in as one of these:",
                Style::Plain,
            )
            .blank();
        ready.show_users(page);
        page.blank()
            .line("Try next, in another terminal:", Style::Plain);
        // The first user is the admin; work is done as somebody else where there is one.
        if let Some(user) = ready
            .users
            .iter()
            .find(|user| !user.admin)
            .or(ready.users.first())
        {
            page.code(&format!(
                "export GITEA_URL={} GITEA_TOKEN={}",
                ready.url, user.token
            ));
        }
        page.code(&format!(
            "git clone {}/acme/storefront.git && cd storefront",
            ready.url
        ))
        .code(&format!("{program} forge status"))
        .code(&format!("{program} forge detect --json"));
        page.blank()
            .line("Ctrl-C stops it; nothing is kept.", Style::Dim);
    }
}
