//! Clients, which may ask users for a grant

use jiff::Timestamp;
use serde_json::Value;

use super::{
    Store, StoreError, corrupt,
    db::{reading, writing},
    hash, ms, stored_hash, time,
};
use crate::token::{StoredHash, TokenHash};

/// Origin of a client
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientKind {
    /// It registered itself
    Dynamic,
    /// Its id is the URL of a document
    Metadata,
    /// An admin configured it
    Static,
}

impl ClientKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dynamic => "dynamic",
            Self::Metadata => "metadata",
            Self::Static => "static",
        }
    }

    fn parse(text: &str) -> Result<Self, StoreError> {
        match text {
            "dynamic" => Ok(Self::Dynamic),
            "metadata" => Ok(Self::Metadata),
            "static" => Ok(Self::Static),
            _ => Err(corrupt("the kind of a client")),
        }
    }
}

/// How a client authenticates at the token endpoint
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthMethod {
    None,
    Post,
    Basic,
}

impl AuthMethod {
    /// As RFC 7591 calls it
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Post => "client_secret_post",
            Self::Basic => "client_secret_basic",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "none" => Some(Self::None),
            "client_secret_post" => Some(Self::Post),
            "client_secret_basic" => Some(Self::Basic),
            _ => None,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) kind: ClientKind,
    /// Name that the client gave itself: never to be trusted
    pub(crate) name: String,
    pub(crate) redirect_uris: Vec<String>,
    pub(crate) auth_method: AuthMethod,
    /// See [`Store::keyed`]
    pub(crate) secret: Option<StoredHash>,
    /// Other metadata that it sent
    pub(crate) metadata: Value,
    /// Hash by which a repeated, identical registration is recognized
    pub(crate) fingerprint: Option<TokenHash>,
    pub(crate) created_at: Timestamp,
    pub(crate) last_used_at: Option<Timestamp>,
}

/// Whole rows, by what follows
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, kind, name, redirect_uris, auth_method, secret_hash, metadata, \
             fingerprint, created_at, last_used_at FROM clients ",
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
    Option<Vec<u8>>,
    String,
    Option<Vec<u8>>,
    i64,
    Option<i64>,
);

impl Client {
    fn of(row: Row) -> Result<Self, StoreError> {
        let (id, kind, name, uris, method, secret, metadata, fingerprint, created, used) = row;
        Ok(Self {
            id,
            kind: ClientKind::parse(&kind)?,
            name,
            redirect_uris: serde_json::from_str(&uris).map_err(|_| corrupt("redirect URIs"))?,
            auth_method: AuthMethod::parse(&method).ok_or_else(|| corrupt("auth method"))?,
            secret: secret.as_deref().map(stored_hash).transpose()?,
            metadata: serde_json::from_str(&metadata).map_err(|_| corrupt("metadata"))?,
            fingerprint: fingerprint.as_deref().map(hash).transpose()?,
            created_at: time(created),
            last_used_at: used.map(time),
        })
    }
}

impl Store {
    pub(crate) async fn client(&self, id: &str) -> Result<Option<Client>, StoreError> {
        const SQL: &str = select!("WHERE id = $1");
        let row: Option<Row> = reading!(&self.db, |on| {
            sqlx::query_as(SQL).bind(id).fetch_optional(on).await?
        });
        row.map(Client::of).transpose()
    }

    pub(crate) async fn client_by_fingerprint(
        &self,
        fingerprint: &TokenHash,
    ) -> Result<Option<Client>, StoreError> {
        const SQL: &str = select!("WHERE fingerprint = $1");
        let row: Option<Row> = reading!(&self.db, |on| {
            sqlx::query_as(SQL)
                .bind(fingerprint.unkeyed_bytes())
                .fetch_optional(on)
                .await?
        });
        row.map(Client::of).transpose()
    }

    /// Clients that were used, then those that never were, each the newest first
    ///
    /// Anyone can register; what they register must not hide the clients that users work with.
    pub(crate) async fn clients(&self, limit: i64) -> Result<Vec<Client>, StoreError> {
        const SQL: &str = select!(
            "ORDER BY CASE WHEN last_used_at IS NULL THEN 1 ELSE 0 END, created_at DESC, id \
             LIMIT $1"
        );
        let rows: Vec<Row> = reading!(&self.db, |on| {
            sqlx::query_as(SQL).bind(limit).fetch_all(on).await?
        });
        rows.into_iter().map(Client::of).collect()
    }

    /// Write a client; one of the same id gets the new name, URIs, method, secret and metadata
    ///
    /// False if another client has the fingerprint already: it came first, and is the one to use.
    pub(crate) async fn put_client(&self, client: &Client) -> Result<bool, StoreError> {
        const SQL: &str = "INSERT INTO clients (id, kind, name, redirect_uris, auth_method, \
            secret_hash, metadata, fingerprint, created_at, last_used_at) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
            ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, name = excluded.name, \
            redirect_uris = excluded.redirect_uris, auth_method = excluded.auth_method, \
            secret_hash = excluded.secret_hash, metadata = excluded.metadata";
        let uris = serde_json::to_string(&client.redirect_uris).expect("a list of texts");
        let written = writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(&client.id)
                .bind(client.kind.name())
                .bind(&client.name)
                .bind(&uris)
                .bind(client.auth_method.name())
                .bind(client.secret.as_ref().map(StoredHash::bytes))
                .bind(client.metadata.to_string())
                .bind(client.fingerprint.as_ref().map(TokenHash::unkeyed_bytes))
                .bind(ms(client.created_at))
                .bind(client.last_used_at.map(ms))
                .execute(on)
                .await
                .map(drop)
        });
        match written {
            Ok(()) => Ok(true),
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Note that a client registered again, so that it does not expire yet
    pub(crate) async fn client_seen(&self, id: &str, now: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE clients SET \
            created_at = CASE WHEN last_used_at IS NULL THEN $2 ELSE created_at END, \
            last_used_at = CASE WHEN last_used_at IS NULL THEN NULL ELSE $2 END \
            WHERE id = $1 AND COALESCE(last_used_at, created_at) < $3";
        // Once an hour is enough, and the usual case writes nothing.
        let hour_ago = ms(now).saturating_sub(60 * 60 * 1000);
        writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(id)
                .bind(ms(now))
                .bind(hour_ago)
                .execute(on)
                .await?;
        });
        Ok(())
    }

    /// Note that a client was used, so that it does not expire
    pub(crate) async fn client_used(&self, id: &str, now: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE clients SET last_used_at = $2 WHERE id = $1";
        writing!(&self.db, |on| {
            sqlx::query(SQL).bind(id).bind(ms(now)).execute(on).await?;
        });
        Ok(())
    }

    /// Forget clients that registered themselves before `unused` and were never used, and those
    /// that have no grant and were last used before `idle`
    pub(crate) async fn forget_unused_clients(
        &self,
        unused: Timestamp,
        idle: Timestamp,
    ) -> Result<u64, StoreError> {
        const SQL: &str = "DELETE FROM clients WHERE kind <> 'static' \
            AND ((last_used_at IS NULL AND created_at < $1) OR (last_used_at < $2 AND NOT EXISTS \
            (SELECT 1 FROM grants WHERE grants.client_id = clients.id)))";
        Ok(writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(ms(unused))
                .bind(ms(idle))
                .execute(on)
                .await?
                .rows_affected()
        }))
    }

    /// Forget clients that were never used, the oldest first, until `kept` are left
    ///
    /// Anyone can register, so their number is bounded and not only their age.
    pub(crate) async fn forget_surplus_clients(&self, kept: i64) -> Result<u64, StoreError> {
        const SQL: &str = "DELETE FROM clients WHERE last_used_at IS NULL AND id IN \
            (SELECT id FROM clients WHERE kind <> 'static' AND last_used_at IS NULL \
            ORDER BY created_at DESC, id LIMIT $2 OFFSET $1)";
        Ok(writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(kept)
                .bind(i64::MAX)
                .execute(on)
                .await?
                .rows_affected()
        }))
    }

    pub(crate) async fn count_clients(&self) -> Result<i64, StoreError> {
        const SQL: &str = "SELECT COUNT(*) FROM clients";
        let (count,): (i64,) =
            reading!(&self.db, |on| { sqlx::query_as(SQL).fetch_one(on).await? });
        Ok(count)
    }

    pub(crate) async fn delete_client(&self, id: &str) -> Result<bool, StoreError> {
        const SQL: &str = "DELETE FROM clients WHERE id = $1";
        Ok(writing!(&self.db, |on| {
            sqlx::query(SQL).bind(id).execute(on).await?.rows_affected() == 1
        }))
    }
}
