//! Workflow runs, their jobs and logs

use http::{StatusCode, header};
use serde_json::{Value, json};

use super::cx::{At, Cx};
use super::refusal::{Refusal, Result};
use super::reply::Reply;
use super::view::run;
use crate::ops::runs as ops;
use crate::store::checks::Run;

/// Seconds a link to a log is good for
const LINK: i64 = 60;
/// Runs a filtered list knows of
const MOST: usize = 1000;

pub(super) fn runs(at: &At<'_>) -> Result<Reply> {
    let mut found = Vec::new();
    let asked = |name: &str| at.ask().param(name);
    let filtered = ["branch", "event", "actor", "head_sha", "status"]
        .iter()
        .any(|name| asked(name).is_some());
    let actor = asked("actor").map(|login| crate::ops::users::find(at.app(), login).ok());
    for row in ops::list(at.app(), &at.repo.row)? {
        let fits = asked("branch").is_none_or(|branch| run::branch(&row) == branch)
            && asked("event").is_none_or(|event| row.event == event)
            && asked("head_sha").is_none_or(|sha| row.sha.to_string() == sha)
            && actor
                .as_ref()
                .is_none_or(|who| who.as_ref().is_some_and(|who| who.id == row.actor_id));
        if !fits {
            continue;
        }
        if let Some(wanted) = asked("status") {
            let (status, conclusion) = ops::state(&ops::jobs(at.app(), &row)?);
            if wanted != status && Some(wanted) != conclusion {
                continue;
            }
        }
        found.push(row);
    }
    if filtered {
        found.truncate(MOST);
    }
    let page = at.ask().page();
    let cut = page.cut(found);
    let rows: Vec<Value> = cut
        .rows
        .iter()
        .map(|row| show(at, row))
        .collect::<Result<_>>()?;
    let reply = Reply::ok(&json!({"total_count": cut.total, "workflow_runs": rows}));
    Ok(at.cx.linked(reply, page, cut.total))
}

fn show(at: &At<'_>, row: &Run) -> Result<Value> {
    let state = ops::state(&ops::jobs(at.app(), row)?);
    let actor = at.cx.account(row.actor_id)?;
    let commit = at.git.commit(row.sha).ok();
    Ok(run::run(
        at.urls(),
        &at.repo,
        row,
        state,
        actor.as_deref(),
        commit.as_ref(),
    ))
}

pub(super) fn run(at: &At<'_>, id: i64) -> Result<Reply> {
    let row = ops::get(at.app(), &at.repo.row, id)?;
    Ok(Reply::ok(&show(at, &row)?))
}

pub(super) fn jobs(at: &At<'_>, id: i64) -> Result<Reply> {
    let row = ops::get(at.app(), &at.repo.row, id)?;
    let page = at.ask().page();
    let cut = page.cut(ops::jobs(at.app(), &row)?);
    let rows: Vec<Value> = cut
        .rows
        .iter()
        .map(|job| run::job(at.urls(), &at.repo, &row, job))
        .collect();
    let reply = Reply::ok(&json!({"total_count": cut.total, "jobs": rows}));
    Ok(at.cx.linked(reply, page, cut.total))
}

pub(super) fn job(at: &At<'_>, id: i64) -> Result<Reply> {
    let job = ops::job(at.app(), &at.repo.row, id)?;
    let row = ops::get(at.app(), &at.repo.row, job.run_id)?;
    Ok(Reply::ok(&run::job(at.urls(), &at.repo, &row, &job)))
}

/// A link to the log, which needs no credential and dies soon
pub(super) fn logs(at: &At<'_>, id: i64) -> Result<Reply> {
    at.cx.user()?;
    let job = ops::job(at.app(), &at.repo.row, id)?;
    let until = at.app().now().as_second() + LINK;
    let claim = format!("{}.{}.{until}", at.id(), job.id);
    let ticket = format!("{claim}.{}", at.cx.door.sign(&claim));
    let to = format!("{}/_logs/{ticket}", at.urls().api);
    Ok(Reply::empty(StatusCode::FOUND).with(header::LOCATION, &to))
}

/// Where that link leads
pub(super) fn log(cx: &Cx<'_>, ticket: &str) -> Result<Reply> {
    let expired = || Refusal::forbidden("The link to this log has expired");
    let (claim, mac) = ticket.rsplit_once('.').ok_or_else(Refusal::not_found)?;
    if !cx.door.verify(claim, mac) {
        return Err(Refusal::not_found());
    }
    let numbers: Vec<i64> = claim.split('.').filter_map(|n| n.parse().ok()).collect();
    let [repo, job, until] = numbers[..] else {
        return Err(Refusal::not_found());
    };
    if until < cx.app.now().as_second() {
        return Err(expired());
    }
    let found = crate::ops::repos::by_id(cx.app, repo)?.ok_or_else(Refusal::not_found)?;
    let job = ops::job(cx.app, &found.repo, job)?;
    Ok(Reply::bytes(
        "text/plain; charset=utf-8",
        job.log.into_bytes(),
    ))
}
