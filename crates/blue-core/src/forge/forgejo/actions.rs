//! Workflow runs, their jobs and logs
//!
//! Gitea and Forgejo differ in shape, and older servers have only a list of tasks.

use jiff::Timestamp;
use serde::Deserialize;

use super::{Forgejo, wire};
use crate::{
    forge::{
        ForgeError, Result,
        model::{Job, Listing, LogTail, Page, RepoId, Run, RunFilter, RunState, Sha},
    },
    http::HeaderValue,
};

#[derive(Debug, Deserialize)]
struct WireRuns {
    #[serde(default, deserialize_with = "wire::or_default")]
    workflow_runs: Vec<Option<WireRun>>,
    total_count: Option<u64>,
}

/// A run of Gitea, then what Forgejo calls the same; a task has Gitea's shape
#[derive(Debug, Deserialize, Clone, Default)]
#[serde(default)]
struct WireRun {
    id: u64,
    #[serde(deserialize_with = "wire::or_default")]
    run_number: u64,
    #[serde(deserialize_with = "wire::or_default")]
    display_title: String,
    #[serde(deserialize_with = "wire::or_default")]
    name: String,
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
    url: String,
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
            state: state(&row.status, &row.conclusion),
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
                let all = self.runs_of_tasks(repo).await?;
                let fitting = all.into_iter().filter(|run| fits(run, filter)).collect();
                return Ok(Listing::of_all(fitting, page));
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
        if self.has_runs(repo).await? {
            return Err(answer.into_error());
        }
        let found = self.runs_of_tasks(repo).await?;
        match found.into_iter().find(|run| run.id == id) {
            Some(run) => Ok(run),
            None => Err(answer.into_error()),
        }
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
                let tasks = self.tasks(repo).await?;
                let of_run = tasks.into_iter().filter(|t| t.run_number == known.number);
                Ok(of_run.map(|task| job_of_task(task, run)).collect())
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
        let message = answer.message();
        match answer.status.as_u16() {
            // Nothing to give yet: the job waits, or its log is empty.
            404 if message.contains("not started") => Ok(LogTail::of(b"", false)),
            416 => Ok(LogTail::of(b"", false)),
            404 if message.contains("page not found") || !self.has_runs(repo).await? => {
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

    async fn tasks(&self, repo: &RepoId) -> Result<Vec<WireRun>> {
        let result = self
            .repo_get(repo, &["actions", "tasks"])
            .all_of(self.likely_cap(), |answer| {
                let page: WireRuns = answer.json()?;
                let rows = page.workflow_runs.into_iter().flatten().collect();
                Ok((rows, page.total_count))
            })
            .await;
        match result {
            Err(ForgeError::NotFound { .. }) => {
                let found = self.wire_repo(repo).await?;
                let message = if found.has_actions == Some(false) {
                    format!("actions are switched off in `{repo}`")
                } else {
                    format!(
                        "this version of {} lists no workflow runs",
                        self.rest.host()
                    )
                };
                Err(ForgeError::Unsupported {
                    message,
                    status: Some(404),
                })
            }
            other => other,
        }
    }

    /// Tasks are jobs; those with one run number are one run, which then goes by that number
    async fn runs_of_tasks(&self, repo: &RepoId) -> Result<Vec<Run>> {
        Ok(group(self.tasks(repo).await?))
    }
}

fn group(mut tasks: Vec<WireRun>) -> Vec<Run> {
    tasks.sort_by_key(|t| std::cmp::Reverse(t.run_number));
    let mut runs: Vec<Run> = Vec::new();
    for mut task in tasks {
        task.id = task.run_number;
        let mut run = Run::from(task);
        run.from_tasks = true;
        match runs.last_mut() {
            Some(last) if last.number == run.number => last.state = worse(last.state, run.state),
            _ => runs.push(run),
        }
    }
    runs
}

/// A run goes on while one of its jobs does, and fails with the first that failed
fn worse(a: RunState, b: RunState) -> RunState {
    let rank = |s: RunState| match s {
        RunState::Running => 0,
        RunState::Queued => 1,
        RunState::ActionRequired => 2,
        RunState::Failure => 3,
        RunState::Cancelled => 4,
        RunState::Success => 5,
        RunState::Skipped => 6,
    };
    if rank(a) <= rank(b) { a } else { b }
}

fn runs(answer: &crate::forge::rest::Answer) -> Result<(Vec<Run>, Option<u64>)> {
    let page: WireRuns = answer.json()?;
    let rows = page.workflow_runs.into_iter().flatten();
    Ok((rows.map(Run::from).collect(), page.total_count))
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

fn job_of_task(task: WireRun, run: u64) -> Job {
    Job {
        id: task.id,
        run_id: run,
        name: task.name,
        state: state(&task.status, &task.conclusion),
        html_url: task.url,
        from_task: true,
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
        // An end that nobody knows is no good one.
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

    #[test]
    fn tasks_with_one_number_are_one_run() {
        let task = |id: u64, number: u64, status: &str| {
            run(&format!(
                r#"{{"id":{id},"run_number":{number},"name":"j","status":"{status}"}}"#
            ))
        };
        let runs = group(vec![
            task(1, 1, "success"),
            task(2, 2, "success"),
            task(3, 2, "failure"),
        ]);
        let seen: Vec<_> = runs.iter().map(|r| (r.id, r.state)).collect();
        assert_eq!(seen, [(2, RunState::Failure), (1, RunState::Success)]);
    }
}
