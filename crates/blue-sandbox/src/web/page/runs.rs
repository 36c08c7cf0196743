//! Workflow runs

use axum::response::{IntoResponse as _, Redirect, Response};

use crate::{
    ops,
    store::checks::Run,
    web::{
        view::{
            repo::Tab,
            runs::{self as view, JobView, RunRow},
        },
        visit::{Trouble, Visit},
        when,
    },
};

pub(in crate::web) fn list(visit: &Visit<'_>) -> Result<Response, Trouble> {
    let mut rows = Vec::new();
    for run in ops::runs::list(visit.app, visit.repo())? {
        let jobs = ops::runs::jobs(visit.app, &run)?;
        rows.push(row(visit, &run, &jobs));
    }
    Ok(visit.show(Tab::Runs, "Runs", &view::list(&visit.head.link(), &rows)))
}

/// `actions/runs/{id}`; the pages of its jobs are the same page
pub(in crate::web) fn one(visit: &Visit<'_>, id: &str) -> Result<Response, Trouble> {
    let id = id.parse().map_err(|_| Trouble::NotFound)?;
    let run = if visit.app.is_forgejo() {
        let mut all = ops::runs::list(visit.app, visit.repo())?.into_iter();
        all.find(|run| run.number == id).ok_or(Trouble::NotFound)?
    } else {
        ops::runs::get(visit.app, visit.repo(), id)?
    };
    let jobs = ops::runs::jobs(visit.app, &run)?;
    let shown = row(visit, &run, &jobs);
    let jobs: Vec<JobView> = jobs
        .into_iter()
        .map(|job| JobView {
            id: job.id,
            name: job.name,
            state: job.conclusion.unwrap_or(job.status),
            log: job.log,
        })
        .collect();
    let content = view::one(&visit.head.link(), &shown, &jobs);
    Ok(visit.show(Tab::Runs, &run.title, &content))
}

/// `runs/{job}`: where a check leads on GitHub
pub(in crate::web) fn of_job(visit: &Visit<'_>, id: &str) -> Result<Response, Trouble> {
    let id = id.parse().map_err(|_| Trouble::NotFound)?;
    let job = ops::runs::job(visit.app, visit.repo(), id)?;
    let run = ops::runs::get(visit.app, visit.repo(), job.run_id)?;
    let number = if visit.app.is_forgejo() {
        run.number
    } else {
        run.id
    };
    let page = format!("actions/runs/{number}#job-{}", job.id);
    Ok(Redirect::to(&visit.head.link().page(&page)).into_response())
}

fn row(visit: &Visit<'_>, run: &Run, jobs: &[crate::store::checks::Job]) -> RunRow {
    let (status, conclusion) = ops::runs::state(jobs);
    let branch = run
        .ref_name
        .strip_prefix("refs/heads/")
        .unwrap_or(&run.ref_name);
    RunRow {
        id: if visit.app.is_forgejo() {
            run.number
        } else {
            run.id
        },
        name: run.title.clone(),
        state: conclusion.unwrap_or(status).to_owned(),
        event: run.event.clone(),
        branch: branch.to_owned(),
        sha: run.sha.to_string(),
        when: when::milliseconds(run.created_at),
    }
}
