//! Whether a pull request can be merged, and the delay until that is known
//!
//! After a push Gitea shows the old answer for a while, then "no" while it checks, then the truth.
//! Nothing runs for that here: the answer is worked out from the clock when someone asks.

use std::time::Duration;

use super::Result;
use crate::{
    app::App,
    git::Merged,
    store::pulls::{self, Pull, State},
};

/// What a caller sees
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// The flag forges show; also true for a pull request without changes
    pub(crate) mergeable: bool,
    pub(crate) checking: bool,
    /// No commit between the branches: mergeable by the flag, refused by a merge
    pub(crate) empty: bool,
}

/// Begin a new check
pub(crate) fn restart(app: &App, pull: &mut Pull) {
    wait(app, pull, app.timing.stale, app.timing.checking);
}

/// Check at once, as after a failed head pin
pub(crate) fn recheck(app: &App, pull: &mut Pull) {
    wait(app, pull, Duration::ZERO, app.timing.recheck);
}

fn wait(app: &App, pull: &mut Pull, stale: Duration, checking: Duration) {
    // Forgejo 11 has its answer at once.
    let (stale, checking) = if app.is_forgejo() {
        (Duration::ZERO, Duration::ZERO)
    } else {
        (stale, checking)
    };
    let ms = |wait: Duration| i64::try_from(wait.as_millis()).unwrap_or(i64::MAX / 4);
    pull.stale_until = app.now_ms() + ms(stale);
    pull.check_until = pull.stale_until + ms(checking);
}

/// Look at an open pull request as it stands now
pub(crate) fn verdict(app: &App, pull: &mut Pull) -> Result<Verdict> {
    let now = app.now_ms();
    let fresh =
        pull.checked_head == Some(pull.head_sha) && pull.checked_base == Some(pull.base_sha);
    let stale = now < pull.stale_until;
    let checking = !stale && now < pull.check_until;
    if !fresh && !stale && !checking && pull.state == State::Open {
        pull.mergeable = can_merge(app, pull)?;
        pull.checked_head = Some(pull.head_sha);
        pull.checked_base = Some(pull.base_sha);
        remember(app, pull)?;
    }
    // A commit without changes is something to merge.
    let empty = pull.head_sha == pull.merge_base;
    Ok(Verdict {
        mergeable: pull.mergeable && !checking,
        checking,
        empty,
    })
}

/// Write the answer down, unless the pull request moved on meanwhile
fn remember(app: &App, pull: &Pull) -> Result<()> {
    app.store.write(|tx| {
        if let Some(mut row) = pulls::by_id(tx, pull.id)?
            && (row.head_sha, row.base_sha) == (pull.head_sha, pull.base_sha)
        {
            row.mergeable = pull.mergeable;
            row.checked_head = pull.checked_head;
            row.checked_base = pull.checked_base;
            pulls::save(tx, &row)?;
        }
        Ok(())
    })
}

/// Ask git
pub(crate) fn can_merge(app: &App, pull: &Pull) -> Result<bool> {
    let git = app.git(pull.repo_id);
    if pull.merge_base == pull.base_sha || pull.merge_base == pull.head_sha {
        return Ok(true);
    }
    Ok(matches!(
        git.merge_trees(pull.base_sha, pull.head_sha)?,
        Merged::Tree(_)
    ))
}
