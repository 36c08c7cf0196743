//! Grants: the consent of one user to one client, and all tokens that were issued for it

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{
    Store, StoreError,
    db::{reading, together, writing},
    ms, time,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) id: String,
    pub(crate) user: String,
    pub(crate) client_id: String,
    pub(crate) scope: String,
    pub(crate) resource: String,
    pub(crate) created_at: Timestamp,
    pub(crate) last_used_at: Timestamp,
}

/// A grant that was just revoked
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EndedGrant {
    pub(crate) id: String,
    pub(crate) user: String,
    pub(crate) client_id: String,
}

impl EndedGrant {
    pub(super) fn of((id, user, client_id): (String, String, String)) -> Self {
        Self {
            id,
            user,
            client_id,
        }
    }
}

/// Grants that one user may have for one client at a time: a client on fifty machines
pub(crate) const LIVE_GRANTS: i64 = 50;

/// Reason for revoking the longest unused grant of a user and client
pub(crate) const TOO_MANY: &str = "more than 50 grants for one client";

/// Which grants to revoke
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Revoked<'a> {
    Grant(&'a str),
    User(&'a str),
    Client(&'a str),
    /// One user's grants to one client
    Connection {
        user: &'a str,
        client: &'a str,
    },
}

/// Pairs of tokens that one transaction deletes at most
pub(super) const SWEPT: i64 = 500;

pub(super) const INSERT: &str = "INSERT INTO grants (id, user_id, client_id, scope, resource, \
    created_at, last_used_at, refresh_window, refresh_count) VALUES ($1, $2, $3, $4, $5, $6, $6, 0, 0)";

/// Whole rows, by what follows
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, user_id, client_id, scope, resource, created_at, last_used_at FROM grants ",
            $rest
        )
    };
}

type Row = (String, String, String, String, String, i64, i64);

fn grant((id, user, client_id, scope, resource, created, last): Row) -> Grant {
    Grant {
        id,
        user,
        client_id,
        scope,
        resource,
        created_at: time(created),
        last_used_at: time(last),
    }
}

impl Store {
    /// Grants of a user that are not revoked, the last used first
    pub(crate) async fn grants_of(&self, user: &str) -> Result<Vec<Grant>, StoreError> {
        const SQL: &str =
            select!("WHERE user_id = $1 AND revoked_at IS NULL ORDER BY last_used_at DESC, id");
        let rows: Vec<Row> = reading!(&self.db, |on| {
            sqlx::query_as(SQL).bind(user).fetch_all(on).await?
        });
        Ok(rows.into_iter().map(grant).collect())
    }

    /// All grants that are not revoked, the last used first
    pub(crate) async fn grants(&self, limit: i64) -> Result<Vec<Grant>, StoreError> {
        const SQL: &str =
            select!("WHERE revoked_at IS NULL ORDER BY last_used_at DESC, id LIMIT $1");
        let rows: Vec<Row> = reading!(&self.db, |on| {
            sqlx::query_as(SQL).bind(limit).fetch_all(on).await?
        });
        Ok(rows.into_iter().map(grant).collect())
    }

    pub(crate) async fn count_grants(&self) -> Result<i64, StoreError> {
        const SQL: &str = "SELECT COUNT(*) FROM grants WHERE revoked_at IS NULL";
        let (count,): (i64,) =
            reading!(&self.db, |on| { sqlx::query_as(SQL).fetch_one(on).await? });
        Ok(count)
    }

    /// Record the use of a grant
    pub(crate) async fn grant_used(&self, id: &str, now: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE grants SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2";
        writing!(&self.db, |on| {
            sqlx::query(SQL).bind(id).bind(ms(now)).execute(on).await?;
        });
        Ok(())
    }

    /// Revoke grants, which invalidates all their tokens; returns those that were revoked
    ///
    /// Authorizations and codes of the same user or client are deleted with them. A user who has no
    /// other grant loses their forge tokens, too.
    pub(crate) async fn revoke(
        &self,
        what: Revoked<'_>,
        why: &str,
        now: Timestamp,
    ) -> Result<Vec<EndedGrant>, StoreError> {
        const GRANT: &str = "UPDATE grants SET revoked_at = $2, revoked_why = $3 \
            WHERE id = $1 AND revoked_at IS NULL RETURNING id, user_id, client_id";
        const USER: &str = "UPDATE grants SET revoked_at = $2, revoked_why = $3 \
            WHERE user_id = $1 AND revoked_at IS NULL RETURNING id, user_id, client_id";
        const CLIENT: &str = "UPDATE grants SET revoked_at = $2, revoked_why = $3 \
            WHERE client_id = $1 AND revoked_at IS NULL RETURNING id, user_id, client_id";
        const CONNECTION: &str = "UPDATE grants SET revoked_at = $2, revoked_why = $3 \
            WHERE user_id = $1 AND client_id = $4 AND revoked_at IS NULL RETURNING id, user_id, client_id";
        const OF_USER: [&str; 2] = [
            "DELETE FROM codes WHERE used_at IS NULL AND user_id = $1",
            "DELETE FROM authorizations WHERE user_id = $1",
        ];
        const OF_CLIENT: [&str; 2] = [
            "DELETE FROM codes WHERE used_at IS NULL AND client_id = $1",
            "DELETE FROM authorizations WHERE client_id = $1",
        ];
        const OF_BOTH: [&str; 2] = [
            "DELETE FROM codes WHERE used_at IS NULL AND user_id = $1 AND client_id = $2",
            "DELETE FROM authorizations WHERE user_id = $1 AND client_id = $2",
        ];
        let open: &[&str] = match what {
            Revoked::Grant(_) => &[],
            Revoked::User(_) => &OF_USER,
            Revoked::Client(_) => &OF_CLIENT,
            Revoked::Connection { .. } => &OF_BOTH,
        };
        let (sql, of, client) = match what {
            Revoked::Grant(id) => (GRANT, id, None),
            Revoked::User(id) => (USER, id, None),
            Revoked::Client(id) => (CLIENT, id, None),
            Revoked::Connection { user, client } => (CONNECTION, user, Some(client)),
        };
        let ended = together!(&self.db, |on| {
            // Codes first: if one is being used concurrently, this waits for it, and then its grant
            // is there to be revoked.
            for sql in open {
                let query = sqlx::query(*sql).bind(of);
                let query = match client {
                    Some(client) => query.bind(client),
                    None => query,
                };
                query.execute(&mut *on).await?;
            }
            let query = sqlx::query_as(sql).bind(of).bind(ms(now)).bind(why);
            let ended: Vec<(String, String, String)> = match client {
                Some(client) => query.bind(client).fetch_all(&mut *on).await?,
                None => query.fetch_all(&mut *on).await?,
            };
            // In a fixed order, so that two concurrent revocations do not deadlock.
            let users: BTreeSet<&str> = ended.iter().map(|(_, user, _)| user.as_str()).collect();
            for user in users {
                super::erase::unless_connected!(on, user, now);
            }
            ended
        });
        // A confirmed revocation must survive a power cut.
        if !ended.is_empty() {
            self.settle().await;
        }
        Ok(ended.into_iter().map(EndedGrant::of).collect())
    }

    /// Delete grants that were revoked, or whose last token expired, before `before`
    pub(crate) async fn sweep_grants(&self, before: Timestamp) -> Result<u64, StoreError> {
        const GRANTS: &str = "DELETE FROM grants WHERE created_at <= $1 \
            AND NOT EXISTS (SELECT 1 FROM pairs WHERE pairs.grant_id = grants.id)";
        // The last use of a client is derived from its grants, so it is copied before they are
        // deleted.
        const CLIENTS: &str = "UPDATE clients SET last_used_at = (SELECT MAX(grants.last_used_at) \
            FROM grants WHERE grants.client_id = clients.id) \
            WHERE COALESCE(last_used_at, 0) < (SELECT MAX(grants.last_used_at) FROM grants \
            WHERE grants.client_id = clients.id AND grants.created_at <= $1 \
            AND NOT EXISTS (SELECT 1 FROM pairs WHERE pairs.grant_id = grants.id))";
        self.sweep_pairs(before).await?;
        Ok(writing!(&self.db, |on| {
            sqlx::query(CLIENTS).bind(ms(before)).execute(on).await?;
            sqlx::query(GRANTS)
                .bind(ms(before))
                .execute(on)
                .await?
                .rows_affected()
        }))
    }

    /// Delete pairs in small batches, so that other writers do not wait for long
    async fn sweep_pairs(&self, before: Timestamp) -> Result<(), StoreError> {
        const PAIRS: &str = "DELETE FROM pairs WHERE id IN (SELECT id FROM pairs \
            WHERE refresh_expires_at <= $1 OR grant_id IN \
            (SELECT id FROM grants WHERE revoked_at <= $1) LIMIT $2)";
        loop {
            let gone = writing!(&self.db, |on| {
                sqlx::query(PAIRS)
                    .bind(ms(before))
                    .bind(SWEPT)
                    .execute(on)
                    .await?
                    .rows_affected()
            });
            if gone < SWEPT.unsigned_abs() {
                return Ok(());
            }
        }
    }
}
