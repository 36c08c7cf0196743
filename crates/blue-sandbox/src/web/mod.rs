//! Plain pages

use axum::{Router, http::StatusCode, response::IntoResponse};

use crate::app::App;

pub(crate) fn routes() -> Router<App> {
    Router::new()
}

/// Any address that no door knows
pub(crate) async fn not_found() -> impl IntoResponse {
    (StatusCode::NOT_FOUND, "Not found.\n")
}
