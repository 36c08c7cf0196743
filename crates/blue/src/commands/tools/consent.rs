//! The question before something is taken away

use blue_tools::{AnyTool, ErrorCode, ToolError, args::RepoArgs};
use clap::{ArgMatches, FromArgMatches as _};

use crate::commands::{Cx, Stop};

/// Ask whether it is meant; without somebody to ask it needs `--yes`
pub(super) async fn ask(
    cx: &Cx,
    tools: &blue_tools::Cx,
    tool: &dyn AnyTool,
    args: &ArgMatches,
) -> Result<(), Stop> {
    let what = deed(tool, args);
    if !cx.screen.can_ask() {
        let message = format!("to {what} needs `--yes`: there is nobody to ask");
        return Err(ToolError::new(ErrorCode::Usage, message)
            .with_hint("add `--yes` if it is meant")
            .into());
    }
    let place = match RepoArgs::from_arg_matches(args) {
        Ok(named) => format!(" of {}", tools.repo(&named).await?.id),
        Err(_) => String::new(),
    };
    if cx
        .screen
        .ask(&format!("{what}{place}?"))
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
