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

/// Longest that a part may take to say that it is there
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether the program runs
pub(super) async fn healthz(State(app): State<Arc<App>>) -> Response {
    let body = json!({
        "status": "ok",
        "version": app.build.version,
        "git": app.build.git,
    });
    answer(StatusCode::OK, &body)
}

/// What was found last, good or bad
///
/// Anybody may ask, and must not make us ask the forge as often as they like.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<Option<Found>>);

#[derive(Debug, Clone, Copy)]
struct Found {
    at: Instant,
    database: bool,
    forge: bool,
}

/// How long that counts
const REMEMBERED: Duration = Duration::from_millis(500);

/// Whether it can do its work: database and forge
pub(super) async fn readyz(State(app): State<Arc<App>>) -> Response {
    // One at a time: the others wait for what it finds.
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
        // A forge that shows its version to nobody but users is there all the same.
        Ok(_) => true,
        Err(error) => {
            tracing::warn!(error = causes::whole(&error), "the forge failed");
            false
        }
    }
}
