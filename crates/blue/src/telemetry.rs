//! Logs on stderr, and only when asked for

use blue_tools::{ErrorCode, ToolError};
use tracing_subscriber::EnvFilter;

use crate::{env::Env, render::Screen};

/// Start logging if `BLUE_LOG` or `-v` says so
pub(crate) fn init(env: &Env, verbose: u8, screen: Screen) -> Result<(), ToolError> {
    let Some(wanted) = env.log().or_else(|| level(verbose).map(str::to_owned)) else {
        return Ok(());
    };
    let filter = EnvFilter::builder().parse(&wanted).map_err(|source| {
        ToolError::new(
            ErrorCode::Config,
            format!("BLUE_LOG: `{wanted}` is not a log filter"),
        )
        .with_source(source)
        .with_hint("try `info`, `debug` or `blue_core=trace,warn`")
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(screen.colour_err())
        .init();
    Ok(())
}

fn level(verbose: u8) -> Option<&'static str> {
    match verbose {
        0 => None,
        1 => Some("warn,blue=info,blue_core=info,blue_sandbox=info"),
        2 => Some("info,blue=debug,blue_core=debug,blue_sandbox=debug"),
        _ => Some("trace"),
    }
}
