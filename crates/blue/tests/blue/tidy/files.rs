//! Sizes, names and modes of files

use super::{before_tests, is_test, project_files, read, report, root, rust_files};

const MAX_LINES: usize = 600;
/// A file of tests is a list that is read in parts
const MAX_TEST_LINES: usize = 1000;

#[test]
fn no_file_is_too_long() {
    let mut found = Vec::new();
    for path in rust_files() {
        let lines = before_tests(&read(&path)).len();
        let max = if is_test(&path) {
            MAX_TEST_LINES
        } else {
            MAX_LINES
        };
        if lines > max {
            found.push(format!(
                "{}: {lines} lines before its tests",
                path.display()
            ));
        }
    }
    report("a file has at most 600 lines", &found);
}

#[test]
fn no_file_is_a_drawer() {
    let drawers = ["utils", "util", "helpers", "helper", "common", "manager"];
    let found: Vec<_> = rust_files()
        .iter()
        .filter(|path| {
            path.iter().any(|part| {
                let part = part.to_string_lossy();
                drawers.contains(&part.trim_end_matches(".rs"))
            })
        })
        .map(|path| path.display().to_string())
        .collect();
    report("names say what is inside", &found);
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let mut found = Vec::new();
    for path in project_files() {
        let member = path.starts_with("crates") && path.ends_with("Cargo.toml");
        if member && !read(&path).contains("[lints]\nworkspace = true") {
            found.push(path.display().to_string());
        }
    }
    report("`[lints] workspace = true`", &found);
}

#[test]
fn the_name_of_a_record_shows_its_state() {
    let states = [
        "draft",
        "wip",
        "accepted",
        "implemented",
        "superseded",
        "rejected",
    ];
    let mut found = Vec::new();
    for path in project_files() {
        let Ok(name) = path.strip_prefix("docs/rfcs") else {
            continue;
        };
        let name = name.to_str().unwrap();
        let parts: Vec<&str> = name.split('.').collect();
        let good = parts.len() == 3
            && parts[0].len() > 5
            && parts[0].as_bytes()[..4].iter().all(u8::is_ascii_digit)
            && parts[0].as_bytes()[4] == b'-'
            && states.contains(&parts[1])
            && parts[2] == "md";
        let inside = format!("| Status | {} |", parts.get(1).unwrap_or(&""));
        if !good || !read(&path).to_lowercase().contains(&inside.to_lowercase()) {
            found.push(name.to_owned());
        }
    }
    report(
        "docs/rfcs/NNNN-title.<state>.md, with the same state inside",
        &found,
    );
}

#[test]
#[cfg(unix)]
fn scripts_can_be_run() {
    use std::os::unix::fs::PermissionsExt;

    let mut found = Vec::new();
    for path in project_files() {
        let Ok(bytes) = std::fs::read(root().join(&path)) else {
            continue;
        };
        let mode = root().join(&path).metadata().unwrap().permissions().mode();
        // What is below `src` is taken into the program, not run from here.
        if path.iter().any(|part| part == "src") {
            continue;
        }
        if bytes.starts_with(b"#!/") && mode & 0o111 == 0 {
            found.push(path.display().to_string());
        }
    }
    report("a file with `#!` is executable", &found);
}
