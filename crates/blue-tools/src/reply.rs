//! The envelope of an answer, put on in one place

use blue_base::text;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{ErrorCode, Page, ToolError, Verdict};

/// Largest result of a call as an MCP client gets it, with everything that is around the answer
pub const MAX_RESULT: usize = 60_000;
/// Largest answer with its notes, counted as [`bytes`] does
///
/// A result has it twice, as an object and as that object's text; both count, as they travel.
pub const MAX_ANSWER_BYTES: usize = MAX_RESULT - ENVELOPE;
/// Largest answer of a tool, before its notes are added
pub const MAX_BYTES: usize = MAX_ANSWER_BYTES - MAX_NOTES_BYTES;
/// Room for what is around the two copies
const ENVELOPE: usize = 500;
/// Room for the `notes` of an answer, counted as [`bytes`] does
const MAX_NOTES_BYTES: usize = 3_000;
/// Longest note; a name that a clone or a forge chose may be in it
const MAX_NOTE_BYTES: usize = 450;
/// What [`bytes`] counts for `,"notes":[]`
const NOTES_KEY_BYTES: usize = 24;
/// Most advice in one answer
const MAX_STEPS: usize = 5;

/// What a tool found, and what to do next
#[derive(Debug)]
pub struct Reply<T> {
    pub result: T,
    pub next_steps: Vec<String>,
    /// In place of a page, where bytes are wanted
    pub bytes: Option<Vec<u8>>,
}

impl<T> From<T> for Reply<T> {
    fn from(result: T) -> Self {
        Self {
            result,
            next_steps: Vec::new(),
            bytes: None,
        }
    }
}

impl<T> Reply<T> {
    /// Give the bytes themselves in place of a page
    #[must_use]
    pub fn with_bytes(mut self, bytes: Vec<u8>) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Advise a step; it names the tool that does it
    #[must_use]
    pub fn next(mut self, step: impl Into<String>) -> Self {
        if self.next_steps.len() < MAX_STEPS {
            self.next_steps.push(step.into());
        }
        self
    }

    /// Advise a step where it makes sense
    #[must_use]
    pub fn next_if(self, sensible: bool, step: impl Into<String>) -> Self {
        if sensible { self.next(step) } else { self }
    }
}

/// An answer with the type of its tool taken off
#[derive(Debug)]
pub struct Answer {
    pub json: Map<String, Value>,
    pub page: Page,
    pub verdict: Verdict,
    pub next_steps: Vec<String>,
    /// What was noticed; also in `json`
    pub notes: Vec<String>,
    /// In place of the page
    pub bytes: Option<Vec<u8>>,
}

/// Fields of an answer beside those of its tool and its `next_steps`
#[derive(Debug, Default)]
pub(crate) struct Envelope {
    /// The repository that a write went to
    pub(crate) repository: Option<String>,
    pub(crate) notes: Vec<String>,
}

impl<T: Serialize> Reply<T> {
    /// Lay it out flat: the fields of the result, `repository`, `next_steps`, `notes`
    pub(crate) fn json(&self, envelope: &Envelope) -> Result<Map<String, Value>, ToolError> {
        let internal = |what: &str| ToolError::new(ErrorCode::Internal, what.to_owned());
        let value = serde_json::to_value(&self.result)
            .map_err(|e| internal("the answer cannot be written").with_source(e))?;
        let Value::Object(mut fields) = value else {
            return Err(internal("the answer is not an object"));
        };
        if let Some(repository) = &envelope.repository {
            fields.insert("repository".to_owned(), repository.clone().into());
        }
        if !self.next_steps.is_empty() {
            fields.insert("next_steps".to_owned(), self.next_steps.clone().into());
        }
        fields.iter_mut().for_each(|(key, value)| clean(key, value));
        let size = bytes(&fields);
        if size > MAX_BYTES {
            return Err(ToolError::new(
                ErrorCode::TooLarge,
                format!("the answer has {size} bytes, more than the {MAX_BYTES} a caller is sent"),
            )
            .with_hint("ask for less: a smaller `limit`, fewer `lines`, a folder further down"));
        }
        let notes = cut_notes(&envelope.notes);
        if !notes.is_empty() {
            fields.insert("notes".to_owned(), notes.into());
        }
        Ok(fields)
    }
}

/// Returns the notes as they are sent: nothing hidden in them, each cut, and only those that fit
pub(crate) fn cut_notes(notes: &[String]) -> Vec<String> {
    let cut = |note: &String| {
        let note = text::clean_line(&text::reveal(note));
        match note.floor_char_boundary(MAX_NOTE_BYTES) {
            end if end < note.len() => format!("{}…", &note[..end]),
            _ => note,
        }
    };
    let mut notes: Vec<String> = notes.iter().map(cut).collect();
    fit(&mut notes, MAX_NOTES_BYTES - NOTES_KEY_BYTES);
    notes
}

/// Bytes that it takes in a result: as compact JSON, and once more as that put into a JSON string,
/// where each quote and backslash is two bytes
pub fn bytes(value: &impl Serialize) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |text| {
        let escaped = text.iter().filter(|byte| matches!(byte, b'"' | b'\\'));
        2 * text.len() + escaped.count()
    })
}

/// Keep as many rows as fit into `budget` of [`bytes`]; how many were left out
pub fn fit<T: Serialize>(rows: &mut Vec<T>, budget: usize) -> usize {
    let mut used = 0;
    let fits = rows
        .iter()
        .take_while(|row| {
            used += bytes(row) + 2;
            used <= budget
        })
        .count();
    let cut = rows.len() - fits;
    rows.truncate(fits);
    cut
}

/// Fields with what people wrote for people; the rest are names, or texts that name something
const PROSE: &[&str] = &["body", "content", "description", "log", "open", "title"];

/// What a forge sends is data: nothing hidden may reach a model or a terminal
///
/// From prose it is taken out. In a name it is written out: without it, it would be another's name.
fn clean(key: &str, value: &mut Value) {
    match value {
        Value::String(text) => {
            *text = if PROSE.contains(&key) {
                text::clean(text)
            } else {
                text::reveal(text)
            };
        }
        Value::Array(items) => items.iter_mut().for_each(|item| clean(key, item)),
        Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| clean(key, value)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Out {
        title: String,
        rows: Vec<String>,
    }

    #[test]
    fn an_answer_is_flat_and_has_nothing_hidden() {
        let reply = Reply::from(Out {
            title: "a\u{200b}b\u{1b}[1m".to_owned(),
            rows: vec!["main".to_owned(), "ma\u{200b}in".to_owned()],
        })
        .next("Merge `ma\u{200b}in` with pr_merge");
        let envelope = Envelope {
            repository: Some("acme/site".to_owned()),
            notes: vec!["`\u{200b}main` is meant\n".to_owned()],
        };
        let json = Value::Object(reply.json(&envelope).unwrap());
        assert_eq!(
            json,
            serde_json::json!({
                "title": "ab[1m", "rows": ["main", r"ma\u{200b}in"],
                "repository": "acme/site",
                "next_steps": [r"Merge `ma\u{200b}in` with pr_merge"],
                "notes": [r"`\u{200b}main` is meant"],
            })
        );
    }

    #[test]
    fn advice_is_bounded_and_large_answers_are_refused() {
        let mut reply = Reply::from(Out {
            title: String::new(),
            rows: vec!["x".repeat(1000); 40],
        });
        for _ in 0..9 {
            reply = reply.next("Look with repo_status");
        }
        assert_eq!(reply.next_steps.len(), MAX_STEPS);
        let plain = Envelope::default();
        assert_eq!(reply.json(&plain).unwrap_err().code, ErrorCode::TooLarge);
        let cut = fit(&mut reply.result.rows, 20_100);
        assert_eq!((reply.result.rows.len(), cut), (10, 30));
        assert!(reply.json(&plain).is_ok());
    }

    #[test]
    fn notes_of_any_length_fit_beside_the_largest_answer() {
        let mut reply = Reply::from(Out {
            title: String::new(),
            rows: vec!["x".repeat(1000); 60],
        });
        fit(&mut reply.result.rows, MAX_BYTES - 100);
        let envelope = Envelope {
            repository: None,
            notes: vec!["\"".repeat(9_000), "é".repeat(9_000), "short".to_owned()],
        };
        let json = reply.json(&envelope).unwrap();
        assert!(bytes(&json) <= MAX_ANSWER_BYTES, "{}", bytes(&json));
        assert!(json["notes"].as_array().is_some_and(|n| !n.is_empty()));
    }

    #[test]
    fn an_answer_is_counted_as_it_is_sent() {
        let out = serde_json::json!({"text": "a \"quoted\" line\n\tand a \\"});
        let text = serde_json::to_string(&out.to_string()).unwrap();
        assert_eq!(bytes(&out), out.to_string().len() + text.len() - 2);
    }
}
