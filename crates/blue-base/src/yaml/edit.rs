use serde_json::{Map, Value};

/// Add `key:` with its children at the end of a text, and leave every byte of it as it is
///
/// `None` where that cannot be done safely: the result is read again, and anything else in it must
/// mean what it meant before.
pub fn append_block(text: &str, key: &str, children: &[(&str, String)]) -> Option<String> {
    let before = mapping(text)?;
    if before.contains_key(key) {
        return None;
    }
    let end = line_end(text);
    let mut out = text.to_owned();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(end);
    }
    out.push_str(&scalar(key));
    out.push(':');
    out.push_str(end);
    for (name, value) in children {
        out.push_str("  ");
        out.push_str(&scalar(name));
        out.push_str(": ");
        out.push_str(&scalar(value));
        out.push_str(end);
    }
    let mut wanted = before;
    wanted.insert(key.to_owned(), block(children));
    (mapping(&out)? == wanted).then_some(out)
}

/// Write other children to a top-level key, in the place of the block that is there
///
/// Every other line stays as it is; comments within the block go with it. `None` where that cannot
/// be done safely.
pub fn replace_block(text: &str, key: &str, children: &[(&str, String)]) -> Option<String> {
    let at = lines(text).position(|line| begins(line, key))?;
    let is_outside = |line: &str| !line.starts_with([' ', '\t', '\r', '\n', '#']);
    let after = lines(text).skip(at + 1).position(is_outside);
    let (before, rest): (String, Vec<&str>) = (
        lines(text).take(at).collect(),
        after.map_or_else(Vec::new, |n| lines(text).skip(at + 1 + n).collect()),
    );
    let mut out = append_block(&before, key, children)?;
    out.extend(rest);
    let mut wanted = mapping(text)?;
    wanted.insert(key.to_owned(), block(children));
    (mapping(&out)? == wanted).then_some(out)
}

fn block(children: &[(&str, String)]) -> Value {
    let children = children.iter();
    Value::Object(
        children
            .map(|(k, v)| ((*k).to_owned(), Value::from(v.as_str())))
            .collect(),
    )
}

/// Add one child to the block of a top-level key that is there already
pub fn add_child(text: &str, key: &str, name: &str, value: &str) -> Option<String> {
    let mut wanted = mapping(text)?;
    match wanted.get_mut(key)? {
        Value::Object(block) if !block.contains_key(name) => {
            block.insert(name.to_owned(), Value::from(value));
        }
        place @ Value::Null => {
            *place = Value::Object(Map::from_iter([(name.to_owned(), Value::from(value))]));
        }
        _ => return None,
    }
    let at = lines(text).position(|line| heads(line, key))?;
    let indent = lines(text)
        .skip(at + 1)
        .map(|line| (line, line.trim_start_matches(' ')))
        .find(|(_, bare)| !bare.trim().is_empty() && !bare.starts_with('#'))
        .map(|(line, bare)| line.len() - bare.len())
        .filter(|indent| *indent > 0)
        .unwrap_or(2);
    let end = line_end(text);
    let mut out = String::new();
    for (number, line) in lines(text).enumerate() {
        out.push_str(line);
        if number == at {
            if !line.ends_with('\n') {
                out.push_str(end);
            }
            out.push_str(&" ".repeat(indent));
            out.push_str(&scalar(name));
            out.push_str(": ");
            out.push_str(&scalar(value));
            out.push_str(end);
        }
    }
    (mapping(&out)? == wanted).then_some(out)
}

fn mapping(text: &str) -> Option<Map<String, Value>> {
    match super::parse::<Option<Value>>(text).ok()? {
        None | Some(Value::Null) => Some(Map::new()),
        Some(Value::Object(map)) => Some(map),
        Some(_) => None,
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n')
}

/// Whether a line begins with `key:`, whatever follows
fn begins(line: &str, key: &str) -> bool {
    [key.to_owned(), format!("'{key}'"), format!("\"{key}\"")]
        .iter()
        .filter_map(|k| line.strip_prefix(k.as_str()))
        .any(|rest| rest.trim_start_matches(' ').starts_with(':'))
}

/// Whether a line is `key:` alone, in one of the ways to write a key
fn heads(line: &str, key: &str) -> bool {
    [key.to_owned(), format!("'{key}'"), format!("\"{key}\"")]
        .iter()
        .filter_map(|k| line.strip_prefix(k.as_str()))
        .filter_map(|rest| rest.trim_start_matches(' ').strip_prefix(':'))
        .any(|rest| {
            let rest = rest.trim_end_matches(['\r', '\n']);
            let bare = rest.trim();
            bare.is_empty() || (rest.starts_with(' ') && bare.starts_with('#'))
        })
}

fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Returns a text as a YAML scalar: plain where no parser takes it for another type, else quoted
fn scalar(text: &str) -> String {
    let words = [
        "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf",
    ];
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        && !words.contains(&text.to_ascii_lowercase().as_str());
    if plain {
        return text.to_owned();
    }
    // A JSON string is a YAML string.
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_block(text: &str) -> Option<String> {
        append_block(
            text,
            "forge",
            &[("type", "gitea".into()), ("owner", "1e3".into())],
        )
    }

    #[test]
    fn a_block_is_appended_and_nothing_else_changes() {
        for text in [
            "",
            "# only a comment\n",
            "realm:\n  name: x # why\n\n# end\n",
            "a: 1\r\n# c\r\n\r\nb:\r\n  - x\r\n",
            "a: 1",
            "a: |+\n  text\n\n\n",
            "---\na: &x {b: 1}\nc: *x\n",
            "\u{feff}a: 1\n",
        ] {
            let out = with_block(text).unwrap_or_else(|| panic!("{text:?}"));
            assert!(out.starts_with(text), "{out:?}");
            let crlf = text.contains("\r\n");
            assert_eq!(out.contains("forge:\r\n"), crlf, "{out:?}");
            assert!(out.contains("owner: \"1e3\""), "{out:?}");
        }
    }

    #[test]
    fn what_cannot_be_done_safely_is_not_done() {
        for text in [
            "forge:\n  type: x\n",
            "{a: 1}\n",
            "- a\n",
            "text\n",
            "  a: 1\n",
            "a: 1\n...\n",
            "a: 1\n---\nb: 2\n",
            "a: [\n",
        ] {
            assert_eq!(with_block(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_block_is_replaced_and_nothing_else_changes() {
        let new = |text: &str| replace_block(text, "forge", &[("owner", "bob".into())]);
        for (text, wanted) in [
            ("forge:\n  owner: a\n  repo: b\n", "forge:\n  owner: bob\n"),
            ("forge: {owner: a}", "forge:\n  owner: bob\n"),
            (
                "# mine\na: 1\n\nforge:\n  # old\n  owner: a\nb: # two\n  - forge\n",
                "# mine\na: 1\n\nforge:\n  owner: bob\nb: # two\n  - forge\n",
            ),
        ] {
            assert_eq!(new(text).as_deref(), Some(wanted), "{text:?}");
        }
        for text in ["a: 1\n", "{forge: {owner: a}}\n", "a: |\n  x\nforge: [\n"] {
            assert_eq!(new(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_child_is_added_where_its_siblings_are() {
        let text = "# mine\n\"[::1]:3000\": # local\n    # c\n    type: gitea\nb:\n";
        let out = add_child(text, "[::1]:3000", "trusted", "2026-01-01T00:00:00Z").unwrap();
        assert_eq!(
            out,
            "# mine\n\"[::1]:3000\": # local\n    trusted: \"2026-01-01T00:00:00Z\"\n    # c\n    type: gitea\nb:\n"
        );
        assert_eq!(add_child("b:\n", "b", "x", "z").unwrap(), "b:\n  x: z\n");
        assert_eq!(add_child("b:", "b", "x", "z").unwrap(), "b:\n  x: z\n");
        assert_eq!(add_child("b: {c: 1}\n", "b", "x", "z"), None);
        assert_eq!(add_child("b:\n  x: z\n", "b", "x", "z"), None);
        assert_eq!(add_child("a: |\n  b:\nb: {}\n", "b", "x", "z"), None);
    }
}
