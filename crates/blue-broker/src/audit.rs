//! What happened, for the admin: one line in the log, one row in the table

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
    /// Note an event; one that cannot be written is told in the log and stops nothing
    pub(crate) async fn audit(&self, event: AuditEvent, fields: Fields<'_>) {
        tracing::info!(
            target: "audit",
            event = event.name(),
            client = fields.client,
            user = fields.user,
            grant = fields.grant,
            request = fields.request,
            detail = %fields.detail,
            "audit"
        );
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let row = AuditRow {
            id: self.id(),
            at: self.now(),
            event: event.name().to_owned(),
            client_id: owned(fields.client),
            user: owned(fields.user),
            grant: owned(fields.grant),
            request_id: owned(fields.request),
            detail: fields.detail,
        };
        if let Err(error) = self.store.write_audit(&row).await {
            let why = &error as &dyn std::error::Error;
            tracing::error!(error = why, "an event could not be written");
        }
    }
}
