//! Who said yes to which client, and how often; nobody is spared the question for it

use jiff::Timestamp;

use super::{Store, StoreError, db::writing, ms};

#[cfg(test)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Consent {
    pub(crate) user: String,
    pub(crate) client_id: String,
    pub(crate) scope: String,
    pub(crate) redirect_uri: String,
    pub(crate) first_at: Timestamp,
    pub(crate) last_at: Timestamp,
    pub(crate) times: i64,
}

impl Store {
    /// Note a yes
    pub(crate) async fn consented(
        &self,
        user: &str,
        client_id: &str,
        scope: &str,
        redirect_uri: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO consents (user_id, client_id, scope, redirect_uri, first_at, \
            last_at, times) VALUES ($1, $2, $3, $4, $5, $5, 1) \
            ON CONFLICT (user_id, client_id) DO UPDATE SET scope = excluded.scope, \
            redirect_uri = excluded.redirect_uri, last_at = excluded.last_at, \
            times = consents.times + 1";
        writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(user)
                .bind(client_id)
                .bind(scope)
                .bind(redirect_uri)
                .bind(ms(now))
                .execute(on)
                .await?;
        });
        Ok(())
    }

    #[cfg(test)]
    pub(crate) async fn consents(&self, user: &str) -> Result<Vec<Consent>, StoreError> {
        use super::{db::reading, time};
        const SQL: &str = "SELECT user_id, client_id, scope, redirect_uri, first_at, last_at, times \
            FROM consents WHERE user_id = $1 ORDER BY last_at DESC, client_id";
        type Row = (String, String, String, String, i64, i64, i64);
        let rows: Vec<Row> = reading!(&self.db, |on| {
            sqlx::query_as(SQL).bind(user).fetch_all(on).await?
        });
        let consent = |(user, client_id, scope, redirect_uri, first, last, times): Row| Consent {
            user,
            client_id,
            scope,
            redirect_uri,
            first_at: time(first),
            last_at: time(last),
            times,
        };
        Ok(rows.into_iter().map(consent).collect())
    }
}
