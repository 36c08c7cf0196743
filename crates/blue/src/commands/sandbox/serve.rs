//! Start a sandbox, say so, and stop it cleanly

use blue_sandbox::{Config, Error, Sandbox};
use blue_tools::{ErrorCode, ToolError};
use serde::Serialize;

use crate::{
    commands::{Cx, Stop},
    render::{Cell, Page, Report, Style},
};

/// What is to be known about a sandbox that runs
#[derive(Debug, Serialize)]
pub(crate) struct Ready {
    pub(crate) url: String,
    pub(crate) gitea_api: String,
    pub(crate) github_api: String,
    pub(crate) users: Vec<User>,
}

/// Its secrets are shown on purpose: they open nothing but this sandbox
#[derive(Debug, Serialize)]
pub(crate) struct User {
    pub(crate) login: String,
    pub(crate) password: String,
    pub(crate) token: String,
    pub(crate) admin: bool,
}

impl Ready {
    fn of(sandbox: &Sandbox) -> Self {
        let users = sandbox.users().iter().map(|user| User {
            login: user.login.clone(),
            password: user.password.expose().to_owned(),
            token: user.token.expose().to_owned(),
            admin: user.admin,
        });
        Self {
            url: sandbox.url().to_owned(),
            gitea_api: sandbox.gitea_api(),
            github_api: sandbox.github_api(),
            users: users.collect(),
        }
    }

    pub(crate) fn show_users(&self, page: &mut Page) {
        let row = |user: &User| -> Vec<Cell> {
            vec![
                Cell::new(&user.login, Style::Bold),
                Cell::from(user.password.as_str()).whole(),
                Cell::from(user.token.as_str()).whole(),
                if user.admin { "admin" } else { "" }.into(),
            ]
        };
        let rows: Vec<_> = self.users.iter().map(row).collect();
        page.table(&["User", "Password", "Token", ""], rows);
    }
}

/// A sandbox that runs until Ctrl-C or a polite kill
#[derive(Debug)]
pub(crate) struct Running {
    sandbox: Sandbox,
    asked: Asked,
}

impl Running {
    pub(crate) async fn start(cx: &Cx, config: Config) -> Result<Self, Stop> {
        // Before the port is open: a signal that comes early must not kill a half-made sandbox.
        let asked = Asked::listen()?;
        let public = !config.listen.ip().is_loopback();
        let kept = config.dir.is_some();
        let started = Sandbox::start(config).await;
        let sandbox = started.map_err(|error| not_started(error, kept))?;
        if public {
            let text = "anyone who can reach this machine can reach the sandbox, and change everything \
                        in it with the tokens below";
            cx.screen.warn(text).map_err(Stop::Output)?;
        }
        Ok(Self { sandbox, asked })
    }

    pub(crate) fn ready(&self) -> Ready {
        Ready::of(&self.sandbox)
    }

    pub(crate) fn port(&self) -> u16 {
        self.sandbox.address().port()
    }

    /// Say that it is ready, and wait until it is asked to stop
    pub(crate) async fn until_stopped<R: Report>(&mut self, cx: &Cx, told: &R) -> Result<(), Stop> {
        cx.screen.show(told).map_err(Stop::Output)?;
        self.asked.stop().await;
        Ok(())
    }

    pub(crate) async fn shutdown(self) {
        self.sandbox.shutdown().await;
    }
}

fn not_started(error: Error, kept: bool) -> ToolError {
    let hint = match &error {
        Error::Dir { .. } => Some("choose a folder that you may write to with `--dir`"),
        Error::Temporary(_) => Some("set `TMPDIR` to a folder that you may write to"),
        Error::Git(_) => Some("install git 2.38 or newer, so that it is found on the `PATH`"),
        Error::Full(_) if kept => {
            Some("free some space there, or choose another folder with `--dir`")
        }
        Error::Full(_) => Some("free some space there, or set `TMPDIR` to a folder with more room"),
        Error::InUse(_) => Some("stop it, or choose another folder with `--dir`"),
        Error::Listen { .. } => {
            Some("choose another address with `--listen`; port 0 is any free one")
        }
        // Nothing was in a temporary one before: it is full, or cannot hold what is put there.
        Error::Store(_) | Error::Recovery(_) if !kept => {
            Some("set `TMPDIR` to a folder with more room")
        }
        Error::Store(_) | Error::Recovery(_) => Some("a folder of its own is best: `--dir`"),
        Error::Seed(_) => None,
    };
    let code = match &error {
        Error::Seed(_) => ErrorCode::Config,
        _ => ErrorCode::Io,
    };
    let message = error.to_string();
    let mut failure = ToolError::new(code, message).with_source(error);
    failure.hint = hint.map(str::to_owned);
    failure
}

/// The signals that mean "please stop"
#[derive(Debug)]
pub(crate) struct Asked {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    /// The terminal was closed
    #[cfg(unix)]
    hangup: tokio::signal::unix::Signal,
}

impl Asked {
    #[cfg(unix)]
    pub(crate) fn listen() -> Result<Self, ToolError> {
        use tokio::signal::unix::{SignalKind, signal};

        let failed = |source| {
            ToolError::new(ErrorCode::Io, "could not listen for signals").with_source(source)
        };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
            hangup: signal(SignalKind::hangup()).map_err(failed)?,
        })
    }

    #[cfg(unix)]
    pub(crate) async fn stop(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }

    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "signals can fail elsewhere")]
    pub(crate) fn listen() -> Result<Self, ToolError> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    pub(crate) async fn stop(&mut self) {
        // Without a handler there is nothing to wait for but the end of the process.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
