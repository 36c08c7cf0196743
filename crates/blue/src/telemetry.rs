//! Logs on stderr, and only when asked for

use std::str::FromStr as _;

use blue_tools::{ErrorCode, ToolError};
use tracing_subscriber::{
    filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::{env::Env, render::Screen};

/// Start logging if `BLUE_LOG` or `-v` says so; a server logs in any case, one JSON object a line
pub(crate) fn init(env: &Env, verbose: u8, screen: Screen, server: bool) -> Result<(), ToolError> {
    let asked = level(verbose).or(server.then_some("warn,blue=info,blue_broker=info"));
    let Some(wanted) = env.log().or_else(|| asked.map(str::to_owned)) else {
        return Ok(());
    };
    let filter = Targets::from_str(&wanted).map_err(|source| {
        ToolError::new(
            ErrorCode::Config,
            format!("BLUE_LOG: `{wanted}` is not a log filter"),
        )
        .with_source(source)
        .with_hint("try `info`, `debug` or `blue_core=trace,warn`")
    })?;
    if server {
        let lines = tracing_subscriber::fmt::layer()
            .json()
            .flatten_event(true)
            .with_span_list(false)
            .with_writer(std::io::stderr);
        tracing_subscriber::registry()
            .with(lines)
            .with(filter)
            .init();
        return Ok(());
    }
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(screen.colour_err());
    tracing_subscriber::registry()
        .with(lines)
        .with(filter)
        .init();
    Ok(())
}

fn level(verbose: u8) -> Option<&'static str> {
    match verbose {
        0 => None,
        1 => Some("warn,blue=info,blue_broker=info,blue_core=info,blue_sandbox=info"),
        2 => Some("info,blue=debug,blue_broker=debug,blue_core=debug,blue_sandbox=debug"),
        _ => Some("trace"),
    }
}
