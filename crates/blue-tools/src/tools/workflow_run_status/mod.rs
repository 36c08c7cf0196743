//! `workflow_run_status`

mod absence;
mod log;
mod look;
mod wait;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use look::{Look, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wait::{Real, Timer as _};

use crate::{
    Cell, Cx, Effect, ErrorCode, Page, Reply, Style, Tool, ToolError, Verdict,
    args::{self, LONGEST_WAIT, RepoArgs},
    path, pr_selector,
    rows::short,
};

#[derive(Debug)]
pub struct WorkflowRunStatus;

/// Show the CI status of a branch, commit, pull request or run
///
/// Default: the default branch. Failed jobs come with the end of their log.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[command(visible_alias = "status", after_help = EXAMPLES)]
pub struct Input {
    #[command(flatten)]
    #[serde(flatten)]
    pub repo: RepoArgs,
    /// Branch, at its last commit [default: the default branch]
    #[schemars(description = "")]
    pub branch: Option<String>,
    /// Commit
    #[arg(long, conflicts_with = "branch")]
    #[schemars(description = "")]
    pub sha: Option<String>,
    #[arg(skip)]
    #[schemars(description = "")]
    pub index: Option<u64>,
    /// Pull request, at its head commit: its number, URL or branch
    #[arg(
        id = "index",
        long = "index",
        visible_alias = "pr",
        value_name = "PR",
        conflicts_with_all = ["branch", "sha"]
    )]
    #[serde(skip)]
    pub pr: Option<String>,
    /// A single run
    #[arg(long, conflicts_with_all = ["branch", "sha", "index"])]
    #[schemars(description = "")]
    pub run_id: Option<u64>,
    /// Seconds to wait for success or failure, at most 300
    #[arg(long, visible_alias = "wait", value_name = "SECONDS", value_parser = args::wait::<u32>)]
    #[schemars(description = "Wait for an end, at most 300")]
    pub wait_seconds: Option<u32>,
}

const EXAMPLES: &str = "\
Examples:
  blue workflow run-status feature/discount --wait 300
  blue workflow run-status --pr 12

Exit status: 0 for success, 1 for failure, 8 while pending or if nothing
has run.";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    pub state: State,
    /// What the forge could be asked for
    pub source: Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_sha: Option<String>,
    /// Nothing will be reported: no workflow file, no required check, no status of late
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_ci: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunRow>,
    /// Statuses, where runs do not tell it all
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckRow>,
    /// Runs, checks and failed jobs that found no place
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<usize>,
    /// The token may not read all checks
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Seconds
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited: Option<u64>,
}

/// One word for everything that ran
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Success,
    Failure,
    Pending,
    /// Nothing was reported
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Runs,
    Tasks,
    Statuses,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct RunRow {
    pub id: u64,
    pub name: String,
    pub event: String,
    pub state: String,
    pub html_url: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_jobs: Vec<JobRow>,
    /// Why there are none, though it failed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_jobs: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct JobRow {
    pub name: String,
    /// Its last lines
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// Why there are none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_log: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckRow {
    pub context: String,
    pub state: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub html_url: String,
}

impl Tool for WorkflowRunStatus {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "workflow_run_status";
    const EFFECT: Effect = Effect::Read;

    async fn run(&self, cx: &Cx, input: Input) -> Result<Reply<Output>, ToolError> {
        let target = target(&input)?;
        let asked = target.arguments();
        let pr = match target {
            Target::Pr(number) => Some(number),
            _ => None,
        };
        let wait = input.wait_seconds.unwrap_or(0);
        if wait > LONGEST_WAIT {
            let message = format!("`wait_seconds` is {wait}, but at most {LONGEST_WAIT}");
            return Err(ToolError::new(ErrorCode::Invalid, message)
                .with_hint("wait several times for longer"));
        }
        let repo = cx.repo(&input.repo).await?;
        // A branch that moves meanwhile is not what was asked for.
        let of = look::settle(&repo, target).await?;
        let timer = Real::start();
        let total = f64::from(wait);
        let no_ci = AtomicBool::new(false);
        let seen: Look = wait::until_final(
            &timer,
            Duration::from_secs(wait.into()),
            || look::once(&repo, &of),
            async || {
                let left = absence::time_to_appear(&repo, &of).await;
                no_ci.store(left.is_none(), Ordering::Relaxed);
                left.unwrap_or_default()
            },
            |elapsed, seen: &Look| {
                if wait > 0 {
                    cx.progress(elapsed.as_secs_f64().min(total), Some(total), seen.words());
                }
            },
        )
        .await?;
        let waited = (wait > 0).then(|| timer.elapsed().as_secs());
        let mut output = look::tell(&repo, seen, &of, waited).await;
        let (state, waited) = (output.state, output.waited.is_some());
        output.no_ci = state == State::None && no_ci.into_inner();
        let silent = output
            .runs
            .iter()
            .find(|run| {
                run.state == "failure" && run.failed_jobs.is_empty() && run.no_jobs.is_none()
            })
            .filter(|_| output.runs.len() > 1);
        let held = output
            .runs
            .iter()
            .find(|run| run.state == "action_required");
        let wait = match held {
            // No waiting helps: a run of an unknown contributor begins when a person allows it.
            Some(run) => {
                let id = run.id;
                let page = &run.html_url;
                format!(
                    "A person must approve run {id} at {page}; then look with \
                     workflow_run_status, run_id {id}"
                )
            }
            None => format!("Wait with workflow_run_status, {asked}wait_seconds 300"),
        };
        let see = silent.map(|run| {
            let id = run.id;
            format!("See the failed jobs of another run with workflow_run_status, run_id {id}")
        });
        let mut reply = Reply::from(output)
            .next_if(see.is_some(), see.unwrap_or_default())
            .next_if(state == State::Pending, wait);
        let done = state == State::Success || state == State::None && waited;
        if let (true, Some(number)) = (done, pr) {
            reply = reply.next(format!(
                "Judge the pull request with pr_verify, index {number}"
            ));
        }
        Ok(reply)
    }

    fn verdict(output: &Output) -> Verdict {
        match output.state {
            State::Success => Verdict::Green,
            State::Failure => Verdict::Red,
            State::Pending | State::None => Verdict::Pending,
        }
    }

    async fn typed(&self, cx: &Cx, mut input: Input) -> Result<Input, ToolError> {
        if let Some(typed) = input.pr.take() {
            let number = pr_selector::number_of(cx, &mut input.repo, &typed).await?;
            input.index = Some(number);
        }
        Ok(input)
    }

    fn page(output: &Output, page: &mut Page) {
        let (word, style) = look_of(output.state);
        let of = short(output.commit_sha.as_deref().unwrap_or_default());
        let text = match output.state {
            State::None if output.no_ci => format!("No CI here: nothing has run for {of}"),
            State::None => format!("Nothing has run for {of}"),
            _ => format!("{word} for {of}"),
        };
        page.line(&text, style);
        if output.partial {
            page.line("Not all checks can be read.", Style::Dim);
        }
        let rows: Vec<Vec<Cell>> = output
            .runs
            .iter()
            .map(|run| {
                vec![
                    Cell::from(run.id.to_string()).linked(&run.html_url),
                    Cell::new(&run.state, style_of(&run.state)),
                    Cell::from(&run.name),
                    Cell::new(&run.event, Style::Dim),
                ]
            })
            .collect();
        if !rows.is_empty() {
            page.table(&["RUN", "STATE", "NAME", "EVENT"], rows);
        }
        let rows: Vec<Vec<Cell>> = output
            .checks
            .iter()
            .map(|check| {
                vec![
                    Cell::from(&check.context).linked(&check.html_url),
                    Cell::new(&check.state, style_of(&check.state)),
                    Cell::new(&check.description, Style::Dim),
                ]
            })
            .collect();
        if !rows.is_empty() {
            page.table(&["CHECK", "STATE", "DESCRIPTION"], rows);
        }
        for run in &output.runs {
            if let Some(why) = &run.no_jobs {
                page.line(&format!("{}: {why}", run.name), Style::Dim);
            }
        }
        for job in output.runs.iter().flat_map(|run| &run.failed_jobs) {
            page.blank();
            page.line(&format!("{} failed", job.name), Style::Bad);
            match (&job.log, &job.no_log) {
                (Some(log), _) => page.text(log),
                (None, Some(why)) => page.line(why, Style::Dim),
                (None, None) => page,
            };
        }
    }
}

fn look_of(state: State) -> (&'static str, Style) {
    match state {
        State::Success => ("success", Style::Good),
        State::Failure => ("failure", Style::Bad),
        State::Pending => ("pending", Style::Warn),
        State::None => ("none", Style::Dim),
    }
}

fn style_of(word: &str) -> Style {
    match word {
        "success" => Style::Good,
        "failure" | "cancelled" => Style::Bad,
        "skipped" => Style::Dim,
        _ => Style::Warn,
    }
}

/// What was asked about; models write empty texts and zeros for what they leave out
fn target(input: &Input) -> Result<Target, ToolError> {
    let text = |given: &Option<String>| given.clone().filter(|t| !t.trim().is_empty());
    let mut asked = Vec::new();
    if let Some(branch) = text(&input.branch) {
        asked.push(Target::Branch(path::of_branch(&branch)?.to_owned()));
    }
    if let Some(sha) = text(&input.sha) {
        asked.push(Target::Commit(sha.trim().to_owned()));
    }
    if let Some(number) = input.index.filter(|n| *n > 0) {
        asked.push(Target::Pr(number));
    }
    if let Some(id) = input.run_id.filter(|n| *n > 0) {
        asked.push(Target::Run(id));
    }
    match asked.pop() {
        None => Ok(Target::Default),
        Some(one) if asked.is_empty() => Ok(one),
        Some(_) => Err(ToolError::new(
            ErrorCode::Invalid,
            "more than one of `branch`, `sha`, `index` and `run_id` is given",
        )
        .with_hint("give the one that is meant")),
    }
}
