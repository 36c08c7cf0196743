//! Rows of audit events

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
    /// A code or token was reused that must not be
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

/// Write an event, also inside a transaction, so that it is committed exactly with the change that
/// it records
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

/// The newest events, by what follows
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, at, event, client_id, user_id, grant_id, request_id, detail FROM audit ",
            $rest,
            " ORDER BY at DESC, id DESC LIMIT $1"
        )
    };
}
impl Store {
    pub(crate) async fn write_audit(&self, row: &AuditRow) -> Result<(), StoreError> {
        writing!(&self.db, |on| {
            insert!(on, row);
        });
        Ok(())
    }

    /// Delete events from before `before`; returns how many there were
    pub(crate) async fn sweep_audit(&self, before: Timestamp) -> Result<u64, StoreError> {
        const SQL: &str = "DELETE FROM audit WHERE at < $1";
        Ok(writing!(&self.db, |on| {
            let done = sqlx::query(SQL).bind(ms(before)).execute(on).await?;
            done.rows_affected()
        }))
    }

    /// Forget the oldest registrations until `kept` are left
    ///
    /// Anyone can register, and each is an event: they have a bound of their own, so that they
    /// neither fill the disk nor take the place of other events.
    pub(crate) async fn forget_surplus_registrations(&self, kept: i64) -> Result<u64, StoreError> {
        const SQL: &str = "DELETE FROM audit WHERE id IN (SELECT id FROM audit \
            WHERE event = 'registered' ORDER BY at DESC, id DESC LIMIT $2 OFFSET $1)";
        Ok(writing!(&self.db, |on| {
            sqlx::query(SQL)
                .bind(kept)
                .bind(i64::MAX)
                .execute(on)
                .await?
                .rows_affected()
        }))
    }

    /// The newest events first
    ///
    /// Where there are more than `limit`, registrations are at most a quarter: a flood of them does
    /// not hide what else happened.
    pub(crate) async fn audit(&self, limit: i64) -> Result<Vec<AuditRow>, StoreError> {
        const REGISTERED: &str = select!("WHERE event = 'registered'");
        const OTHERS: &str = select!("WHERE event <> 'registered'");
        let others: Vec<Row> = reading!(&self.db, |on| {
            sqlx::query_as(OTHERS).bind(limit).fetch_all(on).await?
        });
        let free = limit.saturating_sub(i64::try_from(others.len()).unwrap_or(i64::MAX));
        let quarter = free.max(limit / 4);
        let mut registered: Vec<Row> = reading!(&self.db, |on| {
            sqlx::query_as(REGISTERED)
                .bind(quarter)
                .fetch_all(on)
                .await?
        });
        if free == 0
            && let Some((_, oldest, ..)) = others.last()
        {
            // Older than all that is listed: they would leave a gap before them.
            registered.retain(|(_, at, ..)| at >= oldest);
        }
        let mut events: Vec<_> = registered.into_iter().map(event).collect();
        // Where both fill the list, the oldest of the others give way.
        let room = usize::try_from(limit).unwrap_or(usize::MAX) - events.len();
        events.extend(others.into_iter().take(room).map(event));
        events.sort_by(|a, b| (b.at, &b.id).cmp(&(a.at, &a.id)));
        Ok(events)
    }

    pub(crate) async fn count_audit(&self) -> Result<i64, StoreError> {
        const SQL: &str = "SELECT COUNT(*) FROM audit";
        let (count,): (i64,) =
            reading!(&self.db, |on| { sqlx::query_as(SQL).fetch_one(on).await? });
        Ok(count)
    }
}

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

fn event(row: Row) -> AuditRow {
    let (id, at, event, client_id, user, grant, request_id, detail) = row;
    AuditRow {
        id,
        at: time(at),
        event,
        client_id,
        user,
        grant,
        request_id,
        detail: serde_json::from_str(&detail).unwrap_or(Value::Null),
    }
}
