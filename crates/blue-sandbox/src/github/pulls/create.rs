//! Open a pull request

use serde::Deserialize;

use super::super::cx::At;
use super::super::refusal::{Refusal, Result};
use super::super::reply::Reply;
use super::full;
use crate::ops;
use crate::ops::access::{self, Access};
use crate::ops::pulls::New;
use crate::store::repos::{self, Repo};

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
    let there = at.app().git(head_repo.id);
    let head_oid = there.branch(&head)?.ok_or_else(|| invalid("head"))?;
    // The base has everything the head has. The head's objects may lie in a fork, so the base's
    // history is looked at where the head is too.
    let nothing =
        base_oid == head_oid || (at.git.has(head_oid) && at.git.is_ancestor(head_oid, base_oid)?);
    if nothing {
        let message = format!("No commits between {} and {}", body.base, body.head);
        return Err(Refusal::custom("PullRequest", message));
    }
    if head_repo.id == at.id() && at.git.merge_base(base_oid, head_oid)?.is_none() {
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
    let invalid = || Refusal::field("PullRequest", "head", "invalid");
    let own = &at.repo.row;
    let Some((owner, branch)) = body.head.split_once(':') else {
        return Ok((own.clone(), body.head.clone()));
    };
    let own_name = body
        .head_repo
        .as_deref()
        .is_none_or(|name| name == own.name);
    if owner.eq_ignore_ascii_case(&at.repo.owner.login) && own_name {
        return Ok((own.clone(), branch.to_owned()));
    }
    let fork = fork_by(at, owner, body.head_repo.as_deref())?.ok_or_else(invalid)?;
    Ok((fork, branch.to_owned()))
}

/// The repository of the same family that belongs to someone, if the caller may read it
pub(in crate::github) fn fork_by(
    at: &At<'_>,
    owner: &str,
    name: Option<&str>,
) -> Result<Option<Repo>> {
    let Ok(owner) = ops::users::find(at.app(), owner) else {
        return Ok(None);
    };
    let own = &at.repo.row;
    let root = own.fork_of.unwrap_or(own.id);
    let candidates = at.app().store.read(|c| repos::of_owner(c, owner.id))?;
    let fork = candidates.into_iter().find(|repo| {
        let related = repo.id == root || repo.fork_of == Some(root) || repo.fork_of == Some(own.id);
        related && name.is_none_or(|name| *name == repo.name) && repo.id != own.id
    });
    match fork {
        Some(fork) if access::of(at.app(), &fork, at.cx.caller())? >= Access::Read => {
            Ok(Some(fork))
        }
        _ => Ok(None),
    }
}
