//! Workflow runs, their jobs and logs
//!
//! Gitea and Forgejo differ in shape, and older servers have only a list of tasks.

use jiff::Timestamp;
use serde::Deserialize;

use super::{Forgejo, wire};
use crate::{
    ForgeError, Result,
    model::{Job, Listing, LogTail, Page, RepoId, Run, RunFilter, RunState, Sha},
    rest::Answer,
};
use blue_base::http::HeaderValue;

/// Pages of runs that are looked through for one number
const NUMBER_PAGES: u32 = 4;

#[derive(Debug, Deserialize)]
struct WireRuns {
    #[serde(default, deserialize_with = "wire::or_default")]
    workflow_runs: Vec<Option<WireRun>>,
    total_count: Option<u64>,
}

/// A run of Gitea, then what Forgejo calls the same; a task has Gitea's shape
#[derive(Debug, Deserialize, Clone, Default)]
#[serde(default)]
pub(super) struct WireRun {
    pub(super) id: u64,
    #[serde(deserialize_with = "wire::or_default")]
    pub(super) run_number: u64,
    #[serde(deserialize_with = "wire::or_default")]
    display_title: String,
    #[serde(deserialize_with = "wire::or_default")]
    pub(super) name: String,
    #[serde(deserialize_with = "wire::or_default")]
    path: String,
    #[serde(deserialize_with = "wire::or_default")]
    event: String,
    #[serde(deserialize_with = "wire::or_default")]
    head_branch: String,
    #[serde(deserialize_with = "wire::or_default")]
    head_sha: String,
    #[serde(deserialize_with = "wire::or_default")]
    status: String,
    #[serde(deserialize_with = "wire::or_default")]
    conclusion: String,
    #[serde(deserialize_with = "wire::or_default")]
    html_url: String,
    #[serde(deserialize_with = "wire::or_default")]
    pub(super) url: String,
    #[serde(deserialize_with = "wire::when")]
    created_at: Option<Timestamp>,
    #[serde(deserialize_with = "wire::when")]
    started_at: Option<Timestamp>,
    #[serde(deserialize_with = "wire::or_default")]
    index_in_repo: u64,
    #[serde(deserialize_with = "wire::or_default")]
    title: String,
    #[serde(deserialize_with = "wire::or_default")]
    workflow_id: String,
    #[serde(deserialize_with = "wire::or_default")]
    prettyref: String,
    #[serde(deserialize_with = "wire::or_default")]
    commit_sha: String,
    #[serde(deserialize_with = "wire::when")]
    created: Option<Timestamp>,
    /// A person has to allow it first (Forgejo)
    #[serde(deserialize_with = "wire::or_default")]
    need_approval: bool,
}

impl WireRun {
    pub(super) fn state(&self) -> RunState {
        match state(&self.status, &self.conclusion) {
            RunState::Queued if self.need_approval => RunState::ActionRequired,
            told => told,
        }
    }
}

#[derive(Debug, Deserialize)]
struct WireJobs {
    #[serde(default, deserialize_with = "wire::or_default")]
    jobs: Vec<Option<WireJob>>,
    total_count: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct WireJob {
    id: u64,
    #[serde(default, deserialize_with = "wire::or_default")]
    run_id: u64,
    #[serde(default, deserialize_with = "wire::or_default")]
    name: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    status: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    conclusion: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    html_url: String,
}

impl From<WireRun> for Run {
    fn from(row: WireRun) -> Self {
        let first = |texts: Vec<String>| {
            texts
                .into_iter()
                .find(|t| !t.is_empty())
                .unwrap_or_default()
        };
        // `ci.yaml@refs/heads/main`
        let file = row.path.split('@').next().unwrap_or_default().to_owned();
        let state = row.state();
        let workflow = first(vec![row.workflow_id, file]);
        Self {
            id: row.id,
            number: row.run_number.max(row.index_in_repo),
            // A title is the commit's, and the same for all that ran for it.
            name: first(vec![
                workflow.clone(),
                row.name,
                row.display_title,
                row.title,
            ]),
            workflow,
            event: row.event,
            branch: first(vec![row.head_branch, row.prettyref]),
            head_sha: Sha::parse(&first(vec![row.head_sha, row.commit_sha])).ok(),
            state,
            html_url: first(vec![row.html_url, row.url]),
            created: row.created_at.or(row.created).or(row.started_at),
            from_tasks: false,
        }
    }
}

impl Forgejo {
    pub(super) async fn run_page(
        &self,
        repo: &RepoId,
        filter: &RunFilter,
        page: Page,
    ) -> Result<Listing<Run>> {
        let call = self
            .repo_get(repo, &["actions", "runs"])
            .query_opt("branch", filter.branch.as_deref())
            .query_opt("event", filter.event.as_deref())
            .query_opt("head_sha", filter.head_sha.as_ref())
            .what(format!("workflow runs of `{repo}`"));
        let cap = self.cap().await;
        let listing = match call.clone().page_of(page, cap, runs).await {
            Err(ForgeError::NotFound { .. }) => {
                return self
                    .page_of_tasks(repo, page, |run| fits(run, filter))
                    .await;
            }
            other => other?,
        };
        if listing.items.iter().all(|run| fits(run, filter)) {
            return Ok(listing);
        }
        // The server ignored a filter, so its pages and its count are of another list.
        let all: Vec<Run> = call.all_of(cap, runs).await?;
        let fitting = all.into_iter().filter(|run| fits(run, filter)).collect();
        Ok(Listing::of_all(fitting, page))
    }

    pub(super) async fn read_run(&self, repo: &RepoId, id: u64) -> Result<Run> {
        let what = format!("workflow run {id} of `{repo}`");
        let answer = self
            .repo_get(repo, &["actions", "runs", &id.to_string()])
            .what(&what)
            .answer()
            .await?;
        if answer.status.as_u16() != 404 {
            let row: WireRun = answer.ok()?.json()?;
            return Ok(row.into());
        }
        let found = if self.has_runs(repo).await? {
            self.run_by_number(repo, id).await?
        } else {
            self.run_of_tasks(repo, id).await?
        };
        found.ok_or_else(|| answer.into_error())
    }

    /// Returns the run with this number, which is what stands in the address of its page on
    /// Forgejo and older Gitea
    async fn run_by_number(&self, repo: &RepoId, number: u64) -> Result<Option<Run>> {
        let call = self
            .repo_get(repo, &["actions", "runs"])
            .query("run_number", number)
            .what(format!("workflow runs of `{repo}`"));
        let cap = self.cap().await;
        let mut next = Some(1);
        // Where the server does not know the filter, only the latest runs are looked at.
        while let Some(page) = next.filter(|page| *page <= NUMBER_PAGES) {
            let listing = call
                .clone()
                .page_of(Page::new(page, cap), cap, runs)
                .await?;
            let mut items = listing.items.into_iter();
            if let Some(run) = items.find(|run: &Run| run.number == number) {
                return Ok(Some(run));
            }
            next = listing.next_page;
        }
        Ok(None)
    }

    pub(super) async fn jobs_of_run(&self, repo: &RepoId, run: u64) -> Result<Vec<Job>> {
        let result = self
            .repo_get(repo, &["actions", "runs", &run.to_string(), "jobs"])
            .what(format!("workflow run {run} of `{repo}`"))
            .all_of(self.likely_cap(), |answer| {
                let page: WireJobs = answer.json()?;
                let rows = page.jobs.into_iter().flatten();
                Ok((rows.map(|row| job(row, run)).collect(), page.total_count))
            })
            .await;
        match result {
            // Some versions answer a run that is not there with an empty list.
            Ok(jobs) if jobs.is_empty() => self.read_run(repo, run).await.map(|_| jobs),
            Err(ForgeError::NotFound { .. }) => {
                let known = self.read_run(repo, run).await?;
                if known.id == run || known.from_tasks {
                    return self.jobs_of_tasks(repo, &known).await;
                }
                Box::pin(self.jobs_of_run(repo, known.id)).await
            }
            other => other,
        }
    }

    pub(super) async fn tail_of_log(
        &self,
        repo: &RepoId,
        job: u64,
        max_bytes: usize,
    ) -> Result<LogTail> {
        let range = HeaderValue::try_from(format!("bytes=-{}", max_bytes.max(1)))
            .expect("a number fits into a header");
        let answer = self
            .repo_get(repo, &["actions", "jobs", &job.to_string(), "logs"])
            .header(http::header::RANGE, range)
            .tail(max_bytes)
            .what(format!("log of job {job} of `{repo}`"))
            .answer()
            .await?;
        match answer.status.as_u16() {
            // Nothing to give yet: the job waits, or its log is empty.
            404 if answer.says("not started") => Ok(LogTail::of(b"", false)),
            416 => Ok(LogTail::of(b"", false)),
            404 if answer.says("page not found") || !self.has_runs(repo).await? => {
                Err(ForgeError::Unsupported {
                    message: format!("this version of {} gives no job logs", self.rest.host()),
                    status: Some(404),
                })
            }
            206 => {
                let from_start = answer
                    .header("content-range")
                    .is_some_and(|r| r.trim_start().starts_with("bytes 0-"));
                Ok(LogTail::of(&answer.body, !from_start || answer.skipped > 0))
            }
            _ => {
                let answer = answer.ok()?;
                Ok(LogTail::of(&answer.body, answer.skipped > 0))
            }
        }
    }

    /// Whether the server has the list of runs at all
    async fn has_runs(&self, repo: &RepoId) -> Result<bool> {
        let call = self.repo_get(repo, &["actions", "runs"]).query("limit", 1);
        Ok(call.answer().await?.status.as_u16() != 404)
    }
}

pub(super) fn wire_runs(answer: &Answer) -> Result<(Vec<WireRun>, Option<u64>)> {
    let page: WireRuns = answer.json()?;
    let rows = page.workflow_runs.into_iter().flatten().collect();
    Ok((rows, page.total_count))
}

fn runs(answer: &Answer) -> Result<(Vec<Run>, Option<u64>)> {
    let (rows, total) = wire_runs(answer)?;
    Ok((rows.into_iter().map(Run::from).collect(), total))
}

fn fits(run: &Run, filter: &RunFilter) -> bool {
    filter.branch.as_ref().is_none_or(|b| *b == run.branch)
        && filter.event.as_ref().is_none_or(|e| *e == run.event)
        && filter
            .head_sha
            .as_ref()
            .is_none_or(|s| Some(s) == run.head_sha.as_ref())
}

fn job(row: WireJob, run: u64) -> Job {
    Job {
        id: row.id,
        run_id: if row.run_id == 0 { run } else { row.run_id },
        name: row.name,
        state: state(&row.status, &row.conclusion),
        html_url: row.html_url,
        from_task: false,
    }
}

/// Gitea has a status and a conclusion, Forgejo one word for both
fn state(status: &str, conclusion: &str) -> RunState {
    let word = if conclusion.is_empty() {
        status
    } else {
        conclusion
    };
    match word {
        "success" => RunState::Success,
        // `completed` without a conclusion is not known to be a success, so it counts as a failure.
        "failure" | "error" | "timed_out" | "startup_failure" | "completed" => RunState::Failure,
        "cancelled" | "canceled" | "cancelling" => RunState::Cancelled,
        "skipped" | "neutral" => RunState::Skipped,
        "running" | "in_progress" => RunState::Running,
        "action_required" => RunState::ActionRequired,
        _ => RunState::Queued,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> WireRun {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn both_shapes_of_a_run() {
        let gitea: Run = run(
            r#"{"id":7,"run_number":3,"display_title":"push","event":"push","head_branch":"main",
                "head_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","status":"completed",
                "conclusion":"failure","html_url":"http://h/r","started_at":"0001-01-01T00:00:00Z"}"#,
        )
        .into();
        assert_eq!(
            (gitea.id, gitea.number, gitea.state),
            (7, 3, RunState::Failure)
        );
        assert_eq!(gitea.created, None);
        let forgejo: Run = run(
            r#"{"id":7,"index_in_repo":3,"title":"t","event":"push","prettyref":"main",
                "commit_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","status":"running",
                "event_payload":"{}","created":"2026-01-01T00:00:00Z"}"#,
        )
        .into();
        assert_eq!((forgejo.number, forgejo.state), (3, RunState::Running));
        assert_eq!(forgejo.branch, "main");
        assert!(forgejo.head_sha.is_some() && forgejo.created.is_some());
        assert_eq!(state("blocked", ""), RunState::Queued);
        let held: Run = run(r#"{"id":7,"status":"blocked","need_approval":true}"#).into();
        assert_eq!(held.state, RunState::ActionRequired);
        assert_eq!(state("queued", ""), RunState::Queued);
        assert_eq!(state("completed", ""), RunState::Failure);
    }

    #[test]
    fn a_run_is_called_like_its_workflow() {
        let name = |text: &str| {
            let run = Run::from(run(text));
            (run.name, run.workflow)
        };
        let both = |text: &str| (text.to_owned(), text.to_owned());
        assert_eq!(
            name(r#"{"id":7,"display_title":"Fix it","path":"ci.yaml@refs/heads/main"}"#),
            both("ci.yaml")
        );
        assert_eq!(
            name(r#"{"id":7,"title":"Fix it","workflow_id":"lint.yaml"}"#),
            both("lint.yaml")
        );
        assert_eq!(
            name(r#"{"id":7,"display_title":"Fix it"}"#),
            ("Fix it".to_owned(), String::new())
        );
    }
}
