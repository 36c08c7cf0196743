//! The smallest MCP client: a child process, one request at a time, over stdio

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

/// Longest that a program may take for one answer
const PATIENCE: Duration = Duration::from_mins(1);

/// How a program is started
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) command: Vec<String>,
    pub(crate) env: Vec<(&'static str, String)>,
}

/// One running server
#[derive(Debug)]
pub(crate) struct Session {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next_id: u64,
    line: String,
    /// From before the last request was sent until its answer was read, before it was understood
    took: Duration,
    deadline: Arc<Mutex<Option<Instant>>>,
}

/// What `initialize` said, and how long it took from before the process was made
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) session: Session,
    pub(crate) took: Duration,
    pub(crate) instructions: usize,
}

impl Launch {
    /// Start it in an empty home and let it answer `initialize`
    pub(crate) fn start(&self, home: &Path) -> Result<Started> {
        let (program, args) = self.command.split_first().context("no command")?;
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(home)
            .env("HOME", home)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let begun = Instant::now();
        let mut child = command
            .spawn()
            .with_context(|| format!("`{program}` cannot be started"))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("no stdout")?;
        let mut session = Session {
            deadline: watch(child.id()),
            child,
            stdin,
            stdout: BufReader::new(stdout),
            next_id: 0,
            line: String::new(),
            took: Duration::ZERO,
        };
        let hello = session.ask(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            }),
        )?;
        let took = begun.elapsed();
        session.tell("notifications/initialized")?;
        let instructions = hello["instructions"].as_str().map_or(0, str::len);
        Ok(Started {
            session,
            took,
            instructions,
        })
    }
}

impl Session {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Bytes of the last answer, as it came over the pipe
    pub(crate) fn last_bytes(&self) -> usize {
        self.line.len()
    }

    /// How long the last answer took
    pub(crate) fn last_took(&self) -> Duration {
        self.took
    }

    /// Send a request and wait for its answer
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.next_id += 1;
        let id = self.next_id;
        let message =
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        let begun = Instant::now();
        self.set_deadline(Some(begun + PATIENCE));
        self.send(message)?;
        loop {
            self.line.clear();
            if self.stdout.read_line(&mut self.line)? == 0 {
                bail!("the program ended, or did not answer `{method}` in {PATIENCE:?}");
            }
            self.took = begun.elapsed();
            // There are programs that log to stdout.
            let Ok(mut message) = serde_json::from_str::<Value>(&self.line) else {
                continue;
            };
            if message["id"] != id || message.get("method").is_some() {
                continue;
            }
            self.set_deadline(None);
            if let Some(error) = message.get("error") {
                bail!("`{method}`: {error}");
            }
            return Ok(message["result"].take());
        }
    }

    fn tell(&mut self, method: &str) -> Result<()> {
        self.send(json!({"jsonrpc": "2.0", "method": method}).to_string())
    }

    fn send(&mut self, mut message: String) -> Result<()> {
        let stdin = self.stdin.as_mut().context("stdin is closed")?;
        // One write, so that the server never reads half a line.
        message.push('\n');
        stdin.write_all(message.as_bytes())?;
        Ok(stdin.flush()?)
    }

    fn set_deadline(&self, at: Option<Instant>) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stdin = None;
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// End a program that is past its deadline; a read that waits for it then ends too
///
/// The reader itself blocks, without a thread in between that would add to what is measured.
fn watch(pid: u32) -> Arc<Mutex<Option<Instant>>> {
    let deadline: Arc<Mutex<Option<Instant>>> = Arc::default();
    let seen = Arc::downgrade(&deadline);
    thread::spawn(move || {
        while let Some(deadline) = seen.upgrade() {
            let at = *deadline.lock().unwrap_or_else(PoisonError::into_inner);
            if at.is_some_and(|at| at < Instant::now()) {
                drop(Command::new("kill").args(["-9", &pid.to_string()]).status());
                return;
            }
            drop(deadline);
            thread::sleep(Duration::from_secs(1));
        }
    });
    deadline
}
