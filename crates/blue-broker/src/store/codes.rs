//! Authorization codes: each opens one grant, once

use jiff::Timestamp;

use super::{
    AuditRow, Store, StoreError,
    db::{reading, together, writing},
    grants::{EndedGrant, Grant, LIVE_GRANTS, TOO_MANY},
    ms, time,
    tokens::NewPair,
};
use crate::token::TokenHash;

/// What a code was given for
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Code {
    pub(crate) client_id: String,
    pub(crate) user: String,
    pub(crate) redirect_uri: String,
    pub(crate) challenge: String,
    pub(crate) resource: String,
    pub(crate) scope: String,
    pub(crate) expires_at: Timestamp,
}

/// Result of using a code
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CodeUse {
    /// It opened its grant; where the user had too many for the client, others were revoked
    Issued { displaced: Vec<EndedGrant> },
    /// It was used before; the grant that it opened is now revoked
    Replayed { grant: String },
    /// Expired, or never issued
    Gone,
}

impl Store {
    pub(crate) async fn put_code(
        &self,
        hash: &TokenHash,
        code: &Code,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO codes (hash, client_id, user_id, redirect_uri, challenge, \
            resource, scope, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
            ON CONFLICT (hash) DO NOTHING";
        let hash = self.keyed(hash)?;
        writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(hash.bytes())
                .bind(&code.client_id)
                .bind(&code.user)
                .bind(&code.redirect_uri)
                .bind(&code.challenge)
                .bind(&code.resource)
                .bind(&code.scope)
                .bind(ms(now))
                .bind(ms(code.expires_at))
                .execute(on)
                .await?;
        });
        Ok(())
    }

    /// What a code was issued for, used or not, so that all can be checked before it is used up
    pub(crate) async fn code(&self, hash: &TokenHash) -> Result<Option<Code>, StoreError> {
        const SQL: &str = "SELECT client_id, user_id, redirect_uri, challenge, resource, scope, \
            expires_at FROM codes WHERE hash = $1";
        type Row = (String, String, String, String, String, String, i64);
        let hash = self.keyed(hash)?;
        let row: Option<Row> = reading!(&self.db, |on| {
            sqlx::query_as(SQL)
                .bind(hash.bytes())
                .fetch_optional(on)
                .await?
        });
        let code =
            |(client_id, user, redirect_uri, challenge, resource, scope, expires): Row| Code {
                client_id,
                user,
                redirect_uri,
                challenge,
                resource,
                scope,
                expires_at: time(expires),
            };
        Ok(row.map(code))
    }

    /// Whether a code can still be used, so that a page shows no invalid one
    pub(crate) async fn code_is_open(
        &self,
        hash: &TokenHash,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const SQL: &str =
            "SELECT grant_id FROM codes WHERE hash = $1 AND used_at IS NULL AND expires_at > $2";
        let hash = self.keyed(hash)?;
        let row: Option<(Option<String>,)> = reading!(&self.db, |on| {
            sqlx::query_as(SQL)
                .bind(hash.bytes())
                .bind(ms(now))
                .fetch_optional(on)
                .await?
        });
        Ok(row.is_some())
    }

    /// Use a code: it opens `grant` with its first pair of tokens, or nothing happens
    ///
    /// `event` is written with the grant. Of the grants that the user gave the client, the newest
    /// [`LIVE_GRANTS`] by last use stay; the others are revoked in the same transaction.
    pub(crate) async fn use_code(
        &self,
        hash: &TokenHash,
        grant: &Grant,
        pair: &NewPair,
        event: &AuditRow,
        now: Timestamp,
    ) -> Result<CodeUse, StoreError> {
        const USE: &str = "UPDATE codes SET used_at = $2, grant_id = $3 \
            WHERE hash = $1 AND used_at IS NULL AND expires_at > $2";
        const USED: &str = "SELECT grant_id FROM codes WHERE hash = $1 AND used_at IS NOT NULL";
        const END: &str = "UPDATE grants SET revoked_at = $2, revoked_why = 'code replayed' \
            WHERE id = $1 AND revoked_at IS NULL RETURNING user_id";
        // Two codes of one user and client come one after the other, or each would leave the
        // other's grant uncounted. SQLite has one writer anyway.
        const ALONE: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 7031944))";
        const DISPLACE: &str = "UPDATE grants SET revoked_at = $3, revoked_why = $4 WHERE id IN \
            (SELECT id FROM grants WHERE user_id = $1 AND client_id = $2 AND revoked_at IS NULL \
            AND id <> $5 ORDER BY last_used_at DESC, id LIMIT $7 OFFSET $6) \
            AND revoked_at IS NULL RETURNING id, user_id, client_id";
        let hash = self.keyed(hash)?;
        let pair = self.keyed_pair(pair)?;
        let used = together!(&self.db, |on| {
            if self.is_shared() {
                sqlx::query(ALONE)
                    .bind(format!("{} {}", grant.user, grant.client_id))
                    .execute(&mut *on)
                    .await?;
            }
            let used = sqlx::query(USE)
                .bind(hash.bytes())
                .bind(ms(now))
                .bind(&grant.id)
                .execute(&mut *on)
                .await?
                .rows_affected();
            if used == 1 {
                sqlx::query(super::grants::INSERT)
                    .bind(&grant.id)
                    .bind(&grant.user)
                    .bind(&grant.client_id)
                    .bind(&grant.scope)
                    .bind(&grant.resource)
                    .bind(ms(now))
                    .execute(&mut *on)
                    .await?;
                super::tokens::insert!(on, pair, &grant.id, None::<&str>, now);
                super::audit::insert!(&mut *on, event);
                let displaced: Vec<(String, String, String)> = sqlx::query_as(DISPLACE)
                    .bind(&grant.user)
                    .bind(&grant.client_id)
                    .bind(ms(now))
                    .bind(TOO_MANY)
                    .bind(&grant.id)
                    .bind(LIVE_GRANTS - 1)
                    .bind(i64::MAX)
                    .fetch_all(&mut *on)
                    .await?;
                CodeUse::Issued {
                    displaced: displaced.into_iter().map(EndedGrant::of).collect(),
                }
            } else {
                let row: Option<(Option<String>,)> = sqlx::query_as(USED)
                    .bind(hash.bytes())
                    .fetch_optional(&mut *on)
                    .await?;
                match row {
                    Some((Some(grant),)) => {
                        let ended: Option<(String,)> = sqlx::query_as(END)
                            .bind(&grant)
                            .bind(ms(now))
                            .fetch_optional(&mut *on)
                            .await?;
                        if let Some((user,)) = &ended {
                            super::erase::unless_connected!(on, user, now);
                        }
                        CodeUse::Replayed { grant }
                    }
                    _ => CodeUse::Gone,
                }
            }
        });
        if let CodeUse::Replayed { .. } = used {
            self.settle().await;
        }
        Ok(used)
    }

    /// Delete codes that expired before `before`; until then a replay is noticed
    pub(crate) async fn sweep_codes(&self, before: Timestamp) -> Result<u64, StoreError> {
        const SQL: &str = "DELETE FROM codes WHERE expires_at <= $1";
        Ok(writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(ms(before))
                .execute(on)
                .await?
                .rows_affected()
        }))
    }
}
