//! Edit a pull request, or bring its branch up to date

use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::super::cx::At;
use super::super::refusal::{Refusal, Result};
use super::super::reply::Reply;
use super::full;
use crate::ops::access::Access;
use crate::ops::pulls::Edit;
use crate::ops::{self, MergeError};

#[derive(Debug, Deserialize)]
struct Update {
    title: Option<String>,
    body: Option<String>,
    state: Option<String>,
    base: Option<String>,
    maintainer_can_modify: Option<bool>,
}

pub(in crate::github) fn update(at: &At<'_>, number: i64) -> Result<Reply> {
    let who = at.cx.user()?;
    at.not_archived()?;
    let body: Update = at.ask().body()?;
    let pull = ops::pulls::get(at.app(), &at.repo.row, number)?;
    if at.access < Access::Write && who.id != pull.poster_id {
        return Err(Refusal::forbidden("Must have push access to repository"));
    }
    let invalid = |field: &str| Refusal::field("PullRequest", field, "invalid");
    let open = match body.state.as_deref() {
        None => None,
        Some("open") => Some(true),
        Some("closed") => Some(false),
        Some(_) => return Err(invalid("state")),
    };
    // A new title does not make a draft ready.
    let title = body.title.map(|title| {
        if ops::pulls::is_draft(&pull) {
            format!("WIP: {title}")
        } else {
            title
        }
    });
    let edit = Edit {
        title: title.as_deref(),
        body: body.body.as_deref(),
        open,
        base: body.base.as_deref(),
        maintainer_edit: body.maintainer_can_modify,
    };
    let edited =
        ops::pulls::edit(at.app(), &at.repo.row, number, &edit).map_err(|error| match error {
            ops::Error::NotFound(ops::What::Branch(_)) => invalid("base"),
            ops::Error::Merge(MergeError::AlreadyMerged) | ops::Error::Invalid(_) => {
                invalid("state")
            }
            other => other.into(),
        })?;
    Ok(Reply::ok(&full(at, edited)?))
}

#[derive(Debug, Deserialize)]
struct UpdateBranch {
    expected_head_sha: Option<String>,
}

/// Merge the base into the head
pub(in crate::github) fn update_branch(at: &At<'_>, number: i64) -> Result<Reply> {
    let who = at.writer()?;
    let body: UpdateBranch = at.ask().body()?;
    let pull = ops::pulls::get(at.app(), &at.repo.row, number)?;
    if let Some(expected) = body.expected_head_sha
        && !expected.eq_ignore_ascii_case(&pull.head_sha.to_string())
    {
        let message = "expected head sha didn\u{2019}t match current head ref.";
        return Err(Refusal::unprocessable(message));
    }
    ops::merge::update(at.app(), &at.repo.row, number, who, false).map_err(
        |error| match error {
            ops::Error::Merge(MergeError::UpToDate) => {
                Refusal::unprocessable("There are no new commits on the base branch.")
            }
            ops::Error::Merge(MergeError::Conflict { .. }) => {
                Refusal::unprocessable("merge conflict between base and head")
            }
            other => other.into(),
        },
    )?;
    let url = format!("{}/pull/{number}", at.repo.web(at.urls()));
    let answer = json!({"message": "Updating pull request branch.", "url": url});
    Ok(Reply::json(StatusCode::ACCEPTED, &answer))
}
