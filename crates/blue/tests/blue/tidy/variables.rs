//! Every variable of the environment is on a list that people can read

use std::{collections::BTreeSet, path::Path};

use super::{code, is_test, project_files, read, report, rust_files};

/// Files that may ask the process for its environment
const READERS: &[&str] = &["crates/blue/src/env.rs", "crates/blue-testkit/src/env.rs"];

#[test]
fn the_environment_is_read_in_one_file() {
    let mut found = Vec::new();
    for path in rust_files() {
        let shipped = path.starts_with("crates") && path.iter().any(|part| part == "src");
        if !shipped || READERS.iter().any(|reader| path == Path::new(reader)) {
            continue;
        }
        for line in code(&read(&path)) {
            let asks = ["env::var", "env::current_dir", "env::home_dir"];
            if asks.iter().any(|word| line.contains(word)) {
                found.push(format!("{}: {}", path.display(), line.trim()));
            }
        }
    }
    report("only env.rs reads the environment", &found);
}

#[test]
fn every_variable_that_is_named_is_documented() {
    let pages = read(Path::new("docs/configuration.md")) + &read(Path::new("CONTRIBUTING.md"));
    let mut found = BTreeSet::new();
    for path in rust_files()
        .iter()
        .filter(|path| path.starts_with("crates"))
    {
        // Tests speak of variables that are made up.
        if is_test(path) || path.file_name().unwrap() == "build.rs" {
            continue;
        }
        for line in code(&read(path)) {
            let names = line
                .split('"')
                .skip(1)
                .step_by(2)
                .filter(|text| is_variable(text));
            for name in names.filter(|name| !pages.contains(&format!("`{name}`"))) {
                found.insert(format!("{}: {name}", path.display()));
            }
        }
    }
    for path in project_files() {
        let script =
            path.starts_with("e2e") || path.starts_with(".ci") || path.ends_with("Makefile");
        let Some(text) = script.then(|| std::fs::read_to_string(super::root().join(&path)).ok())
        else {
            continue;
        };
        for name in text
            .unwrap_or_default()
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        {
            if name.starts_with("BLUE_") && !pages.contains(&format!("`{name}`")) {
                found.insert(format!("{}: {name}", path.display()));
            }
        }
    }
    report(
        "in docs/configuration.md (made from env.rs), or for tests in CONTRIBUTING.md",
        &found.into_iter().collect::<Vec<_>>(),
    );
}

fn is_variable(text: &str) -> bool {
    let upper = text
        .chars()
        .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    // Built in by build.rs, not read when the program runs.
    let built_in = text.starts_with("BLUE_BUILD_") || text.starts_with("CARGO_");
    let ends = ["_TOKEN", "_TOKEN_FILE", "_URL", "_PROXY"];
    let whole = !text.starts_with('_') && !text.ends_with('_');
    upper
        && whole
        && !built_in
        && (text.starts_with("BLUE_") || ends.iter().any(|end| text.ends_with(end)))
}
