//! Erasing: a user's forge tokens are erased when their last connection is revoked or expires
//!
//! The row stays, for the user's own page and for the names of old events; tokens and data key do
//! not. SQLite keeps older versions of a row in its write-ahead log, so that is emptied too.

use std::time::Duration;

use jiff::Timestamp;
use sqlx::SqlitePool;

use super::{
    Store, StoreError,
    db::{BUSY, Db, together, writing},
    ms,
};

/// How long a reader may delay the emptying of the log; after that it is left to the sweep
const PATIENCE: Duration = Duration::from_millis(200);

/// Erase the users that `$who` selects, if they have no valid token and no code that may become one
macro_rules! erase {
    ($who:literal) => {
        concat!(
            "UPDATE users SET state = 'disconnected', version = version + 1, key_id = '', \
            wrapped_key = $3, access_sealed = NULL, refresh_sealed = NULL, access_expires_at = 0, \
            lease_owner = NULL, lease_until = NULL, updated_at = $2 WHERE ",
            $who,
            " AND state <> 'disconnected' \
            AND NOT EXISTS (SELECT 1 FROM grants JOIN pairs ON pairs.grant_id = grants.id \
            WHERE grants.user_id = users.id AND grants.revoked_at IS NULL \
            AND pairs.revoked_at IS NULL \
            AND (pairs.refresh_expires_at > $2 OR pairs.access_expires_at > $2)) \
            AND NOT EXISTS (SELECT 1 FROM codes WHERE codes.user_id = users.id \
            AND codes.used_at IS NULL AND codes.expires_at > $2)"
        )
    };
}

pub(super) const ONE: &str = erase!("id = $1");
const UNUSED: &str = erase!("updated_at <= $1");
/// Locks the user's row: of two transactions that revoke the last two grants, the second waits and
/// then sees that its grant is the last
pub(super) const LOCK: &str = "UPDATE users SET version = version WHERE id = $1";
/// In place of a data key
pub(super) const NO_KEY: &[u8] = &[];

/// Erase a user's tokens inside a transaction, unless the user still has a connection
macro_rules! unless_connected {
    ($on:ident, $user:expr, $now:expr) => {{
        sqlx::query($crate::store::erase::LOCK)
            .bind($user)
            .execute(&mut *$on)
            .await?;
        sqlx::query($crate::store::erase::ONE)
            .bind($user)
            .bind($crate::store::ms($now))
            .bind($crate::store::erase::NO_KEY)
            .execute(&mut *$on)
            .await?
            .rows_affected()
    }};
}
pub(super) use unless_connected;

impl Store {
    /// Erase the forge tokens of a user who has no connection
    pub(crate) async fn erase_unless_connected(
        &self,
        user: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let erased = together!(&self.db, |on| unless_connected!(on, user, now));
        if erased > 0 {
            self.settle().await;
        }
        Ok(erased > 0)
    }

    /// Erase the forge tokens of all users without a connection whose tokens are older than
    /// `before`: their last grant has expired, or they never finished the sign-in
    pub(crate) async fn erase_unused(
        &self,
        before: Timestamp,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        Ok(writing!(&self.db, |on| {
            sqlx::query(UNUSED)
                .bind(ms(before))
                .bind(ms(now))
                .bind(NO_KEY)
                .execute(on)
                .await?
                .rows_affected()
        }))
    }

    /// Flush revocations and erasures to the disk, and empty SQLite's log of the older rows
    ///
    /// False if a reader, such as a backup, still uses an older snapshot: the sweep tries again.
    pub(crate) async fn settle(&self) -> bool {
        let Db::Sqlite { write, .. } = &self.db else {
            return true;
        };
        // Runs to completion even if the caller is gone: it changes the connection's settings
        // temporarily.
        let work = tokio::spawn(empty_log(write.clone()));
        match work.await {
            Ok(Ok(emptied)) => emptied,
            Ok(Err(error)) => {
                let why = &error as &dyn std::error::Error;
                tracing::warn!(error = why, "the log of the database could not be emptied");
                false
            }
            Err(_) => false,
        }
    }
}

async fn empty_log(write: SqlitePool) -> Result<bool, sqlx::Error> {
    let mut on = write.acquire().await?;
    let patience = |time: Duration| format!("PRAGMA busy_timeout = {}", time.as_millis());
    // Writers queue behind this, so it does not wait for a slow reader.
    sqlx::raw_sql(sqlx::AssertSqlSafe(patience(PATIENCE)))
        .execute(&mut *on)
        .await?;
    let emptied: Result<(i64, i64, i64), _> = sqlx::query_as("PRAGMA wal_checkpoint(TRUNCATE)")
        .fetch_one(&mut *on)
        .await;
    sqlx::raw_sql(sqlx::AssertSqlSafe(patience(BUSY)))
        .execute(&mut *on)
        .await?;
    let (busy, _, _) = emptied?;
    Ok(busy == 0)
}
