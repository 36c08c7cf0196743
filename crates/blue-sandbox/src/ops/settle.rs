//! Things that happen by themselves when their time comes

use std::time::Duration;

use super::{Result, merge, runs};
use crate::{
    app::App,
    store::{checks, pulls},
};

/// Do all that is due and say when to look again
pub(crate) fn everything(app: &App) -> Option<Duration> {
    match try_everything(app) {
        Ok(next) => next,
        Err(error) => {
            tracing::warn!(%error, "cannot settle what is due");
            None
        }
    }
}

fn try_everything(app: &App) -> Result<Option<Duration>> {
    for job in app.store.read(|c| checks::due(c, app.now_ms()))? {
        runs::step(app, job)?;
    }
    let mut next = app.store.read(checks::next_due)?;
    for pull in app.store.read(pulls::scheduled)? {
        merge::try_scheduled(app, pull.id)?;
        if pull.check_until > app.now_ms() {
            next = Some(next.map_or(pull.check_until, |at| at.min(pull.check_until)));
        }
    }
    let wait = next.map(|at| u64::try_from(at - app.now_ms()).unwrap_or(0));
    Ok(wait.map(|ms| Duration::from_millis(ms + 1)))
}
