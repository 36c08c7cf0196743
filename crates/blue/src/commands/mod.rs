//! The commands, one file each

mod broker;
mod completions;
mod forge;
mod man;
mod mcp;
mod sandbox;
mod tools;
mod up;

use std::io;

use blue_tools::{Effect, ErrorCode, ToolError};
use clap::{ArgMatches, Args as _, FromArgMatches, Subcommand};

pub(crate) use tools::{by_name, limits_after};

use crate::{
    env::Env,
    render::{News, Screen},
    telemetry::Unasked,
};

/// Every command with a file of its own, in the order `--help` shows them
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Up(up::Args),
    Mcp(mcp::Args),
    Broker(broker::Args),

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

impl Call {
    /// What it logs unasked
    pub(crate) fn logs(&self) -> Unasked {
        match self {
            Self::Command(Command::Broker(args)) if args.serves() => Unasked::Service,
            // Answers of the sandbox say that its log has the reason.
            Self::Command(Command::Mcp(_) | Command::Sandbox(_) | Command::Up(_)) => {
                Unasked::Warnings
            }
            _ => Unasked::Nothing,
        }
    }
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

/// All commands, with the arguments of each built on demand to keep start-up fast
#[derive(Debug)]
pub(crate) struct Brief(Call);

impl FromArgMatches for Brief {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Call::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl Subcommand for Brief {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        let brief = |name: &'static str, whole| clap::Command::new(name).defer(whole);
        tools::augment(command.subcommands([
            brief("up", up::Args::augment_args),
            brief("mcp", mcp::Args::augment_args),
            brief("broker", broker::Args::augment_args),
            brief("forge", |command| {
                forge::Command::augment_subcommands(command)
                    .subcommand_required(true)
                    .arg_required_else_help(true)
            }),
            brief("sandbox", sandbox::Args::augment_args),
            brief("completions", completions::Args::augment_args),
            brief("man", man::Args::augment_args),
        ]))
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Call::has_subcommand(name)
    }
}

/// What a command works with
#[derive(Debug)]
pub(crate) struct Cx {
    pub(crate) env: Env,
    pub(crate) screen: Screen,
}

impl Cx {
    /// Wait for what a forge is asked; Ctrl-C ends it
    async fn wait<T>(
        &self,
        call: impl Future<Output = T>,
        news: &News,
        effect: Effect,
    ) -> Result<T, Stop> {
        tokio::select! {
            // First: it may have ended what is piped in too, and half a text is not to be sent.
            biased;
            asked = tokio::signal::ctrl_c() => {
                asked.map_err(Stop::Output)?;
                let effect = if news.reads() { Effect::Read } else { effect };
                self.screen.interrupted(effect).map_err(Stop::Output)?;
                Err(Stop::Exit(130))
            }
            answer = self.screen.wait(call, news) => Ok(answer),
        }
    }
}

/// Why a command did not end well
#[derive(Debug)]
pub(crate) enum Stop {
    Failed(ToolError),
    /// The report that was printed tells already; the code is for the exit
    Reported(ErrorCode),
    /// All was said; this is the exit code
    Exit(u8),
    /// The output could not be written, for example because its reader closed the pipe
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
        Call::Command(Command::Broker(args)) => finish(broker::run(cx, args)),
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
    let done = runtime.block_on(work);
    // Not waited for: an abandoned DNS lookup on a blocking thread may take many seconds.
    runtime.shutdown_background();
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command below with its arguments
    fn tree(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        let arguments: Vec<_> = command.get_arguments().map(clap::Arg::get_id).collect();
        found.push(format!(
            "{path}: {arguments:?} {}",
            command.is_subcommand_required_set()
        ));
        let help = |below: &&clap::Command| below.get_name() == "help";
        for below in command.get_subcommands().filter(|below| !help(below)) {
            tree(below, &format!("{path} {}", below.get_name()), found);
        }
    }

    #[test]
    fn the_end_does_not_wait_for_what_nobody_waits_for() {
        use std::{sync::mpsc, time::Duration};

        // Stands for a name server that does not answer.
        let (answer, hangs) = mpsc::channel::<()>();
        let (done, ended) = mpsc::channel();
        let command = std::thread::spawn(move || {
            let work = async {
                tokio::task::spawn_blocking(move || hangs.recv());
                Ok(())
            };
            done.send(finish(work).is_ok())
        });
        let in_time = ended.recv_timeout(Duration::from_secs(20));
        drop(answer);
        command.join().unwrap().unwrap();
        assert_eq!(in_time, Ok(true));
    }

    #[test]
    fn what_is_typed_is_read_as_it_is_described() {
        let all = |mut command: clap::Command| {
            let mut found = Vec::new();
            command.build();
            tree(&command, "blue", &mut found);
            found.sort();
            found
        };
        let (brief, whole) = (
            all(Brief::augment_subcommands(clap::Command::new("blue"))),
            all(Call::augment_subcommands(clap::Command::new("blue"))),
        );
        assert!(whole.len() > 40, "{whole:?}");
        assert_eq!(brief, whole);
    }
}
