//! Which crate may know which

use std::path::Path;

use super::{code, is_test, packages, read, report, rust_files};

/// A crate, what it may not depend on, and what its code may not say
struct Rule {
    name: &'static str,
    not_deps: &'static [&'static str],
    not_code: &'static [&'static str],
}

/// Stdout belongs to the program, and so does the environment
const LIBRARY: &[&str] = &[
    "println!",
    "print!(",
    "eprintln!",
    "eprint!(",
    "dbg!(",
    "std::env::",
    "env::var",
    "io::stdout",
    "io::stdin",
    "process::exit",
];

/// A tool asks a forge through its `Cx`: no program, port, client or task of its own
const TOOLS: &[&str] = &[
    "println!",
    "print!(",
    "eprintln!",
    "eprint!(",
    "dbg!(",
    "std::env::",
    "env::var",
    "io::stdout",
    "io::stdin",
    "process::",
    "tokio::net",
    "std::net",
    "tokio::spawn",
    "thread::spawn",
    "Forgejo::new",
    "GitHub::new",
];

const RULES: &[Rule] = &[
    Rule {
        name: "blue-core",
        not_deps: &[
            "clap",
            "rmcp",
            "axum",
            "blue-tools",
            "blue-broker",
            "blue-sandbox",
            "blue",
        ],
        not_code: LIBRARY,
    },
    Rule {
        name: "blue-tools",
        not_deps: &[
            "rmcp",
            "axum",
            "hyper",
            "reqwest",
            "rusqlite",
            "blue-broker",
            "blue-sandbox",
            "blue",
        ],
        not_code: TOOLS,
    },
    Rule {
        name: "blue-broker",
        not_deps: &["blue-tools", "blue-sandbox", "blue"],
        not_code: LIBRARY,
    },
    Rule {
        name: "blue-sandbox",
        not_deps: &["clap", "rmcp", "blue-tools", "blue-broker", "blue"],
        not_code: LIBRARY,
    },
    Rule {
        name: "blue-testkit",
        not_deps: &["blue", "blue-tools", "blue-broker"],
        not_code: &[],
    },
    Rule {
        name: "blue",
        not_deps: &[],
        not_code: &[],
    },
];

#[test]
fn crates_depend_only_on_what_they_may_know() {
    let mut found = Vec::new();
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        let Some(rule) = RULES.iter().find(|rule| rule.name == name) else {
            found.push(format!("{name} has no rule here"));
            continue;
        };
        for dep in package["dependencies"].as_array().unwrap() {
            let dep_name = dep["name"].as_str().unwrap();
            let shipped = dep["kind"].as_str() != Some("dev");
            if shipped && rule.not_deps.contains(&dep_name) {
                found.push(format!("{name} depends on {dep_name}"));
            }
            if shipped && dep_name == "blue-testkit" {
                found.push(format!("{name} ships blue-testkit"));
            }
        }
    }
    report("crate arrows", &found);
}

#[test]
fn libraries_print_nothing_and_read_no_environment() {
    let mut found = Vec::new();
    for path in rust_files() {
        let Some(rule) = RULES.iter().find(|r| in_src(&path, r.name)) else {
            continue;
        };
        for line in code(&read(&path)) {
            for word in rule.not_code {
                if line.contains(word) {
                    found.push(format!("{}: {}", path.display(), line.trim()));
                }
            }
        }
    }
    report("libraries leave the process alone", &found);
}

#[test]
fn the_broker_uses_few_modules_of_the_core() {
    let mut found = Vec::new();
    for path in rust_files()
        .iter()
        .filter(|path| in_src(path, "blue-broker"))
    {
        let source = code(&read(path)).join("\n");
        for used in source.split("blue_core::").skip(1).flat_map(modules) {
            if !["clock", "secret", "http", "text"].contains(&used.as_str()) {
                found.push(format!("{}: blue_core::{used}", path.display()));
            }
        }
    }
    report("the broker is readable alone", &found);
}

/// The first names of what follows `blue_core::`, be it one path or a group of them
fn modules(used: &str) -> Vec<String> {
    let name = |text: &str| {
        let ends = |c: char| !(c.is_alphanumeric() || c == '_');
        text.split(ends).next().unwrap_or_default().to_owned()
    };
    let Some(group) = used.strip_prefix('{') else {
        return vec![name(used)];
    };
    let mut depth = 0;
    let mut names = vec![String::new()];
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(String::new()),
            c if depth == 0 && !c.is_whitespace() => {
                names.last_mut().expect("begins with one").push(c);
            }
            _ => {}
        }
    }
    names
        .iter()
        .map(|text| name(text))
        .filter(|text| !text.is_empty())
        .collect()
}

#[test]
fn modules_are_found_in_groups() {
    assert_eq!(modules("http::Request;"), ["http"]);
    let group = "{\n  http::{Request, Response}, secret::Secret,\n forge,};";
    assert_eq!(modules(group), ["http", "secret", "forge"]);
}

fn in_src(path: &Path, name: &str) -> bool {
    path.starts_with(format!("crates/{name}/src")) && !is_test(path)
}
