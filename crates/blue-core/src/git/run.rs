use std::{path::Path, process::Stdio, time::Duration};

use tokio::{io::AsyncWriteExt, process::Command};

use super::{Git, GitError};
use crate::text::clean_line;

/// Variables that would make git look at another repository than the one of the given folder
const ELSEWHERE: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

pub(crate) struct Output {
    pub(crate) ok: bool,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Output {
    pub(crate) fn text(self, program: &str) -> Result<String, GitError> {
        String::from_utf8(self.stdout).map_err(|_| GitError::NotText {
            program: program.to_owned(),
        })
    }

    /// What the program said against it, in one line
    pub(crate) fn message(&self) -> String {
        let text = clean_line(&String::from_utf8_lossy(&self.stderr));
        let text = text.strip_prefix("fatal: ").unwrap_or(&text);
        text.strip_prefix("error: ").unwrap_or(text).to_owned()
    }
}

impl Git {
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        for name in ELSEWHERE {
            command.env_remove(name);
        }
        // Messages are read by this program too.
        command.env("LC_ALL", "C");
        command.envs(self.env.iter().map(|(k, v)| (k, v)));
        command
    }
}

/// Run a program of the user's choice and take what it prints
pub(crate) async fn run_program(
    program: &str,
    args: &[String],
    patience: Duration,
) -> Result<String, GitError> {
    let mut command = Command::new(program);
    command.args(args);
    let out = collect(program, command, None, patience).await?;
    if out.ok {
        return out.text(program);
    }
    Err(GitError::Failed {
        message: out.message(),
    })
}

/// Run a program to its end; it dies with the caller's future
pub(crate) async fn collect(
    program: &str,
    mut command: Command,
    input: Option<Vec<u8>>,
    patience: Duration,
) -> Result<Output, GitError> {
    let spawn = |source| GitError::Spawn {
        program: program.to_owned(),
        source,
    };
    command
        .stdin(if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(spawn)?;
    let stdin = child.stdin.take();
    let feed = async move {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // A program that does not read its input says why by its exit code.
            let _ = stdin.write_all(&input).await;
        }
    };
    let both = async { tokio::join!(feed, child.wait_with_output()).1 };
    let out = tokio::time::timeout(patience, both)
        .await
        .map_err(|_| GitError::Slow {
            program: program.to_owned(),
            seconds: patience.as_secs(),
        })?
        .map_err(spawn)?;
    Ok(Output {
        ok: out.status.success(),
        stdout: out.stdout,
        stderr: out.stderr,
    })
}
