//! No file of Rust is forgotten

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{packages, project_files, read, report, root, rust_files};

#[test]
fn every_source_file_is_a_module_of_something() {
    let mut reached = BTreeSet::new();
    for package in packages() {
        for target in package["targets"].as_array().unwrap() {
            let path = Path::new(target["src_path"].as_str().unwrap());
            reach(path.strip_prefix(root()).unwrap(), true, &mut reached);
        }
    }
    let found: Vec<_> = rust_files()
        .into_iter()
        .filter(|path| path.starts_with("crates") && !reached.contains(path))
        .map(|path| path.display().to_string())
        .collect();
    report("declared with `mod`", &found);
}

#[test]
fn a_crate_has_one_test_binary() {
    let mut found = Vec::new();
    for package in packages() {
        let tests: Vec<_> = package["targets"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|target| target["kind"][0] == "test")
            .map(|target| target["name"].as_str().unwrap().to_owned())
            .collect();
        if tests.len() > 1 {
            found.push(format!("{}: {}", package["name"], tests.join(", ")));
        }
    }
    report("tests/<name>/main.rs", &found);
}

#[test]
fn every_fuzz_target_is_declared() {
    let found: Vec<_> = project_files()
        .iter()
        .filter(|path| path.starts_with("fuzz/fuzz_targets"))
        .map(|path| path.strip_prefix("fuzz").unwrap().display().to_string())
        .filter(|name| !read(Path::new("fuzz/Cargo.toml")).contains(name.as_str()))
        .collect();
    report("fuzz/Cargo.toml", &found);
}

/// Follow the `mod name;` lines of a file
fn reach(file: &Path, is_root: bool, reached: &mut BTreeSet<PathBuf>) {
    if !root().join(file).is_file() || !reached.insert(file.to_owned()) {
        return;
    }
    let folder = file.parent().unwrap();
    let stem = file.file_stem().unwrap();
    let children = if is_root || stem == "mod" {
        folder.to_owned()
    } else {
        folder.join(stem)
    };
    let mut elsewhere = None;
    for line in read(file).lines().map(str::trim) {
        if let Some(path) = line.strip_prefix("#[path = \"") {
            elsewhere = path.split('"').next().map(|path| folder.join(path));
        } else if let Some(name) = declared(line) {
            if let Some(path) = elsewhere.take() {
                reach(&path, true, reached);
            } else {
                reach(&children.join(format!("{name}.rs")), false, reached);
                reach(&children.join(name).join("mod.rs"), false, reached);
            }
        }
    }
}

/// `name` of `pub(crate) mod name;`
fn declared(line: &str) -> Option<&str> {
    let line = line.strip_suffix(';')?;
    let (visibility, name) = match line.strip_prefix("mod ") {
        Some(name) => ("", name),
        None => line.split_once(" mod ")?,
    };
    let word = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (word && (visibility.is_empty() || visibility.starts_with("pub"))).then_some(name)
}
