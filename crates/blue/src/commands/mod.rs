//! The commands, one file each

mod completions;
mod forge;
mod man;
mod mcp;
mod sandbox;
mod tools;
mod up;

use std::io;

use blue_tools::{ErrorCode, ToolError};
use clap::{ArgMatches, FromArgMatches, Subcommand};

use crate::{env::Env, render::Screen};

/// Every command with a file of its own, in the order `--help` shows them
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Up(up::Args),
    Mcp(mcp::Args),

    #[command(subcommand)]
    Forge(forge::Command),
    Sandbox(sandbox::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// What can be typed: such a command, or a tool
#[derive(Debug)]
pub(crate) enum Call {
    Command(Command),
    Tool(tools::Call),
}

impl FromArgMatches for Call {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        if let Some((noun, below)) = matches.subcommand()
            && let Some(call) = tools::Call::of(noun, below)
        {
            return call.map(Self::Tool);
        }
        Command::from_arg_matches(matches).map(Self::Command)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Call {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        tools::augment(Command::augment_subcommands(command))
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Command::has_subcommand(name) || tools::nouns().contains(&name)
    }
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
    /// All was said; this is the exit code
    Exit(u8),
    /// The output could not be written, or nobody reads it any more
    Output(io::Error),
}

impl<E: Into<ToolError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Run a command to its end
pub(crate) fn run(call: Call, cx: &Cx) -> Result<(), Stop> {
    match call {
        Call::Tool(call) => finish(tools::run(cx, call)),
        Call::Command(Command::Up(args)) => finish(up::run(cx, args)),
        Call::Command(Command::Mcp(args)) => mcp::run(cx, &args),
        Call::Command(Command::Forge(command)) => finish(forge::run(cx, command)),
        Call::Command(Command::Sandbox(args)) => finish(sandbox::run(cx, args)),
        Call::Command(Command::Completions(args)) => completions::run(cx, &args),
        Call::Command(Command::Man(args)) => man::run(cx, args),
    }
}

fn finish(work: impl Future<Output = Result<(), Stop>>) -> Result<(), Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|source| ToolError::new(ErrorCode::Io, "could not start").with_source(source))?;
    runtime.block_on(work)
}
