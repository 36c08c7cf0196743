//! `pr_verify`

mod blockers;
mod facts;
mod plan;
mod reviews;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{blockers::Tally, facts::Facts, reviews::Standing};
pub use self::{
    blockers::{Blocker, Code},
    plan::TestPlan,
};
use crate::{
    Cell, Cx, Effect, Page, Reply, Style, Tool, ToolError,
    args::{self, LONGEST_WAIT, RepoArgs},
    rows,
};
use blue_core::forge::model::{Mergeability, PullRequest};

/// How long the forge may compute where nothing is said; long enough to tell a conflict on any forge
const PATIENCE: u64 = 15;

#[derive(Debug)]
pub struct PrVerify;

/// Check whether a pull request can be merged, and what blocks it
///
/// Give its `head_sha` to `pr_merge`; wait for CI with `workflow_run_status`.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[command(visible_alias = "view", after_help = EXAMPLES)]
pub struct Input {
    #[command(flatten)]
    #[serde(flatten)]
    pub repo: RepoArgs,
    /// Number of the pull request
    #[arg(value_name = "NUMBER", value_parser = args::number)]
    #[schemars(description = "")]
    pub index: u64,
    /// Seconds to wait while the forge computes mergeability, at most 300 [default: 15]
    #[arg(long, visible_alias = "wait", value_name = "SECONDS", value_parser = args::wait::<u64>)]
    #[schemars(description = "while the forge computes; default 15, max 300")]
    pub wait_seconds: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  blue pr verify 12
  blue pr verify 12 --wait 60";

#[derive(Debug, Serialize, JsonSchema)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an answer of its own to those who ask"
)]
pub struct Output {
    /// `open`, `closed` or `merged`
    pub state: &'static str,
    pub mergeable: Mergeable,
    /// Absent when the head branch is gone
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_sha: Option<String>,
    pub base: String,
    pub checks: Checks,
    pub approvals: Approvals,
    pub draft: bool,
    pub conflicts: bool,
    /// The base has commits that the head has not
    pub behind: bool,
    pub test_plan: TestPlan,
    pub blockers: Vec<Blocker>,
    /// What the forge would do now for this caller
    pub can_merge: bool,
    /// The token may not read all of the rule or the checks
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    #[serde(skip)]
    #[schemars(skip)]
    about: About,
}

/// What only people are shown
#[derive(Debug, Default)]
struct About {
    number: u64,
    title: String,
    author: String,
    head: String,
    url: String,
    body: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mergeable {
    Yes,
    No,
    Checking,
}

/// How many there are; a required one that has not reported counts as pending
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Checks {
    pub required: usize,
    pub passed: usize,
    pub failed: usize,
    pub pending: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Approvals {
    pub required: u32,
    pub given: usize,
    pub changes_requested: usize,
}

impl Tool for PrVerify {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "pr_verify";
    const EFFECT: Effect = Effect::Read;

    async fn run(&self, cx: &Cx, input: Input) -> Result<Reply<Output>, ToolError> {
        let wait = input
            .wait_seconds
            .unwrap_or(PATIENCE)
            .min(LONGEST_WAIT.into());
        let repo = cx.repo(&input.repo).await?;
        let facts = facts::gather(cx, &repo, input.index, Duration::from_secs(wait)).await?;
        Ok(reply(facts))
    }

    fn page(output: &Output, page: &mut Page) {
        let about = &output.about;
        let title = format!("#{} {}", about.number, about.title);
        page.cell(Cell::new(&title, Style::Bold).linked(&about.url));
        let way = format!("{} → {} by {}", about.head, output.base, about.author);
        page.line(&way, Style::Dim);
        page.line(&about.url, Style::Dim);
        if !about.body.trim().is_empty() {
            page.blank();
            page.text(&about.body);
        }
        page.blank();
        let head = output.head_sha.as_deref().map_or("gone", rows::short);
        let state = if output.draft { "draft" } else { output.state };
        page.fields(&[
            ("State", state.into()),
            ("Head", head.into()),
            ("Behind", output.behind_cell()),
            ("Checks", output.checks.cell()),
            ("Approvals", output.approvals.cell()),
            ("Test plan", output.test_plan.cell()),
        ]);
        page.blank();
        match (output.can_merge, output.state) {
            (true, _) => page.line("It can be merged.", Style::Good),
            (false, "merged") => page.line("It is merged.", Style::Good),
            (false, _) => page.line("It cannot be merged now:", Style::Bad),
        };
        if output.state != "merged" {
            for blocker in &output.blockers {
                page.line(&format!("- {}", blocker.message), Style::Plain);
            }
        }
        if output.partial && output.state == "open" {
            let said = "Not all of the rule or the checks can be read.";
            page.line(said, Style::Dim);
        }
        if !output.test_plan.open.is_empty() {
            page.blank();
            page.line("Open in the test plan:", Style::Warn);
            for item in &output.test_plan.open {
                page.line(&format!("- {item}"), Style::Plain);
            }
        }
    }
}

impl Output {
    fn behind_cell(&self) -> Cell {
        if self.behind {
            Cell::new(&format!("{} has newer commits", self.base), Style::Warn)
        } else {
            Cell::new("no", Style::Dim)
        }
    }
}

impl Checks {
    fn cell(self) -> Cell {
        let Self {
            required,
            passed,
            failed,
            pending,
        } = self;
        let style = match (failed, pending) {
            (0, 0) => Style::Plain,
            (0, _) => Style::Warn,
            _ => Style::Bad,
        };
        let text =
            format!("{passed} passed, {failed} failed, {pending} pending; {required} required");
        Cell::new(&text, style)
    }
}

impl Approvals {
    fn cell(self) -> Cell {
        let Self {
            required,
            given,
            changes_requested,
        } = self;
        let asked = match changes_requested {
            0 => String::new(),
            n => format!("; changes requested by {n}"),
        };
        Cell::from(format!("{given} given, {required} required{asked}"))
    }
}

fn reply(facts: Facts) -> Reply<Output> {
    let tally = Tally::of(&facts);
    let standing = Standing::of(&facts.reviews, &facts.rule);
    let blockers = blockers::find(&facts, &tally, &standing);
    let plan = TestPlan::of(&facts.pr.body);
    let can_merge = blockers.is_empty();
    let todo = !plan.open.is_empty() && facts.is_open();
    let steps = steps(&facts.pr, &blockers, tally.counts.failed > 0, todo);
    let pr = facts.pr;
    let mut reply = Reply::from(Output {
        state: rows::pr_state(pr.state),
        mergeable: match facts.mergeability {
            Mergeability::Clean => Mergeable::Yes,
            Mergeability::Checking => Mergeable::Checking,
            _ => Mergeable::No,
        },
        head_sha: pr.head.sha.map(|sha| sha.to_string()),
        base: pr.base.branch,
        checks: tally.counts,
        approvals: Approvals {
            required: facts.rule.required_approvals,
            given: standing.approved.len(),
            changes_requested: standing.rejected.len(),
        },
        draft: pr.draft,
        conflicts: facts.mergeability == Mergeability::Conflict,
        behind: facts.behind,
        test_plan: plan,
        blockers,
        can_merge,
        partial: facts.rule.partial || facts.hidden_checks,
        about: About {
            number: pr.number,
            title: pr.title,
            author: pr.author,
            head: pr.head.branch,
            url: pr.html_url,
            body: pr.body,
        },
    });
    for step in steps {
        reply = reply.next(step);
    }
    reply
}

/// What to do about it
fn steps(pr: &PullRequest, blockers: &[Blocker], red: bool, todo: bool) -> Vec<String> {
    let has = |codes: &[Code]| blockers.iter().any(|blocker| codes.contains(&blocker.code));
    let known = |code| blockers.iter().any(|b| b.code == code && !b.doubt);
    let can_merge = blockers.is_empty();
    let doubts = !can_merge && blockers.iter().all(|blocker| blocker.doubt);
    let (number, base) = (pr.number, &pr.base.branch);
    let merge = match &pr.head.sha {
        Some(sha) => format!("pr_merge, index {number}, head_sha {sha}"),
        None => format!("pr_merge, index {number}"),
    };
    let steps = [
        (
            has(&[Code::Checking]),
            format!("The forge still computes: call pr_verify, index {number}, wait_seconds 60"),
        ),
        (
            has(&[Code::ChecksFailed]),
            format!("See why checks fail with workflow_run_status, index {number}"),
        ),
        (
            red && can_merge,
            format!(
                "Checks that are not required fail: see why with workflow_run_status, index {number}"
            ),
        ),
        (
            has(&[Code::ChecksPending, Code::ChecksMissing]),
            format!(
                "Wait for checks with workflow_run_status, index {number}, wait_seconds 300; \
                 then call pr_verify, index {number}"
            ),
        ),
        // No commit on the head takes a conflict away: only a merge, which no tool makes.
        (
            has(&[Code::Conflict]),
            format!(
                "Redo the change on a new branch with file_write_branch, base \"{base}\"; \
                 then pr_create"
            ),
        ),
        (
            known(Code::Behind),
            format!(
                "A person must bring the head up to date with `{base}`; then call pr_verify, index {number}"
            ),
        ),
        (
            has(&[Code::Draft]),
            format!("A person must mark it as ready; then call pr_verify, index {number}"),
        ),
        (
            has(&[Code::Queue]),
            format!(
                "A person must put it into the merge queue; pr_verify, index {number}, tells when it is merged"
            ),
        ),
        (
            todo,
            "Items of the test plan are open; they do not stop pr_merge: do and tick them first"
                .to_owned(),
        ),
        (
            doubts,
            format!(
                "The rule cannot be read: {merge} tries it, and the forge refuses what it forbids"
            ),
        ),
        (can_merge, format!("Merge with {merge}")),
    ];
    steps
        .into_iter()
        .filter_map(|(sensible, step)| sensible.then_some(step))
        .collect()
}
