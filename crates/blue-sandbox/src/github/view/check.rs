//! Statuses and check runs

use serde_json::{Value, json};

use super::super::url::{Urls, node_id};
use super::repo::{self, Shown};
use super::{date, user};
use crate::git::Oid;
use crate::store::checks::{Job, Status};
use crate::store::users::User;

/// GitHub has four states; Gitea's others are told by the nearest
fn state(of: &str) -> &str {
    match of {
        "success" | "skipped" => "success",
        "failure" | "warning" => "failure",
        "error" => "error",
        _ => "pending",
    }
}

fn or_null(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn base(urls: &Urls, repo: &Shown, status: &Status) -> Value {
    json!({
        "url": format!("{}/statuses/{}", repo.api(urls), status.sha),
        "avatar_url": format!("{}/avatars/status", urls.web),
        "id": status.id,
        "node_id": node_id("StatusContext", status.id),
        "state": state(&status.state),
        "description": or_null(&status.description),
        "target_url": or_null(&status.target_url),
        "context": status.context,
        "created_at": date(status.created_at),
        "updated_at": date(status.created_at),
    })
}

/// One status, as a list has it
pub(in crate::github) fn status(
    urls: &Urls,
    repo: &Shown,
    status: &Status,
    creator: Option<&User>,
) -> Value {
    let mut shown = base(urls, repo, status);
    shown["creator"] = creator.map(|who| user::simple(urls, who)).into();
    shown
}

/// `rows` is one page of `all`, the newest of each context
pub(in crate::github) fn combined(
    urls: &Urls,
    repo: &Shown,
    oid: Oid,
    all: &[Status],
    rows: &[Status],
) -> Value {
    let any = |wanted: &[&str]| all.iter().any(|one| wanted.contains(&state(&one.state)));
    let together = if any(&["failure", "error"]) {
        "failure"
    } else if all.is_empty() || any(&["pending"]) {
        "pending"
    } else {
        "success"
    };
    let api = repo.api(urls);
    let rows: Vec<Value> = rows.iter().map(|one| base(urls, repo, one)).collect();
    json!({
        "state": together,
        "statuses": rows,
        "sha": oid.to_string(),
        "total_count": all.len(),
        "repository": repo::simple(urls, repo),
        "commit_url": format!("{api}/commits/{oid}"),
        "url": format!("{api}/commits/{oid}/status"),
    })
}

/// What a job is called as a check: as the status it posts on the other door, if it posts one
pub(in crate::github) fn name(job: &Job) -> &str {
    if job.context.is_empty() {
        &job.name
    } else {
        &job.context
    }
}

/// Id of the app that reports the jobs of workflows
const ACTIONS_APP_ID: i64 = 15_368;

fn app(urls: &Urls, repo: &Shown, job: &Job) -> Value {
    let named = job.plan.as_ref().and_then(|plan| plan.app_id);
    let id = named.unwrap_or(ACTIONS_APP_ID);
    let slug = match named {
        None => "github-actions".to_owned(),
        Some(id) => format!("app-{id}"),
    };
    // The sandbox has no page of an app, so the page of its owner stands in.
    let page = format!("{}/{}", urls.web, repo.owner.login);
    json!({
        "id": id,
        "slug": slug,
        "node_id": node_id("Integration", id),
        "owner": user::simple(urls, &repo.owner),
        "name": slug,
        "description": null,
        "external_url": page,
        "html_url": page,
        "created_at": "2020-01-01T00:00:00Z",
        "updated_at": "2020-01-01T00:00:00Z",
        "permissions": {"checks": "write"},
        "events": [],
    })
}

/// A job of a workflow run, seen as a check on its commit
pub(in crate::github) fn run(urls: &Urls, repo: &Shown, oid: Oid, job: &Job) -> Value {
    let (api, web) = (repo.api(urls), repo.web(urls));
    let page = format!("{web}/actions/runs/{}/job/{}", job.run_id, job.id);
    json!({
        "id": job.id,
        "name": name(job),
        "node_id": node_id("CheckRun", job.id),
        "head_sha": oid.to_string(),
        "external_id": "",
        "url": format!("{api}/check-runs/{}", job.id),
        "html_url": page,
        "details_url": page,
        "status": super::run::status(&job.status),
        "conclusion": job.conclusion,
        "started_at": job.started_at.or(Some(job.created_at)).map(date),
        "completed_at": job.finished_at.map(date),
        "output": {
            "title": null,
            "summary": null,
            "text": null,
            "annotations_count": 0,
            "annotations_url": format!("{api}/check-runs/{}/annotations", job.id),
        },
        "check_suite": {"id": job.run_id},
        "app": app(urls, repo, job),
        "pull_requests": [],
    })
}
