//! What `docs/security.md` promises is kept by tests that exist

use std::path::Path;

use super::{code, is_test, read, report, rust_files};

/// Names of tests in a page: `module::test`, in backticks, in a table
fn named(page: &str) -> Vec<(&str, &str)> {
    let rows = page.lines().filter(|line| line.starts_with('|'));
    rows.flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter_map(|name| name.split_once("::"))
        .collect()
}

#[test]
fn every_promise_is_kept_by_a_test() {
    let page = read(Path::new("docs/security.md"));
    let names = named(&page);
    assert!(names.len() > 60, "{}", names.len());
    let sources: Vec<_> = rust_files()
        .into_iter()
        .map(|path| (read(&path), path))
        .collect();
    let is_listed = |test: &str| {
        let line = format!("\n    {test},\n");
        let holds = |source: &str| source.contains("on_both!(") && source.contains(&line);
        sources.iter().any(|(source, _)| holds(source))
    };
    let is_there = |(module, test): &(&str, &str)| {
        sources.iter().any(|(source, path)| {
            let of_module = path.iter().any(|part| {
                let part = part.to_string_lossy();
                part.strip_suffix(".rs").unwrap_or(&part) == *module
            });
            let Some((before, _)) = source.split_once(&format!("fn {test}(")) else {
                return false;
            };
            // A test by its attribute, or one of a list that is run on every database.
            let attributed = before.rfind("#[").is_some_and(|at| {
                let since = &before[at..];
                since.lines().count() <= 2 && (since.contains("test") || since.contains("ignore"))
            });
            of_module && (attributed || is_listed(test))
        })
    };
    let gone = |name: &&(&str, &str)| !is_there(name);
    let found: Vec<_> = names.iter().filter(gone).collect();
    let found: Vec<_> = found.iter().map(|(m, t)| format!("{m}::{t}")).collect();
    report("docs/security.md names tests that do not exist", &found);
}

#[test]
fn every_row_of_promises_names_a_test() {
    let page = read(Path::new("docs/security.md"));
    let tables = page.split("| promise | kept by |").skip(1);
    let mut found = Vec::new();
    for table in tables {
        let rows = table
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with('|'));
        let bare = rows.filter(|row| named(row).is_empty());
        found.extend(bare.map(str::to_owned));
    }
    report("a promise without a test", &found);
}

#[test]
fn secrets_are_compared_in_a_time_that_tells_nothing() {
    const SECRETS: &[&str] = &[
        "hash",
        "secret",
        "token",
        "cookie",
        "verifier",
        "challenge",
        "code",
    ];
    // Compares two settings of the admin; no request carries either.
    const KNOWN: &[&str] = &["&& row.secret == client.secret"];
    let mut found = Vec::new();
    for path in rust_files() {
        if !path.starts_with("crates/blue-broker/src") || is_test(&path) {
            continue;
        }
        for line in code(&read(&path)) {
            let line = line.trim();
            let sides = line.split_once(" == ").or_else(|| line.split_once(" != "));
            let Some((left, right)) = sides.filter(|_| !KNOWN.contains(&line)) else {
                continue;
            };
            let last = |text: &str| {
                let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
                text.trim_end_matches(['(', ')', '?'])
                    .rsplit(word)
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            };
            let right = right.split([' ', ')']).next().unwrap_or_default();
            let secret = |side: &str| SECRETS.contains(&last(side).as_str());
            // What is compared with a word of the program is no secret.
            let word = right.starts_with('"') || right.starts_with("Some(\"");
            if (secret(left) || secret(right)) && !word {
                found.push(format!("{}: {line}", path.display()));
            }
        }
    }
    report("use `TokenHash::matches`", &found);
    for (path, call) in [
        ("crates/blue-base/src/secret.rs", ".ct_eq("),
        (
            "crates/blue-broker/src/token.rs",
            "constant_time_eq(self.0, ",
        ),
        (
            "crates/blue-mcp/src/http/guard.rs",
            "constant_time_eq(secret.expose(), ",
        ),
    ] {
        assert!(read(Path::new(path)).contains(call), "{path}: {call}");
    }
}
