//! YAML files that people write too: read, and added to without touching their text

mod edit;
mod file;

pub use edit::{add_child, append_block, replace_block};
pub use file::{ReadError, read_small, replace};
use serde::de::DeserializeOwned;

/// Where and why a text is not what it should be; never quotes the text itself
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub line: Option<u64>,
    pub message: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Read a text
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    serde_saphyr::from_str(text).map_err(|e| {
        let e = e.without_snippet();
        let message = crate::text::clean_line(&e.to_string());
        // The position is cut off here: the caller prints it from the fields of the error.
        let message = match message.rsplit_once(" at line ") {
            Some((what, place)) if !place.contains(char::is_alphabetic) => what.to_owned(),
            Some((what, place)) if place.split(", column ").count() == 2 => what.to_owned(),
            _ => message,
        };
        let message = advice_to_programmers(message);
        Fault {
            line: e.location().map(|l| l.line()),
            message,
        }
    })
}

/// Leave out what the parser says to those who call it, not to those who wrote the text
fn advice_to_programmers(message: String) -> String {
    if message.starts_with("budget breached") {
        return "its anchors and aliases make it too large".to_owned();
    }
    if message.starts_with("multiple YAML documents") {
        return "there is more than one document (`---`) in it".to_owned();
    }
    match message.split_once(", set DuplicateKeyPolicy") {
        Some((what, _)) => what.to_owned(),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde::de::IgnoredAny;

    use super::*;

    #[test]
    fn faults_are_for_those_who_wrote_the_text() {
        let told = |text: &str| parse::<IgnoredAny>(text).unwrap_err().message;
        let twice = parse::<std::collections::BTreeMap<String, u8>>("a: 1\na: 2\n").unwrap_err();
        assert_eq!(twice.message, "duplicate mapping key: a");
        assert_eq!(twice.line, Some(2));
        let documents = told("a: 1\n---\nb: 2\n");
        assert_eq!(documents, "there is more than one document (`---`) in it");
        let mut bomb = "a0: &a0 [x]\n".to_owned();
        for n in 1..9 {
            let below = vec![format!("*a{}", n - 1); 9].join(",");
            let _ = writeln!(bomb, "a{n}: &a{n} [{below}]");
        }
        let bomb = told(&bomb);
        assert_eq!(bomb, "its anchors and aliases make it too large");
    }
}
