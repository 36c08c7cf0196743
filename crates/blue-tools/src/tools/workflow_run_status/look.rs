//! One look at everything that ran for a commit

use std::collections::HashMap;

use blue_forge::{
    ForgeError, ForgeType, glob,
    model::{Check, CheckState, Checks, Page, Run, RunFilter, RunState, Sha, Verdict},
};
use futures_util::future;

use super::{CheckRow, JobRow, Output, RunRow, Source, State, log, wait::Stateful};
use crate::{Repo, ToolError, reply};

/// Runs asked for at once
const RUNS: u32 = 50;
/// Most runs of one commit that are looked at
const MOST_RUNS: usize = 500;
/// Most rows of each kind that are told
const ROWS: usize = 20;
/// Most failed jobs whose log is told
const LOGS: usize = 3;
/// Longest name that is told
const NAME: usize = 100;
/// Bytes of a check in the list
const ROW: usize = 300;
/// Room for runs without their jobs, and for checks; jobs and logs have as much again
const ROOM: usize = 15_000;

/// What was asked about
#[derive(Debug)]
pub(super) enum Target {
    Default,
    Branch(String),
    Commit(String),
    Pr(u64),
    Run(u64),
}

impl Target {
    /// The argument that names it, as advice begins with it
    pub(super) fn arguments(&self) -> String {
        match self {
            Self::Default => String::new(),
            Self::Branch(name) => format!("branch \"{name}\", "),
            Self::Commit(rev) => format!("sha {rev}, "),
            Self::Pr(number) => format!("index {number}, "),
            Self::Run(id) => format!("run_id {id}, "),
        }
    }
}

/// What that is by now
#[derive(Debug)]
pub(super) enum Of {
    Commit(Sha, Required),
    Run(u64),
}

/// Checks that must report on a commit
#[derive(Debug)]
pub(super) enum Required {
    /// By the base of its pull request
    Known(Vec<String>),
    /// No pull request was named
    Unasked,
    /// The rule of the base cannot be read
    Unreadable,
}

impl Required {
    fn names(&self) -> &[String] {
        match self {
            Self::Known(names) => names,
            Self::Unasked | Self::Unreadable => &[],
        }
    }
}

/// What one look saw
#[derive(Debug)]
pub(super) struct Look {
    runs: Vec<Run>,
    checks: Checks,
    state: State,
}

impl Stateful for Look {
    fn state(&self) -> State {
        self.state
    }

    fn needs_approval(&self) -> bool {
        let mut open = self.runs.iter().filter(|run| !ended(run.state)).peekable();
        open.peek().is_some() && open.all(|run| run.state == RunState::ActionRequired)
    }
}

impl Look {
    fn new(mut runs: Vec<Run>, mut checks: Checks) -> Self {
        let gone = take_superseded(&mut runs);
        checks.items.retain(|check| {
            let of = |run: &Run| !run.html_url.is_empty() && is_below(&check.url, &run.html_url);
            !gone.iter().any(of)
        });
        let state = worse(of_runs(&runs), of_checks(&checks));
        Self {
            runs,
            checks,
            state,
        }
    }

    /// Progress message: what the call waits for
    pub(super) fn words(&self) -> String {
        let runs = self.runs.iter().filter(|run| ended(run.state)).count();
        let open = |c: &&Check| c.state == CheckState::Pending;
        let checks = self.checks.items.iter().filter(open).count();
        // Once the runs have ended, it is a check of another system that is waited for.
        let (done, all, what) = if runs == self.runs.len() && (runs == 0 || checks > 0) {
            let all = self.checks.items.len();
            (all - checks, all, "checks")
        } else {
            (runs, self.runs.len(), "runs")
        };
        match all {
            0 => "nothing has been reported yet".to_owned(),
            _ => format!("{done} of {all} {what} have ended"),
        }
    }
}

/// Take out what a newer run of the same workflow has replaced: it was cancelled for it, or is old
fn take_superseded(runs: &mut Vec<Run>) -> Vec<Run> {
    fn of(run: &Run) -> (&str, &str, &str) {
        (&run.workflow, &run.event, &run.branch)
    }
    let newer = |run: &Run, other: &Run| {
        of(run) == of(other) && (other.number, other.id) > (run.number, run.id)
    };
    let old: Vec<u64> = runs
        .iter()
        .filter(|run| !run.workflow.is_empty() && runs.iter().any(|other| newer(run, other)))
        .map(|run| run.id)
        .collect();
    runs.extract_if(.., |run| old.contains(&run.id)).collect()
}

fn is_below(url: &str, folder: &str) -> bool {
    url.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

fn ended(state: RunState) -> bool {
    !matches!(
        state,
        RunState::Queued | RunState::Running | RunState::ActionRequired
    )
}

fn failed(state: RunState) -> bool {
    matches!(state, RunState::Failure | RunState::Cancelled)
}

fn of_runs(runs: &[Run]) -> State {
    if runs.is_empty() {
        State::None
    } else if runs.iter().any(|run| failed(run.state)) {
        State::Failure
    } else if runs.iter().all(|run| ended(run.state)) {
        State::Success
    } else {
        State::Pending
    }
}

fn of_checks(checks: &Checks) -> State {
    match checks.verdict() {
        Verdict::Success => State::Success,
        Verdict::Failure => State::Failure,
        Verdict::Pending => State::Pending,
        Verdict::None => State::None,
    }
}

/// Green is only what is green everywhere
fn worse(a: State, b: State) -> State {
    let rank = |state| match state {
        State::Failure => 0,
        State::Pending => 1,
        State::Success => 2,
        State::None => 3,
    };
    if rank(a) <= rank(b) { a } else { b }
}

/// Find the commit or run that is meant
pub(super) async fn settle(repo: &Repo, target: Target) -> Result<Of, ToolError> {
    let (forge, id) = (&repo.forge, &repo.id);
    Ok(match target {
        Target::Default => Of::Commit(forge.resolve(id, "HEAD").await?, Required::Unasked),
        Target::Branch(name) => {
            Of::Commit(forge.get_branch(id, &name).await?.sha, Required::Unasked)
        }
        Target::Commit(rev) => Of::Commit(forge.resolve(id, &rev).await?, Required::Unasked),
        Target::Pr(number) => {
            let pr = forge.get_pr(id, number).await?;
            let Some(sha) = pr.head.sha else {
                return Err(ForgeError::NotFound {
                    host: forge.host().clone(),
                    what: format!("the head of pull request #{number} of `{id}`"),
                    status: None,
                }
                .into());
            };
            // Without the rule, what has reported must do.
            let rule = forge.protection(id, &pr.base.branch).await;
            let required = rule.map(|rule| Required::Known(rule.required_checks));
            Of::Commit(sha, required.unwrap_or(Required::Unreadable))
        }
        Target::Run(run) => Of::Run(run),
    })
}

/// Look once
pub(super) async fn once(repo: &Repo, of: &Of) -> Result<Look, ToolError> {
    match of {
        Of::Run(id) => {
            let run = repo.forge.get_run(&repo.id, *id).await?;
            Ok(Look::new(vec![run], Checks::default()))
        }
        Of::Commit(sha, required) => {
            // A run says nothing of what others report, and statuses hide what has no status.
            let (runs, checks) = future::join(
                runs_of(repo, sha),
                repo.forge.checks(&repo.id, sha.as_str()),
            )
            .await;
            let mut checks = checks?;
            let absent = absent(
                required.names(),
                &checks,
                repo.forge.forge_type() != ForgeType::GitHub,
            );
            checks.items.extend(absent);
            let runs = match runs {
                // Without runs, or without the right to see them, the statuses must do.
                Err(
                    ForgeError::Unsupported { .. }
                    | ForgeError::NotFound { .. }
                    | ForgeError::Forbidden { .. }
                    | ForgeError::Unauthorized { .. },
                ) => Vec::new(),
                other => other?,
            };
            Ok(Look::new(runs, checks))
        }
    }
}

/// Every run of a commit: the one that failed may be on any page
async fn runs_of(repo: &Repo, sha: &Sha) -> Result<Vec<Run>, ForgeError> {
    let filter = RunFilter {
        head_sha: Some(sha.clone()),
        ..RunFilter::default()
    };
    let mut runs = Vec::new();
    let mut next = Some(1);
    while let Some(number) = next
        && runs.len() < MOST_RUNS
    {
        let page = Page::new(number, RUNS);
        let part = repo.forge.list_runs(&repo.id, &filter, page).await?;
        runs.extend(part.items);
        next = part.next_page;
    }
    Ok(runs)
}

/// Required checks that have no status yet: CI that has not started must not look finished
fn absent(required: &[String], checks: &Checks, globs: bool) -> Vec<Check> {
    let mut budget = glob::CallBudget::default();
    let mut is_there = |wanted: &String| {
        let mut fits =
            |context: &str| context == *wanted || globs && budget.matches(wanted, context, &[]);
        checks.items.iter().any(|check| fits(&check.context))
    };
    // What may not be read cannot be missed.
    required
        .iter()
        .filter(|wanted| !checks.partial && !is_there(wanted))
        .map(|wanted| Check {
            context: wanted.clone(),
            state: CheckState::Pending,
            description: "required, and not reported yet".to_owned(),
            url: String::new(),
            app: None,
        })
        .collect()
}

/// Tell what was seen, with what failed and why
pub(super) async fn tell(repo: &Repo, seen: Look, of: &Of, waited: Option<u64>) -> Output {
    let source = match seen.runs.first() {
        None => Source::Statuses,
        Some(run) if run.from_tasks => Source::Tasks,
        Some(_) => Source::Runs,
    };
    let sha = match of {
        Of::Commit(sha, _) => Some(sha.clone()),
        Of::Run(_) => seen.runs.first().and_then(|run| run.head_sha.clone()),
    };
    let explained = of_runs(&seen.runs);
    let partial = seen.checks.partial;
    let mut checks: Vec<CheckRow> = seen
        .checks
        .items
        .into_iter()
        // Beside runs, only what makes the state worse than theirs.
        .filter(|check| explained == State::None || explained != seen.state && is_bad(check.state))
        .map(check_row)
        .collect();
    let mut runs = seen.runs;
    runs.sort_by_key(|run| !failed(run.state));
    let all = runs.len() + checks.len();
    runs.truncate(ROWS);
    checks.sort_by_key(|check| check.state != "failure");
    checks.truncate(ROWS);
    let Failed {
        mut jobs,
        mut unknown,
        more,
    } = match seen.state {
        State::Failure => failed_jobs(repo, &runs).await,
        _ => Failed::default(),
    };
    let mut rows: Vec<RunRow> = runs.into_iter().map(run_row).collect();
    reply::fit(&mut rows, ROOM);
    reply::fit(&mut checks, ROOM);
    for row in &mut rows {
        row.failed_jobs = jobs
            .extract_if(.., |(run, _)| *run == row.id)
            .map(|(_, job)| job)
            .collect();
        row.no_jobs = unknown.remove(&row.id);
    }
    let left_out = all - rows.len() - checks.len() + more;
    Output {
        state: seen.state,
        source,
        commit_sha: sha.map(|sha| sha.to_string()),
        no_ci: false,
        runs: rows,
        checks,
        left_out: (left_out > 0).then_some(left_out),
        partial,
        waited,
    }
}

fn is_bad(state: CheckState) -> bool {
    matches!(state, CheckState::Failure | CheckState::Pending)
}

/// Jobs that failed
#[derive(Debug, Default)]
struct Failed {
    /// The first of them, each with its run and the end of its log
    jobs: Vec<(u64, JobRow)>,
    /// Why there are none of a run that failed
    unknown: HashMap<u64, String>,
    /// How many there are beside the first
    more: usize,
}

/// Find the jobs that failed
///
/// Whatever is missing of it is said in its place: the state is known all the same.
async fn failed_jobs(repo: &Repo, runs: &[Run]) -> Failed {
    let (forge, id) = (&repo.forge, &repo.id);
    // A run may go on after one of its jobs has failed.
    let bad: Vec<&Run> = runs
        .iter()
        .filter(|run| failed(run.state) || run.state == RunState::Running)
        .take(LOGS)
        .collect();
    let lists = future::join_all(bad.iter().map(|run| forge.list_jobs(id, run.id))).await;
    let (mut jobs, mut unknown) = (Vec::new(), HashMap::new());
    for (run, list) in bad.into_iter().zip(lists) {
        let list = match list {
            Ok(list) => list,
            Err(error) => {
                unknown.insert(run.id, short(&error.to_string()));
                continue;
            }
        };
        let one = |state: RunState| list.iter().filter(move |job| job.state == state);
        let broken: Vec<_> = one(RunState::Failure).collect();
        let of_run = if broken.is_empty() {
            one(RunState::Cancelled).collect()
        } else {
            broken
        };
        if of_run.is_empty() && failed(run.state) {
            let why = "none of its jobs failed: its page says more";
            unknown.insert(run.id, why.to_owned());
        }
        jobs.extend(of_run.into_iter().map(|job| (run.id, job.clone())));
    }
    let more = jobs.len().saturating_sub(ROWS);
    let told = jobs.into_iter().take(ROWS).enumerate();
    let jobs = future::join_all(told.map(|(n, (run, job))| async move {
        let mut row = JobRow {
            name: short(&job.name),
            log: None,
            no_log: None,
        };
        if n < LOGS && job.from_task {
            let why = "the API of this server has no job logs: the page of the run shows it";
            row.no_log = Some(why.to_owned());
        } else if n < LOGS {
            match forge.job_log(id, job.id, log::FETCH).await {
                Ok(tail) => row.log = Some(log::last_lines(&tail.text, tail.cut)),
                Err(error) => row.no_log = Some(short(&error.to_string())),
            }
            if row.log.take_if(|text| text.is_empty()).is_some() {
                row.no_log = Some("its log is empty".to_owned());
            }
        }
        (run, row)
    }))
    .await;
    Failed {
        jobs,
        unknown,
        more,
    }
}

fn run_row(run: Run) -> RunRow {
    let state = match run.state {
        RunState::Queued => "queued",
        RunState::Running => "running",
        RunState::ActionRequired => "action_required",
        RunState::Success => "success",
        RunState::Failure => "failure",
        RunState::Cancelled => "cancelled",
        RunState::Skipped => "skipped",
    };
    RunRow {
        id: run.id,
        name: short(&run.name),
        event: run.event,
        state: state.to_owned(),
        html_url: run.html_url,
        failed_jobs: Vec::new(),
        no_jobs: None,
    }
}

fn check_row(check: Check) -> CheckRow {
    let state = match check.state {
        CheckState::Success => "success",
        CheckState::Failure => "failure",
        CheckState::Pending => "pending",
        CheckState::Skipped => "skipped",
    };
    let mut row = CheckRow {
        context: short(&check.context),
        state: state.to_owned(),
        description: short(&check.description),
        html_url: check.url,
    };
    // Words can be done without, and half a link leads nowhere.
    let is_long = |row: &CheckRow| serde_json::to_string(row).map_or(0, |text| text.len()) > ROW;
    if is_long(&row) {
        row.description.clear();
    }
    if is_long(&row) {
        row.html_url.clear();
    }
    row
}

fn short(text: &str) -> String {
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(NAME).collect();
    if chars.next().is_some() {
        start + "…"
    } else {
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(state: RunState) -> Run {
        Run {
            id: 1,
            number: 1,
            name: "ci".to_owned(),
            workflow: String::new(),
            event: "push".to_owned(),
            branch: "main".to_owned(),
            head_sha: None,
            state,
            html_url: String::new(),
            created: None,
            from_tasks: false,
        }
    }

    fn check(state: CheckState) -> Check {
        Check {
            context: "ci".to_owned(),
            state,
            description: String::new(),
            url: String::new(),
            app: None,
        }
    }

    #[test]
    fn who_waits_hears_what_is_waited_for() {
        use CheckState as C;
        use RunState as R;
        let look = |runs: &[RunState], checks: &[CheckState]| {
            let items = checks.iter().map(|state| check(*state)).collect();
            let reported = Checks {
                items,
                partial: false,
            };
            Look::new(runs.iter().map(|state| run(*state)).collect(), reported).words()
        };
        for (runs, checks, words) in [
            (&[][..], &[][..], "nothing has been reported yet"),
            (&[], &[C::Pending], "0 of 1 checks have ended"),
            (&[R::Running], &[], "0 of 1 runs have ended"),
            (
                &[R::Success, R::Running],
                &[C::Pending],
                "1 of 2 runs have ended",
            ),
            (
                &[R::Success],
                &[C::Success, C::Pending],
                "1 of 2 checks have ended",
            ),
        ] {
            assert_eq!(look(runs, checks), words);
        }
    }

    #[test]
    fn a_row_stays_small_and_a_link_whole() {
        for (description, url, kept) in [(20, 60, (20, 60)), (500, 60, (0, 60)), (500, 500, (0, 0))]
        {
            let row = check_row(Check {
                context: "c".repeat(90),
                description: "ä".repeat(description),
                url: "u".repeat(url),
                ..check(CheckState::Failure)
            });
            assert!(serde_json::to_string(&row).unwrap().len() <= ROW);
            assert_eq!((row.description.chars().count(), row.html_url.len()), kept);
        }
    }

    #[test]
    fn one_word_for_all_of_it() {
        use CheckState as C;
        use RunState as R;
        for (runs, checks, state) in [
            (&[][..], &[][..], State::None),
            (&[R::Success, R::Skipped], &[], State::Success),
            (&[R::Success, R::Running], &[], State::Pending),
            (&[R::Queued, R::Failure], &[], State::Failure),
            (&[R::Cancelled], &[], State::Failure),
            (&[], &[C::Success], State::Success),
            (&[R::Success], &[C::Pending], State::Pending),
            (&[R::Success], &[C::Failure], State::Failure),
            (&[R::Queued], &[C::Success], State::Pending),
            (&[R::Success, R::ActionRequired], &[], State::Pending),
        ] {
            let items = checks.iter().map(|c| check(*c)).collect();
            let reported = Checks {
                items,
                partial: false,
            };
            let look = Look::new(runs.iter().map(|r| run(*r)).collect(), reported);
            assert_eq!(look.state, state, "{runs:?} {checks:?}");
        }
    }

    #[test]
    fn a_newer_run_of_the_same_workflow_replaces_the_older() {
        use RunState as R;
        let one = |id: u64, workflow: &str, event: &str, branch: &str, state| Run {
            id,
            number: id,
            workflow: workflow.to_owned(),
            event: event.to_owned(),
            branch: branch.to_owned(),
            html_url: format!("https://h/runs/{id}"),
            ..run(state)
        };
        let judged = |runs: Vec<Run>, checks: Checks| {
            let look = Look::new(runs, checks);
            let left: Vec<u64> = look.runs.iter().map(|run| run.id).collect();
            (look.state, left)
        };
        let first = || one(1, "ci", "push", "main", R::Cancelled);
        for (other, state, left) in [
            (
                one(2, "ci", "push", "main", R::Success),
                State::Success,
                vec![2],
            ),
            (
                one(2, "ci", "push", "main", R::Running),
                State::Pending,
                vec![2],
            ),
            (
                one(2, "ci", "push", "main", R::Failure),
                State::Failure,
                vec![2],
            ),
            (
                one(2, "lint", "push", "main", R::Success),
                State::Failure,
                vec![2, 1],
            ),
            (
                one(2, "ci", "pull_request", "main", R::Success),
                State::Failure,
                vec![2, 1],
            ),
            (
                one(2, "ci", "push", "topic", R::Success),
                State::Failure,
                vec![2, 1],
            ),
            (
                one(2, "", "push", "main", R::Success),
                State::Failure,
                vec![2, 1],
            ),
        ] {
            let told = format!("{other:?}");
            let seen = judged(vec![other, first()], Checks::default());
            assert_eq!(seen, (state, left), "{told}");
        }
        // Its jobs are checks as well, and as old.
        let of_run = |id: u64, state| Check {
            url: format!("https://h/runs/{id}/job/7"),
            ..check(state)
        };
        let second = || one(11, "ci", "push", "main", R::Success);
        let (red, green) = (CheckState::Failure, CheckState::Success);
        for (id, state) in [(1, State::Success), (11, State::Failure)] {
            let items = vec![of_run(id, red), of_run(12, green)];
            let seen = judged(
                vec![second(), first()],
                Checks {
                    items,
                    partial: false,
                },
            );
            assert_eq!(seen, (state, vec![11]), "{id}");
        }
    }
}
