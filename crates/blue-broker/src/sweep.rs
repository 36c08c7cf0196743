//! Forgetting what has ended

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;

use crate::{app::App, store::StoreError};

const EVERY: Duration = Duration::from_mins(10);
/// So long a used code is known, and using it again ends what it gave
const CODES: Duration = Duration::from_hours(24);
/// So long grants that ended are kept for the admin to see
const GRANTS: Duration = Duration::from_hours(7 * 24);
/// A client that registered and never got a token is forgotten
const CLIENTS: Duration = Duration::from_hours(7 * 24);
/// One that got tokens, when all its grants are forgotten and nobody used it for so long
const IDLE_CLIENTS: Duration = Duration::from_hours(90 * 24);
/// What a sign-in brought has so long to become a grant
const SIGN_INS: Duration = Duration::from_mins(10);

/// Sweep now and then, for ever
pub(crate) async fn run(app: Arc<App>) {
    let mut tick = tokio::time::interval(EVERY);
    loop {
        tick.tick().await;
        app.keys.look_again();
        if let Err(error) = once(&app).await {
            let why = &error as &dyn std::error::Error;
            tracing::warn!(error = why, "could not sweep");
        }
    }
}

pub(crate) async fn once(app: &App) -> Result<(), StoreError> {
    let now = app.now();
    let before = |time: Duration| now.checked_sub(time).unwrap_or(Timestamp::MIN);
    let store = &app.store;
    let authorizations = store.sweep_authorizations(now).await?;
    let pages = store.sweep_pages(now).await?;
    let codes = store.sweep_codes(before(CODES)).await?;
    let grants = store.sweep_grants(before(GRANTS)).await?;
    let clients = store
        .forget_unused_clients(before(CLIENTS), before(IDLE_CLIENTS))
        .await?;
    let erased = store.erase_unused(before(SIGN_INS), now).await?;
    let events = store.sweep_audit(before(app.config.audit_ttl)).await?;
    // Also what an end could not take out of the log because somebody was reading.
    let settled = store.settle().await;
    tracing::debug!(
        authorizations,
        pages,
        codes,
        grants,
        clients,
        erased,
        events,
        settled,
        "swept"
    );
    Ok(())
}
