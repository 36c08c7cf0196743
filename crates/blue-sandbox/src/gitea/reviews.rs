//! Reviews of a pull request

use serde_json::{Value, json};

use super::{
    Outcome,
    body::Form,
    fail::Fail,
    reply::{Page, Reply},
    request::InRepo,
    wire::{self, View},
};
use crate::{
    git::Oid,
    ops::{self, pulls, reviews},
    store::{
        pulls::{Pull, State},
        reviews::{LineComment, Review},
        users::User,
    },
};

pub(super) fn answer(cx: &InRepo<'_>, number: i64, path: &[&str]) -> Outcome {
    let app = cx.app();
    let pull = pulls::get(app, cx.repo(), number)?;
    match (cx.req.verb(), path) {
        ("GET", []) => {
            let all = reviews::list(app, &pull)?;
            let page = Page::of(cx.req);
            let mut rows = Vec::new();
            for review in page.slice(&all) {
                rows.push(shown(cx, &pull, review)?);
            }
            Ok(page.linked(cx.req, &rows.into(), all.len()))
        }
        ("POST", []) => create(cx, &pull),
        ("GET", [id]) => Ok(Reply::ok(&shown(cx, &pull, &find(cx, &pull, id)?)?)),
        ("POST", [id]) => submit(cx, &pull, id),
        ("DELETE", [id]) => {
            let user = cx.user()?;
            let review = find(cx, &pull, id)?;
            if review.user_id != user.id && !user.is_admin {
                return Err(Fail::empty(403));
            }
            reviews::delete(app, &review)?;
            Ok(Reply::empty(204))
        }
        ("GET", [id, "comments"]) => comments(cx, &pull, id),
        ("POST", [id, "dismissals"]) => dismiss(cx, &pull, id, true),
        ("POST", [id, "undismissals"]) => dismiss(cx, &pull, id, false),
        (_, [] | [_] | [_, "comments" | "dismissals" | "undismissals"]) => Err(Fail::wrong_verb()),
        _ => Err(Fail::no_route()),
    }
}

fn find(cx: &InRepo<'_>, pull: &Pull, id: &str) -> Result<Review, Fail> {
    let missing = || {
        Fail::missing(
            "GetReviewByID",
            &[&format!("review does not exist [id: {id}]")],
        )
    };
    let number = id.parse().map_err(|_| missing())?;
    reviews::get(cx.app(), pull, number).map_err(|_| missing())
}

fn said(form: &Form, comments: Vec<LineComment>) -> Result<reviews::Say, Fail> {
    let event = form.text("event")?;
    let body = form.text("body")?.to_owned();
    let state = match event {
        "APPROVED" | "APPROVE" => "APPROVED",
        "REQUEST_CHANGES" => "REQUEST_CHANGES",
        "COMMENT" => "COMMENT",
        "PENDING" | "" => "PENDING",
        _ => "",
    };
    let needs_body = state.is_empty() || matches!(state, "REQUEST_CHANGES" | "COMMENT");
    if needs_body && body.trim().is_empty() && comments.is_empty() {
        return Err(Fail::invalid(&format!(
            "review event {event} requires a body"
        )));
    }
    let state = if state.is_empty() { "COMMENT" } else { state };
    Ok(reviews::Say {
        state,
        body,
        commit: Oid::parse(form.text("commit_id")?),
        comments,
    })
}

fn create(cx: &InRepo<'_>, pull: &Pull) -> Outcome {
    let user = cx.user()?;
    let form = cx.req.form()?;
    let mut comments = Vec::new();
    for value in form.opt_list("comments")?.into_iter().flatten() {
        let comment = serde_json::from_value(value.clone())
            .map_err(|error| Fail::invalid(&format!("[]: json: {error}")))?;
        comments.push(comment);
    }
    let say = said(&form, comments)?;
    refuse_own(pull, user, say.state)?;
    let review = reviews::create(cx.app(), cx.repo(), pull, user, say)?;
    Ok(Reply::ok(&shown(cx, pull, &review)?))
}

fn refuse_own(pull: &Pull, user: &User, state: &str) -> Result<(), Fail> {
    if pull.poster_id != user.id {
        return Ok(());
    }
    match state {
        "APPROVED" => Err(Fail::invalid("approve your own pull is not allowed")),
        "REQUEST_CHANGES" => Err(Fail::invalid("reject your own pull is not allowed")),
        _ => Ok(()),
    }
}

fn submit(cx: &InRepo<'_>, pull: &Pull, id: &str) -> Outcome {
    let user = cx.user()?;
    let review = find(cx, pull, id)?;
    if review.state != "PENDING" {
        return Err(Fail::invalid("only a pending review can be submitted"));
    }
    let say = said(&cx.req.form()?, Vec::new())?;
    refuse_own(pull, user, say.state)?;
    let review = reviews::submit(cx.app(), cx.repo(), pull, user, review, say)?;
    Ok(Reply::ok(&shown(cx, pull, &review)?))
}

fn dismiss(cx: &InRepo<'_>, pull: &Pull, id: &str, dismissed: bool) -> Outcome {
    cx.need_admin()?;
    if pull.state != State::Open {
        return Err(Fail::forbidden(
            "not allowed to dismiss review of a closed pull request",
        ));
    }
    let review = find(cx, pull, id)?;
    if !matches!(review.state.as_str(), "APPROVED" | "REQUEST_CHANGES") {
        return Err(Fail::forbidden(
            "not need to dismiss this review because it's type is not Approve or change request",
        ));
    }
    let review = reviews::set_dismissed(cx.app(), review, dismissed)?;
    Ok(Reply::ok(&shown(cx, pull, &review)?))
}

/// Ask people for a review, or take that back
pub(super) fn request(cx: &InRepo<'_>, number: i64) -> Outcome {
    cx.user()?;
    let app = cx.app();
    let pull = pulls::get(app, cx.repo(), number)?;
    let names = cx.req.form()?.opt_texts("reviewers")?.unwrap_or_default();
    let mut people = Vec::new();
    for login in &names {
        let missing = |_| {
            Fail::missing(
                "UserNotExist",
                &[&format!("user does not exist [uid: 0, name: {login}]")],
            )
        };
        let user = ops::users::find(app, login).map_err(missing)?;
        if user.id == pull.poster_id {
            return Err(Fail::invalid(
                "poster of pr can't be reviewer [user_id: 0, repo_id: 0]",
            ));
        }
        people.push(user);
    }
    match cx.req.verb() {
        "POST" => {
            let made = reviews::request(app, cx.repo(), &pull, &people)?;
            let mut rows = Vec::new();
            for review in &made {
                rows.push(shown(cx, &pull, review)?);
            }
            Ok(Reply::created(&rows.into()))
        }
        "DELETE" => {
            for review in reviews::list(app, &pull)? {
                if review.state == "REQUEST_REVIEW"
                    && people.iter().any(|user| user.id == review.user_id)
                {
                    reviews::delete(app, &review)?;
                }
            }
            Ok(Reply::empty(204))
        }
        _ => Err(Fail::wrong_verb()),
    }
}

fn shown(cx: &InRepo<'_>, pull: &Pull, review: &Review) -> Result<Value, Fail> {
    let page = format!("{}/pulls/{}", cx.web_url(), pull.number);
    let caller = cx.req.caller.as_ref().map(|caller| &caller.user);
    let by = ops::users::by_id(cx.app(), review.user_id)?;
    let asked = review.state == "REQUEST_REVIEW";
    Ok(json!({
        "id": review.id,
        "user": by.map(|by| wire::user(cx.app(), &by, View::of(&by, caller))),
        "team": null,
        "state": review.state,
        "body": review.body,
        "commit_id": if asked { String::new() } else { review.commit_id.to_string() },
        "stale": !asked && reviews::is_stale(pull, review),
        "official": review.official,
        "dismissed": review.dismissed,
        "comments_count": review.comments.len(),
        "submitted_at": wire::time(review.submitted_at),
        "updated_at": wire::time(review.updated_at),
        "html_url": if asked { String::new() } else { format!("{page}#issuecomment-{}", review.id) },
        "pull_request_url": page,
    }))
}

fn comments(cx: &InRepo<'_>, pull: &Pull, id: &str) -> Outcome {
    let review = find(cx, pull, id)?;
    let page = format!("{}/pulls/{}", cx.web_url(), pull.number);
    let caller = cx.req.caller.as_ref().map(|caller| &caller.user);
    let by = ops::users::by_id(cx.app(), review.user_id)?;
    let by = by.map(|by| wire::user(cx.app(), &by, View::of(&by, caller)));
    let row = |(place, comment): (usize, &LineComment)| {
        let number = review.id * 1000 + i64::try_from(place).unwrap_or(0);
        json!({
            "id": number,
            "body": comment.body,
            "user": by,
            "resolver": null,
            "pull_request_review_id": review.id,
            "created_at": wire::time(review.submitted_at),
            "updated_at": wire::time(review.updated_at),
            "path": comment.path,
            "commit_id": review.commit_id,
            "original_commit_id": "",
            "diff_hunk": "",
            "position": comment.new_position,
            "original_position": comment.old_position,
            "html_url": format!("{page}#issuecomment-{number}"),
            "pull_request_url": page,
        })
    };
    Ok(Reply::ok(
        &review.comments.iter().enumerate().map(row).collect(),
    ))
}
