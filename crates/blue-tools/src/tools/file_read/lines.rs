//! Which lines of a text are wanted, and how many fit

use crate::{ErrorCode, ToolError, reply};

/// What `reply::bytes` counts for an empty text
const QUOTES: usize = 6;

/// Lines that were asked for, counted from 1
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Range {
    From {
        start: usize,
        /// Characters of the first line that were sent before
        skip: usize,
        end: Option<usize>,
    },
    Last(usize),
}

impl Default for Range {
    fn default() -> Self {
        Self::From {
            start: 1,
            skip: 0,
            end: None,
        }
    }
}

impl Range {
    /// Read `10-40`, `10-`, `10`, `-20`, or `10+5000-` for a line that was cut after 5000 characters
    pub(super) fn parse(text: &str) -> Result<Self, ToolError> {
        let wrong = || {
            ToolError::new(ErrorCode::Invalid, format!("`lines` cannot be `{text}`"))
                .with_hint("write `10-40`, `10-`, or `-20` for the last 20")
        };
        let number = |part: &str| {
            let digits = part.trim().trim_start_matches(['L', 'l']);
            digits.parse::<usize>().map_err(|_| wrong())
        };
        let (first, end) = match text.split_once(['-', ':', ',', '–']) {
            None => (text, Some(text.split('+').next().unwrap_or(text))),
            Some(("", last)) => return Ok(Self::Last(number(last)?)),
            Some((first, "")) => (first, None),
            Some((first, end)) => (first, Some(end)),
        };
        let (start, skip) = match first.split_once('+') {
            Some((start, skip)) => (number(start)?, number(skip)?),
            None => (number(first)?, 0),
        };
        let (start, end) = (start.max(1), end.map(number).transpose()?);
        if end.is_some_and(|end| end < start) {
            return Err(wrong());
        }
        Ok(Self::From { start, skip, end })
    }
}

/// `--lines` on the command line
pub(super) fn typed(text: &str) -> Result<String, String> {
    match Range::parse(text.trim()) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.hint.unwrap_or(error.message)),
    }
}

/// A part of a text, and what is left of it
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part<'a> {
    pub(super) text: &'a str,
    /// Which lines these are, where they are not all
    pub(super) lines: Option<String>,
    /// How many there are, where they are not all here
    pub(super) total: Option<usize>,
    /// What to ask for next
    pub(super) rest: Option<String>,
}

impl<'a> Part<'a> {
    /// As much of the range as fits into `room`, counted as [`reply::bytes`] does
    pub(super) fn of(text: &'a str, range: Range, room: usize) -> Result<Self, ToolError> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let total = lines.len();
        let (start, skip, asked_end) = match range {
            Range::From { start, skip, end } => (start, skip, end),
            Range::Last(count) => (total.saturating_sub(count) + 1, 0, None),
        };
        if start > total.max(1) {
            let has = match total {
                1 => "1 line".to_owned(),
                _ => format!("{total} lines"),
            };
            let message = format!("`lines` begins at {start}, but the file has {has}");
            return Err(ToolError::new(ErrorCode::Invalid, message));
        }
        let end = asked_end.unwrap_or(total).min(total);
        let upto = asked_end.map_or_else(String::new, |end| end.to_string());
        let wanted = lines.get(start - 1..end).unwrap_or_default();
        let offset: usize = lines[..(start - 1).min(total)]
            .iter()
            .map(|l| l.len())
            .sum();
        let skipped = wanted.first().map_or(0, |line| {
            line.char_indices()
                .nth(skip)
                .map_or(line.len(), |(at, _)| at)
        });
        let (mut used, mut taken, mut length) = (QUOTES, 0, 0);
        for (n, line) in wanted.iter().enumerate() {
            let line = if n == 0 { &line[skipped..] } else { line };
            let size = reply::bytes(&line) - QUOTES;
            if used + size > room {
                break;
            }
            used += size;
            length += line.len();
            taken += 1;
        }
        let from = offset + skipped;
        if taken == 0 && !wanted.is_empty() {
            let line = &wanted[0][skipped..];
            let (count, bytes) = chars_that_fit(line, room - used);
            return Ok(Self {
                text: &text[from..from + bytes],
                lines: Some(format!("{start}-{start}")),
                total: Some(total),
                rest: Some(format!("{start}+{}-{upto}", skip + count)),
            });
        }
        let whole = taken == total && skip == 0;
        let last = start + taken.max(1) - 1;
        let cut = taken < wanted.len();
        Ok(Self {
            text: &text[from..from + length],
            lines: (!whole).then(|| format!("{start}-{last}")),
            total: (!whole).then_some(total),
            rest: cut.then(|| format!("{}-{upto}", last + 1)),
        })
    }
}

/// How many characters, and bytes of text, have a place in `room`, counted as [`reply::bytes`] does
fn chars_that_fit(line: &str, room: usize) -> (usize, usize) {
    let (mut used, mut count, mut bytes) = (0, 0, 0);
    for c in line.chars() {
        used += reply::bytes(&c) - QUOTES;
        if used > room {
            break;
        }
        count += 1;
        bytes += c.len_utf8();
    }
    (count, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part<'a>(text: &'a str, range: &str, room: usize) -> Part<'a> {
        Part::of(text, Range::parse(range).unwrap(), room).unwrap()
    }

    #[test]
    fn ranges_as_callers_write_them() {
        let from = |start, end| Range::From {
            start,
            skip: 0,
            end,
        };
        for (text, range) in [
            ("10-40", from(10, Some(40))),
            ("10:40", from(10, Some(40))),
            ("L10-L40", from(10, Some(40))),
            ("10-", from(10, None)),
            ("7", from(7, Some(7))),
            ("0-3", from(1, Some(3))),
            ("-20", Range::Last(20)),
        ] {
            assert_eq!(Range::parse(text).unwrap(), range, "{text}");
        }
        for bad in ["-", "a-b", "9-3", "1-2-3", "1.5", "+3"] {
            assert_eq!(
                Range::parse(bad).unwrap_err().code,
                ErrorCode::Invalid,
                "{bad}"
            );
        }
    }

    #[test]
    fn parts_keep_line_ends() {
        let text = "a\r\nb\nc";
        let whole = part(text, "1-", 100);
        assert_eq!(
            (whole.text, whole.lines, whole.total, whole.rest),
            (text, None, None, None)
        );
        assert_eq!(part(text, "1", 100).text, "a\r\n");
        assert_eq!(part(text, "2-9", 100).text, "b\nc");
        assert_eq!(part(text, "-1", 100).text, "c");
        assert_eq!(part(text, "-9", 100).text, text);
        assert_eq!(part(text, "2-2", 100).lines.as_deref(), Some("2-2"));
        assert_eq!(part("", "1-", 100).text, "");
        assert!(Part::of(text, Range::parse("4-").unwrap(), 100).is_err());
    }

    #[test]
    fn the_parts_of_a_large_text_make_the_whole() {
        let long = "\"é\t".repeat(300);
        let text = format!("short\n{long}\nlast\nno end");
        let (mut seen, mut next) = (String::new(), Some("1-".to_owned()));
        while let Some(range) = next {
            let part = part(&text, &range, 110);
            assert!(reply::bytes(&part.text) <= 110, "{part:?}");
            assert!(!part.text.is_empty(), "{part:?}");
            seen += part.text;
            next = part.rest;
        }
        assert_eq!(seen, text);
        assert_eq!(part(&text, "1-3", 110).rest.as_deref(), Some("2-3"));
    }
}
