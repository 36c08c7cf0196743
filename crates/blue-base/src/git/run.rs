use std::{
    io,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::Command,
    time::timeout,
};

use super::{Git, GitError, bare};
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

/// Nothing that is asked of a program here is near as long
const MAX_OUTPUT: u64 = 8 * 1024 * 1024;
/// For what a program that has ended left in its pipes; its children may keep them open for ever
const LINGER: Duration = Duration::from_millis(500);

pub(super) struct Output {
    pub(super) ok: bool,
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Output {
    pub(super) fn text(self, program: &str) -> Result<String, GitError> {
        String::from_utf8(self.stdout).map_err(|_| GitError::NotText {
            program: program.to_owned(),
        })
    }

    /// What the program said against it, in one line
    pub(super) fn message(&self) -> String {
        let text = clean_line(&String::from_utf8_lossy(&self.stderr));
        let text = text.strip_prefix("fatal: ").unwrap_or(&text);
        text.strip_prefix("error: ").unwrap_or(text).to_owned()
    }
}

impl Git {
    /// Git as it is started in a folder of the user's
    ///
    /// A bare repository that lies in a work tree may have come with a clone, and its configuration
    /// names programs to run (`credential.helper`). So git is told not to discover bare
    /// repositories, and is given one by `--git-dir` where there is no work tree around it.
    pub(super) fn command_in(&self, dir: &Path) -> Command {
        let mut command = self.command(&self.program);
        command
            .arg("-C")
            .arg(dir)
            .args(["-c", "safe.bareRepository=explicit"]);
        if let Some(bare) = bare::repository(dir) {
            command.arg("--git-dir").arg(bare);
        }
        command
    }

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
pub async fn run_program(
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
    let message = match out.message() {
        silent if silent.is_empty() => out.status.to_string(),
        message => message,
    };
    Err(GitError::Failed { message })
}

/// Run a program to its end; it dies with the caller's future
pub(super) async fn collect(
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
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let pipes = (child.stdout.take(), child.stderr.take());
    let work = async {
        let read = async {
            tokio::try_join!(take(pipes.0, &mut stdout), take(pipes.1, &mut stderr)).map(|_| ())
        };
        tokio::pin!(read);
        tokio::select! {
            done = &mut read => {
                done?;
                child.wait().await
            }
            status = child.wait() => {
                if let Ok(done) = timeout(LINGER, &mut read).await {
                    done?;
                }
                status
            }
        }
    };
    let status = timeout(patience, async { tokio::join!(feed, work).1 })
        .await
        .map_err(|_| GitError::Slow {
            program: program.to_owned(),
            seconds: patience.as_secs(),
        })?
        .map_err(|source| match source.kind() {
            io::ErrorKind::FileTooLarge => GitError::TooMuch {
                program: program.to_owned(),
                limit: MAX_OUTPUT,
            },
            _ => spawn(source),
        })?;
    Ok(Output {
        ok: status.success(),
        status,
        stdout,
        stderr,
    })
}

/// Read to the end, but not without bounds
async fn take(pipe: Option<impl AsyncRead + Unpin>, to: &mut Vec<u8>) -> io::Result<()> {
    let Some(pipe) = pipe else { return Ok(()) };
    let read = pipe.take(MAX_OUTPUT + 1).read_to_end(to).await?;
    if read as u64 > MAX_OUTPUT {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(())
}
