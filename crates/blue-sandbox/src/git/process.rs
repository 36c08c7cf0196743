//! The git program, cut off from the machine's own configuration

use std::{
    io::Write,
    process::{Command, Stdio},
};

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

impl Repo {
    /// Run git and want success
    pub(crate) fn git(&self, args: &[&str]) -> Result<Output> {
        self.git_with(args, &[])
    }

    /// Run git with this on its standard input and want success
    pub(crate) fn git_with(&self, args: &[&str], input: &[u8]) -> Result<Output> {
        let output = self.git_any(args, input)?;
        if output.code == 0 {
            return Ok(output);
        }
        Err(Error::Command {
            command: args.first().copied().unwrap_or_default().to_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }

    /// Run git and take whatever it answers
    pub(crate) fn git_any(&self, args: &[&str], input: &[u8]) -> Result<Output> {
        let mut child = Command::new("git")
            .arg("--git-dir")
            .arg(self.path())
            .args(args)
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env_remove("GIT_INDEX_FILE")
            .envs(HERMETIC.iter().copied())
            .stdin(if input.is_empty() {
                Stdio::null()
            } else {
                Stdio::piped()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A git that ends early closes the pipe; its own answer says why.
            drop(stdin.write_all(input));
        }
        let output = child.wait_with_output()?;
        Ok(Output {
            stdout: output.stdout,
            stderr: output.stderr,
            code: output.status.code().unwrap_or(-1),
        })
    }
}
