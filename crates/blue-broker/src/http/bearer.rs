//! Authentication of `/mcp`: from a bearer token to its user
//!
//! Results are cached for one second, because clients call often. A revocation in this process
//! evicts them at once; one by another process takes effect when the entry has expired.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::http::{HeaderMap, header};
use blue_base::secret::Secret;
use jiff::Timestamp;

use crate::{
    app::App,
    store::StoreError,
    token::{Kind, Token, TokenHash},
    upstream::{self, FreshError},
};

pub(crate) const REMEMBERED: Duration = Duration::from_secs(1);
/// Size of the cache above which expired entries are dropped; if that does not help, all are
const MOST: usize = 20_000;
/// How precisely the last use of a grant is recorded
const NOTED: Duration = Duration::from_mins(1);

/// An authenticated caller, with the forge token of the user
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    pub(crate) grant: String,
    pub(crate) user: String,
    pub(crate) login: String,
    pub(crate) scope: String,
    pub(crate) forge_token: Secret,
    /// Version of the user's forge tokens that this one belongs to
    pub(crate) version: i64,
    /// When the first of the two tokens expires
    good_until: Timestamp,
}

/// Why a request was not admitted
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The request has no token
    None,
    /// The token is invalid, or the user has to sign in again
    Invalid(&'static str),
    /// The forge issues no tokens at the moment
    Unavailable,
    Broken,
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let why = &error as &dyn std::error::Error;
        tracing::error!(error = why, "the database failed");
        Self::Broken
    }
}

impl From<FreshError> for Refusal {
    fn from(error: FreshError) -> Self {
        match error {
            FreshError::Reconnect => {
                Self::Invalid("the person has to sign in with the forge again")
            }
            FreshError::Unavailable(_) | FreshError::Busy => Self::Unavailable,
            FreshError::Store(error) => error.into(),
            FreshError::Seal(error) => {
                tracing::error!(%error, "the tokens of a person do not open");
                Self::Broken
            }
        }
    }
}

/// Cache of authenticated callers, by the hash of their token
#[derive(Debug, Default)]
pub(crate) struct Passes(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    passes: HashMap<TokenHash, Entry>,
    /// Raised by every revocation, so that a lookup that began before it is not cached after it
    ends: u64,
}

#[derive(Debug)]
struct Entry {
    pass: Arc<Pass>,
    at: Instant,
    /// When the last use of the grant was written
    noted: Timestamp,
}

impl Passes {
    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, hash: &TokenHash, now: Timestamp) -> Option<Arc<Pass>> {
        let remembered = self.lock();
        let entry = remembered.passes.get(hash)?;
        let good = entry.at.elapsed() < REMEMBERED && entry.pass.good_until > now;
        good.then(|| Arc::clone(&entry.pass))
    }

    /// Number of revocations so far, and when the last use of this grant was written
    fn before(&self, hash: &TokenHash) -> (u64, Option<Timestamp>) {
        let remembered = self.lock();
        let noted = remembered.passes.get(hash).map(|entry| entry.noted);
        (remembered.ends, noted)
    }

    fn put(&self, hash: TokenHash, ends: u64, entry: Entry) {
        let mut remembered = self.lock();
        if remembered.ends != ends {
            return;
        }
        if remembered.passes.len() >= MOST {
            let young = |_: &TokenHash, entry: &mut Entry| entry.at.elapsed() < REMEMBERED;
            remembered.passes.retain(young);
            if remembered.passes.len() >= MOST {
                remembered.passes.clear();
            }
        }
        remembered.passes.insert(hash, entry);
    }

    /// Drops entries that are too old to be used, and with them the forge tokens they hold
    ///
    /// [`Self::forget`] does not evict these: it is not called for grants that expire, nor for
    /// those that another process revokes.
    pub(crate) fn drop_stale(&self) {
        let young = |_: &TokenHash, entry: &mut Entry| entry.at.elapsed() < NOTED;
        self.lock().passes.retain(young);
    }

    /// Evict everything about revoked grants
    pub(crate) fn forget(&self, grants: &[String]) {
        let mut remembered = self.lock();
        remembered.ends += 1;
        remembered
            .passes
            .retain(|_, entry| !grants.contains(&entry.pass.grant));
    }
}

/// Authenticates a request by its bearer token
pub(crate) async fn check(app: &Arc<App>, headers: &HeaderMap) -> Result<Arc<Pass>, Refusal> {
    const BAD: Refusal = Refusal::Invalid("the token is not good, or not any more");
    let hash = Token::parse(Kind::Access, token(headers)?)
        .ok_or(BAD)?
        .hash();
    let now = app.now();
    if let Some(pass) = app.passes.get(&hash, now) {
        return Ok(pass);
    }
    let (ends, noted) = app.passes.before(&hash);
    // The age of the entry counts from before the rows are read, because the steps after it may be
    // slow. Another process that revokes the grant waits only for the lifetime of a cache entry.
    let at = Instant::now();
    let checked = app.store.check_access(&hash, now).await?.ok_or(BAD)?;
    if checked.resource != app.config.public_url.resource() {
        return Err(BAD);
    }
    if !checked.used {
        not_written(app.store.access_used(&checked.pair, now).await);
    }
    let due = |noted: Timestamp| now.duration_since(noted).unsigned_abs() >= NOTED;
    let noted = match noted {
        Some(noted) if !due(noted) => noted,
        _ => {
            not_written(app.store.grant_used(&checked.grant, now).await);
            now
        }
    };
    let fresh = upstream::fresh(app, &checked.user).await?;
    let pass = Arc::new(Pass {
        grant: checked.grant,
        user: checked.user,
        login: fresh.login,
        scope: checked.scope,
        forge_token: fresh.access,
        version: fresh.version,
        good_until: checked.expires_at.min(fresh.good_until),
    });
    let entry = Entry {
        pass: Arc::clone(&pass),
        at,
        noted,
    };
    app.passes.put(hash, ends, entry);
    Ok(pass)
}

/// Log that a use could not be recorded, as on a full disk
///
/// The token is valid all the same, so the call goes on. The next read of the rows, a second later
/// at most, tries again.
fn not_written(noted: Result<(), StoreError>) {
    if let Err(error) = noted {
        let why = &error as &dyn std::error::Error;
        tracing::warn!(error = why, "the use of a token could not be noted");
    }
}

/// The token of the one `Authorization` header; no other place is accepted
fn token(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = given.next() else {
        return Err(Refusal::None);
    };
    if given.next().is_some() {
        return Err(Refusal::Invalid("there is more than one token"));
    }
    let value = value.to_str().unwrap_or_default();
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        _ => Err(Refusal::Invalid("`Authorization` is not `Bearer`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(grant: &str, good_until: i64) -> Entry {
        Entry {
            pass: Arc::new(Pass {
                grant: grant.to_owned(),
                user: "u".to_owned(),
                login: "alice".to_owned(),
                scope: "mcp".to_owned(),
                forge_token: Secret::new("t"),
                version: 1,
                good_until: Timestamp::from_second(good_until).unwrap(),
            }),
            at: Instant::now(),
            noted: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_pass_is_remembered_for_a_moment() {
        let passes = Passes::default();
        let (hash, now) = (TokenHash::of("a"), Timestamp::UNIX_EPOCH);
        passes.put(hash, 0, entry("g", 60));
        assert!(passes.get(&hash, now).is_some());
        let later = Timestamp::from_second(60).unwrap();
        assert!(passes.get(&hash, later).is_none(), "the token has ended");
        let long_ago = Instant::now().checked_sub(REMEMBERED).unwrap();
        let old = Entry {
            at: long_ago,
            ..entry("g", 60)
        };
        passes.put(hash, 0, old);
        assert!(passes.get(&hash, now).is_none());
    }

    #[test]
    fn a_forge_token_that_is_not_used_leaves_memory() {
        let passes = Passes::default();
        let (stale, recent) = (TokenHash::of("stale"), TokenHash::of("recent"));
        let old = Entry {
            at: Instant::now().checked_sub(NOTED).unwrap(),
            ..entry("g1", 600)
        };
        let held = Arc::downgrade(&old.pass);
        passes.put(stale, 0, old);
        passes.put(recent, 0, entry("g2", 600));
        passes.drop_stale();
        assert!(held.upgrade().is_none());
        assert!(passes.before(&recent).1.is_some());
    }

    #[test]
    fn revocation_evicts_lookups_in_progress() {
        let passes = Passes::default();
        let (one, two, now) = (
            TokenHash::of("1"),
            TokenHash::of("2"),
            Timestamp::UNIX_EPOCH,
        );
        passes.put(one, 0, entry("g1", 60));
        passes.put(two, 0, entry("g2", 60));
        let (ends, _) = passes.before(&one);
        passes.forget(&["g1".to_owned()]);
        assert!(passes.get(&one, now).is_none());
        assert!(passes.get(&two, now).is_some());
        passes.put(one, ends, entry("g1", 60));
        assert!(
            passes.get(&one, now).is_none(),
            "it was read before the end"
        );
    }
}
