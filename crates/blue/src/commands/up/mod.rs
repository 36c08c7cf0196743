//! `blue up`

mod clients;
mod ports;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use blue_base::secret::Secret;
use blue_broker::config::ForgeUrl;
use blue_sandbox::{Config, Seed};
use blue_tools::{ErrorCode, ToolError};
use clients::{Lines, Server};
use ports::Ports;
use serde::Serialize;

use super::{
    Cx, Stop,
    broker::Beside,
    sandbox::{Listen, Ready, Running},
};
use crate::render::{Page, Report, Style, quoted};

/// Start a demo forge with a broker in front of it; nothing to configure
///
/// Runs the sandbox forge with demo data on this machine and prints what to try next: commands, the
/// line that adds it to an agent, and the address where remote MCP clients sign in. Nothing is kept
/// when it stops, unless `--dir` names a folder: there data, tokens and ports stay as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Keep everything in this folder [default: a temporary one]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Address and port to listen on; warns if other machines can reach it [default: port 4780, or
    /// a free one]
    #[arg(long, value_name = "ADDR", value_parser = Listen::parse)]
    listen: Option<Listen>,
    /// Address and port of the broker; loopback only [default: port 4781, or a free one]
    #[arg(long, value_name = "ADDR", value_parser = here)]
    broker: Option<Listen>,
    /// Use the fixed passwords and tokens of `demo` [default: random ones]
    #[arg(long, value_name = "SEED", value_parser = ["demo"], hide_possible_values = true)]
    seed: Option<String>,
}

fn here(text: &str) -> Result<Listen, String> {
    let listen = Listen::parse(text)?;
    if listen.address().ip().is_loopback() {
        return Ok(listen);
    }
    Err("sign-in without TLS works on loopback only; see `blue broker`".to_owned())
}

const EXAMPLES: &str = "\
Examples:
  blue up
  blue up --dir ./forge
  blue up --listen 3000 --broker 8080";

pub(crate) async fn run(cx: &Cx, args: Args) -> Result<(), Stop> {
    let dir = args.dir.map(|dir| cx.env.cwd().join(dir));
    let ports = Ports::of(dir.as_deref());
    let or_usual =
        |listen: Option<Listen>, port| listen.map_or_else(|| ports::free(port), Listen::address);
    let config = Config {
        dir: dir.clone(),
        listen: or_usual(args.listen, ports.forge),
        seed: match args.seed {
            Some(_) => Seed::Demo,
            None => Seed::DemoWithRandomSecrets,
        },
        ..Config::default()
    };
    let mut running = Running::start(cx, config).await?;
    let ready = running.ready();
    let listen = or_usual(args.broker, ports.broker);
    let started = beside(cx, &ready, listen, dir.as_deref()).await;
    let started = match (started, &dir) {
        (Ok(broker), Some(dir)) => {
            let now = Ports {
                forge: running.port(),
                broker: broker.as_ref().map_or(ports.broker, Beside::port),
            };
            let kept = now.keep(dir).map_err(|source| {
                let message = format!("cannot write to the folder `{}`", dir.display());
                Stop::from(ToolError::new(ErrorCode::Io, message).with_source(source))
            });
            kept.map(|()| broker)
        }
        (started, _) => started,
    };
    let broker = match started {
        Ok(broker) => broker,
        Err(stop) => {
            running.shutdown().await;
            return Err(stop);
        }
    };
    // The first user is the admin; another user does the work where there is one.
    let worker = ready.users.iter().find(|user| !user.admin);
    let token = worker.or(ready.users.first()).map(|user| &user.token);
    let token = token.cloned().unwrap_or_default();
    let server = Server {
        program: cx.env.program_file(),
        url: ready.url.clone(),
        token: token.clone(),
    };
    let up = Up {
        ready,
        mcp_url: broker.as_ref().map(Beside::mcp_url),
        add_to: server.lines(),
        token,
        program: cx.env.program(),
        kept: dir.is_some(),
    };
    let done = running.until_stopped(cx, &up).await;
    if let Some(broker) = broker {
        broker.shutdown().await;
    }
    running.shutdown().await;
    done
}

/// The broker in front of the sandbox, where people can sign in there without TLS
async fn beside(
    cx: &Cx,
    ready: &Ready,
    listen: SocketAddr,
    dir: Option<&Path>,
) -> Result<Option<Beside>, Stop> {
    if ForgeUrl::parse(&ready.url).is_err() {
        let text = "no broker was started: signing in through it needs a forge with TLS, or one on \
                    this machine";
        cx.screen.warn(text).map_err(Stop::Output)?;
        return Ok(None);
    }
    let admin = ready.users.iter().find(|user| user.admin);
    let admin = admin.map(|user| Secret::new(&user.token));
    let admin = admin.unwrap_or_else(|| Secret::new(""));
    let broker = Beside::start(cx, &ready.url, admin, listen, dir).await?;
    Ok(Some(broker))
}

/// Report of `blue up`: the object of `blue sandbox` and the lines for agents, with its own page
#[derive(Debug, Serialize)]
struct Up {
    #[serde(flatten)]
    ready: Ready,
    /// Where remote clients sign in
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp_url: Option<String>,
    add_to: Lines,
    #[serde(skip)]
    token: String,
    #[serde(skip)]
    program: String,
    #[serde(skip)]
    kept: bool,
}

impl Report for Up {
    fn page(&self, page: &mut Page) {
        let Self {
            ready,
            mcp_url,
            add_to,
            token,
            program,
            kept,
        } = self;
        let program = quoted(program);
        page.line(&format!("A forge runs at {}", ready.url), Style::Bold)
            .line(
                "Open it in a browser, and sign in as one of these:",
                Style::Plain,
            )
            .blank();
        ready.show_users(page);
        page.blank()
            .line("Try next, in another terminal:", Style::Plain)
            // The names that win over all others: who tries this may have a forge already.
            .code(&format!(
                "export FORGEJO_URL={} FORGEJO_TOKEN={token}",
                quoted(&ready.url)
            ))
            .code(&format!(
                "git clone {} && cd storefront",
                quoted(&format!("{}/acme/storefront.git", ready.url))
            ))
            .code(&format!("{program} repo status"))
            .code(&format!("{program} pr verify 1"));
        page.blank()
            .line("Or add it to an agent with one line:", Style::Plain);
        for (agent, line) in [
            ("Claude Code", &add_to.claude_code),
            ("Codex", &add_to.codex),
            ("VS Code", &add_to.vscode),
            ("Cursor", &add_to.cursor),
        ] {
            page.line(agent, Style::Dim).code(line);
        }
        if let Some(url) = mcp_url {
            page.blank()
                .line(
                    "Or let a remote client sign in through the broker, as one of the users above:",
                    Style::Plain,
                )
                .code(&format!(
                    "claude mcp add --transport http blue-remote {url}"
                ))
                .code(&format!("npx mcp-remote {url}"));
        }
        let end = if *kept {
            "Ctrl-C stops it; the folder keeps data, tokens and ports."
        } else {
            "Ctrl-C stops it; nothing is kept."
        };
        page.blank().line(end, Style::Dim);
    }
}

#[cfg(test)]
mod tests {
    use blue_tools::page::Block;

    use super::*;

    #[test]
    fn what_to_try_can_be_pasted_wherever_the_program_is() {
        let url = "http://[::1]:3000".to_owned();
        let server = Server {
            program: "/opt/my tools/blue".to_owned(),
            url: url.clone(),
            token: "b0b".to_owned(),
        };
        let up = Up {
            ready: Ready {
                url,
                gitea_api: String::new(),
                github_api: String::new(),
                users: Vec::new(),
            },
            mcp_url: None,
            add_to: server.lines(),
            token: server.token,
            program: server.program,
            kept: false,
        };
        let mut page = Page::default();
        up.page(&mut page);
        let lines = page.blocks.iter().filter_map(|block| match block {
            Block::Code(line) => Some(line.as_str()),
            _ => None,
        });
        let lines: Vec<_> = lines.take(5).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        export FORGEJO_URL='http://[::1]:3000' FORGEJO_TOKEN=b0b
        git clone 'http://[::1]:3000/acme/storefront.git' && cd storefront
        '/opt/my tools/blue' repo status
        '/opt/my tools/blue' pr verify 1
        claude mcp add blue -e 'FORGEJO_URL=http://[::1]:3000' -e FORGEJO_TOKEN=b0b -- '/opt/my tools/blue' mcp
        ");
    }
}
