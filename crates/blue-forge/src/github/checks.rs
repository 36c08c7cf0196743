//! Statuses and check runs

use futures_util::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{GitHub, PAGE_LIMIT};
use crate::{
    ForgeError, Result,
    model::{Check, CheckState, Checks, Job, Page, RepoId, RunFilter, RunState, Sha, StatusOpts},
};

/// Most workflow runs of a commit whose jobs are read
const RUNS: u32 = 30;
/// Requests at once for jobs
const AT_ONCE: usize = 4;
/// Context that GitHub gives a status which names none
const DEFAULT_CONTEXT: &str = "default";

#[derive(Debug, Deserialize)]
struct Combined {
    #[serde(default)]
    statuses: Vec<WireStatus>,
    #[serde(default)]
    total_count: u64,
}

#[derive(Debug, Deserialize)]
struct WireStatus {
    /// Missing on old Enterprise Servers
    context: Option<String>,
    state: String,
    description: Option<String>,
    target_url: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CheckRuns {
    #[serde(default)]
    check_runs: Vec<WireCheck>,
    #[serde(default)]
    total_count: u64,
}

#[derive(Debug, Deserialize)]
struct WireCheck {
    #[serde(default)]
    id: u64,
    name: String,
    started_at: Option<Timestamp>,
    app: Option<App>,
    status: String,
    conclusion: Option<String>,
    html_url: Option<String>,
    output: Option<Output>,
}

#[derive(Debug, Deserialize)]
struct App {
    id: Option<u64>,
}

impl WireCheck {
    fn app_id(&self) -> Option<u64> {
        self.app.as_ref()?.id
    }
}

#[derive(Debug, Deserialize)]
struct Output {
    title: Option<String>,
}

#[derive(Debug, Serialize)]
struct NewStatus<'a> {
    state: &'a str,
    context: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_url: Option<&'a str>,
}

impl GitHub {
    pub(super) async fn all_checks(&self, repo: &RepoId, sha: &Sha) -> Result<Checks> {
        let statuses =
            self.get(repo, &["commits", sha.as_str(), "status"])
                .all_of(PAGE_LIMIT, |answer| {
                    let part: Combined = answer.json()?;
                    Ok((part.statuses, Some(part.total_count)))
                });
        let runs = self
            .get(repo, &["commits", sha.as_str(), "check-runs"])
            .query("filter", "latest")
            .all_of(PAGE_LIMIT, |answer| {
                let part: CheckRuns = answer.json()?;
                Ok((part.check_runs, Some(part.total_count)))
            });
        let (statuses, runs) = tokio::join!(statuses, runs);
        let statuses = unless_forbidden(statuses)?
            .map(|rows| rows.into_iter().map(of_status).collect::<Vec<_>>());
        let (runs, refused) = match runs {
            Ok(rows) => (Ok(newest(rows).into_iter().map(of_run).collect()), false),
            // Fine-grained tokens have no right to check runs, and may have one to jobs.
            Err(refusal @ ForgeError::Forbidden { .. }) => {
                let jobs = unless_forbidden(self.jobs_as_checks(repo, sha).await)?;
                (jobs.ok_or(refusal), true)
            }
            Err(error) => return Err(error),
        };
        let partial = refused || statuses.is_none();
        let items = match (statuses, runs) {
            (None, Err(refusal)) => return Err(refusal),
            (statuses, runs) => {
                let statuses = statuses.into_iter().flatten();
                statuses.chain(runs.unwrap_or_default()).collect()
            }
        };
        Ok(Checks { items, partial })
    }

    /// The jobs of a commit's workflow runs, which are what Actions report as check runs
    async fn jobs_as_checks(&self, repo: &RepoId, sha: &Sha) -> Result<Vec<Check>> {
        let filter = RunFilter {
            head_sha: Some(sha.clone()),
            ..RunFilter::default()
        };
        let runs = self.run_page(repo, &filter, Page::first(RUNS)).await?;
        let lists: Vec<Vec<Job>> = stream::iter(runs.items)
            .map(|run| self.jobs_of_run(repo, run.id))
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        let mut checks: Vec<Check> = Vec::new();
        // Newest first: a job that ran again counts once.
        for job in lists.into_iter().flatten() {
            if checks.iter().all(|check| check.context != job.name) {
                checks.push(of_job(job));
            }
        }
        Ok(checks)
    }

    pub(super) async fn report_status(
        &self,
        repo: &RepoId,
        sha: &Sha,
        opts: &StatusOpts,
    ) -> Result<()> {
        let state = match opts.state {
            // GitHub's statuses know no "skipped", which counts as passed anyway.
            CheckState::Success | CheckState::Skipped => "success",
            CheckState::Failure => "failure",
            CheckState::Pending => "pending",
        };
        let body = NewStatus {
            state,
            context: &opts.context,
            description: opts.description.as_deref(),
            target_url: opts.target_url.as_deref(),
        };
        let answer = self
            .post(repo, &["statuses", sha.as_str()])
            .json(&body)
            .answer()
            .await?;
        if answer.status.as_u16() == 422 && answer.says("no commit found") {
            return Err(self
                .not_found(format!("commit `{sha}` of `{repo}`"))
                .answered(422));
        }
        self.written(repo, answer).await.map(|_| ())
    }
}

/// Nothing where the caller may not see it
fn unless_forbidden<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(ForgeError::Forbidden { .. }) => Ok(None),
        other => other.map(Some),
    }
}

fn of_job(job: Job) -> Check {
    let state = match job.state {
        RunState::Success => CheckState::Success,
        RunState::Skipped => CheckState::Skipped,
        RunState::Failure | RunState::Cancelled => CheckState::Failure,
        RunState::Queued | RunState::Running | RunState::ActionRequired => CheckState::Pending,
    };
    Check {
        context: job.name,
        state,
        description: String::new(),
        url: job.html_url,
        app: None,
    }
}

fn of_status(row: WireStatus) -> Check {
    let state = match row.state.as_str() {
        "success" => CheckState::Success,
        "failure" | "error" => CheckState::Failure,
        _ => CheckState::Pending,
    };
    Check {
        context: row.context.unwrap_or_else(|| DEFAULT_CONTEXT.to_owned()),
        state,
        description: row.description.unwrap_or_default(),
        url: row.target_url.unwrap_or_default(),
        app: None,
    }
}

/// Keeps the newest run of each name and app
///
/// GitHub's `filter=latest` gives the latest of each check suite. A workflow that was cancelled and
/// started again has two suites, and only the newer run counts.
fn newest(rows: Vec<WireCheck>) -> Vec<WireCheck> {
    let mut kept: Vec<WireCheck> = Vec::new();
    for row in rows {
        let same =
            |other: &&mut WireCheck| other.name == row.name && other.app_id() == row.app_id();
        match kept.iter_mut().find(same) {
            Some(other) if (other.started_at, other.id) < (row.started_at, row.id) => *other = row,
            Some(_) => {}
            None => kept.push(row),
        }
    }
    kept
}

fn of_run(row: WireCheck) -> Check {
    let app = row.app_id();
    let state = match (row.status.as_str(), row.conclusion.as_deref()) {
        ("completed", Some("success")) => CheckState::Success,
        ("completed", Some("neutral" | "skipped")) => CheckState::Skipped,
        (
            "completed",
            Some(
                "failure" | "cancelled" | "timed_out" | "action_required" | "startup_failure"
                | "stale",
            ),
        ) => CheckState::Failure,
        _ => CheckState::Pending,
    };
    Check {
        context: row.name,
        state,
        description: row.output.and_then(|o| o.title).unwrap_or_default(),
        url: row.html_url.unwrap_or_default(),
        app,
    }
}
