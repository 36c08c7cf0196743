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
    ops::{self, access::Access, pulls, reviews},
    store::{
        pulls::{Pull, State},
        reviews::{LineComment, Review},
        users::User,
    },
};

pub(super) fn answer(cx: &InRepo<'_>, number: i64, path: &[&str]) -> Outcome {
    let app = cx.app();
    if !matches!(cx.req.verb(), "GET" | "POST" | "DELETE") {
        return Err(Fail::wrong_verb());
    }
    let pull = pulls::get(app, cx.repo(), number).map_err(|_| no_pull(cx))?;
    match (cx.req.verb(), path) {
        ("GET", []) => {
            let all = reviews::list(app, &pull)?;
            let page = Page::of(cx.req);
            let mut rows = Vec::new();
            for review in page.slice(&all) {
                rows.push(shown(cx, &pull, review)?);
            }
            // The count is given, links are not.
            Ok(Reply::counted(&rows.into(), all.len()))
        }
        ("POST", []) => create(cx, &pull),
        ("GET", [id]) => Ok(Reply::ok(&shown(cx, &pull, &find(cx, &pull, id)?)?)),
        ("POST", [id]) => submit(cx, &pull, id),
        ("DELETE", [id]) => {
            let user = cx.user()?;
            let review = find(cx, &pull, id)?;
            if review.user_id != user.id && !user.is_admin {
                return Err(Fail::forbidden("%!s(<nil>)"));
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

fn no_pull(cx: &InRepo<'_>) -> Fail {
    Fail::missing(
        "GetPullRequestByIndex",
        &[&format!(
            "pull request does not exist [id: 0, issue_id: 0, head_repo_id: 0, base_repo_id: {}, \
             head_branch: , base_branch: ]",
            cx.repo().id
        )],
    )
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

/// What the reviewer says; the order of the complaints is Gitea's
fn said(
    cx: &InRepo<'_>,
    pull: &Pull,
    user: &User,
    form: &Form,
    comments: Vec<LineComment>,
) -> Result<reviews::Say, Fail> {
    let event = form.text("event")?;
    let body = form.text("body")?.to_owned();
    let (state, needed) = match event {
        "APPROVED" => ("APPROVED", ""),
        "REQUEST_CHANGES" => ("REQUEST_CHANGES", "a body"),
        "COMMENT" if comments.is_empty() => ("COMMENT", "a body or a comment"),
        "COMMENT" => ("COMMENT", ""),
        // Every other word means that it is not finished.
        _ => ("PENDING", "a body"),
    };
    refuse_own(pull, user, state)?;
    if !needed.is_empty() && body.trim().is_empty() {
        return Err(Fail::invalid(&format!(
            "review event {event} requires {needed}"
        )));
    }
    let commit = match form.text("commit_id")? {
        "" => None,
        spec => {
            Some(ops::commits::resolve(cx.app(), cx.repo(), spec).map_err(|_| Fail::new(500, ""))?)
        }
    };
    Ok(reviews::Say {
        state,
        body,
        commit,
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
    let say = said(cx, pull, user, &form, comments)?;
    if pull.state != State::Open && is_final(say.state) {
        return Err(Fail::invalid(
            "can't submit review for a closed or merged PR",
        ));
    }
    let review = reviews::create(cx.app(), cx.repo(), pull, user, say)?;
    Ok(Reply::ok(&shown(cx, pull, &review)?))
}

fn is_final(state: &str) -> bool {
    matches!(state, "APPROVED" | "REQUEST_CHANGES")
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
    let say = said(cx, pull, user, &cx.req.form()?, Vec::new())?;
    let review = reviews::submit(cx.app(), cx.repo(), pull, user, review, say)?;
    Ok(Reply::ok(&shown(cx, pull, &review)?))
}

fn dismiss(cx: &InRepo<'_>, pull: &Pull, id: &str, dismissed: bool) -> Outcome {
    cx.user()?;
    if cx.access < Access::Admin {
        return Err(Fail::forbidden("Must be repo admin"));
    }
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
    if cx.req.verb() == "GET" {
        return Err(Fail::not_found());
    }
    let caller = cx.user()?;
    let app = cx.app();
    let pull = pulls::get(app, cx.repo(), number).map_err(|_| no_pull(cx))?;
    let removing = cx.req.verb() == "DELETE";
    let may = caller.id == pull.poster_id || is_member(cx, caller)?;
    let names = cx.req.form()?.opt_texts("reviewers")?.unwrap_or_default();
    let mut people = Vec::new();
    for login in &names {
        let missing = |_| Fail::missing(&format!("User '{login}' not exist"), &[]);
        let user = ops::users::find(app, login).map_err(missing)?;
        if !may {
            let verb = if removing { "remove" } else { "choose" };
            return Err(Fail::invalid(&format!(
                "Doer can't {verb} reviewer [user_id: {}, repo_id: {}]",
                caller.id,
                cx.repo().id
            )));
        }
        if user.id == pull.poster_id && !removing {
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

/// Whether someone belongs to the repository, and not only looks at it
fn is_member(cx: &InRepo<'_>, user: &User) -> Result<bool, Fail> {
    let (repo, id) = (cx.repo().id, user.id);
    let named = cx
        .app()
        .store
        .read(|c| crate::store::repos::permission(c, repo, id))
        .map_err(ops::Error::from)?;
    Ok(named.is_some() || cx.access >= Access::Write)
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
