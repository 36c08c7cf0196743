//! Limits that a server announced, shared by all requests to one host with one token
//!
//! GitHub counts requests during a limit against the client, so a limit that one request met holds
//! for the others of this process too. They are not sent before it is over.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::StatusCode;
use tokio::time::Instant;

use super::Whose;

/// Longest time that requests are held back without asking the server again: a wrong
/// `Retry-After` must not lock a long-lived process out
const MAX_PAUSE: Duration = Duration::from_mins(15);

#[derive(Debug, Default)]
pub(super) struct Pauses {
    running: Mutex<HashMap<Whose, Pause>>,
}

/// A limit that is not over, as the server told it
#[derive(Debug, Clone)]
pub(super) struct Pause {
    until: Instant,
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

impl Pause {
    pub(super) fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

impl Pauses {
    /// Hold back the requests of this host and token
    pub(super) fn begin(&self, whose: Whose, wait: Duration, status: StatusCode, body: Bytes) {
        let now = Instant::now();
        let until = now + wait.min(MAX_PAUSE);
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|_, pause| pause.until > now);
        if until > now {
            let pause = Pause {
                until,
                status,
                body,
            };
            running.insert(whose, pause);
        }
    }

    /// Returns the limit that holds for this host and token, if one does
    pub(super) fn of(&self, whose: &Whose) -> Option<Pause> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = running.get(whose)?;
        (!pause.left().is_zero()).then(|| pause.clone())
    }
}
