//! Commit statuses

use super::Result;
use crate::{
    app::App,
    git::Oid,
    store::{
        checks::{self, Status},
        repos::Repo,
        users::User,
    },
};

/// What a caller reports
#[derive(Debug, Clone)]
pub(crate) struct Report<'a> {
    pub(crate) state: &'a str,
    pub(crate) context: &'a str,
    pub(crate) description: &'a str,
    pub(crate) target_url: &'a str,
}

pub(crate) fn create(
    app: &App,
    repo: &Repo,
    user: Option<&User>,
    sha: Oid,
    report: &Report<'_>,
) -> Result<Status> {
    let mut status = Status {
        id: 0,
        sha,
        state: report.state.to_owned(),
        context: report.context.to_owned(),
        description: report.description.to_owned(),
        target_url: report.target_url.to_owned(),
        creator_id: user.map(|user| user.id),
        created_at: app.now_ms(),
    };
    status.id = app
        .store
        .write(|tx| checks::insert_status(tx, repo.id, &status))?;
    app.due.notify_one();
    Ok(status)
}

/// Every status of a commit, newest first
pub(crate) fn list(app: &App, repo: &Repo, sha: Oid) -> Result<Vec<Status>> {
    Ok(app.store.read(|c| checks::statuses(c, repo.id, sha))?)
}

/// The newest of each context
pub(crate) fn latest(app: &App, repo: &Repo, sha: Oid) -> Result<Vec<Status>> {
    Ok(app.store.read(|c| checks::latest(c, repo.id, sha))?)
}

/// One word for many statuses; none at all is `pending`
pub(crate) fn combined(statuses: &[Status]) -> &'static str {
    let any = |names: &[&str]| {
        statuses
            .iter()
            .any(|status| names.contains(&status.state.as_str()))
    };
    if any(&["error", "failure", "warning"]) {
        "failure"
    } else if statuses.is_empty() || any(&["pending"]) {
        "pending"
    } else if statuses
        .iter()
        .all(|status| matches!(status.state.as_str(), "success" | "skipped"))
    {
        "success"
    } else {
        "pending"
    }
}

/// Whether each required pattern has a status and all of those passed
pub(crate) fn required_pass(app: &App, repo: &Repo, sha: Oid, required: &[String]) -> Result<bool> {
    let statuses = latest(app, repo, sha)?;
    if required.is_empty() {
        return Ok(combined(&statuses) == "success");
    }
    Ok(required.iter().all(|pattern| {
        let matching: Vec<Status> = statuses
            .iter()
            .filter(|status| crate::glob::matches(pattern, &status.context, &[]))
            .cloned()
            .collect();
        combined(&matching) == "success"
    }))
}
