//! The hooks git runs for us when a push needs a second look

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

const HOOKS: &[(&str, &str)] = &[
    ("pre-receive", include_str!("pre-receive.sh")),
    ("update", include_str!("update.sh")),
];

/// What the hooks are told about one push
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Orders {
    /// Refuse everything, in these words
    pub refusal: Option<String>,
    /// Refs that may move forward only
    pub forward_only: Vec<String>,
    /// Refs with files that stay as they are: the glob patterns of each
    pub guarded: Vec<(String, String)>,
}

impl Orders {
    pub(super) fn env(&self) -> [(&'static str, String); 3] {
        // A ref has no space in its name, so spaces can stand around each.
        let mut forward_only = String::new();
        for name in &self.forward_only {
            forward_only.extend([" ", name, " "]);
        }
        let mut guarded = String::new();
        for (name, patterns) in &self.guarded {
            guarded.extend([name, " ", &expression(patterns), "\n"]);
        }
        [
            ("SANDBOX_REFUSAL", self.refusal.clone().unwrap_or_default()),
            ("SANDBOX_FORWARD_ONLY", forward_only),
            ("SANDBOX_GUARDED", guarded),
        ]
    }
}

/// Glob patterns, separated by `;`, as one expression that `grep -E` takes
fn expression(patterns: &str) -> String {
    let all: Vec<String> = patterns
        .split(';')
        .map(str::trim)
        .filter(|pattern| !pattern.is_empty())
        .map(one_expression)
        .collect();
    format!("^({})$", all.join("|"))
}

fn one_expression(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern.chars().peekable();
    let mut choice = false;
    while let Some(c) = rest.next() {
        match c {
            '*' if rest.next_if_eq(&'*').is_some() => out.push_str(".*"),
            '*' => out.push_str("[^/.]*"),
            '?' => out.push_str("[^/.]"),
            '[' => {
                out.push('[');
                if rest.next_if_eq(&'!').is_some() {
                    out.push('^');
                }
                out.extend(rest.by_ref().take_while(|c| *c != ']'));
                out.push(']');
            }
            '{' => {
                choice = true;
                out.push('(');
            }
            '}' => {
                choice = false;
                out.push(')');
            }
            ',' if choice => out.push('|'),
            '.' | '+' | '(' | ')' | '|' | '^' | '$' | ']' | '\\' => out.extend(['\\', c]),
            plain => out.push(plain),
        }
    }
    out
}

/// The folder with the hooks, made when it is not there yet
pub(super) fn folder(dir: &Path) -> io::Result<PathBuf> {
    let hooks = dir.join("hooks");
    fs::create_dir_all(&hooks)?;
    for (name, script) in HOOKS {
        let path = hooks.join(name);
        if fs::read(&path).is_ok_and(|found| found == script.as_bytes()) {
            continue;
        }
        // Another push may be about to run it: put it in place whole.
        let fresh = tempfile::NamedTempFile::new_in(&hooks)?;
        fs::write(fresh.path(), script)?;
        fs::set_permissions(fresh.path(), fs::Permissions::from_mode(0o755))?;
        fresh.persist(path).map_err(|error| error.error)?;
    }
    Ok(hooks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_become_expressions() {
        for (patterns, expected) in [
            ("*.lock", r"^([^/.]*\.lock)$"),
            ("docs/**; a?", r"^(docs/.*|a[^/.])$"),
            ("{x,y}.[!a]", r"^((x|y)\.[^a])$"),
        ] {
            assert_eq!(expression(patterns), expected);
        }
    }
}
