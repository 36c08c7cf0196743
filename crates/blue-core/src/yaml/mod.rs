//! YAML files that people write too: read, and added to without touching their text

mod edit;
mod file;

pub(crate) use edit::{add_child, append_block};
pub(crate) use file::{ReadError, read_small, replace};
use serde::de::DeserializeOwned;

/// Where and why a text is not what it should be; never quotes the text itself
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) line: Option<u64>,
    pub(crate) message: String,
}

pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    serde_saphyr::from_str(text).map_err(|e| {
        let e = e.without_snippet();
        let message = crate::text::clean_line(&e.to_string());
        // The place is told once, by whoever shows the fault.
        let message = match message.rsplit_once(" at line ") {
            Some((what, place)) if !place.contains(char::is_alphabetic) => what.to_owned(),
            Some((what, place)) if place.split(", column ").count() == 2 => what.to_owned(),
            _ => message,
        };
        Fault {
            line: e.location().map(|l| l.line()),
            message,
        }
    })
}
