//! Pull requests seen as issues, and their comments

use serde_json::{Value, json};

use super::{
    Outcome,
    fail::Fail,
    reply::{Page, Reply},
    request::InRepo,
    wire::{self, View},
};
use crate::{
    ops::{self, pulls},
    store::{
        pulls::{self as rows, Comment, Pull, State},
        reviews::Review,
    },
};

pub(super) fn answer(cx: &InRepo<'_>, path: &[&str]) -> Outcome {
    let app = cx.app();
    let number = path.get(1).and_then(|number| number.parse::<i64>().ok());
    match (cx.req.verb(), number, path) {
        ("GET", _, ["issues"]) => list(cx),
        ("GET", Some(number), ["issues", _]) => {
            Ok(Reply::ok(&shown(cx, &pulls::get(app, cx.repo(), number)?)?))
        }
        ("GET", Some(number), ["issues", _, "comments"]) => {
            let pull = pulls::get(app, cx.repo(), number)?;
            let all = app
                .store
                .read(|c| rows::comments(c, cx.repo().id, pull.number))
                .map_err(ops::Error::from)?;
            let mut list = Vec::new();
            for row in &all {
                list.push(comment(cx, row)?);
            }
            Ok(Reply::counted(&list.into(), all.len()))
        }
        ("POST", Some(number), ["issues", _, "comments"]) => {
            let user = cx.user()?;
            cx.need_unarchived()?;
            let pull = pulls::get(app, cx.repo(), number)?;
            let form = cx.req.form()?;
            let body = form.required("body", "Body")?;
            let made = app.store.write(|tx| {
                let id = rows::insert_comment(
                    tx,
                    cx.repo().id,
                    pull.number,
                    user.id,
                    body,
                    app.now_ms(),
                )?;
                rows::comment(tx, cx.repo().id, id)
            });
            let made = made
                .map_err(ops::Error::from)?
                .ok_or_else(Fail::not_found)?;
            Ok(Reply::created(&comment(cx, &made)?))
        }
        ("GET", _, ["issues", "comments", id]) => {
            let id = id.parse().map_err(|_| Fail::not_found())?;
            let found = app
                .store
                .read(|c| rows::comment(c, cx.repo().id, id))
                .map_err(ops::Error::from)?;
            Ok(Reply::ok(&comment(
                cx,
                &found.ok_or_else(Fail::not_found)?,
            )?))
        }
        (_, _, ["issues"] | ["issues", _] | ["issues", _, "comments"]) => Err(Fail::wrong_verb()),
        _ => Err(Fail::no_route()),
    }
}

fn list(cx: &InRepo<'_>) -> Outcome {
    let mut all = pulls::list(cx.app(), cx.repo())?;
    if cx.req.query("type") == Some("issues") {
        all.clear();
    }
    match cx.req.query("state") {
        None | Some("open" | "") => all.retain(|pull| pull.state == State::Open),
        Some("closed") => all.retain(|pull| pull.state != State::Open),
        _ => {}
    }
    let page = Page::of(cx.req);
    let mut rows = Vec::new();
    for pull in page.slice(&all) {
        rows.push(shown(cx, pull)?);
    }
    Ok(page.linked(cx.req, &rows.into(), all.len()))
}

fn shown(cx: &InRepo<'_>, pull: &Pull) -> Result<Value, Fail> {
    let (app, repo) = (cx.app(), cx.repo());
    let caller = cx.req.caller.as_ref().map(|caller| &caller.user);
    let poster = ops::users::by_id(app, pull.poster_id)?;
    let comments = app
        .store
        .read(|c| rows::comments(c, repo.id, pull.number))
        .map_err(ops::Error::from)?
        .len();
    let spoken = |review: &&Review| !matches!(review.state.as_str(), "REQUEST_REVIEW" | "PENDING");
    let comments = comments + ops::reviews::list(app, pull)?.iter().filter(spoken).count();
    let page = format!("{}/pulls/{}", cx.web_url(), pull.number);
    let merged = pull.state == State::Merged;
    Ok(json!({
        "id": pull.id,
        "url": format!("{}/issues/{}", cx.api_url(), pull.number),
        "html_url": page,
        "number": pull.number,
        "user": poster.map(|poster| wire::user(app, &poster, View::of(&poster, caller))),
        "original_author": "",
        "original_author_id": 0,
        "title": pull.title,
        "body": pull.body,
        "ref": "",
        "assets": [],
        "labels": [],
        "milestone": null,
        "assignee": null,
        "assignees": null,
        "state": if pull.state == State::Open { "open" } else { "closed" },
        "is_locked": false,
        "comments": comments,
        "created_at": wire::time(pull.created_at),
        "updated_at": wire::time(pull.updated_at),
        "closed_at": wire::opt_time(pull.closed_at),
        "due_date": null,
        "time_estimate": 0,
        "pull_request": {
            "merged": merged,
            "merged_at": if merged { wire::opt_time(pull.closed_at) } else { None },
            "draft": pulls::is_draft(pull),
            "html_url": page,
        },
        "repository": {
            "id": repo.id,
            "name": repo.name,
            "owner": cx.found.owner.login,
            "full_name": cx.found.full_name(),
        },
        "pin_order": 0,
        "content_version": 0,
    }))
}

fn comment(cx: &InRepo<'_>, comment: &Comment) -> Result<Value, Fail> {
    let page = format!("{}/pulls/{}", cx.web_url(), comment.number);
    let by = ops::users::by_id(cx.app(), comment.user_id)?;
    Ok(json!({
        "id": comment.id,
        "html_url": format!("{page}#issuecomment-{}", comment.id),
        "pull_request_url": page,
        "issue_url": "",
        "user": by.map(|by| wire::user(cx.app(), &by, View::Public)),
        "original_author": "",
        "original_author_id": 0,
        "body": comment.body,
        "assets": [],
        "created_at": wire::time(comment.created_at),
        "updated_at": wire::time(comment.updated_at),
    }))
}
