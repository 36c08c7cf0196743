//! Check runs: the jobs of workflow runs, seen from their commit

use serde_json::{Value, json};

use super::commits::find;
use super::cx::At;
use super::refusal::{Refusal, Result};
use super::reply::Reply;
use super::view::check;
use crate::git::Oid;
use crate::store::checks::{self, Job};

pub(super) fn list(at: &At<'_>, rev: &str) -> Result<Reply> {
    let oid = find(at, rev)?;
    let mut jobs = of_commit(at, oid)?;
    if let Some(name) = at.ask().param("check_name") {
        jobs.retain(|job| check::name(job) == name);
    }
    if let Some(status) = at.ask().param("status") {
        jobs.retain(|job| super::view::run::status(&job.status) == status);
    }
    // The newest of each name in each check suite, which is a workflow run, unless all are asked for.
    if at.ask().param("filter") != Some("all") {
        let mut seen = std::collections::HashSet::new();
        jobs.sort_by_key(|job| std::cmp::Reverse(job.id));
        jobs.retain(|job| seen.insert((job.run_id, check::name(job).to_owned())));
    }
    let page = at.ask().page();
    let cut = page.cut(jobs);
    let rows: Vec<Value> = cut
        .rows
        .iter()
        .map(|job| check::run(at.urls(), &at.repo, oid, job))
        .collect();
    let reply = Reply::ok(&json!({"total_count": cut.total, "check_runs": rows}));
    Ok(at.cx.linked(reply, page, cut.total))
}

/// The jobs of every run on a commit
pub(super) fn of_commit(at: &At<'_>, oid: Oid) -> Result<Vec<Job>> {
    let jobs = at.app().store.read(|c| {
        let runs = checks::runs(c, at.id())?;
        let mut jobs = Vec::new();
        for run in runs.iter().filter(|run| run.sha == oid) {
            jobs.extend(checks::jobs(c, run.id)?);
        }
        Ok::<_, rusqlite::Error>(jobs)
    })?;
    Ok(jobs)
}

pub(super) fn get(at: &At<'_>, id: i64) -> Result<Reply> {
    let found = at.app().store.read(|c| {
        let Some(job) = checks::job(c, at.id(), id)? else {
            return Ok::<_, rusqlite::Error>(None);
        };
        Ok(checks::run(c, at.id(), job.run_id)?.map(|run| (job, run)))
    })?;
    let (job, run) = found.ok_or_else(Refusal::not_found)?;
    Ok(Reply::ok(&check::run(at.urls(), &at.repo, run.sha, &job)))
}
