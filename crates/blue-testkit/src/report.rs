//! Which behaviours ran on which back end, and which were skipped

use std::{
    collections::HashSet,
    fmt,
    fs::OpenOptions,
    io::Write as _,
    path::Path,
    sync::{Mutex, PoisonError},
};

/// A part that cannot run here
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    pub why: String,
}

impl Skip {
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into() }
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "skipped: {}", self.why)
    }
}

impl std::error::Error for Skip {}

/// Say once per part, past libtest's capture, that it is skipped
pub(crate) fn say_once(part: &str, skip: &Skip) {
    static SAID: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let line = format!("{part}: {skip}\n");
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.get_or_insert_default().insert(line.clone()) {
        // A closed stderr must not fail the test.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}

/// Append `contract BACKEND BEHAVIOUR OUTCOME` to the report
pub(crate) fn append(report: Option<&Path>, backend: &str, behaviour: &str, outcome: &str) {
    let Some(path) = report else { return };
    let line = format!("contract {backend} {behaviour} {outcome}\n");
    // One write of a short line in append mode: lines of parallel tests never mix.
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .unwrap_or_else(|e| panic!("the report `{}` cannot be written: {e}", path.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_one_line_each() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("report");
        append(Some(&file), "gitea", "merge::squash", "ok");
        append(
            Some(&file),
            "forgejo",
            "merge::squash",
            "skipped: no such program",
        );
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            "contract gitea merge::squash ok\n\
             contract forgejo merge::squash skipped: no such program\n"
        );
    }
}
