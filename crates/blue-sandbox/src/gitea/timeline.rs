//! What happened to a pull request

use serde_json::json;

use super::{
    Outcome,
    reply::Page,
    request::InRepo,
    wire::{self, View},
};
use crate::{
    ops::{self, pulls},
    store::pulls as rows,
};

/// `GET /issues/{number}/timeline`, oldest first; only scheduled merges are recorded
pub(super) fn list(cx: &InRepo<'_>, number: i64) -> Outcome {
    let (app, repo) = (cx.app(), cx.repo());
    let pull = pulls::get(app, repo, number)?;
    let events = app
        .store
        .read(|c| rows::events(c, pull.id))
        .map_err(ops::Error::from)?;
    let page = Page::of(cx.req);
    let mut shown = Vec::new();
    for event in page.slice(&events) {
        let user = ops::users::by_id(app, event.user_id)?;
        shown.push(json!({
            "id": event.id,
            "type": event.kind,
            "html_url": format!("{}/pulls/{number}#issuecomment-{}", cx.web_url(), event.id),
            "user": user.map(|user| wire::user(app, &user, View::Public)),
            "body": "",
            "created_at": wire::time(event.created_at),
            "updated_at": wire::time(event.created_at),
        }));
    }
    Ok(page.linked(cx.req, &shown.into(), events.len()))
}
