//! Workflow runs and their jobs

use super::{Error, Result, What, statuses};
use crate::{
    app::App,
    git::Oid,
    store::{
        checks::{self, Job, Plan, Run},
        repos::Repo,
        users::User,
    },
};

/// A job of a new run
#[derive(Debug, Clone, Default)]
pub(crate) struct NewJob {
    pub(crate) name: String,
    /// `waiting` for another job, or `queued` until something drives it
    pub(crate) waits: bool,
    /// Status to post beside it; empty posts none
    pub(crate) context: String,
    /// What it becomes by itself
    pub(crate) plan: Option<Plan>,
}

/// What a new run is
#[derive(Debug, Clone)]
pub(crate) struct NewRun<'a> {
    pub(crate) workflow: &'a str,
    pub(crate) title: &'a str,
    pub(crate) event: &'a str,
    /// Full ref name
    pub(crate) ref_name: &'a str,
    pub(crate) sha: Oid,
    pub(crate) jobs: Vec<NewJob>,
    /// It begins only when a person approves it
    pub(crate) held: bool,
}

pub(crate) fn create(app: &App, repo: &Repo, actor: &User, new: &NewRun<'_>) -> Result<Run> {
    let now = app.now_ms();
    let (run, jobs) = app.store.write(|tx| {
        let run = Run {
            id: 0,
            repo_id: repo.id,
            number: 0,
            title: new.title.to_owned(),
            workflow: new.workflow.to_owned(),
            event: new.event.to_owned(),
            ref_name: new.ref_name.to_owned(),
            sha: new.sha,
            actor_id: actor.id,
            attempt: 1,
            created_at: now,
            updated_at: now,
        };
        let id = checks::insert_run(tx, &run)?;
        if new.held {
            checks::hold_run(tx, id)?;
        }
        for job in &new.jobs {
            let waits = if job.waits || new.held {
                "waiting"
            } else {
                "queued"
            };
            checks::insert_job(
                tx,
                &Job {
                    id: 0,
                    run_id: id,
                    repo_id: repo.id,
                    name: job.name.clone(),
                    status: waits.to_owned(),
                    conclusion: None,
                    log: String::new(),
                    context: job.context.clone(),
                    plan: job.plan.clone(),
                    due_at: None,
                    created_at: now,
                    started_at: None,
                    finished_at: None,
                },
            )?;
        }
        Ok::<_, Error>((
            checks::run(tx, repo.id, id)?.expect("just written"),
            checks::jobs(tx, id)?,
        ))
    })?;
    for job in &jobs {
        post(app, repo, &run, job)?;
    }
    if !new.held {
        make_due(app, jobs)?;
    }
    Ok(run)
}

/// Lets jobs begin that end by themselves
///
/// Only after their first status was posted: the one of their end must be the newest.
fn make_due(app: &App, jobs: Vec<Job>) -> Result<()> {
    let now = app.now_ms();
    app.store.write(|tx| {
        for mut job in jobs {
            job.due_at = job.plan.as_ref().map(|_| now);
            checks::save_job(tx, &job)?;
        }
        Ok::<_, Error>(())
    })?;
    app.due.notify_one();
    Ok(())
}

/// Newest first
pub(crate) fn list(app: &App, repo: &Repo) -> Result<Vec<Run>> {
    Ok(app.store.read(|c| checks::runs(c, repo.id))?)
}

pub(crate) fn get(app: &App, repo: &Repo, id: i64) -> Result<Run> {
    app.store
        .read(|c| checks::run(c, repo.id, id))?
        .ok_or(Error::NotFound(What::Run))
}

pub(crate) fn jobs(app: &App, run: &Run) -> Result<Vec<Job>> {
    Ok(app.store.read(|c| checks::jobs(c, run.id))?)
}

/// Newest first
pub(crate) fn all_jobs(app: &App, repo: &Repo) -> Result<Vec<Job>> {
    Ok(app.store.read(|c| checks::jobs_of_repo(c, repo.id))?)
}

pub(crate) fn job(app: &App, repo: &Repo, id: i64) -> Result<Job> {
    app.store
        .read(|c| checks::job(c, repo.id, id))?
        .ok_or(Error::NotFound(What::Job))
}

/// Status and conclusion of a run, from its jobs
pub(crate) fn state(jobs: &[Job]) -> (&'static str, Option<&'static str>) {
    let any = |status: &str| jobs.iter().any(|job| job.status == status);
    let ended = |name: &str| {
        jobs.iter()
            .any(|job| job.conclusion.as_deref() == Some(name))
    };
    if jobs.iter().all(|job| job.status == "completed") {
        let conclusion = if ended("failure") {
            "failure"
        } else if ended("cancelled") {
            "cancelled"
        } else if ended("success") || jobs.is_empty() {
            "success"
        } else {
            "skipped"
        };
        ("completed", Some(conclusion))
    } else if any("in_progress") || any("completed") {
        ("in_progress", None)
    } else {
        ("queued", None)
    }
}

/// How to move a job
#[derive(Debug, Clone, Default)]
pub(crate) struct Drive<'a> {
    /// `queued`, `in_progress` or `completed`
    pub(crate) status: Option<&'a str>,
    pub(crate) conclusion: Option<&'a str>,
    pub(crate) log: Option<&'a str>,
}

/// Move a job and post its status
pub(crate) fn drive(app: &App, repo: &Repo, id: i64, drive: &Drive<'_>) -> Result<Job> {
    let mut job = job(app, repo, id)?;
    let now = app.now_ms();
    if let Some(log) = drive.log {
        log.clone_into(&mut job.log);
    }
    let status = drive.status.or(drive.conclusion.map(|_| "completed"));
    match status {
        Some("queued") => {
            "queued".clone_into(&mut job.status);
            (job.conclusion, job.started_at, job.finished_at) = (None, None, None);
        }
        Some("in_progress") => {
            "in_progress".clone_into(&mut job.status);
            job.started_at.get_or_insert(now);
        }
        Some("completed") => {
            "completed".clone_into(&mut job.status);
            job.conclusion = Some(drive.conclusion.unwrap_or("success").to_owned());
            job.started_at.get_or_insert(now);
            job.finished_at = Some(now);
        }
        Some(other) => {
            return Err(Error::Invalid(format!(
                "`{other}` is not a status of a job"
            )));
        }
        None => {}
    }
    job.due_at = None;
    let run = get(app, repo, job.run_id)?;
    app.store.write(|tx| {
        checks::save_job(tx, &job)?;
        checks::touch_run(tx, run.id, run.attempt, now)
    })?;
    post(app, repo, &run, &job)?;
    app.due.notify_one();
    Ok(job)
}

/// Start the jobs again: all, or those that failed
pub(crate) fn rerun(app: &App, repo: &Repo, run: &Run, only_failed: bool) -> Result<Run> {
    let now = app.now_ms();
    let again: Vec<Job> = jobs(app, run)?
        .into_iter()
        .filter(|job| !only_failed || job.conclusion.as_deref() == Some("failure"))
        .map(|job| Job {
            status: "queued".to_owned(),
            conclusion: None,
            started_at: None,
            finished_at: None,
            due_at: None,
            ..job
        })
        .collect();
    let before = jobs(app, run)?;
    app.store.write(|tx| {
        for job in &before {
            if again.iter().any(|next| next.id == job.id) {
                checks::keep_attempt(tx, job, run.attempt)?;
            }
        }
        for job in &again {
            checks::save_job(tx, job)?;
        }
        checks::touch_run(tx, run.id, run.attempt + 1, now)
    })?;
    for job in &again {
        post(app, repo, run, job)?;
    }
    make_due(app, again)?;
    get(app, repo, run.id)
}

/// Whether a run waits for a person's approval
pub(crate) fn is_held(app: &App, run: &Run) -> Result<bool> {
    Ok(app.store.read(|c| checks::is_held(c, run.id))?)
}

/// Let a run begin that waited for a person's approval
pub(crate) fn approve(app: &App, repo: &Repo, run: &Run) -> Result<Run> {
    let now = app.now_ms();
    let mut released = jobs(app, run)?;
    for job in &mut released {
        "queued".clone_into(&mut job.status);
    }
    app.store.write(|tx| {
        checks::release_run(tx, run.id)?;
        for job in &released {
            checks::save_job(tx, job)?;
        }
        checks::touch_run(tx, run.id, run.attempt, now)
    })?;
    for job in &released {
        post(app, repo, run, job)?;
    }
    make_due(app, released)?;
    get(app, repo, run.id)
}

/// Move a job whose time has come: it starts, and later it ends as planned
pub(crate) fn step(app: &App, mut job: Job) -> Result<()> {
    let Some(found) = super::repos::by_id(app, job.repo_id)? else {
        return Ok(());
    };
    let Some(plan) = job.plan.clone() else {
        return Ok(());
    };
    if job.status != "in_progress" && plan.delay_ms > 0 {
        let now = app.now_ms();
        "in_progress".clone_into(&mut job.status);
        job.started_at = Some(now);
        job.due_at = Some(now + plan.delay_ms);
        app.store.write(|tx| checks::save_job(tx, &job))?;
        return Ok(());
    }
    let ended = Drive {
        status: Some("completed"),
        conclusion: Some(&plan.conclusion),
        log: Some(&plan.log),
    };
    drive(app, &found.repo, job.id, &ended).map(drop)
}

/// Tell the commit how a job stands
fn post(app: &App, repo: &Repo, run: &Run, job: &Job) -> Result<()> {
    if job.context.is_empty() {
        return Ok(());
    }
    let owner = super::users::by_id(app, repo.owner_id)?
        .map(|user| user.login)
        .unwrap_or_default();
    let (state, description) = match (job.status.as_str(), job.conclusion.as_deref()) {
        ("completed", Some("success")) => ("success", "Successful in 0s"),
        ("completed", Some("skipped")) => ("skipped", "Skipped"),
        ("completed", Some("cancelled")) => ("failure", "Has been cancelled"),
        ("completed", _) => ("failure", "Failing after 0s"),
        ("in_progress", _) => ("pending", "Has started running"),
        ("waiting", _) => ("pending", "Blocked by required conditions"),
        _ => ("pending", "Waiting to run"),
    };
    // Forgejo numbers runs by repository, and jobs by run.
    let (run_number, job_number) = if app.is_forgejo() {
        let place = jobs(app, run)?.iter().position(|one| one.id == job.id);
        let place = i64::try_from(place.unwrap_or_default()).unwrap_or_default();
        (run.number, place)
    } else {
        (run.id, job.id)
    };
    let target_url = format!(
        "/{owner}/{}/actions/runs/{run_number}/jobs/{job_number}",
        repo.name
    );
    let report = statuses::Report {
        state,
        context: &job.context,
        description,
        target_url: &target_url,
    };
    statuses::create(app, repo, None, run.sha, &report).map(drop)
}
