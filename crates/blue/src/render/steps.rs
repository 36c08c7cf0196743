//! Advice that names tools, as a person types it

use blue_tools::{AnyTool, tools};

/// `Merge with pr_merge index=12` → ``Merge with `blue pr merge 12` ``
pub(crate) fn typed(step: &str) -> String {
    let mut words = step.split(' ').peekable();
    let mut out: Vec<String> = Vec::new();
    while let Some(word) = words.next() {
        let Some((before, tool, after)) = tool_in(word) else {
            out.push(word.to_owned());
            continue;
        };
        let mut call = vec![format!("blue {} {}", tool.noun(), tool.verb())];
        let mut end = after.to_owned();
        // Only what follows at once belongs to it.
        while end.is_empty()
            && let Some((argument, rest)) = words.peek().and_then(|word| argument(tool, word))
        {
            call.push(argument);
            end = rest;
            words.next();
        }
        out.push(format!("{before}`{}`{end}", call.join(" ")));
    }
    out.join(" ")
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

/// `index=12` as it is typed, and the punctuation after it
fn argument(tool: &dyn AnyTool, word: &str) -> Option<(String, String)> {
    let (name, value) = word.trim_start_matches(['`', '(']).split_once('=')?;
    let bare = value.trim_end_matches(['`', ')', ',', ';', '.']);
    let rest = value[bare.len()..].replace(['`', ')'], "");
    let command = tool.command();
    let arg = command.get_arguments().find(|arg| arg.get_id() == name)?;
    let typed = if arg.is_positional() {
        quoted(bare)
    } else if arg.get_action().takes_values() {
        format!("--{} {}", arg.get_long()?, quoted(bare))
    } else if bare == "true" {
        format!("--{}", arg.get_long()?)
    } else {
        return None;
    };
    Some((typed, rest))
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
                "branch_list (page=2 limit=50) shows more",
                "`blue branch list --page 2 --limit 50` shows more",
            ),
            (
                "Use branch_list owner=o'x.",
                r"Use `blue branch list --owner 'o'\''x'`.",
            ),
            ("branch_list nope=1", "`blue branch list` nope=1"),
        ] {
            assert_eq!(typed(step), said);
        }
    }
}
