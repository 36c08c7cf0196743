//! Addresses of our own, for tests: make runs and move their jobs, limit the merge styles of a rule
//!
//! `POST /api/sandbox/v1/repos/{owner}/{name}/runs` makes a run, `POST …/runs/{id}/rerun` starts its
//! jobs again, `POST …/runs/{id}/approve` lets one begin that waits for approval, and
//! `PATCH /api/sandbox/v1/repos/{owner}/{name}/jobs/{id}` moves one of its jobs. `PATCH …/rules/{name}` sets what
//! only GitHub's rulesets have (`allowed_merge_methods`). Writers only.

use serde_json::{Value, json};

use super::{
    Outcome,
    body::Form,
    fail::Fail,
    reply::Reply,
    request::{InRepo, Req},
};
use crate::{
    ops::{self, access::Access, commits, protection, runs},
    store::checks::{Job, Plan},
};

pub(super) fn answer(req: &Req, path: &[&str]) -> Outcome {
    let ["repos", owner, name, rest @ ..] = path else {
        return Err(Fail::no_route());
    };
    let found = ops::repos::find(&req.app, owner, name).map_err(|_| Fail::not_found())?;
    let access = ops::access::of(&req.app, &found.repo, req.caller.as_ref())?;
    if access == Access::None {
        return Err(Fail::not_found());
    }
    let cx = InRepo { req, found, access };
    cx.need_writer()?;
    match (req.verb(), rest) {
        ("POST", ["runs"]) => create(&cx),
        ("GET", ["runs", id]) => {
            let id = id.parse().map_err(|_| Fail::not_found())?;
            shown(&cx, &runs::get(cx.app(), cx.repo(), id)?)
        }
        ("POST", ["runs", id, again @ ("rerun" | "approve")]) => {
            let id = id.parse().map_err(|_| Fail::not_found())?;
            let run = runs::get(cx.app(), cx.repo(), id)?;
            let run = match *again {
                "approve" => runs::approve(cx.app(), cx.repo(), &run)?,
                _ => runs::rerun(cx.app(), cx.repo(), &run, false)?,
            };
            shown(&cx, &run)
        }
        ("PATCH", ["jobs", id]) => move_job(&cx, id),
        ("PATCH", ["rules", name]) => limit_styles(&cx, name),
        _ => Err(Fail::no_route()),
    }
}

fn create(cx: &InRepo<'_>) -> Outcome {
    let user = cx.user()?;
    let form = cx.req.form()?;
    let branch = form
        .opt_text("branch")?
        .unwrap_or(&cx.repo().default_branch)
        .to_owned();
    let at = form.opt_text("sha")?.unwrap_or(&branch);
    let sha = commits::resolve(cx.app(), cx.repo(), at)?;
    let mut jobs = Vec::new();
    for value in form.opt_list("jobs")?.into_iter().flatten() {
        let Value::Object(map) = value else {
            return Err(Fail::invalid("a job is an object"));
        };
        jobs.push(new_job(&Form::from_map(map.clone()))?);
    }
    let ref_name = format!("refs/heads/{branch}");
    let new = runs::NewRun {
        workflow: form.opt_text("workflow")?.unwrap_or("ci.yaml"),
        title: form.opt_text("title")?.unwrap_or("a run"),
        event: form.opt_text("event")?.unwrap_or("push"),
        ref_name: &ref_name,
        sha,
        jobs,
        held: form.flag("needs_approval")?,
    };
    let run = runs::create(cx.app(), cx.repo(), user, &new)?;
    shown(cx, &run)
}

fn new_job(form: &Form) -> Result<runs::NewJob, Fail> {
    let plan = match form.opt_text("result")? {
        Some(result) => Some(Plan {
            conclusion: result.to_owned(),
            log: form.text("log")?.to_owned(),
            delay_ms: form.opt_number("delay_ms")?.unwrap_or(0),
            app_id: form.opt_number("app_id")?,
        }),
        None => None,
    };
    Ok(runs::NewJob {
        name: form.required("name", "Name")?.to_owned(),
        waits: form.flag("waits")?,
        context: form.text("context")?.to_owned(),
        plan,
    })
}

fn move_job(cx: &InRepo<'_>, id: &str) -> Outcome {
    let id = id.parse().map_err(|_| Fail::not_found())?;
    let form = cx.req.form()?;
    let drive = runs::Drive {
        status: form.opt_text("status")?,
        conclusion: form.opt_text("conclusion")?,
        log: form.opt_text("log")?,
    };
    let job = runs::drive(cx.app(), cx.repo(), id, &drive)?;
    Ok(Reply::ok(&shown_job(&job)))
}

/// Sets the merge methods that a ruleset of GitHub would allow
fn limit_styles(cx: &InRepo<'_>, name: &str) -> Outcome {
    let form = cx.req.form()?;
    let mut found = protection::get(cx.app(), cx.repo(), name)?;
    found.rule.allowed_merge_methods = form.opt_texts("allowed_merge_methods")?.unwrap_or_default();
    protection::save(cx.app(), cx.repo(), &found)?;
    Ok(Reply::empty(204))
}

fn shown(cx: &InRepo<'_>, run: &crate::store::checks::Run) -> Outcome {
    let jobs = runs::jobs(cx.app(), run)?;
    let (status, conclusion) = runs::state(&jobs);
    Ok(Reply::created(&json!({
        "id": run.id,
        "number": run.number,
        "sha": run.sha,
        "status": status,
        "conclusion": conclusion,
        "jobs": jobs.iter().map(shown_job).collect::<Vec<_>>(),
    })))
}

fn shown_job(job: &Job) -> Value {
    json!({"id": job.id, "name": job.name, "status": job.status, "conclusion": job.conclusion})
}
