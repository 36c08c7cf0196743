//! Logs on stderr

use std::str::FromStr as _;

use blue_tools::{ErrorCode, ToolError};
use tracing_subscriber::{
    filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::{env::Env, render::Screen};

/// What is logged where neither `BLUE_LOG` nor `-v` says so
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unasked {
    /// A command says on its own what there is to say
    Nothing,
    /// `blue mcp` has no other way to tell its user something, such as where a token belongs now
    Warnings,
    /// A service, one JSON object a line
    Service,
}

/// Start logging, as far as it is wanted
pub(crate) fn init(
    env: &Env,
    verbose: u8,
    screen: Screen,
    unasked: Unasked,
) -> Result<(), ToolError> {
    let asked = level(verbose).or(match unasked {
        Unasked::Nothing => None,
        // What the protocol's library warns of are mistakes of clients, and calls that they call off.
        Unasked::Warnings => Some("warn,rmcp=off"),
        Unasked::Service => Some("warn,rmcp=off,blue=info,blue_broker=info"),
    });
    let Some(wanted) = env.log().or_else(|| asked.map(str::to_owned)) else {
        return Ok(());
    };
    let filter = Targets::from_str(&wanted).map_err(|source| {
        ToolError::new(
            ErrorCode::Config,
            format!("BLUE_LOG: `{wanted}` is not a log filter"),
        )
        .with_source(source)
        .with_hint("try `info`, `debug` or `blue_forge=trace,warn`")
    })?;
    if unasked == Unasked::Service {
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
        // With the requests to forges, each with its status and duration.
        1 => Some(
            "warn,blue=info,blue_broker=info,blue_base=debug,blue_forge=debug,blue_sandbox=info",
        ),
        2 => Some(
            "info,blue=debug,blue_broker=debug,blue_base=debug,blue_forge=debug,blue_sandbox=debug",
        ),
        _ => Some("trace"),
    }
}
