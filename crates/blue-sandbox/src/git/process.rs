//! The git program, cut off from the machine's own configuration

use std::process::{Command, Stdio};

use super::{Error, Repo, Result};

/// What a finished git said
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) code: i32,
}

impl Output {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// Variables that make git forget the user and the machine
pub(crate) const HERMETIC: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
    ("GIT_AUTHOR_NAME", "sandbox"),
    ("GIT_AUTHOR_EMAIL", "sandbox@localhost"),
    ("GIT_COMMITTER_NAME", "sandbox"),
    ("GIT_COMMITTER_EMAIL", "sandbox@localhost"),
];

/// The oldest git that can merge without a working tree
const OLDEST: (u32, u32) = (2, 38);

/// Whether git is there and new enough; if not, why
pub(crate) fn check() -> std::result::Result<(), String> {
    let output = Command::new("git").arg("version").output();
    let output = output.map_err(|error| format!("could not run `git`: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match version(&said) {
        Some(found) if found < OLDEST => Err(format!("`{said}` is too old")),
        // A build that writes its version in another way is given a try.
        _ => Ok(()),
    }
}

/// `git version 2.39.5 (Apple Git-154)` is (2, 39)
fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

impl Repo {
    /// Run git and want success
    pub(crate) fn git(&self, args: &[&str]) -> Result<Output> {
        let output = self.git_any(args)?;
        if output.code == 0 {
            return Ok(output);
        }
        Err(Error::Command {
            command: args.first().copied().unwrap_or_default().to_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }

    /// Run git and take whatever it answers
    pub(crate) fn git_any(&self, args: &[&str]) -> Result<Output> {
        let output = Command::new("git")
            .arg("--git-dir")
            .arg(self.path())
            .args(args)
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env_remove("GIT_INDEX_FILE")
            .envs(HERMETIC.iter().copied())
            .stdin(Stdio::null())
            .output()?;
        Ok(Output {
            stdout: output.stdout,
            stderr: output.stderr,
            code: output.status.code().unwrap_or(-1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_git() {
        for (said, found) in [
            ("git version 2.39.5", Some((2, 39))),
            ("git version 2.39.5 (Apple Git-154)", Some((2, 39))),
            ("git version 2.47.0.windows.2", Some((2, 47))),
            ("git version 3.0", Some((3, 0))),
            ("something else", None),
        ] {
            assert_eq!(version(said), found, "{said}");
        }
        assert!(version("git version 2.37.9") < Some(OLDEST));
        assert_eq!(check(), Ok(()));
    }
}
