//! What happened, as a line in the log and a row in the database

use serde_json::Value;

use crate::{
    app::App,
    rng,
    store::{AuditEvent, AuditRow},
};

/// Whom an event is about; never a token, a code or a cookie
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields<'a> {
    pub(crate) client: Option<&'a str>,
    pub(crate) user: Option<&'a str>,
    pub(crate) grant: Option<&'a str>,
    pub(crate) request_id: Option<&'a str>,
    /// What else is to be known, in words of the broker
    pub(crate) detail: Value,
}

impl App {
    /// Note what happened; whoever waits for an answer gets it even if the row cannot be written
    pub(crate) async fn audit(&self, event: AuditEvent, fields: Fields<'_>) {
        let row = AuditRow {
            id: rng::id(&*self.rng),
            at: self.now(),
            event: event.name().to_owned(),
            client_id: fields.client.map(str::to_owned),
            user: fields.user.map(str::to_owned),
            grant: fields.grant.map(str::to_owned),
            request_id: fields.request_id.map(str::to_owned),
            detail: fields.detail,
        };
        tracing::info!(
            target: "audit",
            event = row.event,
            client = row.client_id,
            user = row.user,
            grant = row.grant,
            request = row.request_id,
            detail = (!row.detail.is_null()).then(|| row.detail.to_string()),
            "{}", row.event
        );
        if let Err(error) = self.store.write_audit(&row).await {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                event = row.event,
                "the event could not be written down"
            );
        }
    }
}
