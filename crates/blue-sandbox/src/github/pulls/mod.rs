//! Pull requests
//!
//! A draft is stored as the other door makes one, by a prefix of the title; here it is a field, and
//! the prefix is not shown.

mod changes;
mod create;
mod list;
mod merge;
mod update;

use std::rc::Rc;

use serde_json::Value;

pub(super) use changes::{commits, files};
pub(super) use create::create;
pub(super) use list::{list, of_commit};
pub(super) use merge::{is_merged, merge};
pub(super) use update::{update, update_branch};

use super::cx::At;
use super::media::Media;
use super::refusal::{Refusal, Result};
use super::reply::Reply;
use super::view::pull::{self, Details, Seen};
use super::view::repo::Shown;
use crate::ops::{self, error::Block, mergeability};
use crate::store::pulls::{Pull, State};
use crate::store::users::{self, User};
use crate::store::{pulls as rows, repos};

pub(super) fn get(at: &At<'_>, number: i64) -> Result<Reply> {
    let pull = ops::pulls::get(at.app(), &at.repo.row, number)?;
    match at.ask().media() {
        Media::Diff => {
            let text = at.git.patch(pull.merge_base, pull.head_sha)?;
            let kind = "application/vnd.github.diff; charset=utf-8";
            Ok(Reply::bytes(kind, text.into_bytes()))
        }
        Media::Patch => {
            let text = at.git.format_patch(pull.merge_base, pull.head_sha)?;
            let kind = "application/vnd.github.patch; charset=utf-8";
            Ok(Reply::bytes(kind, text.into_bytes()))
        }
        _ => Ok(Reply::ok(&full(at, pull)?)),
    }
}

/// A pull request with everything about it
fn full(at: &At<'_>, mut pull: Pull) -> Result<Value> {
    let (mergeable, mergeable_state) = standing(at, &mut pull)?;
    let loaded = Loaded::new(at, &pull)?;
    let diff = ops::pulls::diff(at.app(), &pull)?;
    let merged_by = match pull.merged_by {
        Some(id) => at.cx.account(id)?,
        None => None,
    };
    let comments = at
        .app()
        .store
        .read(|c| rows::comments(c, at.id(), pull.number))?;
    let details = Details {
        mergeable,
        mergeable_state,
        merged_by: merged_by.as_deref(),
        comments: comments.len(),
        commits: ops::pulls::commits(at.app(), &pull)?.len(),
        additions: diff.additions(),
        deletions: diff.deletions(),
        changed_files: diff.files.len(),
    };
    Ok(pull::full(at.urls(), &loaded.seen(at, &pull), &details))
}

/// A row of a list
fn simple(at: &At<'_>, pull: &Pull) -> Result<Value> {
    let loaded = Loaded::new(at, pull)?;
    Ok(pull::simple(at.urls(), &loaded.seen(at, pull)))
}

/// Who and where, for one pull request
struct Loaded {
    poster: Rc<User>,
    head: Option<Rc<Shown>>,
    association: &'static str,
}

impl Loaded {
    fn new(at: &At<'_>, pull: &Pull) -> Result<Self> {
        let poster = at.cx.account(pull.poster_id)?;
        let poster = poster.ok_or_else(Refusal::not_found)?;
        let head = match pull.head_repo_id {
            Some(id) if id == at.id() => Some(Rc::clone(&at.repo)),
            Some(id) => at.cx.show(id)?,
            None => None,
        };
        Ok(Self {
            association: association(at, &poster)?,
            poster,
            head,
        })
    }

    fn seen<'a>(&'a self, at: &'a At<'_>, pull: &'a Pull) -> Seen<'a> {
        Seen {
            pull,
            title: title(pull),
            draft: ops::pulls::is_draft(pull),
            poster: &self.poster,
            base: &at.repo,
            head: self.head.as_deref(),
            author_association: self.association,
            merge_commit: pull.merge_sha,
        }
    }
}

/// The title without the prefix that marks a draft
fn title(pull: &Pull) -> &str {
    let title = pull.title.as_str();
    for prefix in ["WIP:", "[WIP]"] {
        if let (Some(start), Some(rest)) = (title.get(..prefix.len()), title.get(prefix.len()..))
            && start.eq_ignore_ascii_case(prefix)
        {
            return rest.trim_start();
        }
    }
    title
}

/// How someone stands to the repository
pub(super) fn association(at: &At<'_>, who: &User) -> Result<&'static str> {
    if who.id == at.repo.owner.id {
        return Ok("OWNER");
    }
    let (role, granted, contributed) = at.app().store.read(|c| {
        let role = users::role(c, at.repo.owner.id, who.id)?;
        let granted = repos::permission(c, at.id(), who.id)?;
        let pulls = rows::of_repo(c, at.id())?;
        let is_theirs = |pull: &Pull| pull.poster_id == who.id && pull.state == State::Merged;
        Ok::<_, rusqlite::Error>((role, granted, pulls.iter().any(is_theirs)))
    })?;
    Ok(match (role, granted) {
        (Some(_), _) => "MEMBER",
        (None, Some(_)) => "COLLABORATOR",
        (None, None) if contributed => "CONTRIBUTOR",
        (None, None) => "NONE",
    })
}

/// `mergeable` and `mergeable_state`
fn standing(at: &At<'_>, pull: &mut Pull) -> Result<(Option<bool>, &'static str)> {
    if pull.state != State::Open {
        return Ok((None, "unknown"));
    }
    // Nothing is known until the check after the last push has ended.
    if at.app().now_ms() < pull.check_until {
        return Ok((None, "unknown"));
    }
    let verdict = mergeability::verdict(at.app(), pull)?;
    if !verdict.mergeable {
        return Ok((Some(false), "dirty"));
    }
    if ops::pulls::is_draft(pull) {
        return Ok((Some(true), "draft"));
    }
    let state = match ops::merge::blocked(at.app(), &at.repo.row, pull)? {
        Some(Block::Outdated) => "behind",
        Some(_) => "blocked",
        None if wants_signatures(at, pull)? => "blocked",
        None => {
            let statuses = ops::statuses::latest(at.app(), &at.repo.row, pull.head_sha)?;
            let green = statuses.is_empty() || ops::statuses::combined(&statuses) == "success";
            if green { "clean" } else { "unstable" }
        }
    };
    Ok((Some(true), state))
}

/// No commit that is made here is signed
fn wants_signatures(at: &At<'_>, pull: &Pull) -> Result<bool> {
    let rule = ops::protection::of_branch(at.app(), &at.repo.row, &pull.base_branch)?;
    Ok(rule.is_some_and(|found| found.rule.require_signed_commits))
}
