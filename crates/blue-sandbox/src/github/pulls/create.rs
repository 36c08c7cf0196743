//! Open a pull request

use serde::Deserialize;

use super::super::cx::At;
use super::super::network;
use super::super::refusal::{Refusal, Result};
use super::super::reply::Reply;
use super::full;
use crate::ops;
use crate::ops::access::{self, Access};
use crate::ops::pulls::New;
use crate::store::repos::Repo;

#[derive(Debug, Deserialize)]
struct Create {
    title: Option<String>,
    head: String,
    head_repo: Option<String>,
    base: String,
    body: Option<String>,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    maintainer_can_modify: bool,
}

pub(in crate::github) fn create(at: &At<'_>) -> Result<Reply> {
    let who = at.cx.user()?;
    at.not_archived()?;
    let body: Create = at.ask().body()?;
    let title = body
        .title
        .as_deref()
        .map(str::trim)
        .filter(|title| !title.is_empty());
    let title = title.ok_or_else(|| Refusal::field("PullRequest", "title", "missing_field"))?;
    let (head_repo, head) = head(at, &body)?;
    if access::of(at.app(), &head_repo, at.cx.caller())? < Access::Write {
        return Err(Refusal::custom("PullRequest", "must be a collaborator"));
    }
    let invalid = |field: &str| Refusal::field("PullRequest", field, "invalid");
    let base_oid = at.git.branch(&body.base)?.ok_or_else(|| invalid("base"))?;
    let head_oid = network::borrow(at, &head_repo, &head)?.ok_or_else(|| invalid("head"))?;
    let nothing = at.git.is_ancestor(head_oid, base_oid)?;
    if nothing {
        let message = format!("No commits between {} and {}", body.base, body.head);
        return Err(Refusal::custom("PullRequest", message));
    }
    if at.git.merge_base(base_oid, head_oid)?.is_none() {
        let message = format!(
            "The {head} branch has no history in common with {}",
            body.base
        );
        return Err(Refusal::custom("PullRequest", message));
    }
    let title = if body.draft && !is_marked(title) {
        format!("WIP: {title}")
    } else {
        title.to_owned()
    };
    let new = New {
        title: &title,
        body: body.body.as_deref().unwrap_or_default(),
        head_repo: &head_repo,
        head: &head,
        base: &body.base,
        maintainer_edit: body.maintainer_can_modify,
    };
    let made =
        ops::pulls::create(at.app(), &at.repo.row, who, &new).map_err(|error| match error {
            ops::Error::PullExists { .. } => {
                let owner = label_owner(at, &head_repo);
                let message = format!("A pull request already exists for {owner}:{head}.");
                Refusal::custom("PullRequest", message)
            }
            other => other.into(),
        })?;
    Ok(Reply::created(&full(at, made)?))
}

fn is_marked(title: &str) -> bool {
    let title = title.to_uppercase();
    title.starts_with("WIP:") || title.starts_with("[WIP]")
}

fn label_owner(at: &At<'_>, head: &Repo) -> String {
    let owner = ops::users::by_id(at.app(), head.owner_id).ok().flatten();
    owner.map(|owner| owner.login).unwrap_or_default()
}

/// `branch`, or `owner:branch` of this repository or of a fork
fn head(at: &At<'_>, body: &Create) -> Result<(Repo, String)> {
    let Some((owner, branch)) = body.head.split_once(':') else {
        return Ok((at.repo.row.clone(), body.head.clone()));
    };
    let found = network::find(at, owner, body.head_repo.as_deref())?;
    let found = found.ok_or_else(|| Refusal::field("PullRequest", "head", "invalid"))?;
    Ok((found, branch.to_owned()))
}
