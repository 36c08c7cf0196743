//! Workflow runs and their jobs

use serde_json::{Value, json};

use super::super::url::{Urls, node_id, path};
use super::commit::message;
use super::repo::{self, Shown};
use super::{date, seconds, user};
use crate::git::Commit;
use crate::store::checks::{Job, Run};
use crate::store::users::User;

/// `queued`, `in_progress`, `completed` or `waiting`
pub(in crate::github) fn status(of: &str) -> &str {
    match of {
        "running" | "in_progress" => "in_progress",
        "completed" => "completed",
        "waiting" => "waiting",
        _ => "queued",
    }
}

/// The branch that a run's ref names
pub(in crate::github) fn branch(run: &Run) -> &str {
    run.ref_name
        .strip_prefix("refs/heads/")
        .unwrap_or(&run.ref_name)
}

pub(in crate::github) fn run(
    urls: &Urls,
    shown: &Shown,
    run: &Run,
    (status, conclusion): (&str, Option<&str>),
    actor: Option<&User>,
    commit: Option<&Commit>,
) -> Value {
    let (api, web) = (shown.api(urls), shown.web(urls));
    let at = format!("{api}/actions/runs/{}", run.id);
    let head_commit = commit.map(|commit| {
        json!({
            "id": run.sha.to_string(),
            "tree_id": commit.tree.to_string(),
            "message": message(&commit.message),
            "timestamp": seconds(commit.committer.seconds),
            "author": {"name": commit.author.name, "email": commit.author.email},
            "committer": {"name": commit.committer.name, "email": commit.committer.email},
        })
    });
    let mut answer = json!({
        "id": run.id,
        "name": run.workflow,
        "node_id": node_id("WorkflowRun", run.id),
        "head_branch": branch(run),
        "head_sha": run.sha.to_string(),
        "path": format!(".github/workflows/{}", run.workflow),
        "display_title": run.title,
        "run_number": run.number,
        "run_attempt": run.attempt,
        "event": run.event,
        "status": status,
        "conclusion": conclusion,
        "workflow_id": 1,
        "check_suite_id": run.id,
        "check_suite_node_id": node_id("CheckSuite", run.id),
        "url": at,
        "html_url": format!("{web}/actions/runs/{}", run.id),
        "pull_requests": [],
        "created_at": date(run.created_at),
        "updated_at": date(run.updated_at),
        "run_started_at": date(run.created_at),
        "referenced_workflows": [],
        "jobs_url": format!("{at}/jobs"),
        "logs_url": format!("{at}/logs"),
        "check_suite_url": format!("{api}/check-suites/{}", run.id),
        "artifacts_url": format!("{at}/artifacts"),
        "cancel_url": format!("{at}/cancel"),
        "rerun_url": format!("{at}/rerun"),
        "previous_attempt_url": null,
        "workflow_url": format!("{api}/actions/workflows/{}", path(&run.workflow)),
        "head_commit": head_commit,
        "repository": repo::simple(urls, shown),
        "head_repository": repo::simple(urls, shown),
    });
    if let Some(actor) = actor {
        answer["actor"] = user::simple(urls, actor);
        answer["triggering_actor"] = user::simple(urls, actor);
    }
    answer
}

pub(in crate::github) fn job(urls: &Urls, repo: &Shown, run: &Run, job: &Job) -> Value {
    let (api, web) = (repo.api(urls), repo.web(urls));
    json!({
        "id": job.id,
        "run_id": run.id,
        "workflow_name": run.workflow,
        "head_branch": branch(run),
        "run_url": format!("{api}/actions/runs/{}", run.id),
        "run_attempt": run.attempt,
        "node_id": node_id("CheckRun", job.id),
        "head_sha": run.sha.to_string(),
        "url": format!("{api}/actions/jobs/{}", job.id),
        "html_url": format!("{web}/actions/runs/{}/job/{}", run.id, job.id),
        "status": status(&job.status),
        "conclusion": job.conclusion,
        "created_at": date(job.created_at),
        "started_at": date(job.started_at.unwrap_or(job.created_at)),
        "completed_at": job.finished_at.map(date),
        "name": job.name,
        "steps": [],
        "check_run_url": format!("{api}/check-runs/{}", job.id),
        "labels": ["ubuntu-latest"],
        "runner_id": null,
        "runner_name": null,
        "runner_group_id": null,
        "runner_group_name": null,
    })
}
