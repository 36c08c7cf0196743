//! Erasing: what is kept of the forge's tokens goes when the last connection of a person ends
//!
//! The row stays, for the person's own page and for the names of old events; tokens and data key
//! do not. SQLite keeps older forms of a row in its log, so that is emptied too.

use std::time::Duration;

use jiff::Timestamp;
use sqlx::SqlitePool;

use super::{
    Store, StoreError,
    db::{BUSY, Db, together, writing},
    ms,
};

/// How long a reader may hold up the emptying of the log; then the sweep does it
const PATIENCE: Duration = Duration::from_millis(200);

/// Erase whom `$who` names, if no token of theirs is good and no code waits to become one
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
/// Who ends the other of two last grants waits, and then sees that it is the last
pub(super) const LOCK: &str = "UPDATE users SET version = version WHERE id = $1";
/// In place of a data key
pub(super) const NO_KEY: &[u8] = &[];

/// Erase somebody inside a transaction, unless they are connected still
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
    /// Erase the forge's tokens of somebody who has no connection
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

    /// The same for all whose tokens are older than `before`: their last grant has run out, or
    /// they never finished
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

    /// Bring what was ended and erased to the disk, and empty SQLite's log of what was before
    ///
    /// False if somebody reads an older state just now, as a backup does: the sweep tries again.
    pub(crate) async fn settle(&self) -> bool {
        let Db::Sqlite { write, .. } = &self.db else {
            return true;
        };
        // To its end, even if the caller goes away: the connection is changed meanwhile.
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
    // Writers wait behind this, so a reader that takes long is not waited for.
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
