//! The tools as commands: `pr_merge` is `blue pr merge`

mod consent;
mod tree;

use std::{
    io::{self, IsTerminal as _, Read as _},
    sync::Arc,
};

use blue_base::clock::SystemClock;
use blue_forge::open::Forges;
use blue_tools::{ToolError, Verdict};
pub(crate) use tree::{Call, Limits, augment, by_name, limits_after, nouns};

use super::{Cx, Stop};
use crate::render::{Known, News, Screen};

/// Exit status of an answer that says "failed" or "blocked"
const EXIT_RED: u8 = 1;
/// Exit status of an answer that says "pending" or "unknown", as `gh pr checks` has it
const EXIT_PENDING: u8 = 8;

pub(crate) async fn run(cx: &Cx, call: Call) -> Result<(), Stop> {
    let Call {
        tool,
        args,
        limits,
        judges,
    } = call;
    let news = News::default();
    let (told, reader) = (news.clone(), news.clone());
    let screen = cx.screen;
    let tools = open(cx, &limits, true)?
        .raw(cx.screen.takes_bytes())
        .with_piped(move || reader.while_reading(|| piped(screen)))
        .on_progress(move |progress| told.tell(progress))
        .for_call(tool.effect());
    // What is refused anyway is not asked about.
    if consent::is_needed(tool, &args) && !limits.read_only && !limits.yes {
        let asked = consent::ask(cx, &tools, tool, &args).await;
        asked.map_err(|stop| match stop {
            Stop::Failed(error) => Stop::Failed(Known::of(tool, &args).reword(tool, error)),
            other => other,
        })?;
    }
    let call = tool.call_args(&tools, &args);
    let answer = cx.wait(call, &news, tool.effect()).await?;
    let known = Known::of(tool, &args);
    match answer {
        Ok(answer) => {
            cx.screen.answer(&answer, known).map_err(Stop::Output)?;
            match answer.verdict {
                Verdict::Red if judges => Err(Stop::Exit(EXIT_RED)),
                Verdict::Pending if judges => Err(Stop::Exit(EXIT_PENDING)),
                _ => Ok(()),
            }
        }
        Err(error) if cx.screen.is_json() => Err(Stop::Failed(error)),
        Err(error) => Err(Stop::Failed(known.reword(tool, error))),
    }
}

/// What the tools work with, within the limits that were typed; are the calls typed too?
pub(super) fn open(cx: &Cx, limits: &Limits, typed: bool) -> Result<blue_tools::Cx, ToolError> {
    let mut settings = cx.env.forges()?;
    // A server that could not answer a single call does not start.
    settings.vars.servers()?;
    settings.http.read_only = limits.read_only;
    if let Some(allow) = &limits.allow {
        settings.allow = allow.clone();
    }
    let mut forges = Forges::new(settings, cx.env.cwd(), Arc::new(SystemClock));
    if typed {
        forges = forges.typed();
    }
    Ok(
        blue_tools::Cx::new(Arc::new(forges), Arc::new(SystemClock), cx.env.cwd())
            .read_only(limits.read_only),
    )
}

fn piped(screen: Screen) -> io::Result<Vec<u8>> {
    if io::stdin().is_terminal() {
        screen.notes(&["type the text; end it with Ctrl-D on a line of its own".to_owned()])?;
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}
