//! Reviews of a pull request

use serde::Deserialize;
use serde_json::{Value, json};

use super::cx::At;
use super::pulls::association;
use super::refusal::{Refusal, Result};
use super::reply::Reply;
use super::view::pull;
use crate::git::Oid;
use crate::ops::{self, reviews};
use crate::store::reviews::Review;

pub(super) fn list(at: &At<'_>, number: i64) -> Result<Reply> {
    let found = ops::pulls::get(at.app(), &at.repo.row, number)?;
    let mut all = reviews::list(at.app(), &found)?;
    // A request is no review yet, and a review that is not sent is its author's alone.
    let own = at.cx.caller().map(|caller| caller.user.id);
    all.retain(|review| review.state != "REQUEST_REVIEW");
    all.retain(|review| review.state != "PENDING" || Some(review.user_id) == own);
    at.cx
        .list(at.ask().page().cut(all), |review| show(at, number, &review))
}

fn show(at: &At<'_>, number: i64, review: &Review) -> Result<Value> {
    let author = at.cx.account(review.user_id)?;
    let association = match &author {
        Some(author) => association(at, author)?,
        None => "NONE",
    };
    let author = author.as_deref();
    Ok(pull::review(
        at.urls(),
        &at.repo,
        number,
        review,
        author,
        association,
    ))
}

pub(super) fn get(at: &At<'_>, number: i64, id: i64) -> Result<Reply> {
    let found = ops::pulls::get(at.app(), &at.repo.row, number)?;
    let review = reviews::get(at.app(), &found, id)?;
    Ok(Reply::ok(&show(at, number, &review)?))
}

#[derive(Debug, Deserialize)]
struct Create {
    commit_id: Option<String>,
    #[serde(default)]
    body: Option<String>,
    event: Option<String>,
}

pub(super) fn create(at: &At<'_>, number: i64) -> Result<Reply> {
    let who = at.cx.user()?;
    at.not_archived()?;
    let body: Create = at.ask().body()?;
    let found = ops::pulls::get(at.app(), &at.repo.row, number)?;
    let words = body.body.unwrap_or_default();
    let state = match body.event.as_deref() {
        None | Some("" | "PENDING") => "PENDING",
        Some("APPROVE") => "APPROVED",
        Some("REQUEST_CHANGES") => "REQUEST_CHANGES",
        Some("COMMENT") => "COMMENT",
        Some(_) => return Err(Refusal::field("PullRequestReview", "event", "invalid")),
    };
    if words.trim().is_empty() && matches!(state, "COMMENT" | "REQUEST_CHANGES") {
        return Err(unprocessable(
            "You need to leave a comment indicating the requested changes.",
        ));
    }
    let commit = match &body.commit_id {
        Some(sha) => Some(
            Oid::parse(sha)
                .filter(|oid| at.git.has(*oid))
                .ok_or_else(|| unprocessable("The commit_id is not part of the pull request"))?,
        ),
        None => None,
    };
    let say = reviews::Say {
        state,
        body: words,
        commit,
        comments: Vec::new(),
    };
    let made =
        reviews::create(at.app(), &at.repo.row, &found, who, say).map_err(|error| match error {
            ops::Error::OwnReview if state == "APPROVED" => {
                unprocessable("Can not approve your own pull request")
            }
            ops::Error::OwnReview => {
                unprocessable("Can not request changes on your own pull request")
            }
            other => other.into(),
        })?;
    Ok(Reply::ok(&show(at, number, &made)?))
}

fn unprocessable(why: &str) -> Refusal {
    Refusal::with_errors("Unprocessable Entity", json!([why]))
}
