//! A git that speaks to the client through us

use std::{convert::Infallible, future, path::Path, process::Stdio};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use tokio::{
    io::{AsyncBufRead, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, copy_buf, sink},
    process::{Child, ChildStdin, Command},
    sync::mpsc,
};

use crate::git::HERMETIC;

/// Bytes read from git at a time; a few of these are all a transfer holds
const CHUNK: usize = 64 << 10;
/// Chunks that may wait for a slow client
const WAITING: usize = 4;
/// As much of git's complaints as is worth a log line
const COMPLAINT: u64 = 4 << 10;

pub(super) type Request = Box<dyn AsyncBufRead + Send + Unpin>;

/// A git in a repository, cut off from the machine's settings
pub(super) fn command(repo: &Path, protocol: Option<&str>) -> Command {
    let mut command = Command::new("git");
    for stray in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PROTOCOL"] {
        command.env_remove(stray);
    }
    command
        .envs(HERMETIC.iter().copied())
        .envs(protocol.map(|protocol| ("GIT_PROTOCOL", protocol)))
        .current_dir(repo)
        // git refuses a folder of another system user without `safe.directory`, and `refs/sandbox` is
        // for the sandbox alone.
        .args([
            "-c",
            "safe.directory=*",
            "-c",
            "transfer.hideRefs=refs/sandbox",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// What happens to the git process when its client disconnects
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhenLeft {
    /// Kill it: its output has no reader
    Stop,
    /// Let it finish: it may be updating refs
    Finish,
}

/// Let git read the request and give what it writes as a body
///
/// The second value is the work itself, for the caller to spawn. `after` runs once git is done
/// and before the client sees the end of the body, so that a client whose push has returned finds
/// the forge in its new state.
pub(super) fn talk(
    mut child: Child,
    head: Vec<u8>,
    request: Request,
    when_left: WhenLeft,
    after: impl Future<Output = ()> + Send + 'static,
) -> (Body, impl Future<Output = ()> + Send + 'static) {
    let (sender, receiver) = mpsc::channel::<Bytes>(WAITING);
    let work = async move {
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            unreachable!("all three are piped in `command`");
        };
        let talking = async {
            let feeding = async {
                feed(stdin, &head, request).await;
                future::pending::<Infallible>().await
            };
            tokio::select! {
                left = drain(stdout, &sender, when_left) => if left {
                    drop(child.start_kill());
                },
                never = feeding => match never {},
            }
        };
        let ((), complaint) = tokio::join!(talking, complaint(stderr));
        match child.wait().await {
            Ok(status) if status.success() => {}
            status => tracing::debug!(?status, complaint, "git did not end well"),
        }
        after.await;
        drop(sender);
    };
    let body = stream::unfold(receiver, |mut receiver| async move {
        let chunk = receiver.recv().await?;
        Some((Ok::<_, Infallible>(chunk), receiver))
    });
    (Body::from_stream(body), work)
}

async fn feed(mut stdin: ChildStdin, head: &[u8], mut request: Request) {
    let fed = match stdin.write_all(head).await {
        Ok(()) => copy_buf(&mut request, &mut stdin).await,
        Err(error) => Err(error),
    };
    drop(stdin);
    if let Err(error) = fed {
        tracing::debug!(%error, "git stopped reading, or the client sending");
        // Git may have refused early; its answer reaches the client once all is sent.
        drop(copy_buf(&mut request, &mut sink()).await);
    }
}

/// Pass git's output on; true when the client left and git should stop
async fn drain(
    mut stdout: impl AsyncRead + Unpin,
    sender: &mpsc::Sender<Bytes>,
    when_left: WhenLeft,
) -> bool {
    let mut chunk = vec![0; CHUNK];
    while let Ok(size @ 1..) = stdout.read(&mut chunk).await {
        let gone = sender
            .send(Bytes::copy_from_slice(&chunk[..size]))
            .await
            .is_err();
        if gone && when_left == WhenLeft::Stop {
            return true;
        }
    }
    false
}

async fn complaint(mut stderr: impl AsyncRead + Unpin) -> String {
    let mut text = Vec::new();
    drop((&mut stderr).take(COMPLAINT).read_to_end(&mut text).await);
    drop(tokio::io::copy(&mut stderr, &mut sink()).await);
    String::from_utf8_lossy(&text).trim().to_owned()
}
