//! Who is signed in to the pages, by cookie

use http::{HeaderMap, HeaderValue, header};
use rusqlite::{OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

use crate::{
    app::App,
    auth::hash_token,
    store::users::{self, User},
};

const COOKIE: &str = "i_like_gitea";
/// A day
const LIFE_MS: i64 = 24 * 60 * 60 * 1000;

/// Browser session; it has no user until a login
#[derive(Debug)]
pub(crate) struct Session {
    hash: String,
    pub(crate) user: Option<User>,
    pub(super) data: Data,
}

/// What the next form is checked against
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Data {
    pub csrf: String,
    pub client_id: String,
    pub redirect_uri: String,
    pub state: String,
    pub challenge: String,
    pub method: String,
}

impl Session {
    /// The visit a request belongs to
    pub(crate) fn find(app: &App, headers: &HeaderMap) -> Option<Self> {
        let hash = hash_token(&cookie(headers, COOKIE)?);
        let found =
            app.store.read(|c| {
                let row: Option<(Option<i64>, String)> = c
                .prepare_cached(
                    "SELECT user_id, data FROM web_sessions WHERE hash = ?1 AND valid_until > ?2",
                )?
                .query_row(params![hash, app.now_ms()], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
                let Some((user_id, data)) = row else {
                    return Ok(None);
                };
                let user = match user_id {
                    Some(id) => users::by_id(c, id)?,
                    None => None,
                };
                Ok::<_, rusqlite::Error>(Some((user, data)))
            });
        let (user, data) = found.ok()??;
        let user = user.filter(|user| user.is_active);
        Some(Self {
            hash,
            user,
            data: serde_json::from_str(&data).unwrap_or_default(),
        })
    }

    /// Begin a visit; the second value is the cookie to send
    pub(super) fn begin(app: &App, user: Option<&User>) -> rusqlite::Result<(Self, HeaderValue)> {
        let id = app.random_hex(16);
        let session = Self {
            hash: hash_token(&id),
            user: user.cloned(),
            data: Data {
                csrf: app.random_hex(16),
                ..Data::default()
            },
        };
        let now = app.now_ms();
        app.store.write(|c| {
            c.execute("DELETE FROM web_sessions WHERE valid_until <= ?1", [now])?;
            c.execute(
                "INSERT INTO web_sessions (hash, user_id, data, valid_until) VALUES (?1,?2,?3,?4)",
                params![
                    session.hash,
                    session.user.as_ref().map(|user| user.id),
                    session.data_text(),
                    now + LIFE_MS
                ],
            )
        })?;
        Ok((session, set_cookie(COOKIE, &id)))
    }

    /// Keep what the next form is checked against
    pub(super) fn save(&self, app: &App) -> rusqlite::Result<()> {
        app.store.write(|c| {
            c.execute(
                "UPDATE web_sessions SET data = ?2 WHERE hash = ?1",
                params![self.hash, self.data_text()],
            )
        })?;
        Ok(())
    }

    pub(super) fn end(&self, app: &App) -> rusqlite::Result<()> {
        app.store
            .write(|c| c.execute("DELETE FROM web_sessions WHERE hash = ?1", [&self.hash]))?;
        Ok(())
    }

    fn data_text(&self) -> String {
        serde_json::to_string(&self.data).expect("plain strings are JSON")
    }
}

/// The value of a cookie
pub(super) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(key, value)| *key == name && !value.is_empty())
        .map(|(_, value)| value.to_owned())
}

/// A cookie for this visit
///
/// The value must be made of characters a cookie can hold.
pub(super) fn set_cookie(name: &str, value: &str) -> HeaderValue {
    let life = if value.is_empty() { " Max-Age=0;" } else { "" };
    HeaderValue::from_str(&format!(
        "{name}={value}; Path=/;{life} HttpOnly; SameSite=Lax"
    ))
    .expect("names and values are plain characters")
}
