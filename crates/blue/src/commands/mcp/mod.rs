//! `blue mcp`

mod bearer;

use std::{path::PathBuf, sync::Arc, time::Duration};

use blue_mcp::{
    http::{self, Guard},
    stdio,
};
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
    mcp::{self, Choice, Server, Toolbox},
    render::{Page, Report, Style, quoted},
};
use bearer::Bearer;

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
    /// Listen on this address instead of stdin; clients must send a token
    #[arg(long, value_name = "ADDR", value_parser = Listen::parse)]
    http: Option<Listen>,
    /// File with the token that HTTP clients must send as `Authorization: Bearer`, read at the start
    /// [default: a token made once, in `mcp-token` of `$BLUE_HOME`]
    #[arg(long, value_name = "FILE", requires = "http")]
    bearer_file: Option<PathBuf>,
    /// Ask HTTP clients for no token: every account and program of this machine can then use your
    /// forge tokens; loopback addresses only
    #[arg(long, requires = "http", conflicts_with = "bearer_file")]
    no_bearer: bool,
    #[command(flatten)]
    limits: Limits,
}

const EXAMPLES: &str = "\
Examples:
  claude mcp add blue -- blue mcp
  blue mcp --read-only --toolset repo,pr
  blue mcp --http 127.0.0.1:8080

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
    // An abandoned read of stdin must not keep the process alive.
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
    if args.no_bearer && !address.ip().is_loopback() {
        let message = format!("`{address}` can be reached from other machines");
        return Err(ToolError::new(ErrorCode::Usage, message)
            .with_hint("leave `--no-bearer` out, or listen on 127.0.0.1")
            .into());
    }
    let bearer = match &args.bearer_file {
        _ if args.no_bearer => None,
        Some(file) => Some(bearer::given(cx, file)?),
        None => Some(bearer::own(cx)?),
    };
    let secret = bearer.as_ref().map(|bearer| bearer.token.clone());
    let guard = match (address.ip().is_loopback(), secret) {
        (false, Some(secret)) => Guard::public(secret),
        (_, secret) => Guard::loopback(secret),
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
    let ready = Ready::new(url, bearer.as_ref());
    cx.screen.show(&ready).map_err(Stop::Output)?;

    let stop = CancellationToken::new();
    let router = mcp::service(toolbox, move |_| Ok(calls.clone()), guard, stop.clone());
    // As in the broker: clients without a token must not exhaust the connections.
    crate::open_files::raise_limit();
    let served = blue_broker::serve(listener, router, blue_broker::HEAD, stop.clone());
    let mut served = std::pin::pin!(served);
    tokio::select! {
        () = &mut served => return Ok(()),
        () = asked.stop() => stop.cancel(),
    }
    // A client that keeps its connection open does not keep the process alive.
    let _ = tokio::time::timeout(LAST, served).await;
    Ok(())
}

#[derive(Debug, Serialize)]
struct Ready {
    url: String,
    /// What clients send; a token that the user gave in a file is not repeated
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_file: Option<PathBuf>,
}

impl Ready {
    fn new(url: String, bearer: Option<&Bearer>) -> Self {
        let own = bearer.filter(|bearer| bearer.is_own);
        Self {
            url,
            token: own.map(|own| own.token.expose().to_owned()),
            token_file: bearer.map(|bearer| bearer.file.clone()),
        }
    }
}

impl Report for Ready {
    fn page(&self, page: &mut Page) {
        page.line(&format!("MCP is served at {}", self.url), Style::Bold);
        match (&self.token, &self.token_file) {
            (Some(token), Some(file)) => {
                let header = format!("Authorization: Bearer {token}");
                let add = "claude mcp add --transport http blue";
                page.line(&format!("Clients send the header {header}"), Style::Plain)
                    .line(
                        &format!(
                            "Claude Code: {add} {} --header {}",
                            self.url,
                            quoted(&header)
                        ),
                        Style::Plain,
                    )
                    .line(
                        &format!("The token is kept in {}", file.display()),
                        Style::Dim,
                    );
            }
            (_, Some(file)) => {
                let text = format!("Clients send the token of {}", file.display());
                page.line(&text, Style::Plain);
            }
            (_, None) => {
                let text = "No token is asked for: whoever is on this machine can use yours.";
                page.line(text, Style::Warn);
            }
        }
        page.line("Ctrl-C stops it.", Style::Dim);
    }
}
