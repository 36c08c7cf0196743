//! The end of a job's log, short enough to read

use crate::reply;

/// Bytes that are fetched of a log: what is shown, its time stamps and colours
pub(super) const FETCH: usize = 12 * 1024;
const LINES: usize = 30;
/// Room for it, counted as [`reply::bytes`] does
const ROOM: usize = 4_000;
/// Bytes of one line: one that is longer would leave no room for what led to it
const LINE: usize = 400;
/// What stands for lines, or the rest of a line, that are left out
const CUT: &str = "…";

/// The last lines, without time stamps and colours
pub(super) fn last_lines(text: &str, cut: bool) -> String {
    let plain = without_escapes(text);
    let mut lines: Vec<&str> = plain.lines().map(shown).collect();
    // The first line of a cut log is a piece of one.
    if cut && lines.len() > 1 {
        lines.remove(0);
    }
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    let all = lines.len();
    let mut room = ROOM - reply::bytes(&CUT);
    let mut kept: Vec<String> = Vec::new();
    for line in lines.into_iter().rev().take(LINES - 1) {
        let line = bounded(line);
        // The quotes around it count for its line break.
        let size = reply::bytes(&line);
        if size > room {
            break;
        }
        room -= size;
        kept.push(line);
    }
    if !kept.is_empty() && (cut || kept.len() < all) {
        kept.push(CUT.to_owned());
    }
    kept.reverse();
    kept.join("\n")
}

fn bounded(line: &str) -> String {
    if line.len() <= LINE {
        return line.to_owned();
    }
    let start = &line[..line.floor_char_boundary(LINE - CUT.len())];
    format!("{start}{CUT}")
}

/// A line as a terminal leaves it: what came before a carriage return was written over
fn shown(line: &str) -> &str {
    let line = line.trim_end();
    let last = line.rsplit('\r').next().unwrap_or(line);
    without_time(last).trim_end()
}

/// `2026-01-02T03:04:05.6789012Z ` in front of each line is no news
fn without_time(line: &str) -> &str {
    let line = line.trim_start_matches('\u{feff}');
    let Some((stamp, rest)) = line.split_once(' ') else {
        return line;
    };
    let bytes = stamp.as_bytes();
    let is_time = (20..=35).contains(&bytes.len())
        && bytes[4] == b'-'
        && bytes[10] == b'T'
        && bytes[13] == b':'
        && bytes.ends_with(b"Z");
    if is_time { rest } else { line }
}

/// Colours, links and titles: whatever a terminal does not show of an escape sequence
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\u{1b}' {
            out.push(c);
            continue;
        }
        let after = rest.as_str();
        let length = match after.chars().next() {
            Some('[') => ends_with(after, 1, |c| matches!(c, '@'..='~')),
            // A link or a title, up to a bell or to the escape that ends it.
            Some(']' | 'P' | 'X' | '^' | '_') => ends_with(after, 1, |c| c == '\u{7}'),
            Some(_) => ends_with(after, 0, |c| !matches!(c, ' '..='/')),
            None => 0,
        };
        rest = after[length..].chars();
    }
    out
}

/// Bytes up to and with the character that ends a sequence; an escape or a line break is left
fn ends_with(text: &str, skip: usize, is_end: impl Fn(char) -> bool) -> usize {
    let stops = |c: char| is_end(c) || matches!(c, '\u{1b}' | '\n');
    let end = text.char_indices().skip(skip).find(|(_, c)| stops(*c));
    match end {
        Some((at, '\u{1b}' | '\n')) => at,
        Some((at, c)) => at + c.len_utf8(),
        None => text.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_plain_and_short() {
        let log =
            "2026-01-02T03:04:05.6789012Z \x1b[31;1mred\x1b[0m\r\n2026-01-02T03:04:05Z end\n\n";
        assert_eq!(last_lines(log, false), "red\nend");
        assert_eq!(last_lines("iece of a line\nwhole", true), "…\nwhole");
        assert_eq!(last_lines("", false), "");
        let many = (0..100)
            .map(|n| format!("line {n}\n"))
            .collect::<Vec<_>>()
            .concat();
        let end = last_lines(&many, false);
        assert!(
            end.starts_with("…\nline 71\n") && end.ends_with("line 99"),
            "{end}"
        );
    }

    #[test]
    fn a_line_is_what_a_terminal_leaves_of_it() {
        for (log, shown) in [
            ("10%\r50%\r100% done\r\nend", "100% done\nend"),
            ("\x1b]8;;https://h/x\x07link\x1b]8;;\x07 text", "link text"),
            ("\x1b]0;title\x1b\\text", "text"),
            ("\x1b(Bplain \x1b[1;38:5:9mred\x1b[m\x1b[K", "plain red"),
            ("\x1b[\nnext \x1b", "\nnext"),
            ("\x1b]open\nnext", "\nnext"),
            ("2026-01-02T03:04:05Z 1%\r2026-01-02T03:04:06Z 2%", "2%"),
        ] {
            assert_eq!(last_lines(log, false), shown, "{log:?}");
        }
    }

    #[test]
    fn long_lines_are_bounded_and_leave_room_for_others() {
        let long = format!("cause\n{}\nend", "é".repeat(5000));
        let end = last_lines(&long, false);
        let lines: Vec<&str> = end.lines().collect();
        assert_eq!((lines[0], lines[2]), ("cause", "end"));
        assert!(lines[1].ends_with("é…") && lines[1].len() <= LINE, "{end}");
        let many = format!("{}\n", "a".repeat(900)).repeat(20);
        let end = last_lines(&many, false);
        assert!(end.starts_with("…\na") && end.ends_with("a…"), "{end}");
        assert!(
            reply::bytes(&end) <= ROOM && end.lines().count() == 5,
            "{end}"
        );
        // A log that takes more room than it has characters.
        let end = last_lines(&"\"\\".repeat(5000), false);
        assert!(reply::bytes(&end) <= ROOM && !end.is_empty(), "{end}");
    }
}
