//! The question before something is taken away

use blue_tools::{AnyTool, Effect, ErrorCode, ToolError, args::RepoArgs};
use clap::{ArgMatches, FromArgMatches as _, parser::ValueSource};

use super::tree::REPOSITORY;
use crate::{
    commands::{Cx, Stop},
    render::{Screen, quoted},
};

/// Characters of a value that are asked about
const LONGEST: usize = 40;

/// Whether what was typed takes something away
pub(super) fn is_needed(tool: &dyn AnyTool, args: &ArgMatches) -> bool {
    tool.effect() == Effect::Destroy || !removed(tool, args).is_empty()
}

/// What goes by an argument of a tool that does other things too
fn removed(tool: &dyn AnyTool, args: &ArgMatches) -> Vec<String> {
    let ids = tool.removes().iter();
    let values = ids.flat_map(|id| args.get_raw(id).into_iter().flatten());
    values.map(|v| v.to_string_lossy().into_owned()).collect()
}

/// Asks for confirmation; without a terminal `--yes` is required
pub(super) async fn ask(
    cx: &Cx,
    tools: &blue_tools::Cx,
    tool: &dyn AnyTool,
    args: &ArgMatches,
) -> Result<(), Stop> {
    let what = deed(tool, args);
    if !cx.screen.can_ask() {
        let message = format!("will not {what} without confirmation");
        return Err(ToolError::new(ErrorCode::Usage, message)
            .with_hint(Screen::UNASKED)
            .into());
    }
    let place = match RepoArgs::from_arg_matches(args) {
        Ok(named) => format!(" in {}", tools.repo(&named).await?.id),
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
    cx.screen
        .warn("cancelled; nothing was changed")
        .map_err(Stop::Output)?;
    Err(Stop::Exit(1))
}

/// `delete branch topic`
fn deed(tool: &dyn AnyTool, args: &ArgMatches) -> String {
    let removed = removed(tool, args);
    if !removed.is_empty() {
        return format!("delete {} {}", tool.noun(), removed.join(" "));
    }
    let verb = tool.verb();
    let mut words = vec![verb.split('-').next().unwrap_or(&verb).to_owned()];
    words.push(tool.noun().to_owned());
    for arg in tool.command().get_positionals() {
        let values = args.get_raw(arg.get_id().as_str()).into_iter().flatten();
        words.extend(values.map(|value| value.to_string_lossy().into_owned()));
    }
    words.join(" ")
}

/// A text that may be a whole file is not asked about in full
fn shortened(value: &str) -> String {
    match value.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &value[..at]),
        None => value.to_owned(),
    }
}

/// ` (--branch main --force)`: what else was typed and is not about the repository
fn options(tool: &dyn AnyTool, args: &ArgMatches) -> String {
    let mut typed = Vec::new();
    for arg in tool.command().get_arguments() {
        let id = arg.get_id().as_str();
        let told = REPOSITORY.contains(&id) || tool.removes().contains(&id);
        let Some(long) = arg.get_long().filter(|_| !told) else {
            continue;
        };
        if args.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        typed.push(format!("--{long}"));
        if arg.get_action().takes_values() {
            let values = args.get_raw(id).into_iter().flatten();
            typed.extend(values.map(|value| quoted(&shortened(&value.to_string_lossy()))));
        }
    }
    if typed.is_empty() {
        return String::new();
    }
    format!(" ({})", typed.join(" "))
}
