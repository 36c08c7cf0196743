//! Rows: SQLite by default, PostgreSQL by URL, one text per query for both

mod db;
mod lock;
mod migrate;

mod audit;
mod authorizations;
mod clients;
mod codes;
mod erase;
mod grants;
mod names;
mod page_sessions;
mod sweep_clock;
mod token_keys;
mod tokens;
mod users;

#[cfg(test)]
mod tests;

use jiff::Timestamp;

pub(crate) use audit::{AuditEvent, AuditRow};
pub(crate) use authorizations::{Ask, Authorization, Stage};
pub(crate) use clients::{AuthMethod, Client, ClientKind};
pub(crate) use codes::{Code, CodeUse};
pub(crate) use grants::{EndedGrant, Grant, Revoked, TOO_MANY};
pub(crate) use lock::DatabaseLock;
pub(crate) use page_sessions::PageSession;
pub(crate) use token_keys::Wrapping;
pub(crate) use tokens::{NewPair, Refresh, RefreshRules};
pub(crate) use users::{Lease, NewUser, UpstreamTokens, User, UserState};

use crate::crypto::TokenKey;
use db::{Db, SameFile};

/// The rows; cheap to clone
#[derive(Debug, Clone)]
pub(crate) struct Store {
    db: Db,
    /// None for a database that is not a file
    file: Option<SameFile>,
    /// None for an admin command, which looks up no token
    token_key: Option<TokenKey>,
}

impl Store {
    /// Whether other brokers may work on the same rows
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.db, Db::Postgres(_))
    }
}

/// Why rows could not be read or written
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The message includes that of the cause, because only this line is logged
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error("the database file is gone, or another one is in its place")]
    Replaced,
    #[error("`{path}` could not be made")]
    File {
        path: String,
        source: std::io::Error,
    },
    #[error(
        "the database has schema {found}, and this program knows only schemas up to {known}; it was written by a newer one"
    )]
    Newer { found: i64, known: i64 },
    #[error("the database has schema {found}, and this program works with schema {known}")]
    Older { found: i64, known: i64 },
    #[error("the database holds no tables yet")]
    Empty,
    #[error("another broker works with the database `{database}`: it holds the lock `{lock}`")]
    Locked { database: String, lock: String },
    #[error("tokens cannot be looked up here, without the key of their hashes")]
    NoTokenKey,
    #[error("the key of the token hashes does not open with the master keys")]
    TokenKeySealed,
    #[error("the database holds a row that makes no sense: {0}")]
    Corrupt(String),
}

/// Milliseconds, as rows have them
pub(crate) fn ms(time: Timestamp) -> i64 {
    time.as_millisecond()
}

/// The time of a row
fn time(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
}

fn corrupt(what: &str) -> StoreError {
    StoreError::Corrupt(what.to_owned())
}

fn hash(bytes: &[u8]) -> Result<crate::token::TokenHash, StoreError> {
    crate::token::TokenHash::stored(bytes).ok_or_else(|| corrupt("a hash"))
}

fn stored_hash(bytes: &[u8]) -> Result<crate::token::StoredHash, StoreError> {
    crate::token::StoredHash::stored(bytes).ok_or_else(|| corrupt("a keyed hash"))
}
