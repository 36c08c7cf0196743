//! Rows of people, organisations and tokens

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

/// A user or an organisation
#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) id: i64,
    pub(crate) login: String,
    pub(crate) is_org: bool,
    pub(crate) full_name: String,
    pub(crate) email: String,
    pub(crate) description: String,
    pub(crate) salt: String,
    pub(crate) password_hash: String,
    pub(crate) is_admin: bool,
    pub(crate) is_active: bool,
    pub(crate) visibility: String,
    pub(crate) created_at: i64,
}

const COLUMNS: &str = "id, login, is_org, full_name, email, description, salt, password_hash, \
                       is_admin, is_active, visibility, created_at";

impl User {
    fn row(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            login: row.get(1)?,
            is_org: row.get(2)?,
            full_name: row.get(3)?,
            email: row.get(4)?,
            description: row.get(5)?,
            salt: row.get(6)?,
            password_hash: row.get(7)?,
            is_admin: row.get(8)?,
            is_active: row.get(9)?,
            visibility: row.get(10)?,
            created_at: row.get(11)?,
        })
    }
}

pub(crate) fn by_id(c: &Connection, id: i64) -> Result<Option<User>> {
    let sql = format!("SELECT {COLUMNS} FROM users WHERE id = ?1");
    c.prepare_cached(&sql)?
        .query_row([id], User::row)
        .optional()
}

/// Names are the same in upper and lower case
pub(crate) fn by_login(c: &Connection, login: &str) -> Result<Option<User>> {
    let sql = format!("SELECT {COLUMNS} FROM users WHERE key = ?1");
    c.prepare_cached(&sql)?
        .query_row([login.to_lowercase()], User::row)
        .optional()
}

pub(crate) fn by_email(c: &Connection, email: &str) -> Result<Option<User>> {
    let sql = format!("SELECT {COLUMNS} FROM users WHERE lower(email) = ?1 AND is_org = 0");
    c.prepare_cached(&sql)?
        .query_row([email.to_lowercase()], User::row)
        .optional()
}

pub(crate) fn all(c: &Connection, orgs: bool) -> Result<Vec<User>> {
    let sql = format!("SELECT {COLUMNS} FROM users WHERE is_org = ?1 ORDER BY lower(login)");
    c.prepare_cached(&sql)?
        .query_map([orgs], User::row)?
        .collect()
}

/// What a new row needs
#[derive(Debug, Default, Clone)]
pub(crate) struct NewUser<'a> {
    pub(crate) login: &'a str,
    pub(crate) is_org: bool,
    pub(crate) full_name: &'a str,
    pub(crate) email: &'a str,
    pub(crate) description: &'a str,
    pub(crate) salt: &'a str,
    pub(crate) password_hash: &'a str,
    pub(crate) is_admin: bool,
    pub(crate) visibility: &'a str,
}

pub(crate) fn insert(c: &Connection, new: &NewUser<'_>, now: Timestamp) -> Result<i64> {
    c.prepare_cached(
        "INSERT INTO users (login, key, is_org, full_name, email, description, salt, \
         password_hash, is_admin, visibility, created_at) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)",
    )?
    .execute(params![
        new.login,
        new.login.to_lowercase(),
        new.is_org,
        new.full_name,
        new.email,
        new.description,
        new.salt,
        new.password_hash,
        new.is_admin,
        if new.visibility.is_empty() { "public" } else { new.visibility },
        now.as_millisecond()
    ])?;
    Ok(c.last_insert_rowid())
}

/// A personal access token; its value is not kept
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) id: i64,
    pub(crate) user_id: i64,
    pub(crate) name: String,
    pub(crate) last_eight: String,
    pub(crate) scopes: String,
    pub(crate) created_at: i64,
}

impl Token {
    fn row(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            user_id: row.get(1)?,
            name: row.get(2)?,
            last_eight: row.get(3)?,
            scopes: row.get(4)?,
            created_at: row.get(5)?,
        })
    }
}

const TOKEN: &str = "SELECT id, user_id, name, last_eight, scopes, created_at FROM tokens";

pub(crate) fn token_by_hash(c: &Connection, hash: &str) -> Result<Option<Token>> {
    c.prepare_cached(&format!("{TOKEN} WHERE hash = ?1"))?
        .query_row([hash], Token::row)
        .optional()
}

pub(crate) fn tokens_of(c: &Connection, user_id: i64) -> Result<Vec<Token>> {
    c.prepare_cached(&format!("{TOKEN} WHERE user_id = ?1 ORDER BY id"))?
        .query_map([user_id], Token::row)?
        .collect()
}

pub(crate) fn insert_token(
    c: &Connection,
    user_id: i64,
    name: &str,
    hash: &str,
    last_eight: &str,
    scopes: &str,
    now: Timestamp,
) -> Result<i64> {
    c.prepare_cached(
        "INSERT INTO tokens (user_id, name, hash, last_eight, scopes, created_at) \
         VALUES (?1,?2,?3,?4,?5,?6)",
    )?
    .execute(params![
        user_id,
        name,
        hash,
        last_eight,
        scopes,
        now.as_millisecond()
    ])?;
    Ok(c.last_insert_rowid())
}

pub(crate) fn delete_token(c: &Connection, user_id: i64, id: i64) -> Result<bool> {
    let gone = c.execute(
        "DELETE FROM tokens WHERE user_id = ?1 AND id = ?2",
        [user_id, id],
    )?;
    Ok(gone > 0)
}

/// The role of a person in an organisation
pub(crate) fn role(c: &Connection, org_id: i64, user_id: i64) -> Result<Option<String>> {
    c.prepare_cached("SELECT role FROM members WHERE org_id = ?1 AND user_id = ?2")?
        .query_row([org_id, user_id], |row| row.get(0))
        .optional()
}

pub(crate) fn set_role(c: &Connection, org_id: i64, user_id: i64, role: &str) -> Result<()> {
    c.execute(
        "INSERT INTO members (org_id, user_id, role) VALUES (?1,?2,?3) \
         ON CONFLICT (org_id, user_id) DO UPDATE SET role = ?3",
        params![org_id, user_id, role],
    )?;
    Ok(())
}

pub(crate) fn orgs_of(c: &Connection, user_id: i64) -> Result<Vec<User>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM users WHERE id IN (SELECT org_id FROM members WHERE user_id = ?1) ORDER BY id"
    );
    c.prepare_cached(&sql)?
        .query_map([user_id], User::row)?
        .collect()
}

/// Members of an organisation
pub(crate) fn members(c: &Connection, org_id: i64) -> Result<Vec<User>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM users WHERE id IN (SELECT user_id FROM members WHERE org_id = ?1) ORDER BY id"
    );
    c.prepare_cached(&sql)?
        .query_map([org_id], User::row)?
        .collect()
}

/// Remember the credentials the seed made, for the next start on this folder
pub(crate) fn hand_out(c: &Connection, user_id: i64, password: &str, token: &str) -> Result<()> {
    c.execute(
        "INSERT OR REPLACE INTO handed_out (user_id, password, token) VALUES (?1,?2,?3)",
        params![user_id, password, token],
    )?;
    Ok(())
}

/// Login, password, token and admin flag of everyone the seed made
pub(crate) fn handed_out(c: &Connection) -> Result<Vec<(String, String, String, bool)>> {
    c.prepare_cached(
        "SELECT u.login, h.password, h.token, u.is_admin FROM handed_out h JOIN users u ON u.id = h.user_id ORDER BY u.id",
    )?
    .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
    .collect()
}
