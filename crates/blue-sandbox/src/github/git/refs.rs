//! Refs: look up, make, move, delete

use std::sync::PoisonError;

use serde::Deserialize;

use super::super::cx::At;
use super::super::refusal::{Refusal, Result};
use super::super::reply::Reply;
use super::super::view::git;
use super::{not_empty, object};
use crate::git::{Error, Expect, Kind, Oid, valid_branch_name};
use crate::ops::{self, branches, push};
use crate::store::users::User;

/// `name` without `refs/`, as GitHub's paths have it
pub(in crate::github) fn get(at: &At<'_>, name: &str) -> Result<Reply> {
    not_empty(at)?;
    let whole = format!("refs/{}", name.trim_start_matches("refs/"));
    let oid = lookup(at, &whole)?.ok_or_else(Refusal::not_found)?;
    show(at, &whole, oid).map(|shown| Reply::ok(&shown))
}

fn show(at: &At<'_>, whole: &str, oid: Oid) -> Result<serde_json::Value> {
    let kind = at.git.stat(oid)?.0;
    Ok(git::reference(at.urls(), &at.repo, whole, oid, kind))
}

fn lookup(at: &At<'_>, whole: &str) -> Result<Option<Oid>> {
    let plausible = whole
        .strip_prefix("refs/")
        .is_some_and(|rest| rest.contains('/') && valid_branch_name(rest));
    if !plausible {
        return Ok(None);
    }
    Ok(at.git.ref_oid(whole)?)
}

/// Every ref whose name starts so
pub(in crate::github) fn matching(at: &At<'_>, prefix: &str) -> Result<Reply> {
    not_empty(at)?;
    let mut found = Vec::new();
    for folder in ["refs/heads/", "refs/tags/", "refs/pull/"] {
        for (name, oid) in at.git.refs(folder)? {
            found.push((format!("{folder}{name}"), oid));
        }
    }
    let prefix = format!("refs/{prefix}");
    found.retain(|(name, _)| name.starts_with(&prefix));
    at.cx.list(at.ask().page().cut(found), |(name, oid)| {
        show(at, &name, oid)
    })
}

#[derive(Debug, Deserialize)]
struct Create {
    #[serde(rename = "ref")]
    name: String,
    sha: String,
}

pub(in crate::github) fn create(at: &At<'_>) -> Result<Reply> {
    let who = at.writer()?;
    let body: Create = at.ask().body()?;
    not_empty(at)?;
    let whole = body.name;
    let rest = whole
        .strip_prefix("refs/")
        .filter(|rest| rest.contains('/'));
    let Some(rest) = rest else {
        return Err(Refusal::unprocessable(
            "Reference name must start with 'refs/' and contain at least two slashes.",
        ));
    };
    if !valid_branch_name(rest) {
        let message = format!("{whole} is not a valid ref name.");
        return Err(Refusal::unprocessable(message));
    }
    let oid = target(at, &whole, &body.sha)?;
    if at.git.ref_oid(&whole)?.is_some() {
        return Err(Refusal::unprocessable("Reference already exists"));
    }
    if let Some(branch) = whole.strip_prefix("refs/heads/") {
        branches::create(at.app(), &at.repo.row, who, branch, oid).map_err(
            |error| match error {
                ops::Error::PushForbidden(_) => {
                    Refusal::rule("Cannot create ref due to creations being restricted.")
                }
                other => refused(other),
            },
        )?;
    } else {
        change(at, who, &whole, None, Some(oid))?;
    }
    Ok(Reply::created(&show(at, &whole, oid)?))
}

/// A branch points to a commit, anything else to any object
fn target(at: &At<'_>, whole: &str, sha: &str) -> Result<Oid> {
    let missing = || Refusal::unprocessable("Object does not exist");
    if whole.starts_with("refs/heads/") {
        return object(at, sha, Kind::Commit)?.ok_or_else(missing);
    }
    Oid::parse(sha)
        .filter(|oid| at.git.has(*oid))
        .ok_or_else(missing)
}

/// Change a ref that is no branch
fn change(at: &At<'_>, who: &User, whole: &str, old: Option<Oid>, new: Option<Oid>) -> Result<()> {
    if !whole.starts_with("refs/tags/") {
        return Err(Refusal::unprocessable("Reference cannot be updated"));
    }
    let lock = at.app().repo_lock(at.id());
    let _turn = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let expect = old.map_or(Expect::Absent, Expect::At);
    at.git
        .update_ref(whole, new, expect)
        .map_err(|error| match error {
            Error::Lock { .. } | Error::Moved { .. } => {
                refused(ops::Error::RefClash(error.to_string()))
            }
            other => other.into(),
        })?;
    let change = push::RefChange {
        name: whole.to_owned(),
        old,
        new,
    };
    Ok(push::after(at.app(), &at.repo.row, who, &[change])?)
}

fn refused(error: ops::Error) -> Refusal {
    match error {
        ops::Error::Exists(_) => Refusal::unprocessable("Reference already exists"),
        ops::Error::NotFound(_) => Refusal::unprocessable("Reference does not exist"),
        ops::Error::BranchMoved => Refusal::unprocessable("Update is not a fast forward"),
        ops::Error::PushForbidden(_) => {
            Refusal::rule("Changes must be made through a pull request.")
        }
        ops::Error::RefClash(_) => Refusal::unprocessable("Reference update failed"),
        ops::Error::BadName { name } => {
            Refusal::unprocessable(format!("refs/heads/{name} is not a valid ref name."))
        }
        ops::Error::DefaultBranch => Refusal::unprocessable("Cannot delete the default branch"),
        ops::Error::ProtectedPath(path) => {
            Refusal::rule(&format!("Changes to {path} are restricted."))
        }
        ops::Error::ProtectedBranch => Refusal::rule("Cannot delete this protected branch"),
        other => other.into(),
    }
}

#[derive(Debug, Deserialize)]
struct Update {
    sha: String,
    #[serde(default)]
    force: bool,
}

pub(in crate::github) fn update(at: &At<'_>, name: &str) -> Result<Reply> {
    let who = at.writer()?;
    let body: Update = at.ask().body()?;
    not_empty(at)?;
    let whole = format!("refs/{}", name.trim_start_matches("refs/"));
    let no_ref = || Refusal::unprocessable("Reference does not exist");
    let old = lookup(at, &whole)?.ok_or_else(no_ref)?;
    let new = target(at, &whole, &body.sha)?;
    if let Some(branch) = whole.strip_prefix("refs/heads/") {
        protected_files(at, who, branch, old, new)?;
        branches::update(at.app(), &at.repo.row, who, branch, new, None, body.force)
            .map_err(refused)?;
    } else if body.force || old == new {
        change(at, who, &whole, Some(old), Some(new))?;
    } else {
        return Err(Refusal::unprocessable("Update is not a fast forward"));
    }
    Ok(Reply::ok(&show(at, &whole, new)?))
}

/// A rule may keep single files from being changed
fn protected_files(at: &At<'_>, who: &User, branch: &str, old: Oid, new: Oid) -> Result<()> {
    let rule = ops::protection::of_branch(at.app(), &at.repo.row, branch)?;
    if rule.is_none_or(|found| found.rule.protected_file_patterns.is_empty()) {
        return Ok(());
    }
    let diff = ops::commits::between(at.app(), &at.repo.row, old, new)?;
    let paths: Vec<&str> = diff.files.iter().map(|file| file.path.as_str()).collect();
    ops::protection::check_commit(at.app(), &at.repo.row, branch, who, &paths).map_err(refused)
}

pub(in crate::github) fn delete(at: &At<'_>, name: &str) -> Result<Reply> {
    let who = at.writer()?;
    not_empty(at)?;
    let whole = format!("refs/{}", name.trim_start_matches("refs/"));
    let no_ref = || Refusal::unprocessable("Reference does not exist");
    let old = lookup(at, &whole)?.ok_or_else(no_ref)?;
    match whole.strip_prefix("refs/heads/") {
        Some(branch) => {
            branches::delete(at.app(), &at.repo.row, who, branch).map_err(refused)?;
        }
        None => change(at, who, &whole, Some(old), None)?,
    }
    Ok(Reply::no_content())
}
