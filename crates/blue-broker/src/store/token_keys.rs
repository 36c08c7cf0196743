//! The key of token hashes: its row, and the step that keyed the hashes of older databases
//!
//! Before that step rows held the SHA-256 of a token, which is enough to plant one: write a row
//! with the hash of a text of your own. The keyed hash is made from the same SHA-256, so all rows
//! can be converted without knowing a token, and every token stays valid.

use super::{
    Store, StoreError, corrupt,
    db::{reading, writing},
    tokens::NewPair,
};
use crate::{
    crypto::{DataKey, KeyRing, TokenKey, WrappedKey, token_key_place},
    rng::Rng,
    token::{StoredHash, TokenHash},
};

/// Rows that are converted by one statement: three parameters each stay below the limit of SQLite
pub(super) const ROWS_PER_STATEMENT: usize = 1000;
/// Pairs of tokens that are read at once
pub(super) const PAIRS_PER_PAGE: i64 = 1000;

/// The master keys, and randomness for what they wrap
#[derive(Clone, Copy)]
pub(crate) struct Wrapping<'a> {
    pub(crate) ring: &'a KeyRing,
    pub(crate) rng: &'a dyn Rng,
}

/// A pair of tokens whose hashes are keyed
pub(super) struct KeyedPair<'a> {
    pub(super) new: &'a NewPair,
    pub(super) access: StoredHash,
    pub(super) refresh: StoredHash,
}

pub(super) const INSERT: &str =
    "INSERT INTO token_keys (id, key_id, wrapped_key) VALUES (1, $1, $2)";

/// A new secret, wrapped for its row
pub(super) fn make(by: Wrapping<'_>) -> (TokenKey, WrappedKey) {
    let secret = DataKey::new(by.rng);
    let wrapped = by.ring.wrap(by.rng, &secret, &token_key_place());
    (TokenKey::derive(&secret), wrapped)
}

/// The keyed hash in place of a SHA-256 that a row holds
pub(super) fn convert(key: &TokenKey, held: &[u8]) -> Result<Vec<u8>, StoreError> {
    let plain = TokenHash::stored(held).ok_or_else(|| corrupt("a hash"))?;
    Ok(key.hash(&plain).bytes().to_vec())
}

/// Replace one hash of every row of a table; `$select` gives what names the row, and its hash
macro_rules! replace_hashes {
    ($on:expr, $key:expr, $name:ty, $select:literal, $update:literal) => {{
        // All at once: a row that was converted already must not be listed again.
        let rows: Vec<($name, Vec<u8>)> = sqlx::query_as($select).fetch_all(&mut *$on).await?;
        for some in rows.chunks($crate::store::token_keys::ROWS_PER_STATEMENT) {
            let mut new = Vec::with_capacity(some.len());
            for (name, held) in some {
                new.push((name, $crate::store::token_keys::convert($key, held)?));
            }
            let mut query = QueryBuilder::new("WITH new (name, hash) AS (");
            query.push_values(new, |mut row, (name, hash)| {
                row.push_bind(name.clone()).push_bind(hash);
            });
            query.push(") ").push($update);
            let done = query.build().persistent(false).execute(&mut *$on).await?;
            if done.rows_affected() != some.len() as u64 {
                return Err($crate::store::corrupt("hashes that could not be keyed"));
            }
        }
    }};
}

/// Replace both hashes of every pair of tokens, page by page: there may be a million
macro_rules! replace_pairs {
    ($on:expr, $key:expr) => {{
        const PAGE: &str = "SELECT id, access_hash, refresh_hash FROM pairs WHERE id > $1 \
            ORDER BY id LIMIT $2";
        let mut last = String::new();
        loop {
            let rows: Vec<(String, Vec<u8>, Vec<u8>)> = sqlx::query_as(PAGE)
                .bind(&last)
                .bind($crate::store::token_keys::PAIRS_PER_PAGE)
                .fetch_all(&mut *$on)
                .await?;
            let Some((end, ..)) = rows.last() else {
                break;
            };
            last.clone_from(end);
            let mut new = Vec::with_capacity(rows.len());
            for (id, access, refresh) in rows {
                let access = $crate::store::token_keys::convert($key, &access)?;
                let refresh = $crate::store::token_keys::convert($key, &refresh)?;
                new.push((id, access, refresh));
            }
            let mut query = QueryBuilder::new("WITH new (id, access, refresh) AS (");
            query.push_values(new, |mut row, (id, access, refresh)| {
                row.push_bind(id).push_bind(access).push_bind(refresh);
            });
            query.push(
                ") UPDATE pairs SET access_hash = new.access, refresh_hash = new.refresh \
                 FROM new WHERE pairs.id = new.id",
            );
            query.build().persistent(false).execute(&mut *$on).await?;
        }
    }};
}

/// Make the key and put keyed hashes in place of all that rows hold, inside a transaction
macro_rules! key_all_hashes {
    ($on:expr, $by:expr) => {{
        use sqlx::QueryBuilder;
        use $crate::store::token_keys::{INSERT, make, replace_hashes, replace_pairs};
        let (key, wrapped) = make($by);
        sqlx::query(INSERT)
            .bind(&wrapped.key_id)
            .bind(&wrapped.sealed)
            .execute(&mut *$on)
            .await?;
        replace_pairs!($on, &key);
        replace_hashes!(
            $on,
            &key,
            Vec<u8>,
            "SELECT hash, hash FROM codes",
            "UPDATE codes SET hash = new.hash FROM new WHERE codes.hash = new.name"
        );
        replace_hashes!(
            $on,
            &key,
            Vec<u8>,
            "SELECT hash, hash FROM page_sessions",
            "UPDATE page_sessions SET hash = new.hash FROM new WHERE page_sessions.hash = new.name"
        );
        replace_hashes!(
            $on,
            &key,
            String,
            "SELECT id, secret_hash FROM clients WHERE secret_hash IS NOT NULL",
            "UPDATE clients SET secret_hash = new.hash FROM new WHERE clients.id = new.name"
        );
    }};
}
pub(super) use {key_all_hashes, replace_hashes, replace_pairs};

impl Store {
    /// Keyed hash of a token, as its row holds it
    pub(crate) fn keyed(&self, hash: &TokenHash) -> Result<StoredHash, StoreError> {
        let key = self.token_key.as_ref().ok_or(StoreError::NoTokenKey)?;
        Ok(key.hash(hash))
    }

    pub(super) fn keyed_pair<'a>(&self, new: &'a NewPair) -> Result<KeyedPair<'a>, StoreError> {
        Ok(KeyedPair {
            new,
            access: self.keyed(&new.access)?,
            refresh: self.keyed(&new.refresh)?,
        })
    }

    /// The wrapped secret of the token key
    pub(crate) async fn wrapped_token_key(&self) -> Result<WrappedKey, StoreError> {
        const SQL: &str = "SELECT key_id, wrapped_key FROM token_keys WHERE id = 1";
        let row: Option<(String, Vec<u8>)> = reading!(&self.db, |on| {
            sqlx::query_as(SQL).fetch_optional(on).await?
        });
        let (key_id, sealed) = row.ok_or_else(|| corrupt("the key of tokens is gone"))?;
        Ok(WrappedKey { key_id, sealed })
    }

    /// Replace the wrapping of the token key, as a rotation of the master keys does
    ///
    /// False if it was wrapped otherwise meanwhile.
    pub(crate) async fn rewrap_token_key(
        &self,
        old: &WrappedKey,
        new: &WrappedKey,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "UPDATE token_keys SET key_id = $2, wrapped_key = $3 \
            WHERE id = 1 AND wrapped_key = $1";
        Ok(writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(&old.sealed)
                .bind(&new.key_id)
                .bind(&new.sealed)
                .execute(on)
                .await?
                .rows_affected()
                == 1
        }))
    }

    /// Take the token key out of its wrapping
    pub(super) async fn open_token_key(&self, ring: &KeyRing) -> Result<TokenKey, StoreError> {
        let wrapped = self.wrapped_token_key().await?;
        let secret = ring
            .unwrap(&wrapped, &token_key_place())
            .map_err(|_| StoreError::TokenKeySealed)?;
        Ok(TokenKey::derive(&secret))
    }
}
