//! Words that must not be in the tree

use super::{project_files, report, root};

/// Folders of a developer's machine, in two halves so that this file does not find itself
const PLACES: &[(&str, &str)] = &[
    ("/home", "/"),
    ("/Users", "/"),
    ("/root", "/"),
    ("/work", "/"),
    ("C:\\", "Users"),
];

/// A place that is part of what a file is about
const ALLOWED: &[(&str, &str)] = &[];

#[test]
fn no_path_of_a_developers_machine() {
    let mut found = Vec::new();
    for path in project_files() {
        let Ok(text) = std::fs::read_to_string(root().join(&path)) else {
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            for place in PLACES.iter().map(|(a, b)| format!("{a}{b}")) {
                let absolute = line.match_indices(&place).any(|(at, _)| {
                    let before = line[..at].chars().next_back();
                    before.is_none_or(|c| !(c.is_alphanumeric() || "._-~}>*".contains(c)))
                });
                let allowed = ALLOWED
                    .iter()
                    .any(|(file, part)| path.ends_with(file) && line.contains(part));
                if absolute && !allowed {
                    found.push(format!("{}:{}: {place}", path.display(), number + 1));
                }
            }
        }
    }
    report("no path of a developer's machine", &found);
}

#[test]
fn nothing_is_left_half_done() {
    let words = ["todo!", "unimplemented!", "FIXME", "XXX "];
    let mut found = Vec::new();
    for path in super::rust_files() {
        if path.ends_with("tidy/words.rs") {
            continue;
        }
        for (number, line) in super::read(&path).lines().enumerate() {
            if words.iter().any(|word| line.contains(word)) {
                found.push(format!(
                    "{}:{}: {}",
                    path.display(),
                    number + 1,
                    line.trim()
                ));
            }
        }
    }
    report("nothing half done", &found);
}
