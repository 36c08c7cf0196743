//! Requests that are being answered, by the grant that let them in

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use blue_mcp::RevocationToken;

/// How long a grant that ended is remembered: longer than a request takes from the look at its token
/// to here, which includes a refresh of the forge's token
const ENDED_TTL: Duration = Duration::from_mins(2);
/// Most grants that ended and are remembered; the oldest are forgotten first
const MAX_ENDED: usize = 10_000;

/// The requests that are being answered; a grant without any has no row
#[derive(Debug, Clone, Default)]
pub(super) struct RunningGrants(Arc<Mutex<Rows>>);

#[derive(Debug, Default)]
struct Rows {
    running: HashMap<String, Weak<GrantRequests>>,
    /// Grants that ended lately, the oldest first
    ended: VecDeque<(Instant, String)>,
}

/// A grant with at least one request that is being answered; its row goes with the last of them
#[derive(Debug)]
pub(super) struct GrantRequests {
    grant: String,
    revoked: CancellationToken,
    rows: RunningGrants,
}

impl GrantRequests {
    /// Cancels the calls of this grant when it is revoked
    pub(super) fn revocation(&self) -> RevocationToken {
        RevocationToken(self.revoked.clone())
    }
}

impl RunningGrants {
    /// Counts a request, as long as what is returned is kept
    ///
    /// A request of a grant that ended while its token was being looked at is cancelled from the start.
    pub(super) fn enter(&self, grant: &str) -> Arc<GrantRequests> {
        let mut rows = self.rows();
        if let Some(running) = rows.running.get(grant).and_then(Weak::upgrade) {
            return running;
        }
        let entered = Arc::new(GrantRequests {
            grant: grant.to_owned(),
            revoked: CancellationToken::new(),
            rows: self.clone(),
        });
        rows.forget_old(Instant::now());
        if rows.ended.iter().any(|(_, ended)| ended == grant) {
            entered.revoked.cancel();
        }
        rows.running
            .insert(grant.to_owned(), Arc::downgrade(&entered));
        entered
    }

    /// Cancels what runs for a grant
    pub(super) fn end(&self, grant: &str) {
        let mut rows = self.rows();
        let now = Instant::now();
        rows.forget_old(now);
        if rows.ended.len() >= MAX_ENDED {
            rows.ended.pop_front();
        }
        rows.ended.push_back((now, grant.to_owned()));
        let running = rows.running.remove(grant);
        // Dropping the last request locks the rows again.
        drop(rows);
        if let Some(running) = running.and_then(|running| running.upgrade()) {
            running.revoked.cancel();
        }
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    fn forget_old(&mut self, now: Instant) {
        let is_old = |row: &mut (Instant, String)| now.saturating_duration_since(row.0) > ENDED_TTL;
        while self.ended.pop_front_if(is_old).is_some() {}
    }
}

impl Drop for GrantRequests {
    fn drop(&mut self) {
        let mut rows = self.rows.rows();
        // A newer request of the same grant may have a row of its own by now.
        if rows
            .running
            .get(&self.grant)
            .is_some_and(|row| row.strong_count() == 0)
        {
            rows.running.remove(&self.grant);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revocation_reaches_a_running_request_whatever_came_since() {
        let grants = RunningGrants::default();
        let first = grants.enter("first");
        let others: Vec<_> = (0..2_000).map(|n| grants.enter(&n.to_string())).collect();
        grants.end("first");
        assert!(first.revocation().0.is_cancelled());
        assert!(
            others
                .iter()
                .all(|other| !other.revocation().0.is_cancelled())
        );
    }

    #[test]
    fn a_grant_has_a_row_only_while_a_request_is_answered() {
        let grants = RunningGrants::default();
        let (one, two) = (grants.enter("g"), grants.enter("g"));
        drop(one);
        assert_eq!(grants.rows().running.len(), 1);
        drop(two);
        assert_eq!(grants.rows().running.len(), 0);
        for n in 0..2_000 {
            drop(grants.enter(&n.to_string()));
        }
        assert_eq!(grants.rows().running.len(), 0);
    }

    #[test]
    fn a_request_that_arrives_after_its_grant_ended_is_cancelled() {
        let grants = RunningGrants::default();
        let before = grants.enter("g");
        grants.end("g");
        let after = grants.enter("g");
        drop(before);
        assert!(after.revocation().0.is_cancelled());
        assert_eq!(grants.rows().running.len(), 1, "the row of the later one");
        let later = Instant::now() + ENDED_TTL + Duration::from_secs(1);
        grants.rows().forget_old(later);
        assert!(grants.rows().ended.is_empty());
    }

    #[test]
    fn grants_that_ended_are_remembered_up_to_a_number() {
        let grants = RunningGrants::default();
        for n in 0..=MAX_ENDED {
            grants.end(&n.to_string());
        }
        assert_eq!(grants.rows().ended.len(), MAX_ENDED);
    }
}
