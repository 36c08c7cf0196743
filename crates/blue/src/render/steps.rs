//! Advice that names tools, as a person types it

use std::collections::BTreeMap;

use blue_tools::{AnyTool, ToolError, rows::short, tools};
use clap::{Arg, ArgMatches, parser::ValueSource};
use serde_json::{Map, Value};

/// Options that go on with what another call was about, unless it is named by place
const FOLLOW: &[(&str, &str)] = &[("index", "index"), ("head", "branch")];
/// What a call is about: advice that says it means this and nothing else
const ABOUT: &[&str] = &["index", "branch", "head", "sha", "run_id"];
/// Options without which another call would be about something else
const CARRY: &[(&str, &str)] = &[("rev", "rev"), ("rev", "branch")];
/// What has a place, and the option that says it otherwise
const INSTEAD: &[(&str, &str)] = &[("path", "gone")];

/// What is known about the call that advice follows, so that it need not be typed again
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    values: BTreeMap<String, String>,
    repository: Option<String>,
}

impl Known {
    /// What was typed
    pub(crate) fn of(tool: &dyn AnyTool, args: &ArgMatches) -> Self {
        let mut known = Self::default();
        for arg in tool.command().get_arguments() {
            let id = arg.get_id().as_str();
            if args.value_source(id) != Some(ValueSource::CommandLine) {
                continue;
            }
            let values: Vec<_> = args.get_raw(id).into_iter().flatten().collect();
            let [value] = values[..] else { continue };
            let value = value.to_string_lossy().into_owned();
            if matches!(id, "owner" | "name" | "host" | "whole") {
                let long = arg.get_long().unwrap_or(id);
                let before = known.repository.take();
                let before = before.map_or(String::new(), |before| before + " ");
                known.repository = Some(format!("{before}--{long} {}", quoted(&value)));
            } else {
                known.values.insert(id.to_owned(), value);
            }
        }
        known
    }

    /// What the answer tells
    pub(crate) fn learn(&mut self, answer: &Map<String, Value>) {
        if let Some(number) = answer.get("pr_number").and_then(Value::as_u64) {
            self.values.insert("index".to_owned(), number.to_string());
        }
    }

    /// The arguments of `tool` that are known, with those that the advice gives
    fn arguments(&self, tool: &dyn AnyTool, given: &[(String, String)]) -> Vec<String> {
        let command = tool.command();
        let is_said =
            |id: &str| ABOUT.contains(&id) && given.iter().any(|g| ABOUT.contains(&&*g.0));
        let is_elsewhere = |id: &str| {
            let mut pairs = INSTEAD.iter();
            pairs.any(|(placed, other)| *placed == id && given.iter().any(|g| g.0 == *other))
        };
        let value = |id: &str| match given.iter().find(|g| g.0 == id) {
            Some((_, value)) => Some(value),
            None => self
                .values
                .get(id)
                .filter(|_| !is_said(id) && !is_elsewhere(id)),
        };
        let mut words: Vec<String> = command
            .get_positionals()
            .map_while(|arg| value(arg.get_id().as_str()))
            .map(|value| quoted(value))
            .collect();
        let option = |id: &str, value: &str| {
            let arg = command.get_opts().find(|arg| arg.get_id() == id)?;
            Some(format!("--{} {}", spelled(arg)?, quoted(id_start(value))))
        };
        let follow = |list: &[(&str, &str)]| {
            list.iter().find_map(|(id, known)| {
                let is_new = !is_said(id) && given.iter().all(|g| g.0 != *id);
                option(id, self.values.get(*known).filter(|_| is_new)?)
            })
        };
        if words.is_empty() {
            words.extend(follow(FOLLOW));
        }
        words.extend(follow(CARRY));
        words.extend(given.iter().filter_map(|(id, value)| option(id, value)));
        words
    }

    /// A failure as a person reads it: commands and options where a model is told of tools
    pub(crate) fn reword(&self, tool: &dyn AnyTool, error: ToolError) -> ToolError {
        // The causes are said here: reworded, they would no longer be seen to say the same.
        let message = typed(&error.chain().join(": "), self);
        let mut said = ToolError::new(error.code, message).with_notes(error.notes.clone());
        said.hint = error.typed_hint.or(error.hint).map(|hint| {
            let mut hint = typed(&hint, self)
                .replace("`owner` and `name`", "`-R OWNER/NAME`")
                .replace("the `host`", "the host, `-R HOST/OWNER/NAME`");
            for arg in tool.command().get_arguments() {
                if let Some(long) = arg.get_long() {
                    hint = hint.replace(&format!("`{}`", arg.get_id()), &format!("`--{long}`"));
                }
            }
            hint
        });
        said
    }
}

/// `Merge with pr_merge` → ``Merge with `blue pr merge 12` ``
pub(crate) fn typed(text: &str, known: &Known) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    let mut named: Option<&dyn AnyTool> = None;
    while let Some(word) = words.get(at) {
        at += 1;
        let Some((before, tool, after)) = tool_in(word) else {
            let option = named.and_then(|tool| option_in(tool, word));
            out.push(option.unwrap_or_else(|| (*word).to_owned()));
            continue;
        };
        named = Some(tool);
        let mut call = vec![format!("blue {} {}", tool.noun(), tool.verb())];
        let mut end = after.to_owned();
        let mut given = Vec::new();
        // Only what follows at once belongs to it.
        while matches!(end.as_str(), "" | ",")
            && let Some((argument, rest, used)) = argument(tool, &words[at..], end == ",")
        {
            given.push(argument);
            end = rest;
            at += used;
        }
        call.extend(known.arguments(tool, &given));
        call.extend(known.repository.clone());
        out.push(format!("{before}`{}`{end}", call.join(" ")));
    }
    out.join(" ")
}

/// An argument of the tool that was named last, as it is typed: `` `page`; `` is `` `--page`; ``
fn option_in(tool: &dyn AnyTool, word: &str) -> Option<String> {
    let (name, after) = word.strip_prefix('`')?.split_once('`')?;
    let command = tool.command();
    let arg = command.get_opts().find(|arg| arg.get_id() == name)?;
    Some(format!("`--{}`{after}", spelled(arg)?))
}

/// A tool's name in a word, and what is around it
fn tool_in(word: &str) -> Option<(&str, &'static dyn AnyTool, &str)> {
    let inner = word.trim_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let tool = tools::ALL.iter().copied().find(|t| t.name() == inner)?;
    let at = word.find(inner)?;
    let (before, after) = (&word[..at], &word[at + inner.len()..]);
    Some((
        before.trim_end_matches('`'),
        tool,
        after.trim_start_matches('`'),
    ))
}

/// Name and value of `page=2` or `page 2`, the punctuation after it, and how many words it took
fn argument(
    tool: &dyn AnyTool,
    words: &[&str],
    listed: bool,
) -> Option<((String, String), String, usize)> {
    let first = words.first()?.trim_start_matches(['`', '(']);
    let (name, value, used) = match first.split_once('=') {
        Some((name, value)) => (name, value, 1),
        None => (first, *words.get(1)?, 2),
    };
    let bare = value.trim_end_matches(['`', ')', ',', ';', '.']);
    let rest = value[bare.len()..].replace(['`', ')'], "");
    let bare = bare.trim_matches('"');
    let command = tool.command();
    // Two words may be a sentence about what has a place, unless a comma makes a list of them.
    let placed = command.get_positionals().filter(|_| used == 1 || listed);
    let is_it = |arg: &&Arg| arg.get_id() == name || arg.get_long() == Some(name);
    let arg = command.get_opts().chain(placed).find(is_it)?;
    let takes = arg.get_action().takes_values();
    takes.then(|| ((arg.get_id().to_string(), bare.to_owned()), rest, used))
}

/// As much of an object id as need be typed; any other value whole
fn id_start(value: &str) -> &str {
    let is_id = matches!(value.len(), 40 | 64) && value.bytes().all(|b| b.is_ascii_hexdigit());
    if is_id { short(value) } else { value }
}

/// The shortest way to type an option
fn spelled(arg: &Arg) -> Option<&str> {
    let others = arg.get_visible_aliases().unwrap_or_default();
    let all = others.into_iter().chain(arg.get_long());
    all.min_by_key(|name| name.len())
}

/// A word as a shell reads it back
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,~".contains(c);
    if !text.is_empty() && text.chars().all(plain) && !text.starts_with('~') {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_become_commands() {
        for (step, said) in [
            ("Nothing is left to do", "Nothing is left to do"),
            ("List with branch_list", "List with `blue branch list`"),
            (
                "See more: `branch_list` page=2, then stop",
                "See more: `blue branch list --page 2`, then stop",
            ),
            (
                "Get the rest with file_read, lines \"10-40\"",
                "Get the rest with `blue file read --lines 10-40`",
            ),
            (
                "Wait with workflow_run_status, wait_seconds 300; then pr_verify.",
                "Wait with `blue workflow run-status --wait 300`; then `blue pr verify`.",
            ),
            ("branch_list nope=1", "`blue branch list` nope=1"),
            (
                "Wait with workflow_run_status, index 12, wait_seconds 300; then pr_verify, index 12",
                "Wait with `blue workflow run-status --pr 12 --wait 300`; then `blue pr verify 12`",
            ),
            (
                "Wait with workflow_run_status, branch \"a/b\", wait_seconds 300",
                "Wait with `blue workflow run-status a/b --wait 300`",
            ),
            (
                "Merge with pr_merge, index 12, head_sha abc",
                "Merge with `blue pr merge 12 --head-sha abc`",
            ),
            (
                "call pr_verify again with more `wait_seconds`.",
                "call `blue pr verify` again with more `--wait`.",
            ),
            (
                "change it by file_write_branch `edits`",
                "change it by `blue file write-branch` `--edit`",
            ),
        ] {
            assert_eq!(typed(step, &Known::default()), said);
        }
    }

    #[test]
    fn what_was_typed_need_not_be_typed_again() {
        let known = |name: &str, words: &[&str]| {
            let tool = tools::find(name).unwrap();
            let command = tool.command().no_binary_name(true);
            Known::of(tool, &command.try_get_matches_from(words).unwrap())
        };
        let verified = known("pr_verify", &["12", "-R", "acme/site"]);
        assert_eq!(
            typed("Merge with pr_merge", &verified),
            "Merge with `blue pr merge 12 --repo acme/site`"
        );
        assert_eq!(
            typed(
                &format!("Use pr_merge, head_sha {}", "ab".repeat(20)),
                &verified
            ),
            "Use `blue pr merge 12 --head-sha ababababab --repo acme/site`"
        );
        assert_eq!(
            typed("Wait with workflow_run_status", &verified),
            "Wait with `blue workflow run-status --pr 12 --repo acme/site`"
        );
        assert_eq!(
            typed(
                "Wait with workflow_run_status, index 12, wait_seconds 300",
                &verified
            ),
            "Wait with `blue workflow run-status --pr 12 --wait 300 --repo acme/site`"
        );
        // What the advice is about stands alone.
        let waited = known("workflow_run_status", &["topic"]);
        assert_eq!(
            typed(
                "Wait with workflow_run_status, sha abc, wait_seconds 9",
                &waited
            ),
            "Wait with `blue workflow run-status --sha abc --wait 9`"
        );
        let read = known("file_read", &["it's.md", "--ref", "topic"]);
        assert_eq!(
            typed("Get the rest with file_read, lines 9-", &read),
            r"Get the rest with `blue file read 'it'\''s.md' --ref topic --lines 9-`"
        );
        assert_eq!(
            typed("Use dir_list path=docs ref=main.", &read),
            "Use `blue dir list docs --ref main`."
        );
        let deleted = known("file_delete", &["docs/a.md", "-b", "topic"]);
        assert_eq!(
            typed("dir_list path=docs shows more", &deleted),
            "`blue dir list docs --ref topic` shows more"
        );
        let written = known("file_write_branch", &["a.md", "--branch", "topic"]);
        assert_eq!(
            typed("Open one with pr_create", &written),
            "Open one with `blue pr create --head topic`"
        );
        let mut created = Known::default();
        created.learn(serde_json::json!({"pr_number": 7}).as_object().unwrap());
        assert_eq!(
            typed("Check with pr_verify", &created),
            "Check with `blue pr verify 7`"
        );
    }

    #[test]
    fn a_failure_speaks_of_what_can_be_typed() {
        use blue_tools::ErrorCode;

        let tool = tools::find("file_read").unwrap();
        let command = tool.command().no_binary_name(true);
        let known = Known::of(tool, &command.try_get_matches_from(["docs"]).unwrap());
        let error = ToolError::new(ErrorCode::Invalid, "a directory: use dir_list")
            .with_source("use dir_list")
            .with_hint("or give `lines`");
        let error = known.reword(tool, error);
        assert_eq!(error.chain().len(), 1);
        assert_eq!(error.message, "a directory: use `blue dir list docs`");
        assert_eq!(error.hint.as_deref(), Some("or give `--lines`"));
    }
}
