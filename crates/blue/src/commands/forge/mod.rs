//! `blue forge`: what Blue knows of forges

mod detect;
mod hosts;
mod status;
mod trust;

use std::sync::Arc;

use blue_base::clock::SystemClock;
use blue_forge::open::{Forges, Settings};
use blue_tools::{Effect, ToolError};

use super::{Cx, Stop};
use crate::render::News;

/// Inspect the forge of a repository and the tokens for it
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Status(status::Args),
    Detect(detect::Args),
    Hosts(hosts::Args),
    Trust(trust::Args),
}

pub(crate) async fn run(cx: &Cx, command: Command) -> Result<(), Stop> {
    match command {
        Command::Status(args) => status::run(cx, args).await,
        Command::Detect(args) => detect::run(cx, args).await,
        Command::Hosts(args) => hosts::run(cx, args),
        Command::Trust(args) => trust::run(cx, args).await,
    }
}

/// Wait for an answer that changes nothing
async fn ask<T>(cx: &Cx, call: impl Future<Output = T>) -> Result<T, Stop> {
    cx.wait(call, &News::default(), Effect::Read).await
}

/// Forges as seen from the working directory
fn forges(cx: &Cx) -> Result<Forges, ToolError> {
    Ok(forges_with(cx, cx.env.forges()?))
}

fn forges_with(cx: &Cx, settings: Settings) -> Forges {
    Forges::new(settings, cx.env.cwd(), Arc::new(SystemClock)).typed()
}
