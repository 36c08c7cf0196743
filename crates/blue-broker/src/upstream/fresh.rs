//! Valid forge tokens: cached, or refreshed by one caller at a time
//!
//! A forge may rotate refresh tokens, and does so per user, so exactly one caller may refresh.
//! Within this process that is ensured by a lock per user, between replicas by a lease on the row.
//! Every other caller waits, reads the row again and finds the new tokens.

use std::{
    collections::HashMap,
    pin::pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use blue_base::secret::Secret;
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, interval_at, sleep, timeout};
use tracing::Instrument as _;

use super::{Tokens, UpstreamError, account, refresh, vault};
use crate::{
    app::App,
    audit::Fields,
    crypto::SealError,
    store::{AuditEvent, Lease, StoreError, User, UserState},
};

/// A token that expires this soon is not handed out, because the call takes time
const MARGIN: SignedDuration = SignedDuration::from_mins(2);
/// Time after which a lease expires whose holder died; a holder that lives extends it
const LEASE: Duration = Duration::from_secs(5);
/// How often the holder extends its lease
const EXTEND: Duration = Duration::from_secs(1);
/// How long a caller waits for the refresh of another
const PATIENCE: Duration = Duration::from_secs(25);
/// How long a caller waits for a refresh while its token is still valid
const HURRY: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(50);
/// How long a sign-in may take to store its tokens, retried reads included
const SIGN_IN: Duration = Duration::from_secs(8);

/// A forge token of one user
#[derive(Debug, Clone)]
pub(crate) struct Fresh {
    pub(crate) login: String,
    pub(crate) access: Secret,
    /// Until when it may be handed out
    pub(crate) good_until: Timestamp,
    /// Version of the row that it was read from
    pub(crate) version: i64,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FreshError {
    /// The user must sign in again, or is not known any more
    #[error("the person must sign in again")]
    Reconnect,
    /// A temporary failure
    #[error("the forge gave no new tokens")]
    Unavailable(#[source] Arc<UpstreamError>),
    #[error("somebody else takes very long to get new tokens")]
    Busy,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Seal(#[from] SealError),
}

impl FreshError {
    /// The error for callers that waited for this attempt; `None` where an attempt of their own may
    /// succeed
    fn shared(&self) -> Option<Self> {
        match self {
            Self::Unavailable(error) => Some(Self::Unavailable(Arc::clone(error))),
            Self::Busy => Some(Self::Busy),
            Self::Reconnect | Self::Store(_) | Self::Seal(_) => None,
        }
    }
}

/// Lock of one user's refresh, with the last failure that is shared with waiting callers
type Turn = tokio::sync::Mutex<Option<(Instant, FreshError)>>;

/// Locks of the refreshes within this process, by user
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<HashMap<String, Weak<Turn>>>);

impl Turns {
    fn of(&self, user: &str) -> Arc<Turn> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = turns.get(user).and_then(Weak::upgrade) {
            return turn;
        }
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        turns.insert(user.to_owned(), Arc::downgrade(&turn));
        turn
    }

    /// How many callers hold this user's lock or wait for it
    #[cfg(test)]
    pub(crate) fn waiting(&self, user: &str) -> usize {
        let turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.get(user).map_or(0, Weak::strong_count)
    }
}

/// Returns a valid forge token of this user, refreshed if need be
///
/// The refresh goes on when the caller is cancelled: the forge's response must not be lost.
pub(crate) async fn fresh(app: &Arc<App>, user: &str) -> Result<Fresh, FreshError> {
    let (row, opened) = match look(app, user, None).await? {
        Seen::Good(fresh) => return Ok(fresh),
        Seen::Ending(row, opened) => (row, opened),
    };
    let renewing = {
        let (app, user) = (Arc::clone(app), user.to_owned());
        let came = Instant::now();
        async move { in_turn(&app, &user, came).await }
    };
    let mut renewing = app.tasks.spawn(renewing.in_current_span());
    let ends = opened.access_expires_at;
    let renewed = if ends > app.now() {
        timeout(HURRY, &mut renewing).await
    } else {
        Ok(renewing.await)
    };
    match renewed.map(|done| done.unwrap_or(Err(FreshError::Busy))) {
        Err(_) | Ok(Err(FreshError::Unavailable(_) | FreshError::Busy)) if ends > app.now() => {
            // The refresh failed or is slow, and the old token is still valid.
            Ok(Fresh {
                login: row.login,
                access: opened.access,
                good_until: app.now(),
                version: row.version,
            })
        }
        Ok(done) => done,
        Err(_) => Err(FreshError::Busy),
    }
}

async fn in_turn(app: &App, user: &str, came: Instant) -> Result<Fresh, FreshError> {
    let turn = app.turns.of(user);
    let mut turn = turn.lock().await;
    if let Some(missed) = missed_since(came, turn.as_ref()) {
        return Err(missed);
    }
    let renewed = renew(app, user, None).await;
    note(&mut turn, &renewed);
    renewed
}

/// The error of an attempt that ended after `came`: a caller that waited for it need not repeat it
fn missed_since(came: Instant, last: Option<&(Instant, FreshError)>) -> Option<FreshError> {
    let (at, error) = last?;
    if *at >= came { error.shared() } else { None }
}

fn note(turn: &mut Option<(Instant, FreshError)>, tried: &Result<Fresh, FreshError>) {
    let failed = tried.as_ref().err().and_then(FreshError::shared);
    *turn = failed.map(|error| (Instant::now(), error));
}

/// Handle a 401 of the forge to the token of this version: refresh it, and if the new token is
/// rejected too, the user has to sign in again
///
/// This is how a grant that was revoked at the forge is noticed before its token expires.
pub(crate) async fn distrust(app: &App, user: &str, refused: i64) {
    match replace(app, user, refused, Instant::now()).await {
        // That was logged where it was found out.
        Ok(()) | Err(FreshError::Reconnect) => {}
        Err(error) => {
            let why = &error as &dyn std::error::Error;
            tracing::warn!(user, error = why, "no better token");
        }
    }
}

async fn replace(app: &App, user: &str, refused: i64, came: Instant) -> Result<(), FreshError> {
    let turn = app.turns.of(user);
    let mut turn = turn.lock().await;
    let row = app.store.user(user).await?;
    // Otherwise another caller stored newer tokens meanwhile, or erased them.
    if row.is_none_or(|row| row.version != refused) {
        return Ok(());
    }
    if let Some(missed) = missed_since(came, turn.as_ref()) {
        return Err(missed);
    }
    let renewed = renew(app, user, Some(refused)).await;
    note(&mut turn, &renewed);
    drop(turn);
    let fresh = renewed?;
    if let Err(UpstreamError::Unclear { status: 401, .. }) = account(app, &fresh.access).await {
        // Only the version that was tried: the user may have signed in since.
        let why = "the forge refuses a new token, too";
        must_reconnect(app, user, fresh.version, why).await?;
    }
    Ok(())
}

/// Erase the tokens of this version; false if there are newer ones
async fn must_reconnect(
    app: &App,
    user: &str,
    version: i64,
    why: &str,
) -> Result<bool, FreshError> {
    let marked = app.store.must_reconnect(user, version, app.now()).await?;
    if marked {
        tracing::warn!(user, why, "must sign in again");
        let about = Fields {
            user: Some(user),
            ..Fields::default()
        };
        app.audit(AuditEvent::ReconnectNeeded, about).await;
    }
    Ok(marked)
}

/// State of the tokens in the row
enum Seen {
    Good(Fresh),
    /// To be refreshed; the token may still be valid for a moment
    Ending(Box<User>, vault::Opened),
}

/// Read the row; a token of the version that the forge `refused` counts as expired
async fn look(app: &App, user: &str, refused: Option<i64>) -> Result<Seen, FreshError> {
    let user = app.store.user(user).await?.ok_or(FreshError::Reconnect)?;
    if user.state != UserState::Connected {
        return Err(FreshError::Reconnect);
    }
    let opened = vault::open(app, &user)?.ok_or(FreshError::Reconnect)?;
    let good_until = before_end(user.updated_at, opened.access_expires_at);
    if good_until > app.now() && refused != Some(user.version) {
        return Ok(Seen::Good(Fresh {
            login: user.login,
            access: opened.access,
            good_until,
            version: user.version,
        }));
    }
    Ok(Seen::Ending(Box::new(user), opened))
}

/// Until when to hand out a token that was written at `since`
///
/// A token that lives for only minutes is handed out for half of its life: otherwise every call
/// would refresh it.
fn before_end(since: Timestamp, end: Timestamp) -> Timestamp {
    let life = end.duration_since(since).max(SignedDuration::ZERO);
    let margin = MARGIN.min(life / 2);
    end.checked_sub(margin).unwrap_or(Timestamp::MIN)
}

async fn renew(app: &App, id: &str, refused: Option<i64>) -> Result<Fresh, FreshError> {
    let end = Instant::now() + PATIENCE;
    loop {
        let (user, opened) = match look(app, id, refused).await? {
            Seen::Good(fresh) => return Ok(fresh),
            Seen::Ending(user, opened) => (user, opened),
        };
        let Some(lease) = app.store.lease(&user, &app.id(), LEASE).await? else {
            // Another replica holds the lease.
            if Instant::now() > end {
                return Err(FreshError::Busy);
            }
            sleep(POLL).await;
            continue;
        };
        match refresh_under(app, &lease, &opened.refresh).await {
            Ok(tokens) => {
                if let Some(fresh) = keep(app, *user, tokens).await? {
                    return Ok(fresh);
                }
                // A sign-in was first; its tokens are newer.
            }
            Err(error) if error.is_final() => {
                sign_in_ends(app, &user).await?;
                // The row may have a newer version, which may be valid: then read it again.
                let why = error.to_string();
                if must_reconnect(app, &user.id, user.version, &why).await? {
                    return Err(FreshError::Reconnect);
                }
            }
            Err(error) => {
                app.store.release(lease).await?;
                error.log(Some(&user.id), "the forge gave no new tokens");
                return Err(FreshError::Unavailable(Arc::new(error)));
            }
        }
    }
}

/// Wait for newer tokens of this user if a sign-in in progress may bring them
///
/// A forge that rotates refresh tokens rejects the older ones from the moment it accepts the code
/// of a sign-in, and which user that code belongs to is known only some requests later.
async fn sign_in_ends(app: &App, user: &User) -> Result<(), FreshError> {
    let end = Instant::now() + SIGN_IN;
    while Instant::now() < end && app.store.somebody_returns(app.now()).await? {
        let row = app.store.user(&user.id).await?;
        if row.is_none_or(|row| row.version != user.version) {
            break;
        }
        sleep(POLL).await;
    }
    Ok(())
}

/// Refresh at the forge, and extend the lease as long as that takes
async fn refresh_under(app: &App, lease: &Lease, token: &Secret) -> Result<Tokens, UpstreamError> {
    let mut asking = pin!(refresh(app, token));
    let mut tick = interval_at(Instant::now() + EXTEND, EXTEND);
    loop {
        tokio::select! {
            answer = asking.as_mut() => return answer,
            _ = tick.tick() => {}
        }
        match app.store.extend(lease, LEASE).await {
            Ok(true) => {}
            Ok(false) => {
                // The new holder took our lease for expired, or the user signed in. The forge has
                // received our request all the same, so its response is needed.
                tracing::warn!("a lease was lost");
                return asking.await;
            }
            Err(error) => {
                let why = &error as &dyn std::error::Error;
                tracing::warn!(error = why, "a lease could not be kept");
            }
        }
    }
}

/// Write the tokens that the forge issued, with retries: on many forges the old token is invalid
/// now
///
/// Returns `None` if the row has newer tokens. It does not count as newer if another replica sent
/// the same old token after us, was refused, and erased the row's tokens: ours are the only ones
/// that the forge accepts, so they are written over that.
async fn keep(app: &App, mut user: User, tokens: Tokens) -> Result<Option<Fresh>, FreshError> {
    let asked_of = user.version;
    let mut wait = Duration::from_millis(50);
    loop {
        let version = user.version + 1;
        let sealed = vault::seal(app, &user, version, &tokens)?;
        let written = async {
            let from = user.version;
            if app
                .store
                .refreshed(&user.id, from, &sealed, app.now())
                .await?
            {
                return Ok(Written::Yes);
            }
            let row = app.store.user(&user.id).await?;
            let erased = |row: &User| row.state == UserState::Reconnect && from == asked_of;
            let row = row.filter(|row| erased(row) && row.version == version);
            Ok(row.map_or(Written::Newer, |row| Written::Erased(Box::new(row))))
        };
        match written.await {
            Ok(Written::Yes) => {
                let now = app.now();
                let good_until = before_end(now, sealed.access_expires_at).max(now);
                return Ok(Some(Fresh {
                    login: user.login,
                    access: tokens.access,
                    good_until,
                    version,
                }));
            }
            Ok(Written::Newer) => return Ok(None),
            Ok(Written::Erased(row)) => user = *row,
            Err(error) if wait < Duration::from_secs(5) => {
                let error: StoreError = error;
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "new tokens could not be written yet"
                );
                sleep(wait).await;
                wait *= 3;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Result of writing new tokens
enum Written {
    Yes,
    /// The row has newer tokens
    Newer,
    /// Another replica erased the old tokens, because the forge rejected them
    Erased(Box<User>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_handed_out_in_its_last_moments() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (life, good_for) in [(3600, 3480), (240, 120), (60, 30), (1, 0), (0, 0)] {
            let until = before_end(at(1000), at(1000 + life));
            assert_eq!(until.as_second(), 1000 + good_for, "{life}");
        }
        // The clock was set back meanwhile.
        assert_eq!(before_end(at(1000), at(900)), at(900));
        assert!(before_end(Timestamp::MIN, Timestamp::MAX) > at(0));
    }
}
