//! Start the broker, say so, and stop it cleanly

use std::sync::Arc;

use blue_base::clock::SystemClock;
use blue_broker::{
    Broker, Build, KeyFileError, Parts, StartError, StoreError, SystemRng, config::Config,
};
use blue_tools::{ErrorCode, ToolError};
use serde::Serialize;

use super::{backend::Tools, wrong_settings};
use crate::{
    commands::{Cx, Stop, sandbox::Asked},
    open_files,
    render::{Page, Report, Style},
    version::BUILD,
};

/// Run the broker until Ctrl-C or a polite kill
pub(super) async fn serve(cx: &Cx, config: Config) -> Result<(), Stop> {
    let mut asked = Asked::listen()?;
    let parts = parts(cx)?;
    // A database that does not answer must not hold up who wants to stop.
    let broker = tokio::select! {
        built = Broker::build(config, parts) => built.map_err(not_started)?,
        () = asked.stop() => return Ok(()),
    };
    let printed = cx.screen.show(&Ready {
        url: broker.public_url().origin().to_owned(),
        mcp_url: broker.public_url().resource(),
        listen: broker.address().to_string(),
    });
    if printed.is_ok() {
        asked.stop().await;
    }
    broker.shutdown().await;
    printed.map_err(Stop::Output)
}

/// What a broker of this program works with
pub(super) fn parts(cx: &Cx) -> Result<Parts, ToolError> {
    let (http, allow) = match (cx.env.http(), cx.env.allow()) {
        (Err(one), Err(other)) => return Err(wrong_settings(&[one.message, other.message])),
        (http, allow) => (http?, allow?),
    };
    let tools = Tools::new(http.clone(), Arc::new(SystemClock), allow)?;
    Ok(Parts {
        clock: Arc::new(SystemClock),
        rng: Arc::new(SystemRng::default()),
        http,
        backend: Arc::new(tools),
        build: Build {
            version: BUILD.version.to_owned(),
            git: BUILD.commit.unwrap_or_default().to_owned(),
        },
        max_open_files: open_files::raise_limit(),
    })
}

pub(super) fn not_started(error: StartError) -> ToolError {
    let hint = match &error {
        StartError::Folder { .. } => Some("choose another folder with `--data`"),
        StartError::Listen { .. } => Some("choose another address with `--listen`"),
        StartError::UnknownKey { .. } => {
            Some("put the key back into the key file, behind the active one")
        }
        StartError::Store(StoreError::Newer { .. }) => {
            Some("a newer program was here: use that one")
        }
        StartError::Store(StoreError::Locked { .. }) => Some(
            "stop the other one, or give this one a `data` folder of its own; several replicas \
             need PostgreSQL",
        ),
        StartError::Store(StoreError::TokenKeySealed) => {
            Some("put the key file back; or move the database away, and everybody signs in again")
        }
        StartError::Store(_) => {
            Some("see that `db` or `data` is right, and that the database runs")
        }
        StartError::Keys(KeyFileError::Read { .. } | KeyFileError::Write { .. }) => {
            Some("see that the file belongs to this account")
        }
        StartError::Keys(_) => {
            Some("put the key file back; or move the database away, and everybody signs in again")
        }
    };
    let message = error.to_string();
    let mut failure = ToolError::new(ErrorCode::Io, message).with_source(error);
    failure.hint = hint.map(str::to_owned);
    failure
}

#[derive(Debug, Serialize)]
struct Ready {
    url: String,
    /// What clients are given
    mcp_url: String,
    listen: String,
}

impl Report for Ready {
    fn page(&self, page: &mut Page) {
        page.line(&format!("The broker runs at {}", self.url), Style::Bold)
            .line(
                &format!("Clients connect to {}", self.mcp_url),
                Style::Plain,
            )
            .line("Ctrl-C stops it.", Style::Dim);
    }
}

/// What `--check` says when nothing is wrong
#[derive(Debug, Serialize)]
pub(super) struct Checked {
    pub(super) ok: bool,
}

impl Report for Checked {
    fn page(&self, page: &mut Page) {
        page.line("The settings are good.", Style::Plain);
    }
}
