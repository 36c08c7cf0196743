//! The rules of the source tree that no compiler checks

mod arrows;
mod deps;
mod files;
mod modules;
mod promises;
mod tools;
mod variables;
mod words;

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use serde_json::Value;

/// The folder of the workspace
pub(crate) fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        here.ancestors().nth(2).unwrap().to_owned()
    });
    &ROOT
}

/// Every file of the project, relative to the root; a source archive is walked instead
fn project_files() -> Vec<PathBuf> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root())
        .output();
    if let Ok(output) = listed
        && output.status.success()
        && root().join(".git").exists()
    {
        return String::from_utf8(output.stdout)
            .unwrap()
            .split_terminator('\0')
            .map(PathBuf::from)
            // Deleted, but not yet for git.
            .filter(|path| root().join(path).is_file())
            .collect();
    }
    walk(root())
}

fn walk(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if entry.file_type().unwrap().is_dir() {
            if !["target", ".git", "node_modules"]
                .iter()
                .any(|skip| name == *skip)
            {
                found.extend(walk(&entry.path()));
            }
        } else {
            found.push(entry.path().strip_prefix(root()).unwrap().to_owned());
        }
    }
    found
}

fn rust_files() -> Vec<PathBuf> {
    let rust = |path: &PathBuf| path.extension().is_some_and(|e| e == "rs");
    project_files().into_iter().filter(rust).collect()
}

/// A file that holds nothing but tests
fn is_test(path: &Path) -> bool {
    path.iter()
        .any(|part| part == "tests" || part == "tests.rs")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The lines of a source file before its tests; tests in a file of their own end nothing
fn before_tests(source: &str) -> Vec<&str> {
    let lines: Vec<&str> = source.lines().collect();
    let end = lines
        .windows(2)
        .position(|two| two[0].trim() == "#[cfg(test)]" && two[1].trim() == "mod tests {")
        .unwrap_or(lines.len());
    lines[..end].to_vec()
}

#[test]
fn code_ends_where_its_tests_begin() {
    let source = "a\n#[cfg(test)]\nmod tests;\n// b\nc\n#[cfg(test)]\nmod tests {\nd\n}";
    assert_eq!(code(source), ["a", "#[cfg(test)]", "mod tests;", "c"]);
}

/// The lines of a source file before its tests, without comments
fn code(source: &str) -> Vec<&str> {
    before_tests(source)
        .into_iter()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect()
}

/// The packages of the workspace as cargo sees them
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Fail with all that was found, not with the first
fn report(rule: &str, found: &[String]) {
    assert!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
}
