//! Pull requests seen as issues, and their comments

use serde_json::{Value, json};

use super::{
    Outcome,
    fail::Fail,
    reply::{Page, Reply},
    request::InRepo,
    timeline,
    wire::{self, View},
};
use crate::{
    ops::{self, access::Access, pulls},
    store::pulls::{self as rows, Comment, Pull, State},
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
            let pull = of_comments(cx, number)?;
            let mut all = app
                .store
                .read(|c| rows::comments(c, cx.repo().id, pull.number))
                .map_err(ops::Error::from)?;
            let (since, before) = (moment(cx, "since")?, moment(cx, "before")?);
            all.retain(|row| {
                since.is_none_or(|since| row.updated_at >= since)
                    && before.is_none_or(|before| row.updated_at <= before)
            });
            let mut list = Vec::new();
            for row in &all {
                list.push(comment(cx, row)?);
            }
            Ok(Reply::counted(&list.into(), all.len()))
        }
        ("GET", Some(number), ["issues", _, "timeline"]) => timeline::list(cx, number),
        ("POST", Some(number), ["issues", _, "comments"]) => {
            let user = cx.user()?;
            cx.need_unarchived()?;
            let form = cx.req.form()?;
            let pull = of_comments(cx, number)?;
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
            Ok(Reply::ok(&comment(cx, &find_comment(cx, id)?)?))
        }
        ("PATCH", _, ["issues", "comments", id]) => {
            let form = cx.req.form()?;
            let body = form.required("body", "Body")?;
            let mut row = own_comment(cx, id)?;
            row.updated_at = app.now_ms();
            body.clone_into(&mut row.body);
            app.store
                .write(|tx| rows::save_comment(tx, row.id, &row.body, row.updated_at))
                .map_err(ops::Error::from)?;
            Ok(Reply::ok(&comment(cx, &row)?))
        }
        ("DELETE", _, ["issues", "comments", id]) => {
            let row = own_comment(cx, id)?;
            app.store
                .write(|tx| rows::delete_comment(tx, row.id))
                .map_err(ops::Error::from)?;
            Ok(Reply::empty(204))
        }
        (_, _, ["issues"] | ["issues", _] | ["issues", _, "comments"]) => Err(Fail::wrong_verb()),
        _ => Err(Fail::no_route()),
    }
}

/// The pull request whose comments are meant; a missing one is Gitea's own trouble
fn of_comments(cx: &InRepo<'_>, number: i64) -> Result<Pull, Fail> {
    pulls::get(cx.app(), cx.repo(), number).map_err(|_| {
        let repo = cx.repo().id;
        Fail::new(
            500,
            &format!("issue does not exist [id: 0, repo_id: {repo}, index: {number}]"),
        )
    })
}

fn find_comment(cx: &InRepo<'_>, id: &str) -> Result<Comment, Fail> {
    let missing = || {
        let words = format!("comment does not exist [id: {id}, issue_id: 0]");
        Fail::missing("", &[&words])
    };
    let number = id.parse().map_err(|_| missing())?;
    let found = cx
        .app()
        .store
        .read(|c| rows::comment(c, cx.repo().id, number))
        .map_err(ops::Error::from)?;
    found.ok_or_else(missing)
}

/// A comment the caller may change: their own, or any for an administrator
fn own_comment(cx: &InRepo<'_>, id: &str) -> Result<Comment, Fail> {
    let user = cx.user()?;
    cx.need_unarchived()?;
    let row = find_comment(cx, id)?;
    if row.user_id != user.id && cx.access < Access::Admin {
        return Err(Fail::empty(403));
    }
    Ok(row)
}

/// A time in the query, in milliseconds
fn moment(cx: &InRepo<'_>, name: &str) -> Result<Option<i64>, Fail> {
    let Some(text) = cx.req.query(name).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let when: jiff::Timestamp = text.parse().map_err(|_| {
        let form = "2006-01-02T15:04:05Z07:00";
        Fail::invalid(&format!(
            "parsing time \"{text}\" as \"{form}\": cannot parse \"{text}\" as \"2006\""
        ))
    })?;
    Ok(Some(when.as_millisecond()))
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
