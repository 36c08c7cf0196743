//! Admin commands: list and revoke, while a broker may be running on the same database
//!
//! The running broker is not notified. It reads the rows again once its cache of bearer tokens,
//! which holds for one second, has expired.

use std::sync::Arc;

use blue_base::clock::Clock;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    config::{Config, Database},
    crypto::{self, DataKey, KeyFileError, KeyRing},
    http::REMEMBERED,
    rng::{self, Rng},
    store::{AuditEvent, AuditRow, ClientKind, Revoked, Store, StoreError, User, UserState},
    upstream,
};

/// Reason that the audit log gives for grants revoked here
const WHY: &str = "revoked by an admin";

/// Every user, for a rotation of the keys
const ALL: i64 = i64::MAX;

/// The first rows of a list, and how many there are in all
///
/// Strangers can register clients, so no list is read whole unless it is asked for.
#[derive(Debug, Clone)]
pub struct Listed<T> {
    pub rows: Vec<T>,
    /// Counted by the database
    pub total: u64,
}

impl<T> Listed<T> {
    fn new(rows: Vec<T>, total: i64) -> Self {
        let total = u64::try_from(total).unwrap_or(0);
        Self { rows, total }
    }
}

/// Why an admin command failed
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    #[error("there is no database at `{0}`")]
    NoDatabase(String),
    #[error("the database has no tables of a broker")]
    Empty,
    #[error("the database has schema {found}, and this program works with schema {known}")]
    Older { found: i64, known: i64 },
    #[error("the database has schema {found}, and this program knows only schemas up to {known}")]
    Newer { found: i64, known: i64 },
    #[error("could not use the database")]
    Store(#[source] StoreError),
    #[error("could not use the master keys")]
    Keys(#[from] KeyFileError),
    #[error("the key of `{0}` does not open with the master keys")]
    Sealed(String),
    #[error("there is no {what} `{id}`")]
    Unknown { what: &'static str, id: String },
    #[error("{} people go by `{login}` here: {}", .ids.len(), .ids.join(", "))]
    Several { login: String, ids: Vec<String> },
}

impl From<StoreError> for AdminError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Older { found, known } => Self::Older { found, known },
            StoreError::Newer { found, known } => Self::Newer { found, known },
            StoreError::Empty => Self::Empty,
            other => Self::Store(other),
        }
    }
}

/// A client, as lists show it
#[derive(Debug, Clone, Serialize)]
pub struct ClientLine {
    pub id: String,
    /// `dynamic`, `metadata` or `static`
    pub kind: &'static str,
    pub name: String,
    pub redirect_uris: Vec<String>,
    pub auth_method: &'static str,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

/// A user, as lists show them
#[derive(Debug, Clone, Serialize)]
pub struct UserLine {
    pub id: String,
    pub login: String,
    pub forge: String,
    /// `connected`, `reconnect`, or `disconnected` where no connection is left
    pub state: &'static str,
    pub created_at: Timestamp,
}

/// A grant, as lists show it
#[derive(Debug, Clone, Serialize)]
pub struct GrantLine {
    pub id: String,
    /// Login of the user, or their id if the row is gone
    pub user: String,
    pub client_id: String,
    /// Name of the client, if it is still known
    pub client: Option<String>,
    pub scope: String,
    pub created_at: Timestamp,
    pub last_used_at: Timestamp,
}

/// An audit event, as lists show it
#[derive(Debug, Clone, Serialize)]
pub struct EventLine {
    pub at: Timestamp,
    /// `registered`, `consented`, `denied`, `issued`, `refreshed`, `replayed`, `revoked` or
    /// `reconnect_needed`
    pub event: String,
    pub client_id: Option<String>,
    /// Login of the user, or their id if the row is gone
    pub user: Option<String>,
    pub grant: Option<String>,
    /// Id of the request, the same as in the log
    pub request_id: Option<String>,
    pub detail: Value,
}

/// Result of a key rotation
#[derive(Debug, Clone, Serialize)]
pub struct Rotated {
    /// The key that is used from now on
    pub active: String,
    /// Keys that still open what was sealed before
    pub previous: Vec<String>,
    /// Users whose data keys were wrapped with the new master key
    pub rewrapped: usize,
}

/// Access to the rows of a broker with the rights of an admin
#[derive(Debug)]
pub struct Admin {
    store: Store,
    clock: Arc<dyn Clock>,
    rng: Arc<dyn Rng>,
}

impl Admin {
    /// Open the database of a broker; fails if it does not exist or its schema is outdated
    ///
    /// Migrating it here could break a running broker of an older version.
    pub async fn open(
        config: &Config,
        clock: Arc<dyn Clock>,
        rng: Arc<dyn Rng>,
    ) -> Result<Self, AdminError> {
        if let Database::Sqlite(path) = &config.database
            && !path.is_file()
        {
            return Err(AdminError::NoDatabase(path.display().to_string()));
        }
        match Store::open_beside(&config.database).await {
            Ok(store) => Ok(Self { store, clock, rng }),
            Err(error) => Err(error.into()),
        }
    }

    pub async fn close(self) {
        self.store.close().await;
    }

    /// Clients that were used, then those that never were, each the newest first
    pub async fn clients(&self, limit: u32) -> Result<Listed<ClientLine>, AdminError> {
        let rows = self.store.clients(limit.into()).await?;
        let line = |client: crate::store::Client| ClientLine {
            id: client.id,
            kind: client.kind.name(),
            name: client.name,
            redirect_uris: client.redirect_uris,
            auth_method: client.auth_method.name(),
            created_at: client.created_at,
            last_used_at: client.last_used_at,
        };
        let rows = rows.into_iter().map(line).collect();
        Ok(Listed::new(rows, self.store.count_clients().await?))
    }

    /// How many clients there are
    pub async fn count_clients(&self) -> Result<u64, AdminError> {
        let count = self.store.count_clients().await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Users by login
    pub async fn users(&self, limit: u32) -> Result<Listed<UserLine>, AdminError> {
        let rows = self.store.users(limit.into()).await?;
        let line = |user: User| UserLine {
            id: user.id,
            login: user.login,
            forge: user.forge,
            state: match user.state {
                UserState::Connected => "connected",
                UserState::Reconnect => "reconnect",
                UserState::Disconnected => "disconnected",
            },
            created_at: user.created_at,
        };
        let rows = rows.into_iter().map(line).collect();
        Ok(Listed::new(rows, self.store.count_users().await?))
    }

    /// Grants that are not revoked, the last used first
    pub async fn grants(&self, limit: u32) -> Result<Listed<GrantLine>, AdminError> {
        let rows = self.store.grants(limit.into()).await?;
        let users: Vec<&str> = rows.iter().map(|grant| grant.user.as_str()).collect();
        let logins = self.store.logins(&users).await?;
        let clients: Vec<&str> = rows.iter().map(|grant| grant.client_id.as_str()).collect();
        let names = self.store.client_names(&clients).await?;
        let line = |grant: crate::store::Grant| GrantLine {
            user: logins.get(&grant.user).unwrap_or(&grant.user).clone(),
            client: names.get(&grant.client_id).cloned(),
            id: grant.id,
            client_id: grant.client_id,
            scope: grant.scope,
            created_at: grant.created_at,
            last_used_at: grant.last_used_at,
        };
        let rows = rows.into_iter().map(line).collect();
        Ok(Listed::new(rows, self.store.count_grants().await?))
    }

    /// Audit events, the newest first
    pub async fn audit(&self, limit: u32) -> Result<Listed<EventLine>, AdminError> {
        let rows = self.store.audit(limit.into()).await?;
        let users: Vec<&str> = rows.iter().filter_map(|row| row.user.as_deref()).collect();
        let logins = self.store.logins(&users).await?;
        let line = |row: AuditRow| EventLine {
            at: row.at,
            event: row.event,
            client_id: row.client_id,
            user: row.user.map(|id| logins.get(&id).cloned().unwrap_or(id)),
            grant: row.grant,
            request_id: row.request_id,
            detail: row.detail,
        };
        let rows = rows.into_iter().map(line).collect();
        Ok(Listed::new(rows, self.store.count_audit().await?))
    }

    /// Revoke all grants of a client; a client that registered itself is deleted
    pub async fn revoke_client(&self, id: &str) -> Result<usize, AdminError> {
        let client = self.store.client(id).await?;
        let client = client.ok_or_else(|| unknown("client", id))?;
        // Deleted first, so that the client cannot get a new grant between the two steps.
        if client.kind == ClientKind::Dynamic {
            self.store.delete_client(id).await?;
        }
        self.end(Revoked::Client(id), json!({ "why": WHY })).await
    }

    /// Revoke all grants of a user, given by id or login, and erase their forge tokens
    pub async fn revoke_user(&self, who: &str) -> Result<usize, AdminError> {
        let found = self.store.users_named(who).await?;
        let user = match found.as_slice() {
            [] => return Err(unknown("user", who)),
            [one] => one,
            // An id wins over a login: a user may choose a login that equals another user's id.
            many => many
                .iter()
                .find(|user| user.id == who)
                .ok_or_else(|| AdminError::Several {
                    login: who.to_owned(),
                    ids: many.iter().map(|user| user.id.clone()).collect(),
                })?,
        };
        // The login is recorded in the event, because the row is deleted.
        let detail = json!({ "why": WHY, "login": user.login });
        let ended = self.end(Revoked::User(&user.id), detail).await?;
        self.store.forget_user(&user.id).await?;
        Ok(ended)
    }

    pub async fn revoke_grant(&self, id: &str) -> Result<(), AdminError> {
        match self.end(Revoked::Grant(id), json!({ "why": WHY })).await? {
            0 => Err(unknown("grant", id)),
            _ => Ok(()),
        }
    }

    async fn end(&self, what: Revoked<'_>, detail: Value) -> Result<usize, AdminError> {
        let now = self.clock.now();
        let ended = self.store.revoke(what, WHY, now).await?;
        for grant in &ended {
            let row = AuditRow {
                id: rng::id(&*self.rng),
                at: now,
                event: AuditEvent::Revoked.name().to_owned(),
                client_id: Some(grant.client_id.clone()),
                user: Some(grant.user.clone()),
                grant: Some(grant.id.clone()),
                request_id: None,
                detail: detail.clone(),
            };
            self.store.write_audit(&row).await?;
        }
        // A running broker may still accept a cached token. Wait until its cache has expired, so
        // that the tokens are invalid when this command reports success.
        if !ended.is_empty() {
            tokio::time::sleep(REMEMBERED).await;
        }
        Ok(ended.len())
    }

    /// Ids of the master keys that rows were written with
    pub async fn keys_in_use(&self) -> Result<Vec<String>, AdminError> {
        Ok(self.store.key_ids().await?)
    }

    /// All users that have a data key
    async fn sealed(&self) -> Result<Vec<User>, AdminError> {
        let mut users = self.store.users(ALL).await?;
        users.retain(|user| user.state != UserState::Disconnected);
        Ok(users)
    }

    /// Make a new master key active, and wrap every user's data key with it
    ///
    /// The new key is in the file before any row needs it, and the old ones stay there: if this is
    /// interrupted at any point, every row can still be opened.
    pub async fn rotate_keys(&self, config: &Config) -> Result<Rotated, AdminError> {
        let path = config.key_file.path();
        let _alone = crypto::lock(path)?;
        let ring = crypto::read(path)?.rotated(&*self.rng);
        // Checked first, so that a missing key leaves everything unchanged.
        for user in self.sealed().await? {
            data_key(&ring, &user)?;
        }
        let old = self.store.wrapped_token_key().await?;
        let token_key = ring
            .unwrap(&old, &crypto::token_key_place())
            .map_err(|_| AdminError::Store(StoreError::TokenKeySealed))?;
        crypto::write(path, &ring)?;
        // Only the wrapping changes, not the token key: every issued token remains valid.
        let new = ring.wrap(&*self.rng, &token_key, &crypto::token_key_place());
        self.store.rewrap_token_key(&old, &new).await?;
        let mut rewrapped = 0;
        for user in self.sealed().await? {
            let key = data_key(&ring, &user)?;
            let place = upstream::key_place(&user.forge, &user.account);
            let wrapped = ring.wrap(&*self.rng, &key, &place);
            if self.store.rewrap(&user.id, &user.key, &wrapped).await? {
                rewrapped += 1;
            }
        }
        let mut ids = ring.ids().into_iter().map(str::to_owned);
        Ok(Rotated {
            active: ids.next().unwrap_or_default(),
            previous: ids.collect(),
            rewrapped,
        })
    }
}

fn data_key(ring: &KeyRing, user: &User) -> Result<DataKey, AdminError> {
    let place = upstream::key_place(&user.forge, &user.account);
    ring.unwrap(&user.key, &place)
        .map_err(|_| AdminError::Sealed(user.login.clone()))
}

/// Ids of the master keys in the file, the active one first
pub fn key_ids(config: &Config) -> Result<Vec<String>, KeyFileError> {
    let ring = crypto::read(config.key_file.path())?;
    Ok(ring.ids().into_iter().map(str::to_owned).collect())
}

fn unknown(what: &'static str, id: &str) -> AdminError {
    AdminError::Unknown {
        what,
        id: id.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use blue_base::clock::ManualClock;

    use super::*;
    use crate::{
        config::Given,
        crypto::DataKey,
        rng::SystemRng,
        store::{Code, Grant, NewPair, NewUser, UpstreamTokens, Wrapping},
        token::TokenHash,
    };

    async fn somebody(dir: &std::path::Path) -> (Admin, Config, DataKey) {
        let vars = [
            ("PUBLIC_URL", "https://broker.example.org"),
            ("FORGE_URL", "https://forge.example.org"),
            ("CLIENT_ID", "c"),
            ("CLIENT_SECRET", "s"),
        ];
        let given = Given {
            vars: vars
                .map(|(name, value)| (format!("BLUE_BROKER_{name}"), value.to_owned()))
                .to_vec(),
            ..Given::default()
        };
        let config = Config::read(&given, dir).unwrap();
        let connected = Store::connect(&config.database).await.unwrap();
        let rng = SystemRng::default();
        let keys = crypto::load_or_make(&config.key_file, &rng, None).unwrap();
        let by = Wrapping {
            ring: &keys,
            rng: &rng,
        };
        let store = connected.open(by).await.unwrap();
        let key = DataKey::new(&rng);
        let forge = config.forge.url().to_string();
        let new = NewUser {
            id: "u1".to_owned(),
            account: "7".to_owned(),
            login: "alice".to_owned(),
            key: keys.wrap(&rng, &key, &upstream::key_place(&forge, "7")),
            forge,
            tokens: UpstreamTokens {
                access: vec![1],
                refresh: vec![2],
                access_expires_at: Timestamp::UNIX_EPOCH,
            },
            scope: "read:user".to_owned(),
        };
        store.add_user(&new, Timestamp::UNIX_EPOCH).await.unwrap();
        let admin = Admin {
            store,
            clock: Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH)),
            rng: Arc::new(rng),
        };
        (admin, config, key)
    }

    #[tokio::test]
    async fn a_rotation_wraps_every_key_anew() {
        let dir = tempfile::tempdir().unwrap();
        let (admin, config, key) = somebody(dir.path()).await;
        let rotated = admin.rotate_keys(&config).await.unwrap();
        assert_eq!((rotated.rewrapped, rotated.previous.len()), (1, 1));
        let user = admin.store.user("u1").await.unwrap().unwrap();
        assert_eq!(user.key.key_id, rotated.active);
        // The old master key is not needed any more.
        let ring = crypto::read(config.key_file.path()).unwrap().only_active();
        let place = upstream::key_place(&user.forge, &user.account);
        let place_of_another = upstream::key_place(&user.forge, "8");
        let sealed = key.seal(&SystemRng::default(), b"x", &place);
        let opened = ring.unwrap(&user.key, &place).unwrap();
        assert_eq!(opened.open(&sealed, &place).unwrap(), b"x");
        assert!(ring.unwrap(&user.key, &place_of_another).is_err());
    }

    #[tokio::test]
    async fn where_a_key_is_missing_a_rotation_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (admin, config, _) = somebody(dir.path()).await;
        let path = config.key_file.path();
        let other = crypto::read(path).unwrap().rotated(&SystemRng::default());
        crypto::write(path, &other.only_active()).unwrap();
        let before = std::fs::read(path).unwrap();
        let refused = admin.rotate_keys(&config).await.unwrap_err();
        assert!(matches!(refused, AdminError::Sealed(_)), "{refused:?}");
        assert_eq!(std::fs::read(path).unwrap(), before);
    }

    #[tokio::test]
    async fn users_with_a_shared_login_are_revoked_by_id() {
        let dir = tempfile::tempdir().unwrap();
        let (admin, ..) = somebody(dir.path()).await;
        let first = admin.store.user("u1").await.unwrap().unwrap();
        let second = NewUser {
            id: "u2".to_owned(),
            forge: first.forge,
            account: "8".to_owned(),
            login: first.login,
            key: first.key,
            tokens: first.tokens.unwrap(),
            scope: "read:user".to_owned(),
        };
        let now = Timestamp::UNIX_EPOCH;
        assert!(admin.store.add_user(&second, now).await.unwrap());
        let error = admin.revoke_user("alice").await.unwrap_err();
        let told = "2 people go by `alice` here: u1, u2";
        assert_eq!(error.to_string(), told);
        assert_eq!(admin.revoke_user("u2").await.unwrap(), 0);
        assert_eq!(admin.revoke_user("alice").await.unwrap(), 0);
        assert_eq!(admin.users(10).await.unwrap().total, 0);
    }

    /// Register a client, with a grant of `alice`
    async fn granted(admin: &Admin) {
        let grant = Grant {
            id: "g".to_owned(),
            user: "u1".to_owned(),
            client_id: "c".to_owned(),
            scope: "mcp".to_owned(),
            resource: "r".to_owned(),
            created_at: Timestamp::UNIX_EPOCH,
            last_used_at: Timestamp::UNIX_EPOCH,
        };
        let hash = TokenHash::of("code");
        let code = Code {
            client_id: "c".to_owned(),
            user: "u1".to_owned(),
            redirect_uri: String::new(),
            challenge: String::new(),
            resource: "r".to_owned(),
            scope: "mcp".to_owned(),
            expires_at: Timestamp::MAX,
        };
        let pair = NewPair {
            id: "p".to_owned(),
            access: TokenHash::of("a"),
            refresh: TokenHash::of("r"),
            access_expires_at: Timestamp::MAX,
            refresh_expires_at: Timestamp::MAX,
        };
        let issued = AuditRow {
            id: "e".to_owned(),
            at: Timestamp::UNIX_EPOCH - jiff::SignedDuration::from_secs(1),
            event: AuditEvent::Issued.name().to_owned(),
            client_id: None,
            user: None,
            grant: None,
            request_id: None,
            detail: json!({}),
        };
        let now = Timestamp::UNIX_EPOCH;
        admin.store.put_code(&hash, &code, now).await.unwrap();
        let used = admin.store.use_code(&hash, &grant, &pair, &issued, now);
        used.await.unwrap();
    }

    #[tokio::test]
    async fn an_end_is_told_with_client_and_person() {
        let dir = tempfile::tempdir().unwrap();
        let (admin, config, _) = somebody(dir.path()).await;
        granted(&admin).await;
        admin.revoke_grant("g").await.unwrap();
        let event = admin.audit(10).await.unwrap().rows.remove(0);
        assert_eq!(event.event, "revoked");
        assert_eq!(event.client_id.as_deref(), Some("c"));
        assert_eq!(event.user.as_deref(), Some("alice"));
        assert_eq!(event.grant.as_deref(), Some("g"));
        // No data key is left to be wrapped again.
        assert_eq!(admin.users(1).await.unwrap().rows[0].state, "disconnected");
        assert_eq!(admin.rotate_keys(&config).await.unwrap().rewrapped, 0);
    }

    #[tokio::test]
    async fn the_event_of_a_revoked_user_keeps_their_login() {
        let dir = tempfile::tempdir().unwrap();
        let (admin, ..) = somebody(dir.path()).await;
        granted(&admin).await;
        assert_eq!(admin.revoke_user("alice").await.unwrap(), 1);
        let event = admin.audit(1).await.unwrap().rows.remove(0);
        assert_eq!(event.user.as_deref(), Some("u1"), "nobody goes by that id");
        assert_eq!(event.detail, json!({ "why": WHY, "login": "alice" }));
    }

    #[tokio::test]
    async fn two_rotations_at_once_lose_no_key() {
        let dir = tempfile::tempdir().unwrap();
        let (admin, config, _) = somebody(dir.path()).await;
        let other = crypto::lock(config.key_file.path()).unwrap();
        let refused = admin.rotate_keys(&config).await.unwrap_err();
        let busy = matches!(refused, AdminError::Keys(KeyFileError::Busy { .. }));
        assert!(busy, "{refused:?}");
        assert_eq!(key_ids(&config).unwrap().len(), 1);
        drop(other);
        admin.rotate_keys(&config).await.unwrap();
        assert_eq!(key_ids(&config).unwrap().len(), 2);
    }

    #[tokio::test]
    async fn a_person_who_is_revoked_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let (admin, _, _) = somebody(dir.path()).await;
        assert_eq!(admin.users(1).await.unwrap().rows[0].state, "connected");
        assert_eq!(admin.revoke_user("alice").await.unwrap(), 0);
        assert_eq!(admin.users(10).await.unwrap().total, 0);
        assert!(admin.revoke_user("alice").await.is_err());
    }
}
