//! Whether the disk is full: databases, git and folders each say it in another way, or not at all

use std::{
    io::{self, Write as _},
    path::Path,
};

use axum::{
    Json,
    extract::{Request, State},
    http::StatusCode,
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use serde_json::json;

use crate::app::App;

/// What a failed write is likely to have needed
const PROBE_BYTES: usize = 1024 * 1024;
/// Error message of an answer, and of a start
pub(crate) const FULL: &str = "no space left on the disk of the sandbox";

/// Whether a file of usual size cannot be written for want of space
pub(crate) fn is_full(dir: &Path) -> bool {
    let written = tempfile::tempfile_in(dir).and_then(|mut file| {
        file.write_all(&vec![0; PROBE_BYTES])?;
        file.sync_all()
    });
    written.is_err_and(|error| {
        matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    })
}

/// Say of a request that failed inside whether the disk is full, where that is so
pub(crate) async fn layer(State(app): State<App>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    if response.status() != StatusCode::INTERNAL_SERVER_ERROR {
        return response;
    }
    let dir = app.dir.clone();
    if !app.blocking(move |_| is_full(&dir)).await {
        return response;
    }
    tracing::error!(dir = %app.dir.display(), "{FULL}");
    (
        StatusCode::INSUFFICIENT_STORAGE,
        Json(json!({ "message": FULL })),
    )
        .into_response()
}
