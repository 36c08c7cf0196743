//! Workflow runs, their jobs and logs

use jiff::Timestamp;
use serde::Deserialize;

use super::{GitHub, PAGE_LIMIT, wire};
use crate::{
    Result,
    model::{Job, Listing, LogTail, Page, RepoId, Run, RunFilter, RunState},
};

#[derive(Debug, Deserialize)]
struct Runs {
    #[serde(default)]
    workflow_runs: Vec<WireRun>,
    #[serde(default)]
    total_count: u64,
}

#[derive(Debug, Deserialize)]
struct WireRun {
    id: u64,
    #[serde(default)]
    run_number: u64,
    name: Option<String>,
    display_title: Option<String>,
    path: Option<String>,
    workflow_id: Option<u64>,
    #[serde(default)]
    event: String,
    head_branch: Option<String>,
    head_sha: Option<wire::Oid>,
    status: Option<String>,
    conclusion: Option<String>,
    #[serde(default)]
    html_url: String,
    created_at: Option<Timestamp>,
}

#[derive(Debug, Deserialize)]
struct Jobs {
    #[serde(default)]
    jobs: Vec<WireJob>,
    #[serde(default)]
    total_count: u64,
}

#[derive(Debug, Deserialize)]
struct WireJob {
    id: u64,
    run_id: u64,
    name: String,
    status: Option<String>,
    conclusion: Option<String>,
    html_url: Option<String>,
}

impl From<WireRun> for Run {
    fn from(row: WireRun) -> Self {
        let id = row.workflow_id.map(|id| id.to_string());
        Self {
            id: row.id,
            number: row.run_number,
            workflow: row.path.or(id).unwrap_or_default(),
            name: row
                .name
                .filter(|n| !n.is_empty())
                .or(row.display_title)
                .unwrap_or_default(),
            event: row.event,
            branch: row.head_branch.unwrap_or_default(),
            head_sha: row.head_sha.map(|s| s.0),
            state: state(row.status.as_deref(), row.conclusion.as_deref()),
            html_url: row.html_url,
            created: row.created_at,
            from_tasks: false,
        }
    }
}

impl From<WireJob> for Job {
    fn from(row: WireJob) -> Self {
        Self {
            id: row.id,
            run_id: row.run_id,
            name: row.name,
            state: state(row.status.as_deref(), row.conclusion.as_deref()),
            html_url: row.html_url.unwrap_or_default(),
            from_task: false,
        }
    }
}

fn state(status: Option<&str>, conclusion: Option<&str>) -> RunState {
    match (status, conclusion) {
        (Some("in_progress"), _) => RunState::Running,
        (Some("completed"), Some("success" | "neutral")) => RunState::Success,
        (Some("completed"), Some("cancelled" | "stale")) => RunState::Cancelled,
        (Some("completed"), Some("skipped")) => RunState::Skipped,
        // A stranger's change: it is called completed before it has begun.
        (Some("completed"), Some("action_required")) => RunState::ActionRequired,
        (Some("completed"), _) => RunState::Failure,
        _ => RunState::Queued,
    }
}

impl GitHub {
    pub(super) async fn run_page(
        &self,
        repo: &RepoId,
        filter: &RunFilter,
        page: Page,
    ) -> Result<Listing<Run>> {
        let rows = self
            .get(repo, &["actions", "runs"])
            .query_opt("branch", filter.branch.as_ref())
            .query_opt("head_sha", filter.head_sha.as_ref())
            .query_opt("event", filter.event.as_ref())
            .page_of(page, PAGE_LIMIT, |answer| {
                let part: Runs = answer.json()?;
                Ok((part.workflow_runs, Some(part.total_count)))
            })
            .await?;
        let items = rows.items.into_iter().map(Run::from);
        Ok(Listing {
            items: items.filter(|run| fits(run, filter)).collect(),
            next_page: rows.next_page,
            total: rows.total,
        })
    }

    pub(super) async fn read_run(&self, repo: &RepoId, id: u64) -> Result<Run> {
        let run: WireRun = self
            .get(repo, &["actions", "runs", &id.to_string()])
            .what(format!("run {id} of `{repo}`"))
            .send()
            .await?
            .json()?;
        Ok(run.into())
    }

    pub(super) async fn jobs_of_run(&self, repo: &RepoId, run: u64) -> Result<Vec<Job>> {
        let rows = self
            .get(repo, &["actions", "runs", &run.to_string(), "jobs"])
            .query("filter", "latest")
            .what(format!("run {run} of `{repo}`"))
            .all_of(PAGE_LIMIT, |answer| {
                let part: Jobs = answer.json()?;
                Ok((part.jobs, Some(part.total_count)))
            })
            .await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    pub(super) async fn log_tail(
        &self,
        repo: &RepoId,
        job: u64,
        max_bytes: usize,
    ) -> Result<LogTail> {
        let what = format!("log of job {job} of `{repo}`");
        let call = self
            .get(repo, &["actions", "jobs", &job.to_string(), "logs"])
            .what(&what)
            .tail(max_bytes)
            .keep_redirect();
        let asked = call.url()?;
        let answer = call.answer().await?;
        let answer = if answer.status.is_redirection() {
            self.rest
                .fetch_redirected_tail(&answer, &asked, max_bytes, &what)
                .await?
        } else {
            answer
        };
        let answer = answer.ok()?;
        Ok(LogTail::of(&answer.body, answer.skipped > 0))
    }
}

fn fits(run: &Run, filter: &RunFilter) -> bool {
    filter.branch.as_ref().is_none_or(|b| run.branch == *b)
        && filter.event.as_ref().is_none_or(|e| run.event == *e)
        && (filter.head_sha.is_none() || run.head_sha == filter.head_sha)
}
