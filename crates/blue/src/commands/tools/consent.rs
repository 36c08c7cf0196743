//! The question before something is taken away

use blue_tools::{AnyTool, ErrorCode, ToolError, args::RepoArgs};
use clap::{ArgMatches, FromArgMatches as _, parser::ValueSource};

use super::tree::REPOSITORY;
use crate::{
    commands::{Cx, Stop},
    render::quoted,
};

/// Ask whether it is meant; without somebody to ask it needs `--yes`
pub(super) async fn ask(
    cx: &Cx,
    tools: &blue_tools::Cx,
    tool: &dyn AnyTool,
    args: &ArgMatches,
) -> Result<(), Stop> {
    let what = deed(tool, args);
    if !cx.screen.can_ask() {
        let message = format!("`--yes` is needed to {what}: nobody can be asked here");
        return Err(ToolError::new(ErrorCode::Usage, message)
            .with_hint("add `--yes` if it is meant")
            .into());
    }
    let place = match RepoArgs::from_arg_matches(args) {
        Ok(named) => format!(" of {}", tools.repo(&named).await?.id),
        Err(_) => String::new(),
    };
    let how = options(tool, args);
    if cx
        .screen
        .ask(&format!("{what}{place}{how}?"))
        .map_err(Stop::Output)?
    {
        return Ok(());
    }
    cx.screen.warn("nothing was done").map_err(Stop::Output)?;
    Err(Stop::Exit(1))
}

/// `delete branch topic`
fn deed(tool: &dyn AnyTool, args: &ArgMatches) -> String {
    let verb = tool.verb();
    let mut words = vec![verb.split('-').next().unwrap_or(&verb).to_owned()];
    words.push(tool.noun().to_owned());
    for arg in tool.command().get_positionals() {
        let values = args.get_raw(arg.get_id().as_str()).into_iter().flatten();
        words.extend(values.map(|value| value.to_string_lossy().into_owned()));
    }
    words.join(" ")
}

/// `, with --branch main --force`: what else was typed and is not about the repository
fn options(tool: &dyn AnyTool, args: &ArgMatches) -> String {
    let mut typed = Vec::new();
    for arg in tool.command().get_arguments() {
        let id = arg.get_id().as_str();
        let Some(long) = arg.get_long().filter(|_| !REPOSITORY.contains(&id)) else {
            continue;
        };
        if args.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        typed.push(format!("--{long}"));
        if arg.get_action().takes_values() {
            let values = args.get_raw(id).into_iter().flatten();
            typed.extend(values.map(|value| quoted(&value.to_string_lossy())));
        }
    }
    if typed.is_empty() {
        return String::new();
    }
    format!(", with {}", typed.join(" "))
}
