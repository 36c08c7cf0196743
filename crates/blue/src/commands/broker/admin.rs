//! What the admin's commands have in common

use std::{io, sync::Arc};

use blue_base::clock::SystemClock;
use blue_broker::{Admin, AdminError, KeyFileError, SystemRng, config::Config};
use blue_tools::{ErrorCode, ToolError};
use jiff::Timestamp;
use serde::Serialize;

use crate::{
    commands::{Cx, Stop},
    render::{Page, Report, Screen, Style},
};

/// Open the database of the broker
pub(super) async fn open(config: &Config) -> Result<Admin, ToolError> {
    open_plain(config).await.map_err(failed)
}

/// Opens the broker's store; returns the error as it is, for callers that match on it
pub(super) async fn open_plain(config: &Config) -> Result<Admin, AdminError> {
    let rng = Arc::new(SystemRng::default());
    Admin::open(config, Arc::new(SystemClock), rng).await
}

pub(super) fn failed(error: AdminError) -> ToolError {
    let (code, hint) = match &error {
        AdminError::Unknown { .. } => (ErrorCode::NotFound, "`list` shows what there is"),
        AdminError::Several { .. } => (
            ErrorCode::Ambiguous,
            "name one of them by the id; `users list --json` shows more",
        ),
        AdminError::NoDatabase(_) | AdminError::Empty => (
            ErrorCode::NotFound,
            "give the settings that the broker runs with, such as `--config`",
        ),
        AdminError::Sealed(_) => (
            ErrorCode::Config,
            "put the missing key back into the key file, behind the active one",
        ),
        AdminError::Older { .. } => (
            ErrorCode::Config,
            "start the broker of this program once: it brings the database up to date",
        ),
        AdminError::Newer { .. } => (ErrorCode::Config, "a newer program was here: use that one"),
        AdminError::Store(_) => (
            ErrorCode::Io,
            "see that the database runs, and that this account may use it",
        ),
        AdminError::Keys(KeyFileError::Busy { .. }) => (ErrorCode::Io, "try again when it is done"),
        AdminError::Keys(KeyFileError::Read { source, .. })
            if source.kind() == io::ErrorKind::NotFound =>
        {
            (
                ErrorCode::NotFound,
                "give the settings that the broker runs with, such as `--config`; it is made at \
                 the first start, and where it was lost, a copy must be put back",
            )
        }
        AdminError::Keys(KeyFileError::NotAKey { .. } | KeyFileError::Empty { .. }) => (
            ErrorCode::Config,
            "put the key file back from where you keep a copy",
        ),
        AdminError::Keys(_) => (
            ErrorCode::Io,
            "run it as the account of the broker, or as root",
        ),
    };
    ToolError::new(code, error.to_string())
        .with_source(error)
        .with_hint(hint)
}

/// A time as lists show it, to the second; `--json` has all of it
pub(super) fn when(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Whether it is meant
#[derive(Debug, clap::Args)]
pub(super) struct Sure {
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

impl Sure {
    /// Asks for confirmation; without a terminal `--yes` is required
    pub(super) fn ask(&self, cx: &Cx, deed: &str, what: &str) -> Result<(), Stop> {
        if self.yes {
            return Ok(());
        }
        if !cx.screen.can_ask() {
            let message = format!("will not {deed} {what} without confirmation");
            return Err(ToolError::new(ErrorCode::Usage, message)
                .with_hint(Screen::UNASKED)
                .into());
        }
        let meant = cx.screen.ask(&format!("{deed} {what}?"));
        if meant.map_err(Stop::Output)? {
            return Ok(());
        }
        cx.screen
            .warn("cancelled; nothing was changed")
            .map_err(Stop::Output)?;
        Err(Stop::Exit(1))
    }
}

/// How much of a list is shown
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Show at most so many
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) limit: u32,
}

/// Say how much of a list is not shown, where some of it is not
pub(super) fn left_out(page: &mut Page, shown: usize, total: u64, what: &str) {
    if (shown as u64) < total {
        let line = format!("{shown} of {total} {what} are shown; `--limit` shows more.");
        page.line(&line, Style::Dim);
    }
}

/// What `revoke` did
#[derive(Debug, Serialize)]
pub(super) struct Ended {
    pub(super) revoked: String,
    /// How many grants ended
    pub(super) grants: usize,
}

impl Report for Ended {
    fn page(&self, page: &mut Page) {
        let grants = match self.grants {
            0 => "no grant ended".to_owned(),
            1 => "1 grant ended".to_owned(),
            n => format!("{n} grants ended"),
        };
        page.line(&format!("Revoked {}: {grants}.", self.revoked), Style::Good);
    }
}
