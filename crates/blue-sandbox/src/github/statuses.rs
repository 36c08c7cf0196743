//! Commit statuses

use serde::Deserialize;

use super::checks;
use super::commits::find;
use super::cx::At;
use super::refusal::{Refusal, Result};
use super::reply::Reply;
use super::view::check;
use crate::git::Oid;
use crate::ops::{self, access::Access, statuses::Report};
use crate::store::checks::Status;

pub(super) fn list(at: &At<'_>, rev: &str) -> Result<Reply> {
    let oid = find(at, rev)?;
    let all = reported(at, oid, ops::statuses::list(at.app(), &at.repo.row, oid)?)?;
    at.cx.list(at.ask().page().cut(all), |one| show(at, &one))
}

/// Without those that a job posted: here they are check runs
fn reported(at: &At<'_>, oid: Oid, mut all: Vec<Status>) -> Result<Vec<Status>> {
    if all.iter().any(|one| one.creator_id.is_none()) {
        let jobs = checks::of_commit(at, oid)?;
        all.retain(|one| {
            one.creator_id.is_some() || !jobs.iter().any(|job| job.context == one.context)
        });
    }
    Ok(all)
}

fn show(at: &At<'_>, one: &Status) -> Result<serde_json::Value> {
    let creator = match one.creator_id {
        Some(id) => at.cx.account(id)?,
        None => None,
    };
    Ok(check::status(at.urls(), &at.repo, one, creator.as_deref()))
}

pub(super) fn combined(at: &At<'_>, rev: &str) -> Result<Reply> {
    let oid = find(at, rev)?;
    let all = reported(at, oid, ops::statuses::latest(at.app(), &at.repo.row, oid)?)?;
    let page = at.ask().page();
    let cut = page.cut(all.clone());
    let shown = check::combined(at.urls(), &at.repo, oid, &all, &cut.rows);
    Ok(at.cx.linked(Reply::ok(&shown), page, all.len()))
}

#[derive(Debug, Deserialize)]
struct Create {
    state: String,
    target_url: Option<String>,
    description: Option<String>,
    context: Option<String>,
}

pub(super) fn create(at: &At<'_>, sha: &str) -> Result<Reply> {
    let who = at.cx.user()?;
    if at.access < Access::Write {
        return Err(Refusal::not_found());
    }
    at.not_archived()?;
    let body: Create = at.ask().body()?;
    if !["error", "failure", "pending", "success"].contains(&body.state.as_str()) {
        return Err(Refusal::field("Status", "state", "custom"));
    }
    let description = body.description.unwrap_or_default();
    if description.chars().count() > 140 {
        return Err(Refusal::custom(
            "Status",
            "description is too long (maximum is 140 characters)",
        ));
    }
    let missing = || Refusal::unprocessable(format!("No commit found for SHA: {sha}"));
    let oid = Oid::parse(sha)
        .filter(|oid| at.git.has(*oid))
        .ok_or_else(missing)?;
    let report = Report {
        state: &body.state,
        context: body.context.as_deref().unwrap_or("default"),
        description: &description,
        target_url: body.target_url.as_deref().unwrap_or_default(),
    };
    let made = ops::statuses::create(at.app(), &at.repo.row, Some(who), oid, &report)?;
    Ok(Reply::created(&show(at, &made)?))
}
