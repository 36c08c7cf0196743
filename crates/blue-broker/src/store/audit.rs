//! What happened, for the admin

use jiff::Timestamp;
use serde_json::Value;

use super::{
    Store, StoreError,
    db::{reading, writing},
    ms, time,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuditEvent {
    Registered,
    Consented,
    Denied,
    Issued,
    Refreshed,
    /// A code or a token was used that should not have been any more
    Replayed,
    Revoked,
    ReconnectNeeded,
}

impl AuditEvent {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::Consented => "consented",
            Self::Denied => "denied",
            Self::Issued => "issued",
            Self::Refreshed => "refreshed",
            Self::Replayed => "replayed",
            Self::Revoked => "revoked",
            Self::ReconnectNeeded => "reconnect_needed",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AuditRow {
    pub(crate) id: String,
    pub(crate) at: Timestamp,
    pub(crate) event: String,
    pub(crate) client_id: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) grant: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) detail: Value,
}

pub(super) const INSERT: &str = "INSERT INTO audit (id, at, event, client_id, user_id, grant_id, \
    request_id, detail) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

/// Write an event, also inside a transaction: then it is there exactly if what it tells of is
macro_rules! insert {
    ($on:expr, $row:expr) => {
        sqlx::query($crate::store::audit::INSERT)
            .bind(&$row.id)
            .bind($crate::store::ms($row.at))
            .bind(&$row.event)
            .bind(&$row.client_id)
            .bind(&$row.user)
            .bind(&$row.grant)
            .bind(&$row.request_id)
            .bind($row.detail.to_string())
            .execute($on)
            .await?
    };
}
pub(super) use insert;

impl Store {
    pub(crate) async fn write_audit(&self, row: &AuditRow) -> Result<(), StoreError> {
        writing!(&self.db, |on| {
            insert!(on, row);
        });
        Ok(())
    }

    /// Forget events from before `before`; gives how many there were
    pub(crate) async fn sweep_audit(&self, before: Timestamp) -> Result<u64, StoreError> {
        const SQL: &str = "DELETE FROM audit WHERE at < $1";
        Ok(writing!(&self.db, |on| {
            let done = sqlx::query(SQL).bind(ms(before)).execute(on).await?;
            done.rows_affected()
        }))
    }

    /// The newest events first
    pub(crate) async fn audit(&self, limit: i64) -> Result<Vec<AuditRow>, StoreError> {
        const SQL: &str = "SELECT id, at, event, client_id, user_id, grant_id, request_id, detail \
            FROM audit ORDER BY at DESC, id DESC LIMIT $1";
        type Row = (
            String,
            i64,
            String,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            String,
        );
        let rows: Vec<Row> = reading!(&self.db, |on| {
            sqlx::query_as(SQL).bind(limit).fetch_all(on).await?
        });
        let event = |(id, at, event, client_id, user, grant, request_id, detail): Row| AuditRow {
            id,
            at: time(at),
            event,
            client_id,
            user,
            grant,
            request_id,
            detail: serde_json::from_str(&detail).unwrap_or(Value::Null),
        };
        Ok(rows.into_iter().map(event).collect())
    }
}
