//! Version, settings, notifications and health

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{Outcome, fail::Fail, reply::Reply, request::Req};
use crate::{app::App, config::Flavor};

pub(super) fn answer(req: &Req, path: &[&str]) -> Outcome {
    let value = match path {
        ["version"] => json!({"version": version(&req.app)}),
        ["settings", "api"] => settings(&req.app),
        ["settings", "repository"] => json!({
            "mirrors_disabled": false,
            "http_git_disabled": false,
            "migrations_disabled": false,
            "stars_disabled": false,
            "time_tracking_disabled": false,
            "lfs_disabled": true,
        }),
        ["settings", "ui"] => json!({
            "default_theme": "gitea-auto",
            "allowed_reactions": ["+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"],
            "custom_emojis": ["git", "gitea", "codeberg", "gitlab", "github", "gogs"],
        }),
        ["settings", "attachment"] => json!({
            "enabled": true,
            "allowed_types": "",
            "max_size": 2048,
            "max_files": 5,
        }),
        ["signing-key.gpg"] => return Ok(Reply::text("")),
        // The sandbox has no notifications; the route exists because it needs a token scope of its own.
        ["notifications"] => {
            req.user()?;
            req.need_scope(&["notification"])?;
            json!([])
        }
        _ => return Err(Fail::no_route()),
    };
    if req.verb() != "GET" {
        return Err(Fail::wrong_verb());
    }
    Ok(Reply::ok(&value))
}

pub(super) fn version(app: &App) -> &'static str {
    match app.flavor {
        Flavor::Gitea => "1.26.0",
        Flavor::Forgejo => "11.0.15+gitea-1.22.0",
        Flavor::Forgejo7 => "7.0.16+gitea-1.21.11",
        Flavor::Forgejo15 => "15.0.3+gitea-1.22.0",
    }
}

fn settings(app: &App) -> Value {
    let mut value = json!({
        "max_response_items": 50,
        "default_paging_num": 30,
        "default_git_trees_per_page": 1000,
        "default_max_blob_size": 10_485_760,
    });
    if !app.is_forgejo() {
        value["default_max_response_size"] = 104_857_600.into();
    }
    value
}

/// Only Forgejo has this address
pub(super) async fn forgejo_version(State(app): State<App>) -> Response {
    if app.is_forgejo() {
        Json(json!({"version": version(&app)})).into_response()
    } else {
        (StatusCode::NOT_FOUND, "Not found.\n").into_response()
    }
}

pub(super) async fn healthz(State(app): State<App>) -> Response {
    let pass = json!([{"status": "pass", "time": super::wire::time(app.now_ms())}]);
    let description = if app.is_forgejo() {
        "Forgejo: Beyond coding. We Forge."
    } else {
        "Gitea: Git with a cup of tea"
    };
    Json(json!({
        "status": "pass",
        "description": description,
        "checks": {"database:ping": pass, "cache:ping": pass},
    }))
    .into_response()
}
