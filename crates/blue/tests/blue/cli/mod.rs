//! The program as a person or a script runs it

mod advice;
#[cfg(target_os = "linux")]
mod agents;
#[cfg(unix)]
mod broker;
mod detect;
mod output;
mod pages;
mod sandbox;
mod settings;
#[cfg(target_os = "linux")]
mod terminal;
mod tools;
mod usage;

use std::{
    fmt,
    path::Path,
    process::{Command, Stdio},
};

pub(crate) use sandbox::Running;
use serde_json::Value;
use tempfile::TempDir;

/// The program with an environment of its own
#[derive(Debug)]
pub(crate) struct Blue {
    vars: Vec<(String, String)>,
    home: TempDir,
}

impl Blue {
    pub(crate) fn new() -> Self {
        Self {
            vars: Vec::new(),
            home: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn var(mut self, name: &str, value: &str) -> Self {
        self.vars.push((name.to_owned(), value.to_owned()));
        self
    }

    /// An empty folder: home, and where commands are run
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    #[expect(clippy::disallowed_methods, reason = "children need to find git")]
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_blue"));
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            // A sandbox that is killed leaves its folder where it goes away with this one.
            .env("TMPDIR", self.home())
            // Neither the machine's settings nor a repository around the folder count.
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CEILING_DIRECTORIES", self.home())
            .envs(self.vars.iter().map(|(name, value)| (name, value)))
            .current_dir(self.home())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let output = self.command(args).output().unwrap();
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// What a run left; its `Display` is what snapshots hold
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn success(self) -> Self {
        assert_eq!(self.code, Some(0), "{self}");
        self
    }

    /// The one JSON object on stdout
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{self}");
        let value: Value = serde_json::from_str(&self.stdout).unwrap();
        assert!(value.is_object(), "{self}");
        value
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self
            .code
            .map_or("a signal".to_owned(), |code| code.to_string());
        write!(f, "{}{}exit {code}", self.stdout, self.stderr)
    }
}
