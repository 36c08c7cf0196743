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
        name: "blue-base",
        not_deps: &[
            "clap",
            "rmcp",
            "axum",
            "blue-forge",
            "blue-tools",
            "blue-broker",
            "blue-sandbox",
            "blue",
        ],
        not_code: LIBRARY,
    },
    Rule {
        name: "blue-forge",
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
        name: "blue-mcp",
        not_deps: &[
            "clap",
            "reqwest",
            "sqlx",
            "blue-forge",
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
            "blue-mcp",
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
        not_deps: &[
            "blue-forge",
            "blue-mcp",
            "blue-tools",
            "blue-sandbox",
            "blue",
        ],
        not_code: LIBRARY,
    },
    Rule {
        name: "blue-sandbox",
        not_deps: &[
            "clap",
            "rmcp",
            "blue-forge",
            "blue-mcp",
            "blue-tools",
            "blue-broker",
            "blue",
        ],
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

fn in_src(path: &Path, name: &str) -> bool {
    path.starts_with(format!("crates/{name}/src")) && !is_test(path)
}
