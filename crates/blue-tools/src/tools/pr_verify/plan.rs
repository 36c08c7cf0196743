//! The task list in a pull request's text: its test plan

use blue_base::text::clean_line;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Cell, Style};

/// Most open items that are told
const SHOWN: usize = 20;
/// Longest item that is told whole
const LENGTH: usize = 160;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TestPlan {
    pub total: usize,
    pub done: usize,
    /// Items that are not ticked; of many the first
    pub open: Vec<String>,
}

impl TestPlan {
    /// Read `- [ ]`, `* [x]`, `+ [X]`, `1. [ ]` and `2) [ ]`, however deep, but no code
    /// and nothing that is commented out
    pub(super) fn of(body: &str) -> Self {
        let mut plan = Self::default();
        let mut fence: Option<Fence> = None;
        let mut hidden = false;
        for line in body.lines() {
            if hidden {
                hidden = !line.contains("-->");
                continue;
            }
            if let Some(open) = &fence {
                if open.is_closed_by(line) {
                    fence = None;
                }
                continue;
            }
            if let Some(opened) = Fence::opened_by(line) {
                fence = Some(opened);
                continue;
            }
            if let Some(rest) = comment(line) {
                hidden = !rest.contains("-->");
                continue;
            }
            let Some((done, text)) = item(line) else {
                continue;
            };
            plan.total += 1;
            if done {
                plan.done += 1;
            } else if plan.open.len() < SHOWN {
                plan.open.push(shortened(text));
            }
        }
        plan
    }

    pub(super) fn is_none(&self) -> bool {
        self.total == 0
    }

    pub(super) fn cell(&self) -> Cell {
        let Self { total, done, .. } = self;
        match total {
            0 => Cell::new("none", Style::Dim),
            _ if done == total => Cell::new(&format!("{done} of {total} done"), Style::Good),
            _ => Cell::new(&format!("{done} of {total} done"), Style::Warn),
        }
    }
}

/// A block of code: what it was opened with
#[derive(Debug)]
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// May stand in a list item or a quote
    fn opened_by(line: &str) -> Option<Self> {
        let rest = unquoted(line);
        let rest = bullet(rest).unwrap_or(rest);
        let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = rest.chars().take_while(|c| *c == mark).count();
        // Three backticks that end on the same line are code in a sentence.
        let inline = mark == '`' && rest[length..].contains('`');
        (length >= 3 && !inline).then_some(Self { mark, length })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let rest = unquoted(line).trim_end();
        rest.len() >= self.length && rest.chars().all(|c| c == self.mark)
    }
}

/// What comes after the `<!` of a comment that begins the line: only such a one may go on below it
fn comment(line: &str) -> Option<&str> {
    let rest = unquoted(line);
    let rest = bullet(rest).unwrap_or(rest);
    rest.strip_prefix("<!")
        .filter(|rest| rest.starts_with("--"))
}

fn unquoted(line: &str) -> &str {
    line.trim_start_matches(|c: char| c.is_whitespace() || c == '>')
}

/// What comes after `- `, `* `, `+ `, `1. ` or `1) `
fn bullet(line: &str) -> Option<&str> {
    let rest = if let Some(rest) = line.strip_prefix(['-', '*', '+']) {
        rest
    } else {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        if !(1..=9).contains(&digits) {
            return None;
        }
        line[digits..].strip_prefix(['.', ')'])?
    };
    let text = rest.trim_start_matches([' ', '\t']);
    (text.len() < rest.len()).then_some(text)
}

/// Whether a task is done, and what it is
fn item(line: &str) -> Option<(bool, &str)> {
    let text = bullet(unquoted(line))?;
    let rest = text.strip_prefix('[')?;
    let mut letters = rest.chars();
    let done = match letters.next()? {
        ' ' => false,
        'x' | 'X' => true,
        _ => return None,
    };
    let text = letters.as_str().strip_prefix(']')?;
    let task = text.trim();
    // `[ ](link)` is a link, and a box without words is no task.
    (text.starts_with([' ', '\t']) && !task.is_empty()).then_some((done, task))
}

/// A text of others, as long as a list of them can bear
pub(super) fn shortened(text: &str) -> String {
    let text = clean_line(text);
    if text.chars().count() <= LENGTH {
        return text;
    }
    let start: String = text.chars().take(LENGTH).collect();
    format!("{start}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_every_shape() {
        let body = "## Test plan\r\n\r\n- [ ] one\r\n* [x] two\n+ [X] three\n1. [ ] four\n2) [x] five\n\
                    \t- [ ] nested\n      * [ ] deep\n> - [ ] quoted\n- plain\n- [y] no\n[ ] no\n-[ ] no\n\
                    - [ ](link)\n- [ ]\n- [x] `done` **well**\ntext - [ ] no\n12345678901. [ ] no\n";
        let plan = TestPlan::of(body);
        assert_eq!((plan.total, plan.done), (9, 4));
        assert_eq!(plan.open, ["one", "four", "nested", "deep", "quoted"]);
    }

    #[test]
    fn code_is_no_plan() {
        let body = "```md\n- [ ] no\n~~~\n```\n- [ ] yes\n~~~~\n- [ ] no\n~~~\n- [ ] no\n~~~~\n\
                    - [x] yes ```inline```\n```inline``` code\n- [x] yes\n- ```\n  - [ ] no\n  ```\n\
                    - [x] yes\n````\n- [ ] never closed";
        let plan = TestPlan::of(body);
        assert_eq!((plan.total, plan.done), (4, 3));
        assert_eq!(plan.open, ["yes"]);
        assert_eq!(TestPlan::of(""), TestPlan::default());
    }

    #[test]
    fn what_is_commented_out_is_no_plan() {
        let body = "<!--\n- [ ] no\n-->\n- [x] yes\n<!-- one line -->\n- [ ] yes\n> <!-- a\n> - [ ] no\n\
                    > --> - [ ] no\n- <!--\n  - [ ] no\n  -->\n- [x] use `<!--` here\n- [x] yes <!-- a\n\
                    - [x] yes -->\n```\n<!--\n```\n- [x] yes\n<!-->\n- [x] yes\n<!-- never closed\n- [ ] no";
        let plan = TestPlan::of(body);
        assert_eq!((plan.total, plan.done), (7, 6));
        assert_eq!(plan.open, ["yes"]);
    }

    #[test]
    fn much_is_counted_and_cut() {
        let body = format!("- [ ] {}\n", "ä".repeat(500)).repeat(30);
        let plan = TestPlan::of(&body);
        assert_eq!((plan.total, plan.open.len()), (30, SHOWN));
        assert_eq!(plan.open[0].chars().count(), LENGTH + 1);
    }
}
