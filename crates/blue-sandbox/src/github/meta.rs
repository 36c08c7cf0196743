//! The door itself

use serde_json::json;

use super::cx::Cx;
use super::reply::Reply;

/// Where things are
pub(super) fn root(cx: &Cx<'_>) -> Reply {
    let api = &cx.urls.api;
    Reply::ok(&json!({
        "current_user_url": format!("{api}/user"),
        "rate_limit_url": format!("{api}/rate_limit"),
        "repository_url": format!("{api}/repos/{{owner}}/{{repo}}"),
        "user_url": format!("{api}/users/{{user}}"),
        "organization_url": format!("{api}/orgs/{{org}}"),
    }))
}

pub(super) fn meta(cx: &Cx<'_>) -> Reply {
    let host = cx.urls.web.split("://").nth(1).unwrap_or_default();
    Reply::ok(&json!({
        "verifiable_password_authentication": true,
        "domains": {"website": [host]},
    }))
}

pub(super) fn zen() -> Reply {
    Reply::bytes(
        "text/plain;charset=utf-8",
        b"Practicality beats purity.".to_vec(),
    )
}

pub(super) fn rate_limit(cx: &Cx<'_>) -> Reply {
    let who = cx.caller().map_or(0, |caller| caller.user.id);
    let window = cx.door.rates.take(who, cx.app.now().as_second(), 0);
    Reply::ok(&window.show())
}
