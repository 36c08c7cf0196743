//! One tool is one file

use std::collections::BTreeSet;

use blue_tools::tools::ALL;

use super::{report, root};

/// Names of the modules in a folder: `name.rs` and `name/`
fn modules(folder: &str) -> BTreeSet<String> {
    let entries = root().join(folder).read_dir().unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|name| name != "mod" && name != "main")
        .collect()
}

#[test]
fn every_file_of_a_tool_is_served() {
    let names: BTreeSet<String> = ALL.iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names.len(), ALL.len(), "a name is used twice");
    let files = modules("crates/blue-tools/src/tools");
    let lost: Vec<_> = files.symmetric_difference(&names).cloned().collect();
    report("src/tools/<name>.rs, and its line in ALL", &lost);
}

#[test]
fn every_tool_has_tests_of_its_own() {
    let tests = modules("crates/blue-tools/tests/tools");
    let bare: Vec<_> = ALL
        .iter()
        .map(|tool| tool.name().to_owned())
        .filter(|name| !tests.contains(name))
        .collect();
    report("tests/tools/<name>.rs", &bare);
}

#[test]
fn a_tool_leaves_no_other_trace() {
    let mut found = Vec::new();
    for path in super::rust_files() {
        let others = [
            "crates/blue-base/src",
            "crates/blue-forge/src",
            "crates/blue/src",
        ];
        // What a model is told at the start is about the way, so it names its stations.
        let instructions = path.ends_with("mcp/toolbox.rs");
        if instructions
            || super::is_test(&path)
            || !others.iter().any(|folder| path.starts_with(folder))
        {
            continue;
        }
        for line in super::code(&super::read(&path)) {
            for tool in ALL {
                // A tool's name as a word of code, not of advice.
                if line.contains(&format!("\"{}\"", tool.name())) {
                    found.push(format!("{}: {}", path.display(), line.trim()));
                }
            }
        }
    }
    report("a tool is known by its line in ALL alone", &found);
}
