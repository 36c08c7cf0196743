//! Workflow runs and tasks as Forgejo shows them
//!
//! Forgejo 11 lists tasks only, Forgejo 15 runs as well. A task is one attempt of a job: a job that
//! has not begun has none, and a re-run adds one.

use serde_json::{Value, json};

use super::{
    Outcome,
    fail::Fail,
    reply::{Page, Reply},
    request::InRepo,
    wire::{self, EPOCH, View},
};
use crate::{
    config::Flavor,
    ops::{self, runs},
    store::checks::{self, Attempt, Job, Run},
};

/// What a run is called in addresses for people
pub(super) fn page_number(cx: &InRepo<'_>, run: &Run) -> i64 {
    if cx.app().is_forgejo() {
        run.number
    } else {
        run.id
    }
}

/// The routes that only Forgejo 15 has of these; nothing where the route is shared
pub(super) fn answer(cx: &InRepo<'_>, path: &[&str]) -> Option<Outcome> {
    match (cx.app().flavor, cx.req.verb(), path) {
        (Flavor::Gitea, ..)
        | (
            Flavor::Forgejo | Flavor::Forgejo15,
            _,
            ["actions", "tasks"] | ["actions", "workflows", _, "dispatches"],
        ) => None,
        (Flavor::Forgejo15, "GET", ["actions", "runs"]) => Some(list(cx)),
        (Flavor::Forgejo15, "GET", ["actions", "runs", id]) => Some(one(cx, id)),
        _ => Some(Err(Fail::no_route())),
    }
}

fn one(cx: &InRepo<'_>, id: &str) -> Outcome {
    let id = id.parse().map_err(|_| Fail::not_found())?;
    Ok(Reply::ok(&shown(cx, &runs::get(cx.app(), cx.repo(), id)?)?))
}

fn list(cx: &InRepo<'_>) -> Outcome {
    let req = cx.req;
    let filter = |name: &str| req.query(name).filter(|text| !text.is_empty());
    let number = req.query_number("run_number");
    let mut all = runs::list(cx.app(), cx.repo())?;
    all.retain(|run| {
        filter("event").is_none_or(|event| run.event == event)
            && filter("head_sha").is_none_or(|sha| run.sha.to_string() == sha)
            && number.is_none_or(|number| run.number == number)
    });
    let page = Page::of(req);
    let mut rows = Vec::new();
    for run in page.slice(&all) {
        rows.push(shown(cx, run)?);
    }
    Ok(page.linked(
        req,
        &json!({"workflow_runs": rows, "total_count": all.len()}),
        all.len(),
    ))
}

fn shown(cx: &InRepo<'_>, run: &Run) -> Result<Value, Fail> {
    let app = cx.app();
    let jobs = runs::jobs(app, run)?;
    let held = runs::is_held(app, run)?;
    let status = match runs::state(&jobs) {
        _ if held => "blocked",
        (_, Some(conclusion)) => conclusion,
        ("in_progress", None) => "running",
        (_, None) => "waiting",
    };
    let user = ops::users::by_id(app, run.actor_id)?;
    let started = jobs.iter().filter_map(|job| job.started_at).min();
    Ok(json!({
        "id": run.id,
        "index_in_repo": run.number,
        "title": run.title,
        "workflow_id": run.workflow,
        "prettyref": pretty(&run.ref_name),
        "commit_sha": run.sha,
        "event": run.event,
        "trigger_event": run.event,
        "event_payload": "{}",
        "status": status,
        "need_approval": held,
        "is_fork_pull_request": held,
        "html_url": format!("{}/actions/runs/{}", cx.web_url(), run.number),
        "trigger_user": user.map(|user| wire::user(app, &user, View::Public)),
        "created": wire::time(run.created_at),
        "updated": wire::time(run.updated_at),
        "started": started.map_or(EPOCH.to_owned(), wire::time),
    }))
}

/// `main` for a branch, `#3` for a pull request
fn pretty(ref_name: &str) -> String {
    if let Some(rest) = ref_name.strip_prefix("refs/pull/") {
        return format!("#{}", rest.trim_end_matches("/head"));
    }
    ref_name
        .strip_prefix("refs/heads/")
        .unwrap_or(ref_name)
        .to_owned()
}

/// One attempt of a job
struct Task {
    job: Job,
    attempt: i64,
    status: String,
    started_at: i64,
    updated_at: i64,
}

/// Attempts that a runner took, newest first; never a job that waits
pub(super) fn tasks(cx: &InRepo<'_>) -> Outcome {
    let (app, repo) = (cx.app(), cx.repo());
    let mut all = Vec::new();
    for job in runs::all_jobs(app, repo)? {
        let run = runs::get(app, repo, job.run_id)?;
        let past = app
            .store
            .read(|c| checks::attempts(c, job.id))
            .map_err(ops::Error::from)?;
        all.extend(past.into_iter().map(|past: Attempt| Task {
            job: job.clone(),
            attempt: past.number,
            status: past.conclusion,
            started_at: past.started_at,
            updated_at: past.finished_at,
        }));
        if let Some(started_at) = job.started_at {
            all.push(Task {
                attempt: run.attempt,
                status: match (job.status.as_str(), job.conclusion.as_deref()) {
                    ("completed", Some(conclusion)) => conclusion,
                    ("in_progress", _) => "running",
                    (other, _) => other,
                }
                .to_owned(),
                started_at,
                updated_at: job.finished_at.unwrap_or(started_at),
                job,
            });
        }
    }
    // Tasks are numbered as they begin, and a list shows the last number first.
    all.sort_by_key(|task| (task.started_at, task.attempt, task.job.id));
    let mut numbered: Vec<(usize, Task)> = all.into_iter().enumerate().collect();
    numbered.reverse();
    let page = Page::of(cx.req);
    let mut rows = Vec::new();
    for (index, task) in page.slice(&numbered) {
        let run = runs::get(app, repo, task.job.run_id)?;
        rows.push(json!({
            "id": index + 1,
            "name": task.job.name,
            "head_branch": pretty(&run.ref_name),
            "head_sha": run.sha,
            "run_number": run.number,
            "event": run.event,
            "display_title": run.title,
            "status": task.status,
            "workflow_id": run.workflow,
            "url": format!("{}/actions/runs/{}", cx.web_url(), page_number(cx, &run)),
            "created_at": wire::time(task.job.created_at),
            "updated_at": wire::time(task.updated_at),
            "run_started_at": wire::time(task.started_at),
        }));
    }
    Ok(page.linked(
        cx.req,
        &json!({"workflow_runs": rows, "total_count": numbered.len()}),
        numbered.len(),
    ))
}
