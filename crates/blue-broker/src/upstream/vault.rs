//! Sealing and opening the one set of forge tokens that each user has
//!
//! Sealed tokens are bound to forge, account, kind and version: they open neither in another row
//! nor in a later version of their own.

use blue_base::secret::Secret;
use jiff::Timestamp;

use super::{ForgeAccount, Tokens, refresh};
use crate::{
    app::App,
    crypto::{Bound, DataKey, SealError, WrappedKey},
    store::{NewUser, StoreError, UpstreamTokens, User, UserState},
};

/// How often a sign-in retries that collides with others of the same user
const TRIES: usize = 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum VaultError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Seal(#[from] SealError),
    #[error("the row of this person is changed all the time")]
    Busy,
}

/// Opened tokens, in clear
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    pub(crate) access: Secret,
    pub(crate) refresh: Secret,
    pub(crate) access_expires_at: Timestamp,
}

/// Result of a sign-in
#[derive(Debug)]
pub(crate) struct SignIn<'a> {
    pub(crate) account: &'a ForgeAccount,
    /// Scope of the grant, as the forge reported it
    pub(crate) scope: &'a str,
    pub(crate) tokens: Tokens,
    /// When the forge was asked for the tokens
    pub(crate) since: Timestamp,
}

/// Store the tokens that a sign-in brought; returns the id of the user
///
/// Where two sign-ins of one user overlap, a forge that rotates refresh tokens accepts only the set
/// that it issued last, and the order in which they arrive here does not tell which that is. So a
/// sign-in that finds the row changed since it asked the forge refreshes its own tokens first: if
/// the forge rejects them, the stored ones are the newer and stay.
pub(crate) async fn sign_in(app: &App, new: SignIn<'_>) -> Result<String, VaultError> {
    let SignIn {
        account,
        scope,
        mut tokens,
        since,
    } = new;
    let forge = app.config.forge.url().as_str();
    let mut tried = false;
    for _ in 0..TRIES {
        let now = app.now();
        if let Some(user) = app.store.user_at_forge(forge, &account.id).await? {
            let met = user.state == UserState::Connected && user.updated_at >= since;
            if met && !tried {
                tried = true;
                match refresh(app, &tokens.refresh).await {
                    Ok(newer) => tokens = newer,
                    Err(error) if error.is_final() => return Ok(user.id),
                    // Undetermined; the set that arrived last is the better guess.
                    Err(_) => {}
                }
                continue;
            }
            let (key, fresh) = if user.state == UserState::Disconnected {
                let (key, wrapped) = new_key(app, forge, &account.id);
                (key, Some(wrapped))
            } else {
                (data_key(app, &user)?, None)
            };
            let version = user.version + 1;
            let sealed = seal_with(app, &key, forge, &account.id, version, &tokens);
            let written = app
                .store
                .signed_in(&user, &account.login, scope, fresh.as_ref(), &sealed, now)
                .await?;
            if written {
                return Ok(user.id);
            }
            continue;
        }
        let (key, wrapped) = new_key(app, forge, &account.id);
        let new = NewUser {
            id: app.id(),
            forge: forge.to_owned(),
            account: account.id.clone(),
            login: account.login.clone(),
            key: wrapped,
            tokens: seal_with(app, &key, forge, &account.id, 1, &tokens),
            scope: scope.to_owned(),
        };
        if app.store.add_user(&new, now).await? {
            return Ok(new.id);
        }
    }
    Err(VaultError::Busy)
}

/// Opens the tokens of a user, if they have any
pub(crate) fn open(app: &App, user: &User) -> Result<Option<Opened>, SealError> {
    let Some(tokens) = &user.tokens else {
        return Ok(None);
    };
    let key = data_key(app, user)?;
    let open = |sealed: &[u8], kind| {
        let place = place(&user.forge, &user.account, kind, user.version);
        let plain = key.open(sealed, &place)?;
        String::from_utf8(plain)
            .map(Secret::new)
            .map_err(|_| SealError)
    };
    Ok(Some(Opened {
        access: open(&tokens.access, "access")?,
        refresh: open(&tokens.refresh, "refresh")?,
        access_expires_at: tokens.access_expires_at,
    }))
}

/// Seal tokens for a version of a user's row
pub(super) fn seal(
    app: &App,
    user: &User,
    version: i64,
    tokens: &Tokens,
) -> Result<UpstreamTokens, SealError> {
    let key = data_key(app, user)?;
    let (forge, account) = (&user.forge, &user.account);
    Ok(seal_with(app, &key, forge, account, version, tokens))
}

/// A new data key for a user who has none
fn new_key(app: &App, forge: &str, account: &str) -> (DataKey, WrappedKey) {
    let key = DataKey::new(&*app.rng);
    let wrapped = app.keys.wrap(&*app.rng, &key, &key_place(forge, account));
    (key, wrapped)
}

fn data_key(app: &App, user: &User) -> Result<DataKey, SealError> {
    let place = key_place(&user.forge, &user.account);
    app.keys.unwrap(&user.key, &place)
}

fn seal_with(
    app: &App,
    key: &DataKey,
    forge: &str,
    account: &str,
    version: i64,
    tokens: &Tokens,
) -> UpstreamTokens {
    let seal = |plain: &Secret, kind| {
        let place = place(forge, account, kind, version);
        key.seal(&*app.rng, plain.expose().as_bytes(), &place)
    };
    UpstreamTokens {
        access: seal(&tokens.access, "access"),
        refresh: seal(&tokens.refresh, "refresh"),
        access_expires_at: app
            .now()
            .checked_add(tokens.expires_in)
            .unwrap_or(Timestamp::MAX),
    }
}

pub(crate) fn key_place(forge: &str, account: &str) -> Bound {
    Bound::to("users.wrapped_key").and(forge).and(account)
}

fn place(forge: &str, account: &str, kind: &str, version: i64) -> Bound {
    Bound::to("users")
        .and(forge)
        .and(account)
        .and(kind)
        .and_number(version)
}
