//! Sessions of the connections page

use jiff::Timestamp;

use super::{
    Store, StoreError,
    db::{reading, writing},
    hash, ms, time,
};
use crate::token::TokenHash;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageSession {
    pub(crate) user: String,
    /// Hash of the token that every form of the page carries
    pub(crate) form: TokenHash,
    pub(crate) expires_at: Timestamp,
}

impl Store {
    pub(crate) async fn open_page(
        &self,
        cookie: &TokenHash,
        session: &PageSession,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO page_sessions (hash, user_id, form_hash, created_at, \
            expires_at) VALUES ($1, $2, $3, $4, $5)";
        let cookie = self.keyed(cookie)?;
        writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(cookie.bytes())
                .bind(&session.user)
                .bind(session.form.unkeyed_bytes())
                .bind(ms(now))
                .bind(ms(session.expires_at))
                .execute(on)
                .await?;
        });
        Ok(())
    }

    pub(crate) async fn page_session(
        &self,
        cookie: &TokenHash,
        now: Timestamp,
    ) -> Result<Option<PageSession>, StoreError> {
        const SQL: &str = "SELECT user_id, form_hash, expires_at FROM page_sessions \
            WHERE hash = $1 AND expires_at > $2";
        let cookie = self.keyed(cookie)?;
        let row: Option<(String, Vec<u8>, i64)> = reading!(&self.db, |on| {
            sqlx::query_as(SQL)
                .bind(cookie.bytes())
                .bind(ms(now))
                .fetch_optional(on)
                .await?
        });
        let Some((user, form, expires)) = row else {
            return Ok(None);
        };
        Ok(Some(PageSession {
            user,
            form: hash(&form)?,
            expires_at: time(expires),
        }))
    }

    /// Close the session, which invalidates the cookie
    pub(crate) async fn close_page(&self, cookie: &TokenHash) -> Result<(), StoreError> {
        const SQL: &str = "DELETE FROM page_sessions WHERE hash = $1";
        let cookie = self.keyed(cookie)?;
        writing!(&self.db, |on| {
            sqlx::query(SQL).bind(cookie.bytes()).execute(on).await?;
        });
        Ok(())
    }

    pub(crate) async fn sweep_pages(&self, now: Timestamp) -> Result<u64, StoreError> {
        const SQL: &str = "DELETE FROM page_sessions WHERE expires_at <= $1";
        Ok(writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(ms(now))
                .execute(on)
                .await?
                .rows_affected()
        }))
    }
}
