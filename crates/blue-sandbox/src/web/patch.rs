//! A unified diff, taken apart for a page

/// Lines of one file shown before the rest is left out
const LINES_PER_FILE: usize = 2_000;
/// Lines of one page
const LINES_PER_PAGE: usize = 8_000;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FilePatch {
    pub old: String,
    pub new: String,
    /// What git says beside the lines: new, deleted, renamed, mode, binary
    pub notes: Vec<String>,
    pub lines: Vec<Line>,
    /// Lines left out because there were too many
    pub left_out: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub kind: Kind,
    pub old: Option<u64>,
    pub new: Option<u64>,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Add,
    Delete,
    Same,
    Hunk,
    /// Such as `\ No newline at end of file`
    Note,
}

impl FilePatch {
    pub(super) fn name(&self) -> String {
        match (self.old.as_str(), self.new.as_str()) {
            ("" | "/dev/null", new) => new.to_owned(),
            (old, "" | "/dev/null") => old.to_owned(),
            (old, new) if old == new => new.to_owned(),
            (old, new) => format!("{old} → {new}"),
        }
    }

    pub(super) fn count(&self, kind: Kind) -> usize {
        self.lines.iter().filter(|line| line.kind == kind).count()
    }
}

/// Take apart what `git diff` printed
pub(super) fn parse(diff: &str) -> Vec<FilePatch> {
    let mut files: Vec<FilePatch> = Vec::new();
    let mut at = (0, 0);
    let mut left = (0, 0);
    let mut shown = 0;
    for line in diff.split_terminator('\n') {
        let in_hunk = left != (0, 0) || line.starts_with('\\');
        if !in_hunk && line.starts_with("diff --git ") {
            files.push(header(&line["diff --git ".len()..]));
            continue;
        }
        let Some(file) = files.last_mut() else {
            continue;
        };
        if !in_hunk {
            if let Some((old, new)) = hunk(line) {
                at = (old.0, new.0);
                left = (old.1, new.1);
            } else {
                extended(file, line);
                continue;
            }
        }
        let line = if in_hunk {
            body(line, &mut at, &mut left)
        } else {
            Line {
                kind: Kind::Hunk,
                old: None,
                new: None,
                text: line.to_owned(),
            }
        };
        if file.lines.len() >= LINES_PER_FILE || shown >= LINES_PER_PAGE {
            file.left_out += 1;
        } else {
            shown += 1;
            file.lines.push(line);
        }
    }
    files
}

fn header(names: &str) -> FilePatch {
    // Both halves are the same path unless a rename says otherwise later.
    let half = names.len() / 2;
    let same = names
        .is_char_boundary(half)
        .then(|| names.split_at(half))
        .and_then(|(old, new)| {
            let old = old.strip_prefix("a/")?;
            let new = new.strip_prefix(" b/")?;
            (old == new).then(|| new.to_owned())
        });
    let name = same.unwrap_or_default();
    FilePatch {
        old: name.clone(),
        new: name,
        ..FilePatch::default()
    }
}

fn extended(file: &mut FilePatch, line: &str) {
    if let Some(old) = line.strip_prefix("--- ") {
        file.old = side(old);
    } else if let Some(new) = line.strip_prefix("+++ ") {
        file.new = side(new);
    } else if let Some(old) = line.strip_prefix("rename from ") {
        file.old = unquote(old);
    } else if let Some(new) = line.strip_prefix("rename to ") {
        file.new = unquote(new);
    } else if line.starts_with("Binary files ") {
        file.notes.push("binary".to_owned());
    } else if ["new file", "deleted file", "old mode", "new mode"]
        .iter()
        .any(|start| line.starts_with(start))
    {
        file.notes.push(line.to_owned());
    }
}

/// The path on one side, without the `a/` or `b/` that git puts before it
fn side(text: &str) -> String {
    let path = unquote(text.trim_end_matches('\t'));
    let bare = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/"));
    bare.unwrap_or(&path).to_owned()
}

/// Names with quotes, backslashes or control characters come quoted as in C
fn unquote(text: &str) -> String {
    let Some(inner) = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
    else {
        return text.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b't') => bytes.push(b'\t'),
            Some(b'n') => bytes.push(b'\n'),
            Some(first @ b'0'..=b'3') => {
                let digits = [Some(first), rest.next(), rest.next()];
                let value = digits
                    .into_iter()
                    .flatten()
                    .fold(0_u8, |value, digit| value << 3 | (digit & 7));
                bytes.push(value);
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

type Span = (u64, u64);

/// Start and length of both sides of `@@ -1,2 +3,4 @@`
fn hunk(line: &str) -> Option<(Span, Span)> {
    let (spans, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = spans.split_once(" +")?;
    let span = |text: &str| -> Option<Span> {
        let (start, length) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, length.parse().ok()?))
    };
    Some((span(old)?, span(new)?))
}

fn body(line: &str, at: &mut Span, left: &mut Span) -> Line {
    let text = line.get(1..).unwrap_or_default().to_owned();
    let mut old = || {
        let number = at.0;
        at.0 += 1;
        left.0 = left.0.saturating_sub(1);
        Some(number)
    };
    match line.as_bytes().first() {
        Some(b'+') => {
            let number = at.1;
            at.1 += 1;
            left.1 = left.1.saturating_sub(1);
            Line {
                kind: Kind::Add,
                old: None,
                new: Some(number),
                text,
            }
        }
        Some(b'-') => Line {
            kind: Kind::Delete,
            old: old(),
            new: None,
            text,
        },
        Some(b'\\') => Line {
            kind: Kind::Note,
            old: None,
            new: None,
            text: line.to_owned(),
        },
        _ => {
            let old = old();
            let number = at.1;
            at.1 += 1;
            left.1 = left.1.saturating_sub(1);
            Line {
                kind: Kind::Same,
                old,
                new: Some(number),
                text,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/a b.txt b/a b.txt
index 1..2 100644
--- a/a b.txt\t
+++ b/a b.txt\t
@@ -1,3 +1,3 @@ fn x()
 same
--- looks like a header
+++ so does this
 end
\\ No newline at end of file
@@ -9 +9,2 @@
-old
+new
+more
diff --git a/old.txt b/new name.txt
similarity index 100%
rename from old.txt
rename to new name.txt
diff --git a/img.png b/img.png
new file mode 100644
index 0..1
Binary files /dev/null and b/img.png differ
";

    #[test]
    fn takes_a_diff_apart() {
        let files = parse(DIFF);
        assert_eq!(files.len(), 3);
        assert_eq!(files[0].name(), "a b.txt");
        assert_eq!(
            (files[0].count(Kind::Add), files[0].count(Kind::Delete)),
            (3, 2)
        );
        let minus = files[0]
            .lines
            .iter()
            .find(|line| line.kind == Kind::Delete)
            .unwrap();
        assert_eq!(minus.text, "-- looks like a header");
        assert_eq!(minus.old, Some(2));
        let last = files[0].lines.last().unwrap();
        assert_eq!((last.new, last.text.as_str()), (Some(10), "more"));
        assert_eq!(files[1].name(), "old.txt → new name.txt");
        assert_eq!(files[2].name(), "img.png");
        assert_eq!(files[2].notes, ["new file mode 100644", "binary"]);
    }

    #[test]
    fn odd_names_are_read_back() {
        assert_eq!(side("b/plain name\t"), "plain name");
        assert_eq!(side(r#""a/tab\there \"q\" \303\244""#), "tab\there \"q\" ä");
        assert_eq!(side("/dev/null"), "/dev/null");
    }

    #[test]
    fn very_long_files_are_cut_and_counted() {
        let mut diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,5000 @@\n".to_owned();
        diff.push_str(&"+line\n".repeat(5000));
        let files = parse(&diff);
        assert_eq!(files[0].lines.len(), LINES_PER_FILE);
        assert_eq!(files[0].left_out, 5001 - LINES_PER_FILE);
    }
}
