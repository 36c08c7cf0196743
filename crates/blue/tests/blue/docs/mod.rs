//! Pages that are made from the program and its tools, and must not be stale

mod cli;
mod readme;
mod tools;

use crate::tidy::root;

/// The words of a line as a shell sees them
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c == ' ' => words.push(String::new()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Hold a page against the file, or write the file where that is asked for
fn fresh(name: &str, page: &str) {
    let path = root().join("docs").join(name);
    if update() {
        std::fs::write(&path, page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == written,
        "docs/{name} is stale: run `BLUE_UPDATE=1 cargo test -p blue`"
    );
}

#[expect(clippy::disallowed_methods, reason = "the switch of this test run")]
fn update() -> bool {
    std::env::var("BLUE_UPDATE").is_ok_and(|value| !value.is_empty())
}
