//! Rows of applications, grants and codes

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Result, Row, params};

#[derive(Debug, Clone)]
pub(super) struct App {
    pub id: i64,
    pub user_id: i64,
    pub name: String,
    pub client_id: String,
    pub secret_hash: String,
    pub confidential: bool,
    pub skip_secondary: bool,
    pub redirect_uris: Vec<String>,
    pub created_at: i64,
}

const APP: &str = "SELECT id, user_id, name, client_id, secret_hash, confidential, \
                   skip_secondary, redirect_uris, created_at FROM oauth_apps";

impl App {
    fn row(row: &Row<'_>) -> Result<Self> {
        let uris: String = row.get(7)?;
        Ok(Self {
            id: row.get(0)?,
            user_id: row.get(1)?,
            name: row.get(2)?,
            client_id: row.get(3)?,
            secret_hash: row.get(4)?,
            confidential: row.get(5)?,
            skip_secondary: row.get(6)?,
            redirect_uris: serde_json::from_str(&uris).unwrap_or_default(),
            created_at: row.get(8)?,
        })
    }
}

/// What the owner of an application can set
#[derive(Debug)]
pub(super) struct AppSettings<'a> {
    pub name: &'a str,
    pub secret_hash: &'a str,
    pub confidential: bool,
    pub skip_secondary: bool,
    pub redirect_uris: &'a [String],
}

impl AppSettings<'_> {
    fn uris(&self) -> String {
        serde_json::to_string(self.redirect_uris).expect("a list of strings is JSON")
    }
}

pub(super) fn app_by_client(c: &Connection, client_id: &str) -> Result<Option<App>> {
    c.prepare_cached(&format!("{APP} WHERE client_id = ?1"))?
        .query_row([client_id], App::row)
        .optional()
}

pub(super) fn app_by_id(c: &Connection, id: i64) -> Result<Option<App>> {
    c.prepare_cached(&format!("{APP} WHERE id = ?1"))?
        .query_row([id], App::row)
        .optional()
}

pub(super) fn apps_of(c: &Connection, user_id: i64) -> Result<Vec<App>> {
    c.prepare_cached(&format!("{APP} WHERE user_id = ?1 ORDER BY id"))?
        .query_map([user_id], App::row)?
        .collect()
}

pub(super) fn insert_app(
    c: &Connection,
    user_id: i64,
    client_id: &str,
    new: &AppSettings<'_>,
    now: Timestamp,
) -> Result<i64> {
    c.execute(
        "INSERT INTO oauth_apps (user_id, name, client_id, secret_hash, confidential, \
         skip_secondary, redirect_uris, created_at) VALUES (?1,?2,?3,?4,?5,?6,?7,?8)",
        params![
            user_id,
            new.name,
            client_id,
            new.secret_hash,
            new.confidential,
            new.skip_secondary,
            new.uris(),
            now.as_millisecond()
        ],
    )?;
    Ok(c.last_insert_rowid())
}

pub(super) fn update_app(c: &Connection, id: i64, new: &AppSettings<'_>) -> Result<()> {
    c.execute(
        "UPDATE oauth_apps SET name = ?2, secret_hash = ?3, confidential = ?4, \
         skip_secondary = ?5, redirect_uris = ?6 WHERE id = ?1",
        params![
            id,
            new.name,
            new.secret_hash,
            new.confidential,
            new.skip_secondary,
            new.uris()
        ],
    )?;
    Ok(())
}

pub(super) fn delete_app(c: &Connection, user_id: i64, id: i64) -> Result<bool> {
    let gone = c.execute(
        "DELETE FROM oauth_apps WHERE user_id = ?1 AND id = ?2",
        [user_id, id],
    )?;
    Ok(gone > 0)
}

/// What a user lets an application do; one per user and application
#[derive(Debug, Clone)]
pub(super) struct Grant {
    pub id: i64,
    pub app_id: i64,
    pub user_id: i64,
    pub scope: String,
    pub nonce: String,
    pub counter: i64,
    pub created_at: i64,
}

const GRANT: &str =
    "SELECT id, app_id, user_id, scope, nonce, counter, created_at FROM oauth_grants";

impl Grant {
    fn row(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            app_id: row.get(1)?,
            user_id: row.get(2)?,
            scope: row.get(3)?,
            nonce: row.get(4)?,
            counter: row.get(5)?,
            created_at: row.get(6)?,
        })
    }
}

pub(super) fn grant_by_id(c: &Connection, id: i64) -> Result<Option<Grant>> {
    c.prepare_cached(&format!("{GRANT} WHERE id = ?1"))?
        .query_row([id], Grant::row)
        .optional()
}

pub(super) fn grant_for(c: &Connection, app_id: i64, user_id: i64) -> Result<Option<Grant>> {
    c.prepare_cached(&format!("{GRANT} WHERE app_id = ?1 AND user_id = ?2"))?
        .query_row([app_id, user_id], Grant::row)
        .optional()
}

pub(super) fn grants_of(c: &Connection, user_id: i64) -> Result<Vec<Grant>> {
    c.prepare_cached(&format!("{GRANT} WHERE user_id = ?1 ORDER BY id"))?
        .query_map([user_id], Grant::row)?
        .collect()
}

pub(super) fn insert_grant(
    c: &Connection,
    app_id: i64,
    user_id: i64,
    scope: &str,
    now: Timestamp,
) -> Result<i64> {
    c.execute(
        "INSERT INTO oauth_grants (app_id, user_id, scope, created_at) VALUES (?1,?2,?3,?4)",
        params![app_id, user_id, scope, now.as_millisecond()],
    )?;
    Ok(c.last_insert_rowid())
}

pub(super) fn set_nonce(c: &Connection, grant_id: i64, nonce: &str) -> Result<()> {
    c.execute(
        "UPDATE oauth_grants SET nonce = ?2 WHERE id = ?1",
        params![grant_id, nonce],
    )?;
    Ok(())
}

/// Count one more pair of tokens; gives the new counter
pub(super) fn count_up(c: &Connection, grant_id: i64) -> Result<i64> {
    c.query_row(
        "UPDATE oauth_grants SET counter = counter + 1 WHERE id = ?1 RETURNING counter",
        [grant_id],
        |row| row.get(0),
    )
}

pub(super) fn delete_grant(c: &Connection, user_id: i64, id: i64) -> Result<bool> {
    let gone = c.execute(
        "DELETE FROM oauth_grants WHERE user_id = ?1 AND id = ?2",
        [user_id, id],
    )?;
    Ok(gone > 0)
}

#[derive(Debug, Clone)]
pub(super) struct Code {
    pub grant_id: i64,
    pub method: String,
    pub challenge: String,
    pub valid_until: i64,
}

pub(super) fn insert_code(c: &Connection, hash: &str, code: &Code) -> Result<()> {
    c.execute(
        "INSERT INTO oauth_codes (hash, grant_id, method, challenge, valid_until) \
         VALUES (?1,?2,?3,?4,?5)",
        params![
            hash,
            code.grant_id,
            code.method,
            code.challenge,
            code.valid_until
        ],
    )?;
    Ok(())
}

pub(super) fn code(c: &Connection, hash: &str) -> Result<Option<Code>> {
    c.prepare_cached(
        "SELECT grant_id, method, challenge, valid_until FROM oauth_codes WHERE hash = ?1",
    )?
    .query_row([hash], |row| {
        Ok(Code {
            grant_id: row.get(0)?,
            method: row.get(1)?,
            challenge: row.get(2)?,
            valid_until: row.get(3)?,
        })
    })
    .optional()
}

/// Deletes an authorization code; false if another request has redeemed it already
pub(super) fn delete_code(c: &Connection, hash: &str) -> Result<bool> {
    Ok(c.execute("DELETE FROM oauth_codes WHERE hash = ?1", [hash])? > 0)
}

/// The signing key, made by `fresh` when there is none yet
pub(super) fn key(c: &Connection, fresh: impl FnOnce() -> Vec<u8>) -> Result<Vec<u8>> {
    let kept = c
        .query_row("SELECT pkcs8 FROM oauth_keys", [], |row| row.get(0))
        .optional()?;
    if let Some(kept) = kept {
        return Ok(kept);
    }
    let fresh = fresh();
    c.execute(
        "INSERT INTO oauth_keys (id, pkcs8) VALUES (1, ?1)",
        [&fresh],
    )?;
    Ok(fresh)
}
