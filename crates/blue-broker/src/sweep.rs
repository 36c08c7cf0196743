//! Forgetting what has ended

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;

use crate::{app::App, store::StoreError};

const EVERY: Duration = Duration::from_mins(10);
/// How often cached bearers, which hold forge tokens, are looked through
const CACHE_TRIM_INTERVAL: Duration = Duration::from_secs(30);
/// So long a used code is known, and using it again ends what it gave
const CODES: Duration = Duration::from_hours(24);
/// So long grants that ended are kept for the admin to see
const GRANTS: Duration = Duration::from_hours(7 * 24);
/// A client that registered and never got a token is forgotten
const CLIENTS: Duration = Duration::from_hours(24);
/// So many clients that never got a token are kept at most. Five a second may register, so each
/// has half an hour for its sign-in, however many strangers come
const UNUSED_CLIENTS_KEPT: i64 = 10_000;
/// So many events of registrations are kept at most
const REGISTRATIONS_KEPT: i64 = 10_000;
/// One that got tokens, when all its grants are forgotten and nobody used it for so long
const IDLE_CLIENTS: Duration = Duration::from_hours(90 * 24);
/// What a sign-in brought has so long to become a grant
const SIGN_INS: Duration = Duration::from_mins(10);

/// Sweep now and then, for ever
pub(crate) async fn run(app: Arc<App>) {
    let mut tick = tokio::time::interval(EVERY);
    let mut trim = tokio::time::interval(CACHE_TRIM_INTERVAL);
    loop {
        tokio::select! {
            _ = tick.tick() => {}
            _ = trim.tick() => {
                app.passes.drop_stale();
                continue;
            }
        }
        app.keys.look_again();
        if let Err(error) = once(&app).await {
            let why = &error as &dyn std::error::Error;
            tracing::warn!(error = why, "could not sweep");
        }
    }
}

pub(crate) async fn once(app: &App) -> Result<(), StoreError> {
    let now = app.store.sweep_time(app.now()).await?;
    let before = |time: Duration| now.checked_sub(time).unwrap_or(Timestamp::MIN);
    let store = &app.store;
    let authorizations = store.sweep_authorizations(now).await?;
    let pages = store.sweep_pages(now).await?;
    let codes = store.sweep_codes(before(CODES)).await?;
    let grants = store.sweep_grants(before(GRANTS)).await?;
    let clients = store
        .forget_unused_clients(before(CLIENTS), before(IDLE_CLIENTS))
        .await?;
    let surplus_clients = store.forget_surplus_clients(UNUSED_CLIENTS_KEPT).await?;
    let surplus_events = store
        .forget_surplus_registrations(REGISTRATIONS_KEPT)
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
        surplus_clients,
        erased,
        events,
        surplus_events,
        settled,
        "swept"
    );
    Ok(())
}
