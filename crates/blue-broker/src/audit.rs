//! Audit events: each is one line in the log and one row in the table

use serde_json::Value;

use crate::{
    app::App,
    store::{AuditEvent, AuditRow},
};

/// What an event is about
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields<'a> {
    pub(crate) client: Option<&'a str>,
    pub(crate) user: Option<&'a str>,
    pub(crate) grant: Option<&'a str>,
    pub(crate) request: Option<&'a str>,
    /// Never a token, a code or a secret
    pub(crate) detail: Value,
}

impl App {
    /// Write an event; a failure is logged and does not fail the request
    pub(crate) async fn audit(&self, event: AuditEvent, fields: Fields<'_>) {
        let row = self.event(event, fields);
        tell(&row);
        if let Err(error) = self.store.write_audit(&row).await {
            let why = &error as &dyn std::error::Error;
            tracing::error!(error = why, "an event could not be written");
        }
    }

    /// Build an event that is written in the transaction of the change it records; [`tell`] it
    /// after the commit
    pub(crate) fn event(&self, event: AuditEvent, fields: Fields<'_>) -> AuditRow {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        AuditRow {
            id: self.id(),
            at: self.now(),
            event: event.name().to_owned(),
            client_id: owned(fields.client),
            user: owned(fields.user),
            grant: owned(fields.grant),
            request_id: owned(fields.request),
            detail: fields.detail,
        }
    }
}

/// The line in the log
pub(crate) fn tell(row: &AuditRow) {
    let detail = (!row.detail.is_null()).then(|| row.detail.to_string());
    tracing::info!(
        event = row.event,
        client = row.client_id,
        user = row.user,
        grant = row.grant,
        request = row.request_id,
        detail,
        "audit"
    );
}
