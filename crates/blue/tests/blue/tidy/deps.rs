//! Dependencies have a reason and a use

use std::{collections::BTreeSet, path::Path};

use super::{packages, read, report, root, rust_files};

#[test]
fn every_dependency_has_a_line_that_says_why() {
    let page = read(Path::new("docs/deps.md"));
    let described: BTreeSet<String> = page
        .lines()
        .take_while(|line| !line.starts_with("## Looked at"))
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .map(str::to_owned)
        .collect();
    let used: BTreeSet<String> = packages()
        .iter()
        .flat_map(|package| package["dependencies"].as_array().unwrap().clone())
        .filter(|dep| dep["path"].is_null())
        .map(|dep| dep["name"].as_str().unwrap().to_owned())
        .collect();
    let missing = used
        .difference(&described)
        .map(|name| format!("{name} has no line"));
    let stale = described
        .difference(&used)
        .map(|name| format!("{name} is not used"));
    report("docs/deps.md", &missing.chain(stale).collect::<Vec<_>>());
}

#[test]
fn every_dependency_is_used() {
    let files: Vec<_> = rust_files()
        .into_iter()
        .map(|path| (read(&path), path))
        .collect();
    let mut found = Vec::new();
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        let folder = format!("crates/{name}");
        // An example or a bench may lie outside of the crate's folder.
        let targets: Vec<_> = package["targets"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|target| Path::new(target["src_path"].as_str()?).canonicalize().ok())
            .collect();
        for dep in package["dependencies"].as_array().unwrap() {
            let dep_name = dep["rename"].as_str().or(dep["name"].as_str()).unwrap();
            let word = dep_name.replace('-', "_");
            let dev = dep["kind"].as_str() == Some("dev");
            let used = files.iter().any(|(source, path)| {
                let place = path.starts_with(&folder)
                    && (dev || !path.starts_with(format!("{folder}/tests")));
                let target = root()
                    .join(path)
                    .canonicalize()
                    .is_ok_and(|p| targets.contains(&p));
                (place || target) && says(source, &word)
            });
            if !used {
                found.push(format!("{name}: {dep_name}"));
            }
        }
    }
    report("in Cargo.toml, but not in the code", &found);
}

/// A path (`word::`), an import or an attribute that names the crate
fn says(source: &str, word: &str) -> bool {
    source.match_indices(word).any(|(at, _)| {
        let before = source[..at].chars().next_back();
        let after = &source[at + word.len()..];
        before.is_none_or(|c| !(c.is_alphanumeric() || c == '_'))
            && (after.starts_with("::") || after.starts_with(';') || after.starts_with('!'))
    })
}
