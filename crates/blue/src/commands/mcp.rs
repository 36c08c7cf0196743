//! `blue mcp`

use std::{path::PathBuf, sync::Arc, time::Duration};

use blue_core::secret::{Secret, open_to_others};
use blue_tools::{ErrorCode, ToolError, tools};
use clap::ValueHint;
use serde::Serialize;
use tokio::{net::TcpListener, runtime};
use tokio_util::sync::CancellationToken;

use super::{
    Cx, Stop,
    sandbox::{Asked, Listen},
    tools::{Limits, open},
};
use crate::{
    mcp::{
        self, Choice, Server, Toolbox,
        door::{
            http::{self, Guard},
            stdio,
        },
    },
    render::{Page, Report, Style},
};

/// Serve the tools to an agent over the Model Context Protocol (MCP)
///
/// Talks on stdin and stdout, which is how clients start it, or with `--http` over HTTP at `/mcp`.
/// Supports the protocol revisions 2025-03-26 to 2026-07-28. Logs go to stderr.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Serve only these tools
    #[arg(long, value_name = "TOOL", value_delimiter = ',', value_hint = ValueHint::Other)]
    tools: Vec<String>,
    /// Serve only these sets of tools: `pr` means every `pr_…`
    #[arg(long, value_name = "SET", value_delimiter = ',', value_hint = ValueHint::Other)]
    toolset: Vec<String>,
    /// Leave out these tools or sets of tools
    #[arg(long, value_name = "TOOL", value_delimiter = ',', value_hint = ValueHint::Other)]
    exclude: Vec<String>,
    /// Listen on this address instead of stdin; loopback only, unless there is a `--bearer-file`
    #[arg(long, value_name = "ADDR", value_parser = Listen::parse)]
    http: Option<Listen>,
    /// File with the token that HTTP clients must send as `Authorization: Bearer`, read at the start
    #[arg(long, value_name = "FILE", requires = "http")]
    bearer_file: Option<PathBuf>,
    #[command(flatten)]
    limits: Limits,
}

const EXAMPLES: &str = "\
Examples:
  claude mcp add blue -- blue mcp
  blue mcp --read-only --toolset repo,pr
  blue mcp --http 127.0.0.1:8080 --bearer-file token.txt

Tokens, hosts and proxies come from the environment: see `blue --help`.";

/// How long answers may still take once the program is asked to stop
const LAST: Duration = Duration::from_secs(2);

/// Runs until its client goes away; the runtime is its own, since stdio needs a single thread
pub(crate) fn run(cx: &Cx, args: &Args) -> Result<(), Stop> {
    // Lists are written with a blank after the comma, too.
    let words = |list: &[String]| list.iter().map(|word| word.trim().to_owned()).collect();
    let choice = Choice {
        tools: words(&args.tools),
        sets: words(&args.toolset),
        exclude: words(&args.exclude),
        read_only: args.limits.read_only,
    };
    let toolbox = Toolbox::new(tools::ALL, &choice)?;
    let calls = open(cx, &args.limits, false)?;
    let mut builder = match args.http {
        None => runtime::Builder::new_current_thread(),
        Some(_) => runtime::Builder::new_multi_thread(),
    };
    let runtime = builder
        .enable_all()
        .build()
        .map_err(|source| ToolError::new(ErrorCode::Io, "could not start").with_source(source))?;
    let served = runtime.block_on(async {
        match args.http {
            None => {
                let caller = Arc::new(move |_: Option<&_>| Ok(calls.clone()));
                on_stdio(Server::new(toolbox, caller)).await
            }
            Some(listen) => on_http(cx, args, listen, toolbox, calls).await,
        }
    });
    // A read of stdin that nobody waits for any more must not keep the program alive.
    runtime.shutdown_background();
    served
}

async fn on_stdio(server: Server) -> Result<(), Stop> {
    let mut asked = Asked::listen()?;
    let stop = CancellationToken::new();
    let (input, output) = rmcp::transport::io::stdio_pipes();
    let mut work = std::pin::pin!(stdio::serve(server, input, output, stop.clone()));
    tokio::select! {
        () = &mut work => return Ok(()),
        () = asked.stop() => stop.cancel(),
    }
    work.await;
    Ok(())
}

async fn on_http(
    cx: &Cx,
    args: &Args,
    listen: Listen,
    toolbox: Toolbox,
    calls: blue_tools::Cx,
) -> Result<(), Stop> {
    let mut asked = Asked::listen()?;
    let address = listen.address();
    let bearer = args.bearer_file.as_ref().map(|file| bearer(cx, file));
    let guard = match (address.ip().is_loopback(), bearer.transpose()?) {
        (true, bearer) => Guard::loopback(bearer),
        (false, Some(bearer)) => Guard::public(bearer),
        (false, None) => {
            let message = format!("`{address}` can be reached from other machines");
            return Err(ToolError::new(ErrorCode::Usage, message)
                .with_hint("add `--bearer-file` with a token that clients must send, or listen on 127.0.0.1")
                .into());
        }
    };
    let failed = |source| {
        ToolError::new(ErrorCode::Io, format!("could not listen on {address}"))
            .with_source(source)
            .with_hint("choose another address with `--http`; port 0 is any free one")
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let url = format!(
        "http://{}{}",
        listener.local_addr().map_err(failed)?,
        http::PATH
    );
    cx.screen.show(&Ready { url }).map_err(Stop::Output)?;

    let stop = CancellationToken::new();
    let router = mcp::service(toolbox, move |_| Ok(calls.clone()), guard, stop.clone());
    // As the broker does: whoever has no token must not hold connections either.
    let served = blue_broker::serve(listener, router, blue_broker::HEAD, stop.clone());
    let mut served = std::pin::pin!(served);
    tokio::select! {
        () = &mut served => return Ok(()),
        () = asked.stop() => stop.cancel(),
    }
    // Whoever keeps a connection open does not keep the program.
    let _ = tokio::time::timeout(LAST, served).await;
    Ok(())
}

fn bearer(cx: &Cx, file: &PathBuf) -> Result<Secret, ToolError> {
    let file = cx.env.cwd().join(file);
    let wrong = |what: &str| {
        let message = format!("--bearer-file: `{}` {what}", file.display());
        ToolError::new(ErrorCode::Config, message)
    };
    let text = std::fs::read_to_string(&file)
        .map_err(|source| wrong("cannot be read").with_source(source))?;
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(
            wrong("holds no token").with_hint("write one line of letters and digits into it")
        );
    }
    if let Some(mode) = open_to_others(&file) {
        let name = file.display();
        tracing::warn!(
            "--bearer-file: others on this machine can read `{name}` (mode {mode:o}): `chmod 600` it"
        );
    }
    Ok(Secret::new(token))
}

#[derive(Debug, Serialize)]
struct Ready {
    url: String,
}

impl Report for Ready {
    fn page(&self, page: &mut Page) {
        page.line(&format!("MCP is served at {}", self.url), Style::Bold)
            .line("Ctrl-C stops it.", Style::Dim);
    }
}
