//! Workflow runs, jobs, logs and workflows

use serde_json::{Value, json};

use super::{
    Outcome,
    fail::Fail,
    forgejo_runs,
    reply::{Page, Reply},
    request::InRepo,
    wire::{self, EPOCH, NEVER, View},
};
use crate::{
    ops::{self, What, access::Access, ci, commits, runs},
    store::checks::{Job, Run},
};

/// What a list of runs can be narrowed to
const STATES: &[&str] = &[
    "pending",
    "queued",
    "waiting",
    "in_progress",
    "completed",
    "success",
    "failure",
    "cancelled",
    "skipped",
    "neutral",
    "action_required",
];

pub(super) fn answer(cx: &InRepo<'_>, path: &[&str]) -> Outcome {
    let (app, repo) = (cx.app(), cx.repo());
    if let Some(own) = forgejo_runs::answer(cx, path) {
        return own;
    }
    match (cx.req.verb(), path) {
        ("GET", ["actions", "runs"]) => list(cx),
        ("GET", ["actions", "runs", id]) => Ok(Reply::ok(&shown(cx, &run(cx, id)?)?)),
        ("GET", ["actions", "runs", id, "jobs"]) => {
            let run = run(cx, id)?;
            jobs(cx, &runs::jobs(app, &run)?)
        }
        ("GET", ["actions", "runs", id, "artifacts"]) => {
            run(cx, id)?;
            Ok(Reply::ok(&json!({"artifacts": [], "total_count": 0})))
        }
        (
            "POST",
            [
                "actions",
                "runs",
                id,
                again @ ("rerun" | "rerun-failed-jobs"),
            ],
        ) => {
            cx.need_writer()?;
            let run = run(cx, id)?;
            let done = runs::state(&runs::jobs(app, &run)?).0 == "completed";
            let only_failed = *again == "rerun-failed-jobs";
            if !done && !only_failed {
                return Err(Fail::new(400, "this workflow run is not done"));
            }
            Ok(Reply::created(&shown(
                cx,
                &runs::rerun(app, repo, &run, only_failed)?,
            )?))
        }
        ("GET", ["actions", "jobs"]) => {
            cx.user()?;
            let mut all = runs::all_jobs(app, repo)?;
            all.reverse();
            jobs(cx, &all)
        }
        ("GET", ["actions", "jobs", id]) => Ok(Reply::ok(&shown_job(cx, &job(cx, id)?)?)),
        ("GET", ["actions", "jobs", id, "logs"]) => {
            let job = job(cx, id)?;
            if job.started_at.is_none() {
                return Err(Fail::missing("", &["job not started"]));
            }
            let name = format!("attachment; filename=\"{}-{}.log\"", job.name, job.id);
            Ok(Reply::text(job.log).with("content-disposition", &name))
        }
        ("GET", ["actions", "tasks"]) => forgejo_runs::tasks(cx),
        ("GET", ["actions", "artifacts"]) => {
            Ok(Reply::ok(&json!({"artifacts": [], "total_count": 0})))
        }
        ("GET", ["actions", "workflows"]) => workflows(cx),
        ("GET", ["actions", "workflows", file]) => Ok(Reply::ok(&shown_workflow(
            cx,
            &workflow(cx, file, &repo.default_branch)?,
        )?)),
        ("POST", ["actions", "workflows", file, "dispatches"]) => dispatch(cx, file),
        (
            _,
            [
                "actions",
                "runs" | "jobs" | "tasks" | "workflows" | "artifacts",
            ],
        ) => Err(Fail::wrong_verb()),
        _ => Err(Fail::no_route()),
    }
}

fn run(cx: &InRepo<'_>, id: &str) -> Result<Run, Fail> {
    let missing = || Fail::missing("", &[&format!("run with id {id}: resource does not exist")]);
    let number = id.parse().map_err(|_| missing())?;
    runs::get(cx.app(), cx.repo(), number).map_err(|_| missing())
}

fn job(cx: &InRepo<'_>, id: &str) -> Result<Job, Fail> {
    let number = id.parse().map_err(|_| Fail::not_found())?;
    Ok(runs::job(cx.app(), cx.repo(), number)?)
}

fn list(cx: &InRepo<'_>) -> Outcome {
    cx.user()?;
    let (app, req) = (cx.app(), cx.req);
    let filter = |name: &str| req.query(name).filter(|text| !text.is_empty());
    let actor = match filter("actor") {
        Some(login) => Some(ops::users::find(app, login).map_err(|_| {
            Fail::new(500, &format!("user does not exist [uid: 0, name: {login}]"))
        })?),
        None => None,
    };
    let status = filter("status");
    if let Some(bad) = status.filter(|status| !STATES.contains(status)) {
        return Err(Fail::new(400, &format!("Invalid status {bad}")));
    }
    let mut all = Vec::new();
    if cx.repo().settings.has_actions {
        for run in runs::list(app, cx.repo())? {
            let (state, conclusion) = runs::state(&runs::jobs(app, &run)?);
            let branch = head_branch(&run);
            let wanted = filter("event").is_none_or(|event| run.event == event)
                && filter("branch").is_none_or(|wanted| branch == wanted)
                && filter("head_sha").is_none_or(|sha| run.sha.to_string() == sha)
                && actor.as_ref().is_none_or(|actor| run.actor_id == actor.id)
                && status.is_none_or(|status| {
                    status == state
                        || conclusion == Some(status)
                        || (state == "queued" && matches!(status, "waiting" | "pending"))
                });
            if wanted {
                all.push(run);
            }
        }
    }
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

fn head_branch(run: &Run) -> &str {
    run.ref_name
        .strip_prefix("refs/heads/")
        .unwrap_or(&run.ref_name)
}

fn shown(cx: &InRepo<'_>, run: &Run) -> Result<Value, Fail> {
    let app = cx.app();
    let jobs = runs::jobs(app, run)?;
    let (status, conclusion) = runs::state(&jobs);
    let actor =
        ops::users::by_id(app, run.actor_id)?.map(|user| wire::user(app, &user, View::Public));
    let started = jobs.iter().filter_map(|job| job.started_at).min();
    let finished = jobs
        .iter()
        .filter_map(|job| job.finished_at)
        .max()
        .filter(|_| status == "completed");
    let mut value = json!({
        "id": run.id,
        "url": format!("{}/actions/runs/{}", cx.api_url(), run.id),
        "html_url": format!("{}/actions/runs/{}", cx.web_url(), run.id),
        "display_title": run.title,
        "path": format!("{}@{}", run.workflow, run.ref_name),
        "event": run.event,
        "run_attempt": run.attempt - 1,
        "run_number": run.number,
        "repository_id": 0,
        "head_sha": run.sha,
        "head_branch": head_branch(run),
        "status": status,
        "actor": actor,
        "trigger_actor": actor,
        "repository": wire::repo(app, &cx.found, Access::None)?,
        "started_at": started.map_or(EPOCH.to_owned(), wire::time),
        "completed_at": finished.map_or(EPOCH.to_owned(), wire::time),
    });
    if let Some(conclusion) = conclusion {
        value["conclusion"] = conclusion.into();
    }
    Ok(value)
}

fn jobs(cx: &InRepo<'_>, all: &[Job]) -> Outcome {
    let page = Page::of(cx.req);
    let mut rows = Vec::new();
    for job in page.slice(all) {
        rows.push(shown_job(cx, job)?);
    }
    Ok(page.linked(
        cx.req,
        &json!({"jobs": rows, "total_count": all.len()}),
        all.len(),
    ))
}

fn shown_job(cx: &InRepo<'_>, job: &Job) -> Result<Value, Fail> {
    let run = runs::get(cx.app(), cx.repo(), job.run_id)?;
    let mut value = json!({
        "id": job.id,
        "url": format!("{}/actions/jobs/{}", cx.api_url(), job.id),
        "html_url": format!("{}/actions/runs/{}/jobs/{}", cx.web_url(), run.id, job.id),
        "run_id": run.id,
        "run_url": format!("{}/actions/runs/{}", cx.api_url(), run.id),
        "name": job.name,
        "labels": ["ubuntu-latest"],
        "run_attempt": run.attempt - 1,
        "head_sha": run.sha,
        "head_branch": head_branch(&run),
        "status": job.status,
        "runner_id": 0,
        "steps": [],
        "created_at": wire::time(job.created_at),
        "started_at": job.started_at.map_or(EPOCH.to_owned(), wire::time),
        "completed_at": job.finished_at.map_or(EPOCH.to_owned(), wire::time),
    });
    if let Some(conclusion) = &job.conclusion {
        value["conclusion"] = conclusion.as_str().into();
    }
    Ok(value)
}

fn workflow(cx: &InRepo<'_>, file: &str, at: &str) -> Result<ci::Workflow, Fail> {
    let commit = commits::resolve(cx.app(), cx.repo(), at)
        .map_err(|_| Fail::new(404, &format!("ref \"{at}\" doesn't exist")))?;
    let found = ci::workflows(cx.app(), cx.repo(), commit)?;
    let one = found.into_iter().find(|workflow| workflow.file == file);
    one.ok_or_else(|| ops::Error::NotFound(What::Workflow(file.to_owned())).into())
}

fn workflows(cx: &InRepo<'_>) -> Outcome {
    let repo = cx.repo();
    let found = match commits::resolve(cx.app(), repo, &repo.default_branch) {
        Ok(commit) => ci::workflows(cx.app(), repo, commit)?,
        Err(_) => Vec::new(),
    };
    let mut rows = Vec::new();
    for workflow in &found {
        rows.push(shown_workflow(cx, workflow)?);
    }
    Ok(Reply::ok(
        &json!({"workflows": rows, "total_count": rows.len()}),
    ))
}

fn shown_workflow(cx: &InRepo<'_>, workflow: &ci::Workflow) -> Result<Value, Fail> {
    let (app, repo) = (cx.app(), cx.repo());
    let tip = commits::resolve(app, repo, &repo.default_branch)?;
    let (dir, name) = workflow
        .path
        .rsplit_once('/')
        .unwrap_or(("", &workflow.path));
    let last = commits::last(app, repo, tip, dir, &[name.to_owned()])?;
    let when = last
        .get(name)
        .map_or(NEVER.to_owned(), |(_, commit)| commit.committer.date());
    let branch = wire::path_url(&repo.default_branch);
    Ok(json!({
        "id": workflow.file,
        "name": if workflow.title.is_empty() { &workflow.file } else { &workflow.title },
        "path": workflow.path,
        "state": "active",
        "created_at": when,
        "updated_at": when,
        "url": format!("{}/actions/workflows/{}", cx.api_url(), workflow.file),
        "html_url": format!("{}/src/branch/{branch}/{}", cx.web_url(), workflow.path),
        "badge_url": format!("{}/actions/workflows/{}/badge.svg?branch={branch}", cx.web_url(), workflow.file),
        "deleted_at": NEVER,
    }))
}

fn dispatch(cx: &InRepo<'_>, file: &str) -> Outcome {
    let user = cx.need_writer()?;
    let (app, repo) = (cx.app(), cx.repo());
    let form = cx.req.form()?;
    let at = form.required("ref", "Ref")?;
    let short = at
        .trim_start_matches("refs/heads/")
        .trim_start_matches("refs/tags/");
    let workflow = workflow(cx, file, short)?;
    if !workflow.on.iter().any(|on| on == "workflow_dispatch") {
        return Err(Fail::invalid(&format!(
            "workflow \"{file}\" has no workflow_dispatch event"
        )));
    }
    let sha = commits::resolve(app, repo, short)?;
    let commit = commits::get(app, repo, sha)?;
    let is_tag = app.git(repo.id).branch(short)?.is_none();
    let ref_name = if is_tag {
        format!("refs/tags/{short}")
    } else {
        format!("refs/heads/{short}")
    };
    let run = ci::run(
        app,
        repo,
        user,
        &workflow,
        "workflow_dispatch",
        &ref_name,
        sha,
        commit.title(),
        false,
    )?;
    if !cx.req.query_flag("return_run_details", false) {
        return Ok(Reply::empty(204));
    }
    Ok(Reply::ok(&json!({
        "workflow_run_id": run.id,
        "run_url": format!("{}/actions/runs/{}", cx.api_url(), run.id),
        "html_url": format!(
            "{}/actions/runs/{}",
            cx.web_url(),
            forgejo_runs::page_number(cx, &run)
        ),
    })))
}
