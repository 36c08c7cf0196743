//! Runs and jobs where the server lists tasks only
//!
//! A task is one attempt of one job. A job that has not begun has no task, and a re-run adds tasks
//! beside those of the attempts before. So the newest attempt of each job counts, and whatever the
//! tasks cannot tell, the statuses of the commit do: the server keeps one per job, from the moment
//! that the run is made.

use std::collections::{HashMap, HashSet};

use futures_util::{StreamExt as _, stream};

use super::{Forgejo, actions::WireRun};
use crate::{
    ForgeError, Result,
    model::{Check, CheckState, Job, Listing, Page, RepoId, Run, RunState, Sha},
};

/// Requests for statuses at once
const CHECKS_AT_ONCE: usize = 6;

/// A run with its jobs, as its tasks tell them
#[derive(Debug, Clone)]
pub(super) struct TaskRun {
    pub(super) run: Run,
    jobs: Vec<Job>,
}

impl Forgejo {
    /// Lists runs put together from tasks; each goes by its number
    pub(super) async fn page_of_tasks(
        &self,
        repo: &RepoId,
        page: Page,
        fits: impl Fn(&Run) -> bool,
    ) -> Result<Listing<Run>> {
        let all = group(self.tasks(repo).await?);
        let fitting = all.into_iter().filter(|found| fits(&found.run)).collect();
        let listing: Listing<TaskRun> = Listing::of_all(fitting, page);
        // Mostly all runs are of one commit.
        let shas: HashSet<Sha> = listing
            .items
            .iter()
            .filter_map(|found| found.run.head_sha.clone())
            .collect();
        let checks: HashMap<Sha, Vec<Check>> = stream::iter(shas)
            .map(|sha| async move {
                let checks = self.statuses_of(repo, &sha).await;
                (sha, checks)
            })
            .buffer_unordered(CHECKS_AT_ONCE)
            .collect()
            .await;
        let items = listing.items.into_iter().map(|found| {
            let of_commit = found.run.head_sha.as_ref().and_then(|sha| checks.get(sha));
            let own = own_checks(of_commit.map_or(&[], Vec::as_slice), repo, &found.run);
            correct(found, &own).run
        });
        Ok(Listing {
            items: items.collect(),
            next_page: listing.next_page,
            total: listing.total,
        })
    }

    /// Returns the run with this number, if a task of it is there
    pub(super) async fn run_of_tasks(&self, repo: &RepoId, number: u64) -> Result<Option<Run>> {
        let all = group(self.tasks(repo).await?);
        match all.into_iter().find(|found| found.run.number == number) {
            Some(found) => Ok(Some(self.corrected(repo, found).await.run)),
            None => Ok(None),
        }
    }

    /// Lists the jobs of a run by their tasks, and those that have none by their status
    pub(super) async fn jobs_of_tasks(&self, repo: &RepoId, run: &Run) -> Result<Vec<Job>> {
        let all = group(self.tasks(repo).await?);
        let found = all
            .into_iter()
            .find(|found| found.run.number == run.number)
            .unwrap_or(TaskRun {
                run: run.clone(),
                jobs: Vec::new(),
            });
        let found = TaskRun {
            run: run.clone(),
            ..found
        };
        let mut jobs = self.corrected(repo, found).await.jobs;
        for job in &mut jobs {
            job.run_id = run.id;
        }
        Ok(jobs)
    }

    /// Holds a run against the statuses of its commit; without them the tasks must do
    async fn corrected(&self, repo: &RepoId, found: TaskRun) -> TaskRun {
        let Some(sha) = found.run.head_sha.clone() else {
            return found;
        };
        let checks = self.statuses_of(repo, &sha).await;
        let own = own_checks(&checks, repo, &found.run);
        correct(found, &own)
    }

    /// Reads the statuses of a commit; none where the caller may not
    async fn statuses_of(&self, repo: &RepoId, sha: &Sha) -> Vec<Check> {
        match self.read_checks(repo, sha).await {
            Ok(checks) => checks.items,
            Err(error) => {
                tracing::debug!(%error, "the statuses of a run cannot be read");
                Vec::new()
            }
        }
    }

    pub(super) async fn tasks(&self, repo: &RepoId) -> Result<Vec<WireRun>> {
        let result = self
            .repo_get(repo, &["actions", "tasks"])
            .all_of(self.likely_cap(), super::actions::wire_runs)
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
}

/// The statuses that the jobs of a run report
fn own_checks(checks: &[Check], repo: &RepoId, run: &Run) -> Vec<Check> {
    let own = |check: &&Check| run_number_in(&check.url, repo) == Some(run.number);
    checks.iter().filter(own).cloned().collect()
}

/// Puts tasks with one run number together, newest run first; of each job the newest attempt stays
pub(super) fn group(mut tasks: Vec<WireRun>) -> Vec<TaskRun> {
    tasks.sort_by_key(|task| std::cmp::Reverse((task.run_number, task.id)));
    let mut runs: Vec<TaskRun> = Vec::new();
    let mut seen = HashSet::new();
    for mut task in tasks {
        if !seen.insert((task.run_number, task.name.clone())) {
            continue;
        }
        let job = Job {
            id: task.id,
            run_id: task.run_number,
            name: task.name.clone(),
            state: task.state(),
            html_url: task.url.clone(),
            from_task: true,
        };
        task.id = task.run_number;
        let mut run = Run::from(task);
        run.from_tasks = true;
        match runs.last_mut() {
            Some(last) if last.run.number == run.number => {
                last.run.state = worse(last.run.state, run.state);
                last.jobs.push(job);
            }
            _ => runs.push(TaskRun {
                run,
                jobs: vec![job],
            }),
        }
    }
    runs
}

/// A run goes on while one of its jobs does, and fails with the first that failed
fn worse(a: RunState, b: RunState) -> RunState {
    let rank = |state: RunState| match state {
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

fn correct(mut found: TaskRun, own: &[Check]) -> TaskRun {
    if own.is_empty() {
        return found;
    }
    let event = found.run.event.clone();
    for job in &mut found.jobs {
        let check = own.iter().find(|check| is_of_job(check, &job.name, &event));
        // It runs again, and the new attempt has no task yet.
        if check.is_some_and(|check| check.state == CheckState::Pending) && is_over(job.state) {
            job.state = RunState::Queued;
        }
    }
    for check in own.iter().filter(|c| c.state == CheckState::Pending) {
        let known = |job: &Job| is_of_job(check, &job.name, &event);
        if own.len() > found.jobs.len() && !found.jobs.iter().any(known) {
            found.jobs.push(Job {
                id: 0,
                run_id: found.run.number,
                name: job_name(&check.context, &event).to_owned(),
                state: RunState::Queued,
                html_url: check.url.clone(),
                from_task: true,
            });
        }
    }
    let any = |state| own.iter().any(|check| check.state == state);
    let state = found.run.state;
    found.run.state = if any(CheckState::Pending) {
        if is_over(state) {
            RunState::Running
        } else {
            state
        }
    } else if any(CheckState::Failure) {
        match state {
            RunState::Cancelled => RunState::Cancelled,
            _ => RunState::Failure,
        }
    } else if any(CheckState::Success) {
        RunState::Success
    } else {
        RunState::Skipped
    };
    found
}

fn is_over(state: RunState) -> bool {
    !matches!(
        state,
        RunState::Queued | RunState::Running | RunState::ActionRequired
    )
}

/// `build` of `ci / build (push)`; the whole of any other context
fn job_name<'a>(context: &'a str, event: &str) -> &'a str {
    let end = format!(" ({event})");
    let Some(start) = context.strip_suffix(end.as_str()) else {
        return context;
    };
    start.split_once(" / ").map_or(start, |(_, job)| job)
}

fn is_of_job(check: &Check, name: &str, event: &str) -> bool {
    let context = check.context.as_str();
    let start = context.strip_suffix(format!(" ({event})").as_str());
    context == name
        || start.is_some_and(|start| {
            start == name || start.strip_suffix(name).is_some_and(|s| s.ends_with(" / "))
        })
}

/// The number of the run that a status of this repository links to
fn run_number_in(url: &str, repo: &RepoId) -> Option<u64> {
    let (before, after) = url.split_once("/actions/runs/")?;
    let home = format!("/{repo}").to_lowercase();
    if !before.to_lowercase().ends_with(&home) {
        return None;
    }
    after.split(['/', '?', '#']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: u64, number: u64, name: &str, status: &str) -> WireRun {
        let text = format!(
            r#"{{"id":{id},"run_number":{number},"name":"{name}","status":"{status}","event":"push"}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn check(context: &str, state: CheckState) -> Check {
        Check {
            context: context.to_owned(),
            state,
            description: String::new(),
            url: String::new(),
            app: None,
        }
    }

    #[test]
    fn tasks_with_one_number_are_one_run() {
        let runs = group(vec![
            task(1, 1, "a", "success"),
            task(2, 2, "a", "success"),
            task(3, 2, "b", "failure"),
        ]);
        let seen: Vec<_> = runs.iter().map(|r| (r.run.id, r.run.state)).collect();
        assert_eq!(seen, [(2, RunState::Failure), (1, RunState::Success)]);
    }

    #[test]
    fn newest_attempt_of_a_job_decides() {
        let runs = group(vec![
            task(1, 1, "a", "failure"),
            task(3, 1, "a", "success"),
            task(2, 1, "b", "success"),
        ]);
        assert_eq!(runs[0].run.state, RunState::Success);
        assert_eq!(runs[0].jobs.len(), 2);
    }

    #[test]
    fn statuses_tell_what_tasks_cannot() {
        use CheckState as C;
        let one = || group(vec![task(1, 1, "a", "success")]).remove(0);
        for (checks, state, jobs) in [
            (vec![], RunState::Success, 1),
            (
                vec![check("ci / a (push)", C::Success)],
                RunState::Success,
                1,
            ),
            (
                vec![check("ci / a (push)", C::Pending)],
                RunState::Running,
                1,
            ),
            (
                vec![
                    check("ci / a (push)", C::Success),
                    check("ci / b (push)", C::Pending),
                ],
                RunState::Running,
                2,
            ),
            (
                vec![check("ci / a (push)", C::Failure)],
                RunState::Failure,
                1,
            ),
        ] {
            let found = correct(one(), &checks);
            let seen = (found.run.state, found.jobs.len());
            assert_eq!(seen, (state, jobs), "{checks:?}");
        }
    }

    #[test]
    fn names_and_numbers_of_statuses() {
        assert_eq!(job_name("ci / build (push)", "push"), "build");
        assert_eq!(job_name("ci/build", "push"), "ci/build");
        let repo = RepoId::parse("Alice", "demo").unwrap();
        for (url, number) in [
            ("https://h/alice/demo/actions/runs/12/jobs/0", Some(12)),
            ("https://h/sub/alice/demo/actions/runs/3", Some(3)),
            ("https://h/bob/demo/actions/runs/12/jobs/0", None),
            ("https://ci.example.org/1", None),
        ] {
            assert_eq!(run_number_in(url, &repo), number, "{url}");
        }
    }
}
