//! A forge token that is good right now
//!
//! A forge counts refreshes per person, so exactly one caller may ask for new tokens: here by a
//! turn per person, between replicas by a lease on the row. Whoever was not first reads the row
//! again and finds what the first one wrote.

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

/// A token that ends so soon is not handed out: the call it is for takes its time
const MARGIN: SignedDuration = SignedDuration::from_mins(2);
/// How long others wait for a process that died while it asked; one that lives keeps asking for more
const LEASE: Duration = Duration::from_secs(5);
/// When it asks for more
const EXTEND: Duration = Duration::from_secs(1);
/// How long a caller waits for somebody else's refresh
const PATIENCE: Duration = Duration::from_secs(25);
/// How long a caller waits whose token is not over yet
const HURRY: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(50);
/// How long a sign-in has to write down what the forge gave it, with the repeats of its reads
const SIGN_IN: Duration = Duration::from_secs(8);

/// What opens the forge as one person
#[derive(Debug, Clone)]
pub(crate) struct Fresh {
    pub(crate) login: String,
    pub(crate) access: Secret,
    /// Until when it may be handed out
    pub(crate) good_until: Timestamp,
    /// Version of the row that it is of
    pub(crate) version: i64,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FreshError {
    /// The person must sign in again, or is not known any more
    #[error("the person must sign in again")]
    Reconnect,
    /// It may work later
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
    /// The same for those who waited for this try; none where theirs may go better
    fn shared(&self) -> Option<Self> {
        match self {
            Self::Unavailable(error) => Some(Self::Unavailable(Arc::clone(error))),
            Self::Busy => Some(Self::Busy),
            Self::Reconnect | Self::Store(_) | Self::Seal(_) => None,
        }
    }
}

/// The right to try, and how the last try failed that others waited for
type Turn = tokio::sync::Mutex<Option<(Instant, FreshError)>>;

/// Who asks the forge for new tokens, person by person, within this process
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

    /// How many have the turn of this person or wait for it
    #[cfg(test)]
    pub(crate) fn waiting(&self, user: &str) -> usize {
        let turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.get(user).map_or(0, Weak::strong_count)
    }
}

/// A forge token of this person that is good right now
///
/// The refresh goes on when the caller goes away: the forge's answer must not be lost.
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
            // Its last moments are better than nothing.
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

/// How a try failed that ended after `came`: who waited for it need not make the same one
fn missed_since(came: Instant, last: Option<&(Instant, FreshError)>) -> Option<FreshError> {
    let (at, error) = last?;
    if *at >= came { error.shared() } else { None }
}

fn note(turn: &mut Option<(Instant, FreshError)>, tried: &Result<Fresh, FreshError>) {
    let failed = tried.as_ref().err().and_then(FreshError::shared);
    *turn = failed.map(|error| (Instant::now(), error));
}

/// The forge answered 401 to the token of this version: get another, and if that is no better, the
/// person has to sign in again
///
/// A grant that was taken back at the forge is noticed like this, before the token ends by itself.
pub(crate) async fn distrust(app: &App, user: &str, refused: i64) {
    match replace(app, user, refused, Instant::now()).await {
        // That was told where it was found out.
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
    // Otherwise somebody got newer ones meanwhile, or erased them.
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
        // Only what was tried: somebody may have signed in since.
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

/// What the row says
enum Seen {
    Good(Fresh),
    /// To be refreshed; the token may still be good for a moment
    Ending(Box<User>, vault::Opened),
}

/// Read the row; what has the version that the forge `refused` is as good as ended
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
/// Of one that lives for no more than minutes, half of its life: else every call would refresh it.
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
            // Another replica is at it.
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
                // A sign-in came first; its tokens are newer.
            }
            Err(error) if error.is_final() => {
                sign_in_ends(app, &user).await?;
                // The row may have a newer version, which may be good: then look again.
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

/// Wait for newer tokens of this person if a sign-in that is under way may bring them
///
/// A forge that counts refuses the older ones from the moment it took the code, and whose code it
/// was is known only some requests later.
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

/// Ask the forge, and hold the lease as long as that takes
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
                // Whoever has it now thought us dead, or signed in. The forge has been asked all
                // the same, and its answer is needed.
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

/// Write what the forge gave, whatever it takes: on many forges the old token is worth nothing now
///
/// None if there is something newer. That somebody who sent the same old token after us was refused
/// and has erased it is not: there is one set of tokens that the forge takes, and it is this.
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

/// What came of writing new tokens
enum Written {
    Yes,
    /// There are newer ones
    Newer,
    /// Somebody took the old ones for refused
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
