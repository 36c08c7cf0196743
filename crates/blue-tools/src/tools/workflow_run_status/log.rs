//! The end of a job's log, short enough to read

/// Bytes that are fetched of a log: what is shown, its time stamps and colours
pub(super) const FETCH: usize = 12 * 1024;
const LINES: usize = 30;
const BYTES: usize = 2_000;

/// The last lines, without time stamps and colours
pub(super) fn last_lines(text: &str, cut: bool) -> String {
    let plain = without_escapes(text);
    let mut lines: Vec<&str> = plain.lines().map(|l| without_time(l).trim_end()).collect();
    // The first line of a cut log is a piece of one.
    if cut && lines.len() > 1 {
        lines.remove(0);
    }
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    let mut room = BYTES;
    let mut kept: Vec<&str> = Vec::new();
    for line in lines.into_iter().rev().take(LINES) {
        if line.len() >= room {
            if kept.is_empty() {
                let start = line.len() - line.len().min(room);
                let start = (start..=line.len()).find(|at| line.is_char_boundary(*at));
                kept.push(&line[start.unwrap_or(line.len())..]);
            }
            break;
        }
        room -= line.len() + 1;
        kept.push(line);
    }
    kept.reverse();
    kept.join("\n")
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

/// Colours and the like: escape, bracket, parameters, a letter
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        out.push_str(&rest[..at]);
        let after = &rest[at + 2..];
        let end = after.find(|c: char| !matches!(c, '0'..='9' | ';' | '?' | ':'));
        rest = end.map_or("", |end| {
            let skip = after[end..].chars().next().map_or(0, char::len_utf8);
            &after[end + skip..]
        });
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_plain_and_short() {
        let log =
            "2026-01-02T03:04:05.6789012Z \x1b[31;1mred\x1b[0m\r\n2026-01-02T03:04:05Z end\n\n";
        assert_eq!(last_lines(log, false), "red\nend");
        assert_eq!(last_lines("iece of a line\nwhole", true), "whole");
        assert_eq!(last_lines("", false), "");
        let many = (0..100)
            .map(|n| format!("line {n}\n"))
            .collect::<Vec<_>>()
            .concat();
        let end = last_lines(&many, false);
        assert!(
            end.starts_with("line 70\n") && end.ends_with("line 99"),
            "{end}"
        );
    }

    #[test]
    fn long_lines_are_bounded() {
        let long = format!("{}\n{}", "a".repeat(1500), "é".repeat(900));
        let end = last_lines(&long, false);
        assert_eq!(end, "é".repeat(900));
        let end = last_lines(&"é".repeat(5000), false);
        assert!(end.len() <= BYTES && end.len() > BYTES - 4, "{}", end.len());
    }
}
