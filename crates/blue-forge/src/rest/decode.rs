//! JSON answers into rows, and where one went wrong

use std::fmt::Write as _;

use serde::de::DeserializeOwned;

use crate::{ForgeError, Result};
use blue_base::host::Host;

/// An answer that is not what was expected, and at which of its fields
#[derive(Debug, thiserror::Error)]
#[error("{}{source}", prefix(.path))]
pub struct DecodeError {
    path: String,
    source: serde_json::Error,
}

impl DecodeError {
    /// As `rows[2].user.login`; empty for the whole answer
    pub fn path(&self) -> &str {
        &self.path
    }
}

fn prefix(path: &str) -> String {
    match path {
        "" => String::new(),
        path => format!("{path}: "),
    }
}

/// Read JSON; the error names the field that was wrong
///
/// The field is looked for when it is asked for, so answers that are right, nearly all, do not pay
/// for it.
pub(crate) fn decode<T: DeserializeOwned>(host: &Host, body: &[u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|source| ForgeError::Decode {
        host: host.clone(),
        source: DecodeError {
            path: path_of(body, &source),
            source,
        },
    })
}

/// Read a list; `null` is an empty one, and `null` rows are left out
pub(crate) fn list<T: DeserializeOwned>(host: &Host, body: &[u8]) -> Result<Vec<T>> {
    let rows: Option<Vec<Option<T>>> = decode(host, body)?;
    Ok(rows.unwrap_or_default().into_iter().flatten().collect())
}

/// An object or a list that is open, and what in it was read last
enum Open {
    Object(Option<String>),
    List(usize),
}

/// The value that a fault is about, as `rows[2].user.login`
///
/// Walks over whatever is there: what is no JSON ends somewhere in it.
fn path_of(body: &[u8], fault: &serde_json::Error) -> String {
    // Found at the end of an object; of others that come there, the last value is meant: a text
    // that is no name of anything is noticed when it has been read.
    let message = fault.to_string();
    let whole = ["missing field", "data did not match", "invalid length"];
    let whole = whole.iter().any(|about| message.starts_with(about));
    let mut open: Vec<Open> = Vec::new();
    let mut key = false;
    let mut at = 0;
    let place = offset(body, fault.line(), fault.column());
    while at < body.len() {
        let end = match body[at] {
            b'"' => string_end(body, at),
            _ => at + 1,
        };
        if body[at] == b'"' && key {
            if let Some(Open::Object(name)) = open.last_mut() {
                let text = body.get(at + 1..end.saturating_sub(1)).unwrap_or_default();
                *name = Some(String::from_utf8_lossy(text).into_owned());
            }
            key = false;
        }
        if place < end && !(whole && matches!(body[at], b'}' | b']')) {
            break;
        }
        match body[at] {
            b'}' | b']' => {
                open.pop();
                key = false;
                if place < end {
                    break;
                }
            }
            b'{' => {
                open.push(Open::Object(None));
                key = true;
            }
            b'[' => open.push(Open::List(0)),
            b',' => match open.last_mut() {
                Some(Open::List(index)) => *index += 1,
                Some(Open::Object(_)) => key = true,
                None => {}
            },
            _ => {}
        }
        at = end;
    }
    let mut path = String::new();
    for step in open {
        match step {
            Open::Object(Some(name)) if path.is_empty() => path.push_str(&name),
            Open::Object(Some(name)) => {
                let _ = write!(path, ".{name}");
            }
            Open::List(index) => {
                let _ = write!(path, "[{index}]");
            }
            Open::Object(None) => {}
        }
    }
    blue_base::text::clean_line(&path)
}

/// The byte that a line and a column, both counted from 1, mean
fn offset(body: &[u8], line: usize, column: usize) -> usize {
    let lines = body.split_inclusive(|b| *b == b'\n');
    let before: usize = lines.take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    before + column.saturating_sub(1)
}

/// One past the closing quote of the string that begins here
fn string_end(body: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while at < body.len() {
        match body[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    body.len()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use crate::rest::Answer;

    #[derive(Debug, Deserialize)]
    struct Row {
        #[expect(dead_code, reason = "only whether it can be read counts")]
        user: User,
        #[expect(dead_code, reason = "only whether it can be read counts")]
        #[serde(default)]
        labels: Vec<u32>,
        #[expect(dead_code, reason = "only whether it can be read counts")]
        #[serde(default)]
        size: Option<Even>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(try_from = "u32")]
    struct Even;

    impl TryFrom<u32> for Even {
        type Error = &'static str;

        fn try_from(number: u32) -> Result<Self, Self::Error> {
            number.is_multiple_of(2).then_some(Self).ok_or("odd")
        }
    }

    #[derive(Debug, Deserialize)]
    struct User {
        #[expect(dead_code, reason = "only whether it can be read counts")]
        login: String,
    }

    fn fault(body: &str) -> String {
        let answer = Answer::for_test(200, body);
        let error = answer.list::<Row>().unwrap_err();
        let source = std::error::Error::source(&error).unwrap();
        source.to_string()
    }

    #[track_caller]
    fn told(body: &str, path: &str) {
        let fault = fault(body);
        let begin = format!("{path}: ");
        assert!(fault.starts_with(&begin), "{fault}");
    }

    #[test]
    fn a_fault_names_its_field() {
        told(r#"[{"user":{"login":7}}]"#, "[0].user.login");
        told(r#"[{"user":{"login":null}}]"#, "[0].user.login");
        told(r#"[{"user":{"login":{"a":1}}}]"#, "[0].user.login");
        told(r#"[{"user":{"login":[1]}}]"#, "[0].user.login");
        told(r#"[{"user":"x"}]"#, "[0].user");
        told(
            "[{\"user\":{\"login\":\"a\"}},\n {\"user\":{\n\"login\":false}}]",
            "[1].user.login",
        );
        told(
            r#"[{"user":{"login":"a,\"}"},"labels":[1,2,"three"]}]"#,
            "[0].labels[2]",
        );
        told(
            r#"[{"user":{"login":"a"},"labels":[1,2,-3, 4]}]"#,
            "[0].labels[2]",
        );
        told(r#"[{"user":{"login":"a"},"size":7}]"#, "[0].size");
        told(r#"[{"size":7,"user":{"login":"a"}}]"#, "[0].size");
    }

    #[test]
    fn what_is_missing_is_missing_in_its_object() {
        told(r#"[null, {"user":{"name":"a"}}]"#, "[1].user");
        told(r#"[{"labels":[]}]"#, "[0]");
    }

    #[test]
    fn no_json_has_no_field() {
        assert!(fault("<html>").starts_with("expected value at line 1"));
        assert!(fault("").starts_with("EOF"));
        told(r#"[{"user":{"login":"a"#, "[0].user.login");
        told("[{\"us\u{1b}er\":", "[0].user");
    }
}
