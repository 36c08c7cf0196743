//! `GET /healthz` and `GET /readyz`

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    extract::State,
    http::{Method, StatusCode},
    response::Response,
};
use blue_base::http::Request;
use serde_json::json;
use tokio::{sync::Mutex, time::timeout};

use super::json as answer;
use crate::{app::App, causes};

/// Timeout of the check of one dependency
const PATIENCE: Duration = Duration::from_secs(5);

/// Liveness: the process runs
pub(super) async fn healthz(State(app): State<Arc<App>>) -> Response {
    let body = json!({
        "status": "ok",
        "version": app.build.version,
        "git": app.build.git,
    });
    answer(StatusCode::OK, &body)
}

/// Cached result of the last readiness check, good or bad
///
/// The endpoint is public: without the cache, callers could make the broker send the forge as many
/// requests as they like.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<Option<Found>>);

#[derive(Debug, Clone, Copy)]
struct Found {
    at: Instant,
    database: bool,
    forge: bool,
}

/// How long the cached result is used
const REMEMBERED: Duration = Duration::from_millis(500);

/// Readiness: database and forge are available
pub(super) async fn readyz(State(app): State<Arc<App>>) -> Response {
    // One check at a time: concurrent requests wait for its result.
    let mut seen = app.seen.0.lock().await;
    let recent = seen.filter(|found| found.at.elapsed() < REMEMBERED);
    let found = match recent {
        Some(found) => found,
        None => look(&app).await,
    };
    *seen = Some(found);
    drop(seen);
    let Found {
        database, forge, ..
    } = found;
    let ready = database && forge;
    let word = |good| if good { "ok" } else { "failed" };
    let body = json!({
        "status": if ready { "ok" } else { "unavailable" },
        "database": word(database),
        "forge": word(forge),
    });
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    answer(status, &body)
}

async fn look(app: &App) -> Found {
    let (database, forge) = tokio::join!(database(app), forge(app));
    Found {
        at: Instant::now(),
        database,
        forge,
    }
}

async fn database(app: &App) -> bool {
    match timeout(PATIENCE, app.store.ping()).await {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the database failed"
            );
            false
        }
        Err(_) => {
            tracing::warn!("the database did not answer");
            false
        }
    }
}

async fn forge(app: &App) -> bool {
    let mut request = Request::new(Method::GET, app.config.forge.at("api/v1/version"));
    request.timeout = Some(PATIENCE);
    request.max_body = Some(64 * 1024);
    match app.http.send(request).await {
        Ok(answer) if answer.status.is_server_error() => {
            let status = answer.status.as_u16();
            tracing::warn!(status, "the forge failed");
            false
        }
        // Any other response will do: a forge may show its version to signed-in users only.
        Ok(_) => true,
        Err(error) => {
            tracing::warn!(error = causes::whole(&error), "the forge failed");
            false
        }
    }
}
