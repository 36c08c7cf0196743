//! Exact replacements in a text, whatever it is written in; the rest keeps its bytes

use std::fmt::Write as _;

use blue_base::text;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{ErrorCode, ToolError, charset};

/// Most places that are told of a text that occurs too often
const PLACES: usize = 20;
/// Longest line that is compared or shown
const LINE: usize = 200;
/// Most text that is compared line by line to find the nearest one
const MAX_COMPARED_BYTES: usize = 1024 * 1024;

// No doc comment: it would cost bytes in every list of tools.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = short)]
pub struct Edit {
    pub old: String,
    pub new: String,
}

/// What is refused need not be told twice in every list of tools
fn short(schema: &mut schemars::Schema) {
    schema.remove("additionalProperties");
}

/// Do one edit after the other; each `old` must occur exactly once by then
pub(super) fn apply(path: &str, before: &[u8], edits: &[Edit]) -> Result<Vec<u8>, ToolError> {
    let Some((mut text, charset)) = charset::decode(before) else {
        let message = format!("`{path}` is not text, so it cannot be edited");
        return Err(ToolError::new(ErrorCode::Invalid, message)
            .with_hint("send it whole, with `encoding` `base64`"));
    };
    let is_crlf = has_only_crlf(&text);
    for (n, edit) in edits.iter().enumerate() {
        let which = match edits.len() {
            1 => format!("`{path}`"),
            all => format!("`{path}`, edit {} of {all}", n + 1),
        };
        let wrong = |why: String| ToolError::new(ErrorCode::Invalid, format!("{which}: {why}"));
        if edit.old.is_empty() {
            return Err(wrong("`old` is empty".to_owned())
                .with_hint("to write the whole file give `content`"));
        }
        if let Err(letter) = charset.encode(&edit.new) {
            let name = charset.name().unwrap_or("utf-8");
            return Err(
                wrong(format!("the file is {name}, which has no `{letter}`"))
                    .with_hint("use another character, or write the whole file by `content`"),
            );
        }
        let (mut old, mut new) = (edit.old.clone(), edit.new.clone());
        let mut found = places(&text, &old);
        // A text that was typed with plain line ends means those of the file.
        if found.is_empty() && old.contains('\n') && !old.contains('\r') {
            (old, new) = (crlf(&old), crlf(&new));
            found = places(&text, &old);
        } else if is_crlf && !old.contains('\r') {
            new = crlf(&new);
        }
        match found[..] {
            [at] => {
                text.replace_range(at..at + old.len(), &new);
            }
            [] => {
                // Decoded again here, so that a large text is not held twice all the time.
                let before = charset::decode(before).map_or_else(String::new, |(text, _)| text);
                let (why, hint) = missing(&text, &before, &edit.old);
                return Err(wrong(why).with_hint(hint));
            }
            _ => {
                let (count, lines) = told(&text, &found);
                return Err(
                    wrong(format!("`old` occurs {count} times, on lines {lines}"))
                        .with_hint("give more of the text around it, so that it occurs once"),
                );
            }
        }
    }
    charset
        .encode(&text)
        .map_err(|_| ToolError::new(ErrorCode::Internal, "the edited text cannot be written"))
}

/// Whether every line of the text ends as on Windows
fn has_only_crlf(text: &str) -> bool {
    let ends = text.matches('\n').count();
    ends > 0 && ends == text.matches("\r\n").count()
}

fn crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// Where a text begins, also where it overlaps itself
///
/// Not compared place by place: of two long texts that are nearly the same, that would take hours.
fn places(text: &str, wanted: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let Some(first) = wanted.chars().next() else {
        return found;
    };
    let mut from = 0;
    while found.len() <= PLACES
        && let Some(at) = text[from..].find(wanted)
    {
        found.push(from + at);
        from += at + first.len_utf8();
    }
    found
}

fn told(text: &str, found: &[usize]) -> (String, String) {
    let count = match found.len() {
        many if many > PLACES => format!("more than {PLACES}"),
        some => some.to_string(),
    };
    let line = |at: &usize| text[..*at].split('\n').count().to_string();
    let mut lines: Vec<String> = found.iter().take(5).map(line).collect();
    lines.dedup();
    if found.len() > 5 {
        lines.push("…".to_owned());
    }
    (count, lines.join(", "))
}

/// Why it is not there, and what to do
fn missing(now: &str, before: &str, old: &str) -> (String, String) {
    let (why, hint) = if before.contains(old) {
        (
            "`old` is gone after the edits before it",
            "make one edit of both",
        )
    } else if text::clean(now).contains(old) {
        (
            "`old` has invisible characters within it in the file, which are not shown",
            "edit a shorter text, beside them",
        )
    } else if flat(now).contains(&flat(old)) {
        (
            "`old` occurs only with other white space",
            "copy it exactly from file_read",
        )
    } else {
        ("`old` does not occur", "copy it exactly from file_read")
    };
    let mut why = why.to_owned();
    if let Some((number, line)) = nearest(now, old) {
        let _ = write!(why, "; the nearest is line {number}: `{line}`");
    }
    (why, hint.to_owned())
}

fn flat(text: &str) -> String {
    let mut flat = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !flat.is_empty() {
            flat.push(' ');
        }
        flat.push_str(word);
    }
    flat
}

fn nearest(now: &str, old: &str) -> Option<(usize, String)> {
    let cut = |line: &str| line.trim().chars().take(LINE).collect::<String>();
    let wanted = cut(old.lines().find(|line| !line.trim().is_empty())?);
    let end = now.floor_char_boundary(MAX_COMPARED_BYTES);
    now[..end]
        .lines()
        .enumerate()
        .map(|(n, line)| (n + 1, cut(line)))
        .map(|(n, line)| (strsim::sorensen_dice(&line, &wanted), n, line))
        .filter(|(likeness, _, _)| *likeness > 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
        .map(|(_, n, line)| (n, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(before: &[u8], edits: &[(&str, &str)]) -> Result<Vec<u8>, String> {
        let edits: Vec<Edit> = edits
            .iter()
            .map(|(old, new)| Edit {
                old: (*old).to_owned(),
                new: (*new).to_owned(),
            })
            .collect();
        apply("f", before, &edits).map_err(|e| e.message)
    }

    #[test]
    fn long_texts_that_are_nearly_the_same_take_a_moment() {
        let (file, half) = ("a".repeat(1 << 20), "a".repeat(1 << 19));
        let error = edit(file.as_bytes(), &[(&format!("{half}b"), "")]).unwrap_err();
        assert!(error.contains("`old` does not occur"), "{error:.200}");
        let error = edit(file.as_bytes(), &[(&half, "")]).unwrap_err();
        assert!(error.contains("occurs more than 20 times"), "{error:.200}");
        let lines = "abc\n".repeat(1 << 18);
        let error = edit(lines.as_bytes(), &[("abd", "")]).unwrap_err();
        assert!(error.contains("`old` does not occur"), "{error:.200}");
    }

    #[test]
    fn edits_follow_each_other_and_leave_the_rest_alone() {
        let before = "a\u{feff}\u{200b}\r\nlet x = 1;\nend".as_bytes();
        let after = edit(before, &[("x = 1", "x = 2"), ("x = 2;", "y;"), ("end", "")]);
        assert_eq!(after.unwrap(), "a\u{feff}\u{200b}\r\nlet y;\n".as_bytes());
        assert_eq!(
            edit(b"caf\xe9 one", &[("one", "two")]).unwrap(),
            b"caf\xe9 two"
        );
    }

    #[test]
    fn a_file_stays_in_its_charset() {
        let after = edit(b"caf\xe9 \x93one\x94\n", &[("é “one”", "è €2")]);
        assert_eq!(after.unwrap(), b"caf\xe8 \x802\n");
        let utf16 = |text: &str, unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(unit).collect()
        };
        for unit in [u16::to_le_bytes, u16::to_be_bytes] {
            let after = edit(
                &utf16("\u{feff}naïve\r\nx\r\n", unit),
                &[("ïve\nx", "ïf ✓\ny")],
            );
            assert_eq!(after.unwrap(), utf16("\u{feff}naïf ✓\r\ny\r\n", unit));
        }
    }

    #[test]
    fn line_ends_of_the_file_are_kept() {
        let after = edit(b"a\r\nb\r\nc\r\n", &[("a\nb\n", "x\ny\nz\n")]).unwrap();
        assert_eq!(after, b"x\r\ny\r\nz\r\nc\r\n");
        let crlf = b"a\r\nb\r\n";
        assert_eq!(
            edit(crlf, &[("b", "b\nc\r\nd"), ("d", "e\nf")]).unwrap(),
            b"a\r\nb\r\nc\r\ne\r\nf\r\n"
        );
        // Who writes the line ends out means them, and a file with both has no rule.
        assert_eq!(edit(crlf, &[("a\r\n", "a\n")]).unwrap(), b"a\nb\r\n");
        let mixed = edit(b"a\r\nb\n", &[("a", "a\nx")]).unwrap();
        assert_eq!(mixed, b"a\nx\r\nb\n");
    }

    #[test]
    fn what_is_not_there_once_is_refused_with_the_reason() {
        let code = b"fn one() {}\nfn two() {}\n\tlet value = 1;\naaa\nx\xe2\x80\x8by\n";
        for (edits, said) in [
            (
                &[("fn", "pub fn")][..],
                "`f`: `old` occurs 2 times, on lines 1, 2",
            ),
            (&[("aa", "b")], "`f`: `old` occurs 2 times, on lines 4"),
            (&[("", "b")], "`f`: `old` is empty"),
            (&[("zzz", "b")], "`f`: `old` does not occur"),
            (
                &[("let value = 2;", "b")],
                "`f`: `old` does not occur; the nearest is line 3: `let value = 1;`",
            ),
            (
                &[("    let value = 1;", "b")],
                "`f`: `old` occurs only with other white space; the nearest is line 3: `let value = 1;`",
            ),
            (
                &[("xy", "b")],
                "`f`: `old` has invisible characters within it in the file, which are not shown",
            ),
            (
                &[("aaa", "b"), ("aaa", "c")],
                "`f`, edit 2 of 2: `old` is gone after the edits before it",
            ),
        ] {
            assert_eq!(edit(code, edits).unwrap_err(), said);
        }
        let lines = "x\n".repeat(50);
        let error = edit(lines.as_bytes(), &[("x", "y")]).unwrap_err();
        assert_eq!(
            error,
            "`f`: `old` occurs more than 20 times, on lines 1, 2, 3, 4, 5, …"
        );
        assert_eq!(
            edit(b"a\0b", &[("a", "b")]).unwrap_err(),
            "`f` is not text, so it cannot be edited"
        );
        assert_eq!(
            edit(b"caf\xe9", &[("caf", "✓")]).unwrap_err(),
            "`f`: the file is windows-1252, which has no `✓`"
        );
    }
}
