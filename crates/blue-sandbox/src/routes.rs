//! The one list of doors

use axum::Router;

use crate::{app::App, faults, git_http, gitea, github, oauth, web};

/// Everything the sandbox answers
pub(crate) fn all(app: &App) -> Router {
    let router = Router::new()
        .merge(gitea::routes())
        .merge(github::routes())
        .merge(oauth::routes())
        .merge(git_http::routes())
        .merge(web::routes())
        .merge(faults::routes())
        .fallback(web::not_found);
    faults::wrap(router, app).with_state(app.clone())
}
