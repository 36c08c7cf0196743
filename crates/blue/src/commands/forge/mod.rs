//! `blue forge`: what Blue knows of forges

mod detect;

use super::{Cx, Stop};

/// Look at the forge of a repository, and at the tokens for it
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Detect(detect::Args),
}

pub(crate) async fn run(cx: &Cx, command: Command) -> Result<(), Stop> {
    match command {
        Command::Detect(args) => detect::run(cx, args).await,
    }
}
