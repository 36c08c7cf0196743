//! Authorizations in progress: from the consent page to the code
//!
//! A stage is left once. Each transition takes the authorization and is one conditional update: if
//! no row matches, another request made the transition first, or the authorization has expired.

use jiff::Timestamp;

use super::{
    Store, StoreError, corrupt,
    db::{reading, writing},
    hash, ms, time,
};
use crate::token::TokenHash;

/// An authorization request
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ask {
    /// None when a user signs in to see their own connections
    pub(crate) client_id: Option<String>,
    pub(crate) redirect_uri: String,
    pub(crate) client_state: Option<String>,
    pub(crate) scope: String,
    pub(crate) resource: String,
    /// S256, the only method there is
    pub(crate) challenge: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The page is shown
    Asked,
    /// The user consented and is at the forge
    Approved,
    /// The forge sent the browser back; its code is being exchanged
    Returned,
    /// Done: the client gets its code
    Granted {
        user: String,
    },
    Denied,
    /// It failed; the text says how
    Failed {
        problem: String,
    },
}

impl Stage {
    fn parse(stage: &str, user: Option<String>, problem: Option<String>) -> Option<Self> {
        Some(match stage {
            "asked" => Self::Asked,
            "approved" => Self::Approved,
            "returned" => Self::Returned,
            "granted" => Self::Granted { user: user? },
            "denied" => Self::Denied,
            "failed" => Self::Failed { problem: problem? },
            _ => return None,
        })
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Authorization {
    pub(crate) id: String,
    pub(crate) ask: Ask,
    pub(crate) stage: Stage,
    /// The browser that the page was shown in
    pub(crate) browser: TokenHash,
    pub(crate) form: TokenHash,
    pub(crate) expires_at: Timestamp,
}

/// Whole rows, by what follows
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, stage, client_id, redirect_uri, client_state, scope, resource, \
             challenge, browser_hash, form_hash, user_id, problem, expires_at FROM \
             authorizations ",
            $rest
        )
    };
}

type Row = (
    String,
    String,
    Option<String>,
    String,
    Option<String>,
    String,
    String,
    String,
    Vec<u8>,
    Vec<u8>,
    Option<String>,
    Option<String>,
    i64,
);

impl Authorization {
    fn of(row: Row) -> Result<Self, StoreError> {
        let (
            id,
            stage,
            client,
            uri,
            client_state,
            scope,
            resource,
            challenge,
            browser,
            form,
            user,
            problem,
            expires,
        ) = row;
        Ok(Self {
            id,
            ask: Ask {
                client_id: client,
                redirect_uri: uri,
                client_state,
                scope,
                resource,
                challenge,
            },
            stage: Stage::parse(&stage, user, problem)
                .ok_or_else(|| corrupt("the stage of an authorization"))?,
            browser: hash(&browser)?,
            form: hash(&form)?,
            expires_at: time(expires),
        })
    }
}

impl Store {
    /// Begin an authorization; its stage is [`Stage::Asked`] whatever was given
    pub(crate) async fn begin(
        &self,
        new: &Authorization,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO authorizations (id, stage, client_id, redirect_uri, \
            client_state, scope, resource, challenge, browser_hash, form_hash, created_at, expires_at) \
            VALUES ($1, 'asked', $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
        writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(&new.id)
                .bind(&new.ask.client_id)
                .bind(&new.ask.redirect_uri)
                .bind(&new.ask.client_state)
                .bind(&new.ask.scope)
                .bind(&new.ask.resource)
                .bind(&new.ask.challenge)
                .bind(new.browser.unkeyed_bytes())
                .bind(new.form.unkeyed_bytes())
                .bind(ms(now))
                .bind(ms(new.expires_at))
                .execute(on)
                .await?;
        });
        Ok(())
    }

    /// An authorization that has not expired
    pub(crate) async fn authorization(
        &self,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<Authorization>, StoreError> {
        const SQL: &str = select!("WHERE id = $1 AND expires_at > $2");
        let row: Option<Row> = reading!(&self.db, |on| {
            sqlx::query_as(SQL)
                .bind(id)
                .bind(ms(now))
                .fetch_optional(on)
                .await?
        });
        row.map(Authorization::of).transpose()
    }

    /// Record the consent, with the state that is sent to the forge and the new expiry
    ///
    /// None if it was answered already.
    pub(crate) async fn approve(
        &self,
        asked: Authorization,
        upstream: &TokenHash,
        now: Timestamp,
    ) -> Result<Option<Authorization>, StoreError> {
        const SQL: &str = "UPDATE authorizations SET stage = 'approved', upstream_hash = $2, \
            expires_at = $4 WHERE id = $1 AND stage = 'asked' AND expires_at > $3";
        let moved = writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(&asked.id)
                .bind(upstream.unkeyed_bytes())
                .bind(ms(now))
                .bind(ms(asked.expires_at))
                .execute(on)
                .await?
                .rows_affected()
        });
        Ok((moved == 1).then_some(Authorization {
            stage: Stage::Approved,
            ..asked
        }))
    }

    /// Record a refusal, perhaps after a consent that is not used yet; None if it is too late
    pub(crate) async fn deny(
        &self,
        open: Authorization,
        now: Timestamp,
    ) -> Result<Option<Authorization>, StoreError> {
        const SQL: &str = "UPDATE authorizations SET stage = 'denied' \
            WHERE id = $1 AND stage IN ('asked', 'approved') AND expires_at > $2";
        let moved = writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(&open.id)
                .bind(ms(now))
                .execute(on)
                .await?
                .rows_affected()
        });
        Ok((moved == 1).then_some(Authorization {
            stage: Stage::Denied,
            ..open
        }))
    }

    /// Look up by the state that came back, without changing anything
    pub(crate) async fn authorization_by_state(
        &self,
        upstream: &TokenHash,
        now: Timestamp,
    ) -> Result<Option<Authorization>, StoreError> {
        const SQL: &str = select!("WHERE upstream_hash = $1 AND expires_at > $2");
        let row: Option<Row> = reading!(&self.db, |on| {
            sqlx::query_as(SQL)
                .bind(upstream.unkeyed_bytes())
                .bind(ms(now))
                .fetch_optional(on)
                .await?
        });
        row.map(Authorization::of).transpose()
    }

    /// Use up the state that came back from the forge; None if it was used before
    pub(crate) async fn came_back(
        &self,
        approved: Authorization,
        now: Timestamp,
    ) -> Result<Option<Authorization>, StoreError> {
        const SQL: &str = "UPDATE authorizations SET stage = 'returned' \
            WHERE id = $1 AND stage = 'approved' AND expires_at > $2";
        let moved = writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(&approved.id)
                .bind(ms(now))
                .execute(on)
                .await?
                .rows_affected()
        });
        Ok((moved == 1).then_some(Authorization {
            stage: Stage::Returned,
            ..approved
        }))
    }

    /// Whether a sign-in is between the forge's code and its tokens, in any process
    ///
    /// One whose process died in between counts too, until it expires.
    pub(crate) async fn somebody_returns(&self, now: Timestamp) -> Result<bool, StoreError> {
        const SQL: &str = "SELECT id FROM authorizations WHERE stage = 'returned' \
            AND expires_at > $1 LIMIT 1";
        let row: Option<(String,)> = reading!(&self.db, |on| {
            sqlx::query_as(SQL).bind(ms(now)).fetch_optional(on).await?
        });
        Ok(row.is_some())
    }

    /// Record the user that signed in; None if the stage was not [`Stage::Returned`] any more
    pub(crate) async fn granted(
        &self,
        returned: Authorization,
        user: &str,
    ) -> Result<Option<Authorization>, StoreError> {
        const SQL: &str = "UPDATE authorizations SET stage = 'granted', user_id = $2 \
            WHERE id = $1 AND stage = 'returned'";
        let moved = writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(&returned.id)
                .bind(user)
                .execute(on)
                .await?
                .rows_affected()
        });
        let user = user.to_owned();
        Ok((moved == 1).then_some(Authorization {
            stage: Stage::Granted { user },
            ..returned
        }))
    }

    /// Record a failure after the consent
    pub(crate) async fn failed(
        &self,
        open: Authorization,
        problem: &str,
    ) -> Result<Authorization, StoreError> {
        const SQL: &str = "UPDATE authorizations SET stage = 'failed', problem = $2 \
            WHERE id = $1 AND stage IN ('approved', 'returned')";
        writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(&open.id)
                .bind(problem)
                .execute(on)
                .await?;
        });
        let problem = problem.to_owned();
        Ok(Authorization {
            stage: Stage::Failed { problem },
            ..open
        })
    }

    /// Delete expired authorizations
    pub(crate) async fn sweep_authorizations(&self, now: Timestamp) -> Result<u64, StoreError> {
        const SQL: &str = "DELETE FROM authorizations WHERE expires_at <= $1";
        Ok(writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(ms(now))
                .execute(on)
                .await?
                .rows_affected()
        }))
    }
}
