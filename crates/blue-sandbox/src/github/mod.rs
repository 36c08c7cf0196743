//! The GitHub door, `/api/v3`

mod ask;
mod cx;
mod door;
mod media;
mod page;
mod rate;
mod refusal;
mod reply;
mod serve;
mod table;
mod url;
mod view;

mod actions;
mod branches;
mod checks;
mod collaborators;
mod commits;
mod contents;
mod git;
mod meta;
mod network;
mod protection;
mod pulls;
mod repos;
mod reviews;
mod statuses;
mod users;

use std::sync::Arc;

use axum::{Extension, Router, routing::any};

use crate::app::App;

/// One route: names in its paths hold slashes, so the door has a table of its own
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v3", any(serve::serve))
        .route("/api/v3/", any(serve::serve))
        .route("/api/v3/{*path}", any(serve::serve))
        .layer(Extension(Arc::new(door::Door::new())))
}
