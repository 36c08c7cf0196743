//! The sweep: deletes what has expired

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;

use crate::{app::App, store::StoreError};

const EVERY: Duration = Duration::from_mins(10);
/// How often expired entries are dropped from the cache of bearer tokens, which holds forge tokens
const CACHE_TRIM_INTERVAL: Duration = Duration::from_secs(30);
/// How long a used code is kept; within that time, a replay revokes its grant
const CODES: Duration = Duration::from_hours(24);
/// How long revoked grants are kept for the admin to see
const GRANTS: Duration = Duration::from_hours(7 * 24);
/// Age at which a client that registered and never got a token is deleted
const CLIENTS: Duration = Duration::from_hours(24);
/// Maximum number of clients that never got a token. Five a second may register, so each has half
/// an hour for its sign-in, however many strangers register
const UNUSED_CLIENTS_KEPT: i64 = 10_000;
/// Maximum number of registration events
const REGISTRATIONS_KEPT: i64 = 10_000;
/// How long a client that got tokens, and has no grant left, is kept after its last use
const IDLE_CLIENTS: Duration = Duration::from_hours(90 * 24);
/// How long the tokens of a sign-in are kept without a grant
const SIGN_INS: Duration = Duration::from_mins(10);

/// Run the sweep periodically, for ever
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
    // Also empties the log of what a revocation could not remove, because a reader held a snapshot.
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
