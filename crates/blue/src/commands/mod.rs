//! The commands, one file each

mod forge;
mod mcp;
mod sandbox;
mod up;

use std::io;

use blue_tools::{ErrorCode, ToolError};

use crate::{env::Env, render::Screen};

/// Every command there is, in the order `--help` shows them
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Up(up::Args),
    Mcp(mcp::Args),

    #[command(subcommand)]
    Forge(forge::Command),
    Sandbox(sandbox::Args),
}

/// What a command works with
#[derive(Debug)]
pub(crate) struct Cx {
    pub(crate) env: Env,
    pub(crate) screen: Screen,
}

/// Why a command did not end well
#[derive(Debug)]
pub(crate) enum Stop {
    Failed(ToolError),
    /// The report that was printed tells already; the code is for the exit
    Reported(ErrorCode),
    /// The output could not be written, or nobody reads it any more
    Output(io::Error),
}

impl<E: Into<ToolError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Run a command to its end
pub(crate) fn run(command: Command, cx: &Cx) -> Result<(), Stop> {
    match command {
        Command::Up(args) => finish(up::run(cx, args)),
        Command::Mcp(args) => mcp::run(cx, &args),
        Command::Forge(command) => finish(forge::run(cx, command)),
        Command::Sandbox(args) => finish(sandbox::run(cx, args)),
    }
}

fn finish(work: impl Future<Output = Result<(), Stop>>) -> Result<(), Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|source| ToolError::new(ErrorCode::Io, "could not start").with_source(source))?;
    runtime.block_on(work)
}
