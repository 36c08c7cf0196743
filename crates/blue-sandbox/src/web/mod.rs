//! Plain pages: whatever a link leads to can be looked at
//!
//! No script runs and nothing is loaded from elsewhere; all text is escaped by the templates.

pub(crate) mod layout;
mod link;
mod patch;
mod view;

use axum::{Router, response::Response};

use crate::app::App;

pub(crate) fn routes() -> Router<App> {
    Router::new()
}

/// Any address that no door knows
pub(crate) async fn not_found() -> Response {
    layout::not_found(&layout::Viewer::default())
}
