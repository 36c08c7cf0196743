//! Pairs of tokens: an access token and the refresh token that came with it

use std::time::Duration;

use jiff::Timestamp;

use super::{
    AuditRow, Store, StoreError,
    db::{reading, together, writing},
    ms, time,
};
use crate::token::TokenHash;

/// A pair that is about to be issued
#[derive(Debug, Clone)]
pub(crate) struct NewPair {
    pub(crate) id: String,
    pub(crate) access: TokenHash,
    pub(crate) refresh: TokenHash,
    pub(crate) access_expires_at: Timestamp,
    pub(crate) refresh_expires_at: Timestamp,
}

/// Result of checking a valid access token
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checked {
    pub(crate) pair: String,
    pub(crate) grant: String,
    pub(crate) user: String,
    pub(crate) client_id: String,
    pub(crate) scope: String,
    pub(crate) resource: String,
    pub(crate) expires_at: Timestamp,
    /// It was used before
    pub(crate) used: bool,
}

/// When a refresh token may be used again
#[derive(Debug, Clone, Copy)]
pub(crate) struct RefreshRules {
    /// How long after its first use a token is accepted again, unless a successor was refreshed
    pub(crate) grace: Duration,
    /// Refreshes of one grant within one window
    pub(crate) most: i64,
    pub(crate) window: Duration,
}

/// Result of using a refresh token
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refresh {
    Issued,
    /// Over the limit of refreshes per window
    Limited,
    /// Revoked, expired, or never issued
    Gone,
    /// A reuse that counts as theft; the grant is now revoked
    Replayed,
}

/// What is known of a refresh token that is presented again after its first use
#[derive(Debug, Clone, Copy)]
struct Reuse {
    /// The first use was at most [`RefreshRules::grace`] ago
    in_grace: bool,
    /// Its pair was replaced by another, because the parent was presented again
    revoked: bool,
    successors: Successors,
}

/// What happened to the tokens that a refresh token produced
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Successors {
    Unused,
    /// An access token was used, and no refresh token
    Called,
    /// A refresh token was used
    Refreshed,
}

impl Reuse {
    /// Whether two parties hold the token, so that the grant must be revoked
    ///
    /// Responses get lost and clients send a request twice, so a token is accepted again during
    /// the grace. A client that refreshed a successor has received it, and has no reason to
    /// present the older token: from then on its reuse is theft, also during the grace. Otherwise
    /// a stolen token that is two generations old would start a second chain of tokens beside the
    /// owner's. After the grace, any use of a successor shows that the response arrived.
    fn is_theft(self) -> bool {
        let received = match self.successors {
            Successors::Unused => false,
            Successors::Called => !self.in_grace,
            Successors::Refreshed => true,
        };
        self.revoked || received
    }
}

/// Write a pair inside a transaction; `$pair` is what `Store::keyed_pair` gives
macro_rules! insert {
    ($on:ident, $pair:expr, $grant:expr, $parent:expr, $now:expr) => {
        sqlx::query($crate::store::tokens::INSERT)
            .bind(&$pair.new.id)
            .bind($grant)
            .bind($parent)
            .bind($pair.access.bytes())
            .bind($pair.refresh.bytes())
            .bind($crate::store::ms($now))
            .bind($crate::store::ms($pair.new.access_expires_at))
            .bind($crate::store::ms($pair.new.refresh_expires_at))
            .execute(&mut *$on)
            .await?
    };
}
pub(super) use insert;

pub(super) const INSERT: &str = "INSERT INTO pairs (id, grant_id, parent, access_hash, refresh_hash, \
    created_at, access_expires_at, refresh_expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

type CheckedRow = (
    String,
    String,
    String,
    String,
    String,
    String,
    i64,
    Option<i64>,
);

fn checked(row: CheckedRow) -> Checked {
    let (pair, grant, user, client_id, scope, resource, expires, first_use) = row;
    Checked {
        pair,
        grant,
        user,
        client_id,
        scope,
        resource,
        expires_at: time(expires),
        used: first_use.is_some(),
    }
}

impl Store {
    /// The grant and user of an access token, if it is valid
    pub(crate) async fn check_access(
        &self,
        hash: &TokenHash,
        now: Timestamp,
    ) -> Result<Option<Checked>, StoreError> {
        const SQL: &str = "SELECT p.id, p.grant_id, g.user_id, g.client_id, g.scope, g.resource, \
            p.access_expires_at, p.access_used_at FROM pairs p JOIN grants g ON g.id = p.grant_id \
            WHERE p.access_hash = $1 AND p.revoked_at IS NULL AND g.revoked_at IS NULL \
            AND p.access_expires_at > $2";
        let hash = self.keyed(hash)?;
        let row: Option<CheckedRow> = reading!(&self.db, |on| {
            sqlx::query_as(SQL)
                .bind(hash.bytes())
                .bind(ms(now))
                .fetch_optional(on)
                .await?
        });
        Ok(row.map(checked))
    }

    /// The grant of a refresh token, revoked or not, so that all can be checked before it is used
    /// up
    pub(crate) async fn refresh_token(
        &self,
        hash: &TokenHash,
    ) -> Result<Option<Checked>, StoreError> {
        const SQL: &str = "SELECT p.id, p.grant_id, g.user_id, g.client_id, g.scope, g.resource, \
            p.refresh_expires_at, p.refresh_used_at FROM pairs p JOIN grants g ON g.id = p.grant_id \
            WHERE p.refresh_hash = $1";
        let hash = self.keyed(hash)?;
        let row: Option<CheckedRow> = reading!(&self.db, |on| {
            sqlx::query_as(SQL)
                .bind(hash.bytes())
                .fetch_optional(on)
                .await?
        });
        Ok(row.map(checked))
    }

    /// The grant and the client of either kind of token, revoked or not
    pub(crate) async fn token_owner(
        &self,
        hash: &TokenHash,
    ) -> Result<Option<(String, String)>, StoreError> {
        const SQL: &str = "SELECT g.id, g.client_id FROM pairs p JOIN grants g ON g.id = p.grant_id \
            WHERE p.access_hash = $1 OR p.refresh_hash = $1";
        let hash = self.keyed(hash)?;
        Ok(reading!(&self.db, |on| {
            sqlx::query_as(SQL)
                .bind(hash.bytes())
                .fetch_optional(on)
                .await?
        }))
    }

    /// Record the use of an access token: from now on, reusing the refresh token that produced it
    /// counts as a replay
    pub(crate) async fn access_used(&self, pair: &str, now: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE pairs SET access_used_at = $2 WHERE id = $1 \
            AND access_used_at IS NULL";
        writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(pair)
                .bind(ms(now))
                .execute(on)
                .await?;
        });
        Ok(())
    }

    /// Use a refresh token: it issues `new`, unless the rules say otherwise
    ///
    /// `of` is what [`Store::refresh_token`] returned. The first statement locks the grant's row,
    /// so that two uses of one grant are serialized. `event` is written with new tokens.
    pub(crate) async fn refresh(
        &self,
        hash: &TokenHash,
        of: &Checked,
        new: &NewPair,
        rules: &RefreshRules,
        event: &AuditRow,
        now: Timestamp,
    ) -> Result<Refresh, StoreError> {
        const COUNT: &str = "UPDATE grants SET last_used_at = $2, refresh_count = \
            CASE WHEN refresh_window = $3 THEN refresh_count + 1 ELSE 1 END, refresh_window = $3 \
            WHERE id = $1 AND revoked_at IS NULL RETURNING refresh_count";
        const USE: &str = "UPDATE pairs SET refresh_used_at = $2 WHERE refresh_hash = $1 \
            AND refresh_used_at IS NULL AND revoked_at IS NULL AND refresh_expires_at > $2";
        // A revoked pair was replaced when its parent was presented again: one of the two parties
        // that hold the parent has this pair.
        const USED: &str = "SELECT COALESCE(refresh_used_at, 0), revoked_at FROM pairs \
            WHERE refresh_hash = $1 AND (refresh_used_at IS NOT NULL OR revoked_at IS NOT NULL) \
            AND refresh_expires_at > $2";
        const SUCCESSORS: &str = "SELECT COUNT(refresh_used_at), \
            COUNT(COALESCE(access_used_at, refresh_used_at)) FROM pairs WHERE parent = $1";
        const DROP: &str =
            "UPDATE pairs SET revoked_at = $2 WHERE parent = $1 AND revoked_at IS NULL";
        const END: &str = "UPDATE grants SET revoked_at = $2, revoked_why = 'refresh token replayed' \
            WHERE id = $1 AND revoked_at IS NULL";
        let (hash, new) = (self.keyed(hash)?, self.keyed_pair(new)?);
        let window = ms(now)
            / i64::try_from(rules.window.as_millis())
                .unwrap_or(i64::MAX)
                .max(1);
        let grace = i64::try_from(rules.grace.as_millis()).unwrap_or(i64::MAX);
        let done = together!(&self.db, |on| {
            let count: Option<(i64,)> = sqlx::query_as(COUNT)
                .bind(&of.grant)
                .bind(ms(now))
                .bind(window)
                .fetch_optional(&mut *on)
                .await?;
            match count {
                None => Refresh::Gone,
                Some((count,)) if count > rules.most => Refresh::Limited,
                Some(_) => {
                    let first = sqlx::query(USE)
                        .bind(hash.bytes())
                        .bind(ms(now))
                        .execute(&mut *on)
                        .await?
                        .rows_affected();
                    let used: Option<(i64, Option<i64>)> = if first == 1 {
                        None
                    } else {
                        sqlx::query_as(USED)
                            .bind(hash.bytes())
                            .bind(ms(now))
                            .fetch_optional(&mut *on)
                            .await?
                    };
                    let reuse = match used {
                        None => None,
                        Some((at, revoked_at)) => {
                            let (refreshed, used): (i64, i64) = sqlx::query_as(SUCCESSORS)
                                .bind(&of.pair)
                                .fetch_one(&mut *on)
                                .await?;
                            Some(Reuse {
                                // In both directions, because the clocks of two replicas differ.
                                in_grace: (ms(now) - at).abs() <= grace,
                                revoked: revoked_at.is_some(),
                                successors: match (refreshed, used) {
                                    (0, 0) => Successors::Unused,
                                    (0, _) => Successors::Called,
                                    _ => Successors::Refreshed,
                                },
                            })
                        }
                    };
                    match reuse {
                        None if first == 0 => Refresh::Gone,
                        Some(reuse) if reuse.is_theft() => {
                            sqlx::query(END)
                                .bind(&of.grant)
                                .bind(ms(now))
                                .execute(&mut *on)
                                .await?;
                            super::erase::unless_connected!(on, &of.user, now);
                            Refresh::Replayed
                        }
                        reuse => {
                            if reuse.is_some_and(|reuse| !reuse.in_grace) {
                                sqlx::query(DROP)
                                    .bind(&of.pair)
                                    .bind(ms(now))
                                    .execute(&mut *on)
                                    .await?;
                            }
                            insert!(on, new, &of.grant, Some(&of.pair), now);
                            super::audit::insert!(&mut *on, event);
                            Refresh::Issued
                        }
                    }
                }
            }
        });
        if done == Refresh::Replayed {
            self.settle().await;
        }
        Ok(done)
    }
}
