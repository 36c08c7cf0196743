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

use blue_core::secret::Secret;
use jiff::Timestamp;
use tokio::time::{Instant, interval_at, sleep};

use super::{Tokens, UpstreamError, account, refresh, vault};
use crate::{
    app::App,
    audit::Fields,
    crypto::SealError,
    store::{AuditEvent, Lease, StoreError, UpstreamTokens, User, UserState},
};

/// A token that ends so soon is not handed out: the call it is for takes its time
const MARGIN: Duration = Duration::from_mins(2);
/// How long others wait for a process that died while it asked; one that lives keeps asking for more
const LEASE: Duration = Duration::from_secs(5);
/// When it asks for more
const EXTEND: Duration = Duration::from_secs(1);
/// How long a caller waits for somebody else's refresh
const PATIENCE: Duration = Duration::from_secs(25);
const POLL: Duration = Duration::from_millis(50);

/// What opens the forge as one person
#[derive(Debug, Clone)]
pub(crate) struct Fresh {
    pub(crate) login: String,
    pub(crate) access: Secret,
    /// Until when it may be handed out
    pub(crate) good_until: Timestamp,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FreshError {
    /// The person must sign in again, or is not known any more
    #[error("the person must sign in again")]
    Reconnect,
    /// It may work later
    #[error("the forge gave no new tokens: {0}")]
    Unavailable(#[source] UpstreamError),
    #[error("somebody else takes very long to get new tokens")]
    Busy,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// Who asks the forge for new tokens, person by person, within this process
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>);

impl Turns {
    fn of(&self, user: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = turns.get(user).and_then(Weak::upgrade) {
            return turn;
        }
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        turns.insert(user.to_owned(), Arc::downgrade(&turn));
        turn
    }
}

/// A forge token of this person that is good right now
///
/// The refresh goes on when the caller goes away: the forge's answer must not be lost.
pub(crate) async fn fresh(app: &Arc<App>, user: &str) -> Result<Fresh, FreshError> {
    if let Some(fresh) = look(app, user, None).await?.good() {
        return Ok(fresh);
    }
    let (app, user) = (Arc::clone(app), user.to_owned());
    let work = async move {
        let turn = app.turns.of(&user);
        let _turn = turn.lock().await;
        renew(&app, &user, None).await
    };
    tokio::spawn(work).await.unwrap_or(Err(FreshError::Busy))
}

/// The forge answered 401 to this token: get another, and if that is no better, the person has to
/// sign in again
///
/// A grant that was taken back at the forge is noticed like this, before the token ends by itself.
pub(crate) async fn distrust(app: &Arc<App>, user: &str, refused: &Secret) {
    let turn = app.turns.of(user);
    let _turn = turn.lock().await;
    let current = match look(app, user, Some(refused)).await {
        // Somebody got a newer one meanwhile.
        Ok(Seen::Good(_)) | Err(FreshError::Reconnect) => return,
        Ok(Seen::Ending(..)) => renew(app, user, Some(refused)).await,
        Err(error) => Err(error),
    };
    let fresh = match current {
        Ok(fresh) => fresh,
        Err(error) => {
            let why = &error as &dyn std::error::Error;
            tracing::warn!(user, error = why, "no better token");
            return;
        }
    };
    let Err(UpstreamError::Unclear { status: 401 }) = account(app, &fresh.access).await else {
        return;
    };
    let marked = async {
        let row = app.store.user(user).await?.ok_or(FreshError::Reconnect)?;
        must_reconnect(app, &row, "the forge refuses a new token, too").await
    };
    if let Err(error) = marked.await {
        let why = &error as &dyn std::error::Error;
        tracing::warn!(user, error = why, "could not be told to sign in again");
    }
}

/// Erase the tokens of a row; false if there are newer ones
async fn must_reconnect(app: &App, user: &User, why: &str) -> Result<bool, FreshError> {
    let marked = app
        .store
        .must_reconnect(&user.id, user.version, app.now())
        .await?;
    if marked {
        tracing::warn!(user = %user.id, why, "must sign in again");
        let about = Fields {
            user: Some(&user.id),
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

impl Seen {
    fn good(self) -> Option<Fresh> {
        match self {
            Self::Good(fresh) => Some(fresh),
            Self::Ending(..) => None,
        }
    }
}

/// Read the row; a token that the forge `refused` is as good as ended
async fn look(app: &App, user: &str, refused: Option<&Secret>) -> Result<Seen, FreshError> {
    let user = app.store.user(user).await?.ok_or(FreshError::Reconnect)?;
    if user.state == UserState::Reconnect {
        return Err(FreshError::Reconnect);
    }
    let opened = vault::open(app, &user)?.ok_or(FreshError::Reconnect)?;
    let good_until = opened
        .access_expires_at
        .checked_sub(MARGIN)
        .unwrap_or(Timestamp::MIN);
    if good_until > app.now() && refused != Some(&opened.access) {
        return Ok(Seen::Good(Fresh {
            login: user.login,
            access: opened.access,
            good_until,
        }));
    }
    Ok(Seen::Ending(Box::new(user), opened))
}

async fn renew(app: &App, id: &str, refused: Option<&Secret>) -> Result<Fresh, FreshError> {
    let end = Instant::now() + PATIENCE;
    loop {
        let (user, opened) = match look(app, id, refused).await? {
            Seen::Good(fresh) => return Ok(fresh),
            Seen::Ending(user, opened) => (user, opened),
        };
        let now = app.now();
        let until = lease_end(app);
        let Some(lease) = app.store.lease(&user, &app.id(), until, now).await? else {
            // Another replica is at it.
            if let Some(fresh) = last_moments(app, &user, &opened, refused) {
                return Ok(fresh);
            }
            if Instant::now() > end {
                return Err(FreshError::Busy);
            }
            sleep(POLL).await;
            continue;
        };
        match refresh_under(app, &lease, &opened.refresh).await {
            Ok(tokens) => {
                let sealed = vault::seal(app, &user, user.version + 1, &tokens)?;
                // Not written means that a sign-in came first; its tokens are newer.
                keep(app, lease, &sealed).await?;
                if tokens.expires_in <= MARGIN {
                    return Ok(Fresh {
                        login: user.login,
                        access: tokens.access,
                        good_until: app.now(),
                    });
                }
            }
            Err(error) if error.is_final() => {
                // The row may have a newer version, which may be good: then look again.
                if must_reconnect(app, &user, &error.to_string()).await? {
                    return Err(FreshError::Reconnect);
                }
            }
            Err(error) => {
                app.store.release(lease).await?;
                let why = &error as &dyn std::error::Error;
                tracing::warn!(user = %user.id, error = why, "no new tokens");
                let left = last_moments(app, &user, &opened, refused);
                return left.ok_or(FreshError::Unavailable(error));
            }
        }
    }
}

fn lease_end(app: &App) -> Timestamp {
    app.now().checked_add(LEASE).unwrap_or(Timestamp::MAX)
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
        // Lost or not, the forge has been asked, and its answer is needed.
        if let Err(error) = app.store.extend(lease, lease_end(app)).await {
            let why = &error as &dyn std::error::Error;
            tracing::warn!(error = why, "a lease could not be kept");
        }
    }
}

/// What is left of a token that ends soon
fn last_moments(
    app: &App,
    user: &User,
    opened: &vault::Opened,
    refused: Option<&Secret>,
) -> Option<Fresh> {
    let good = opened.access_expires_at > app.now() && refused != Some(&opened.access);
    good.then(|| Fresh {
        login: user.login.clone(),
        access: opened.access.clone(),
        good_until: app.now(),
    })
}

/// Write what the forge gave, whatever it takes: on many forges the old token is worth nothing now
async fn keep(app: &App, lease: Lease, sealed: &UpstreamTokens) -> Result<bool, StoreError> {
    let mut wait = Duration::from_millis(50);
    loop {
        match app.store.refreshed(&lease, sealed, app.now()).await {
            Err(error) if wait < Duration::from_secs(5) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "new tokens could not be written yet"
                );
                sleep(wait).await;
                wait *= 3;
            }
            done => return done,
        }
    }
}
