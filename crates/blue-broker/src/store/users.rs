//! Users, and the one set of forge tokens that each of them has
//!
//! A forge that rotates refresh tokens does so per user, not per connection: two sets would
//! invalidate each other. So every change of the set raises its version and is one conditional
//! update, and only the holder of a lease on the row may refresh it.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    Store, StoreError, corrupt,
    db::{by_its_clock, reading, writing},
    ms, time,
};
use crate::crypto::WrappedKey;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserState {
    Connected,
    /// The forge rejected the user's tokens: they must sign in again
    Reconnect,
    /// No connection is left, and so neither tokens nor a data key
    Disconnected,
}

#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) id: String,
    pub(crate) forge: String,
    /// Number of the account at the forge, which stays when the login changes
    pub(crate) account: String,
    pub(crate) login: String,
    pub(crate) key: WrappedKey,
    pub(crate) state: UserState,
    pub(crate) version: i64,
    pub(crate) tokens: Option<UpstreamTokens>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    /// Scope of the grant, as the forge reported it
    pub(crate) scope: Option<String>,
}

/// Forge tokens, sealed for one version of one row
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UpstreamTokens {
    pub(crate) access: Vec<u8>,
    pub(crate) refresh: Vec<u8>,
    pub(crate) access_expires_at: Timestamp,
}

/// A row to be written at the first sign-in; its version is 1
#[derive(Debug, Clone)]
pub(crate) struct NewUser {
    pub(crate) id: String,
    pub(crate) forge: String,
    pub(crate) account: String,
    pub(crate) login: String,
    pub(crate) key: WrappedKey,
    pub(crate) tokens: UpstreamTokens,
    pub(crate) scope: String,
}

/// A lease: the right to ask the forge for new tokens of a user
#[derive(Debug)]
pub(crate) struct Lease {
    user: String,
    version: i64,
    owner: String,
}

/// Whole rows, by what follows
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, forge, forge_user, login, key_id, wrapped_key, state, version, \
             access_sealed, refresh_sealed, access_expires_at, created_at, updated_at, \
             forge_scope FROM users ",
            $rest
        )
    };
}

type Row = (
    String,
    String,
    String,
    String,
    String,
    Vec<u8>,
    String,
    i64,
    Option<Vec<u8>>,
    Option<Vec<u8>>,
    i64,
    i64,
    i64,
    Option<String>,
);

fn user(row: Row) -> Result<User, StoreError> {
    let (
        id,
        forge,
        account,
        login,
        key_id,
        key,
        state,
        version,
        access,
        refresh,
        expires,
        created,
        updated,
        scope,
    ) = row;
    let tokens = access.zip(refresh).map(|(access, refresh)| UpstreamTokens {
        access,
        refresh,
        access_expires_at: time(expires),
    });
    Ok(User {
        id,
        forge,
        account,
        login,
        key: WrappedKey {
            key_id,
            sealed: key,
        },
        state: match state.as_str() {
            "connected" => UserState::Connected,
            "reconnect" => UserState::Reconnect,
            "disconnected" => UserState::Disconnected,
            _ => return Err(corrupt("the state of a user")),
        },
        version,
        tokens,
        created_at: time(created),
        updated_at: time(updated),
        scope,
    })
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2)
}

impl Store {
    pub(crate) async fn user(&self, id: &str) -> Result<Option<User>, StoreError> {
        const SQL: &str = select!("WHERE id = $1");
        let row: Option<Row> = reading!(&self.db, |on| {
            sqlx::query_as(SQL).bind(id).fetch_optional(on).await?
        });
        row.map(user).transpose()
    }

    pub(crate) async fn user_at_forge(
        &self,
        forge: &str,
        account: &str,
    ) -> Result<Option<User>, StoreError> {
        const SQL: &str = select!("WHERE forge = $1 AND forge_user = $2");
        let row: Option<Row> = reading!(&self.db, |on| {
            sqlx::query_as(SQL)
                .bind(forge)
                .bind(account)
                .fetch_optional(on)
                .await?
        });
        row.map(user).transpose()
    }

    pub(crate) async fn users(&self, limit: i64) -> Result<Vec<User>, StoreError> {
        const SQL: &str = select!("ORDER BY login, id LIMIT $1");
        let rows: Vec<Row> = reading!(&self.db, |on| {
            sqlx::query_as(SQL).bind(limit).fetch_all(on).await?
        });
        rows.into_iter().map(user).collect()
    }

    pub(crate) async fn count_users(&self) -> Result<i64, StoreError> {
        const SQL: &str = "SELECT COUNT(*) FROM users";
        let (count,): (i64,) =
            reading!(&self.db, |on| { sqlx::query_as(SQL).fetch_one(on).await? });
        Ok(count)
    }

    /// All users with this id or login; a login that was given up at the forge may come twice
    pub(crate) async fn users_named(&self, who: &str) -> Result<Vec<User>, StoreError> {
        const SQL: &str = select!("WHERE id = $1 OR login = $1 ORDER BY id");
        let rows: Vec<Row> = reading!(&self.db, |on| {
            sqlx::query_as(SQL).bind(who).fetch_all(on).await?
        });
        rows.into_iter().map(user).collect()
    }

    /// Ids of all master keys that rows were written with
    pub(crate) async fn key_ids(&self) -> Result<Vec<String>, StoreError> {
        let mut ids = self.key_ids_of_users().await?;
        ids.push(self.wrapped_token_key().await?.key_id);
        ids.sort();
        ids.dedup();
        Ok(ids)
    }

    /// Ids of the master keys that the data keys of users are wrapped with
    pub(super) async fn key_ids_of_users(&self) -> Result<Vec<String>, StoreError> {
        const SQL: &str = "SELECT DISTINCT key_id FROM users WHERE state <> 'disconnected' \
            ORDER BY key_id";
        let rows: Vec<(String,)> =
            reading!(&self.db, |on| { sqlx::query_as(SQL).fetch_all(on).await? });
        Ok(rows.into_iter().map(|(id,)| id).collect())
    }

    /// Insert a user at their first sign-in; false if the row exists already
    pub(crate) async fn add_user(&self, new: &NewUser, now: Timestamp) -> Result<bool, StoreError> {
        const SQL: &str = "INSERT INTO users (id, forge, forge_user, login, key_id, wrapped_key, \
            state, version, access_sealed, refresh_sealed, access_expires_at, created_at, updated_at, \
            forge_scope) VALUES ($1, $2, $3, $4, $5, $6, 'connected', 1, $7, $8, $9, $10, $10, $11) \
            ON CONFLICT (forge, forge_user) DO NOTHING";
        Ok(writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(&new.id)
                .bind(&new.forge)
                .bind(&new.account)
                .bind(&new.login)
                .bind(&new.key.key_id)
                .bind(&new.key.sealed)
                .bind(&new.tokens.access)
                .bind(&new.tokens.refresh)
                .bind(ms(new.tokens.access_expires_at))
                .bind(ms(now))
                .bind(&new.scope)
                .execute(on)
                .await?
                .rows_affected()
                == 1
        }))
    }

    /// Replace the tokens by those of version `from + 1`, which a new sign-in brought
    ///
    /// `key` is a new data key, for a user who has none. False if another request changed the row
    /// since it was read. A lease does not stop it: the sign-in has invalidated the older tokens.
    pub(crate) async fn signed_in(
        &self,
        was: &User,
        login: &str,
        scope: &str,
        key: Option<&WrappedKey>,
        tokens: &UpstreamTokens,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "UPDATE users SET login = $3, state = 'connected', version = version + 1, \
            access_sealed = $4, refresh_sealed = $5, access_expires_at = $6, updated_at = $7, \
            forge_scope = $8, key_id = COALESCE($9, key_id), \
            wrapped_key = COALESCE($10, wrapped_key), lease_owner = NULL, lease_until = NULL \
            WHERE id = $1 AND version = $2";
        Ok(writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(&was.id)
                .bind(was.version)
                .bind(login)
                .bind(&tokens.access)
                .bind(&tokens.refresh)
                .bind(ms(tokens.access_expires_at))
                .bind(ms(now))
                .bind(scope)
                .bind(key.map(|key| key.key_id.as_str()))
                .bind(key.map(|key| key.sealed.as_slice()))
                .execute(on)
                .await?
                .rows_affected()
                == 1
        }))
    }

    /// Take the lease to refresh the tokens of this version; None if another caller holds it
    ///
    /// It expires by the clock of the database, because those of the replicas may differ.
    pub(crate) async fn lease(
        &self,
        user: &User,
        owner: &str,
        time: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        macro_rules! sql {
            ($now:literal) => {
                concat!(
                    "UPDATE users SET lease_owner = $3, lease_until = ",
                    $now,
                    " + $4 WHERE id = $1 AND version = $2 AND state = 'connected' \
                     AND (lease_until IS NULL OR lease_until <= ",
                    $now,
                    ")"
                )
            };
        }
        let sql = by_its_clock!(&self.db, sql);
        let taken = writing!(&self.db, |on| {
            sqlx::query(sql)
                .bind(&user.id)
                .bind(user.version)
                .bind(owner)
                .bind(millis(time))
                .execute(on)
                .await?
                .rows_affected()
        });
        Ok((taken == 1).then(|| Lease {
            user: user.id.clone(),
            version: user.version,
            owner: owner.to_owned(),
        }))
    }

    /// Extend a lease; false if it is lost
    pub(crate) async fn extend(&self, lease: &Lease, time: Duration) -> Result<bool, StoreError> {
        macro_rules! sql {
            ($now:literal) => {
                concat!(
                    "UPDATE users SET lease_until = ",
                    $now,
                    " + $4 WHERE id = $1 AND version = $2 AND lease_owner = $3"
                )
            };
        }
        let sql = by_its_clock!(&self.db, sql);
        Ok(writing!(&self.db, |on| {
            sqlx::query(sql)
                .bind(&lease.user)
                .bind(lease.version)
                .bind(&lease.owner)
                .bind(millis(time))
                .execute(on)
                .await?
                .rows_affected()
                == 1
        }))
    }

    /// Write the tokens that the forge issued for those of version `from`; false if the row was
    /// changed meanwhile
    ///
    /// This does not check the lease, because tokens that arrive late are valid too. The same holds
    /// where `from` is the version of a row whose user was told to sign in again.
    pub(crate) async fn refreshed(
        &self,
        id: &str,
        from: i64,
        tokens: &UpstreamTokens,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "UPDATE users SET state = 'connected', version = version + 1, \
            access_sealed = $3, refresh_sealed = $4, access_expires_at = $5, updated_at = $6, \
            lease_owner = NULL, lease_until = NULL WHERE id = $1 AND version = $2 \
            AND state IN ('connected', 'reconnect')";
        Ok(writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(id)
                .bind(from)
                .bind(&tokens.access)
                .bind(&tokens.refresh)
                .bind(ms(tokens.access_expires_at))
                .bind(ms(now))
                .execute(on)
                .await?
                .rows_affected()
                == 1
        }))
    }

    /// Release a lease without having used it
    pub(crate) async fn release(&self, lease: Lease) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE users SET lease_owner = NULL, lease_until = NULL \
            WHERE id = $1 AND version = $2 AND lease_owner = $3";
        writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(&lease.user)
                .bind(lease.version)
                .bind(&lease.owner)
                .execute(on)
                .await?;
        });
        Ok(())
    }

    /// Erase the tokens of this version, because the forge rejects them
    ///
    /// False if there is a newer version, which may be valid.
    pub(crate) async fn must_reconnect(
        &self,
        id: &str,
        version: i64,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "UPDATE users SET state = 'reconnect', version = version + 1, \
            access_sealed = NULL, refresh_sealed = NULL, access_expires_at = 0, updated_at = $3, \
            lease_owner = NULL, lease_until = NULL WHERE id = $1 AND version = $2";
        let erased = writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(id)
                .bind(version)
                .bind(ms(now))
                .execute(on)
                .await?
                .rows_affected()
        });
        if erased > 0 {
            self.settle().await;
        }
        Ok(erased > 0)
    }

    /// Replace the wrapping of a user's data key, as a rotation of the master keys does
    pub(crate) async fn rewrap(
        &self,
        id: &str,
        old: &WrappedKey,
        new: &WrappedKey,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "UPDATE users SET key_id = $3, wrapped_key = $4 \
            WHERE id = $1 AND wrapped_key = $2";
        Ok(writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(id)
                .bind(&old.sealed)
                .bind(&new.key_id)
                .bind(&new.sealed)
                .execute(on)
                .await?
                .rows_affected()
                == 1
        }))
    }

    /// Delete a user's row with the data key; what was sealed for them can never be opened again
    pub(crate) async fn forget_user(&self, id: &str) -> Result<bool, StoreError> {
        const SQL: &str = "DELETE FROM users WHERE id = $1";
        let gone = writing!(&self.db, |on| {
            sqlx::query(SQL).bind(id).execute(on).await?.rows_affected()
        });
        if gone > 0 {
            self.settle().await;
        }
        Ok(gone > 0)
    }
}
