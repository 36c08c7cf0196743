//! `pr_verify`

mod blockers;
mod facts;
mod plan;
mod reviews;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::{
    blockers::{Blocker, Code},
    plan::TestPlan,
};
use self::{
    blockers::{Obstacles, Tally},
    facts::Facts,
    reviews::Standing,
};
use crate::{
    Cell, Cx, Effect, Page, Reply, Repo, Style, Tool, ToolError, Verdict,
    args::{self, LONGEST_WAIT, RepoArgs},
    error::conflict_advice,
    pr_selector::PrSelector,
    rows,
};
use blue_forge::model::{MergeStyles, Mergeability};

/// How long the forge may compute where nothing is said; long enough to tell a conflict on any forge
const PATIENCE: u64 = 15;
/// Characters of a body that are told
const MAX_BODY_CHARS: usize = 2_000;

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
    #[arg(skip)]
    #[schemars(description = "")]
    pub index: u64,
    #[command(flatten)]
    #[serde(skip)]
    pub which: PrSelector,
    /// Seconds to wait while the forge computes mergeability, at most 300 [default: 15]
    #[arg(long, visible_alias = "wait", value_name = "SECONDS", value_parser = args::wait::<u64>)]
    #[schemars(description = "while the forge computes; default 15, max 300")]
    pub wait_seconds: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  blue pr verify 12
  blue pr verify 12 --wait 60

Exit status: 0 if it can be merged or is merged, 1 if it is blocked, 8 if
checks are pending or the verdict is unknown; `blue pr view` always ends
with 0.";

#[derive(Debug, Serialize, JsonSchema)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an answer of its own to those who ask"
)]
pub struct Output {
    pub number: u64,
    pub title: String,
    pub author: String,
    pub html_url: String,
    /// `open`, `closed` or `merged`
    pub state: &'static str,
    pub mergeable: Mergeable,
    /// Absent where a push made the pull request, without a branch
    #[serde(skip_serializing_if = "String::is_empty")]
    pub head_branch: String,
    /// Absent when the head branch is gone
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_sha: Option<String>,
    pub base_branch: String,
    pub checks: Checks,
    pub approvals: Approvals,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub conflicts: bool,
    /// The base has commits that the head has not
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub behind: bool,
    /// Absent when the body has no task list
    #[serde(skip_serializing_if = "TestPlan::is_none")]
    pub test_plan: TestPlan,
    /// Known to block
    pub blockers: Vec<Blocker>,
    /// May block: could not be read
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<Blocker>,
    /// Rules that are not met, and that the caller may bypass
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bypass: Vec<Blocker>,
    /// What the forge would do now for this caller
    pub can_merge: CanMerge,
    /// The token may not read all of the rule or the checks
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body: String,
}

/// The verdict: `no` only with blockers that are known
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CanMerge {
    Yes,
    No,
    Unknown,
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
        let reply = reply(facts);
        if reply.result.waits_for_rules() {
            note_scheduled_merge(cx, &repo, input.index).await;
        }
        Ok(reply)
    }

    fn verdict(output: &Output) -> Verdict {
        let waits =
            |blocker: &Blocker| matches!(blocker.code, Code::ChecksPending | Code::ChecksMissing);
        match output.can_merge {
            _ if output.state == "merged" => Verdict::Green,
            CanMerge::Yes => Verdict::Green,
            CanMerge::Unknown => Verdict::Pending,
            CanMerge::No if output.blockers.iter().all(waits) => Verdict::Pending,
            CanMerge::No => Verdict::Red,
        }
    }

    async fn typed(&self, cx: &Cx, mut input: Input) -> Result<Input, ToolError> {
        input.index = input.which.number(cx, &mut input.repo).await?;
        Ok(input)
    }

    fn page(output: &Output, page: &mut Page) {
        let title = format!("#{} {}", output.number, output.title);
        page.cell(Cell::new(&title, Style::Bold).linked(&output.html_url));
        // A pull request that a push made (AGit) has no branch.
        let head = match output.head_branch.as_str() {
            "" => "a push",
            branch => branch,
        };
        let way = format!("{head} → {} by {}", output.base_branch, output.author);
        page.line(&way, Style::Dim);
        page.line(&output.html_url, Style::Dim);
        if !output.body.trim().is_empty() {
            page.blank();
            page.text(&output.body);
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
        output.verdict_lines(page);
        if !output.test_plan.open.is_empty() {
            page.blank();
            page.line("Open in the test plan:", Style::Warn);
            for item in &output.test_plan.open {
                page.line(&format!("- {item}"), Style::Plain);
            }
        }
    }
}

/// Says that the forge will merge by itself, which it tells nowhere else
async fn note_scheduled_merge(cx: &Cx, repo: &Repo, number: u64) {
    match repo.forge.scheduled_merge(&repo.id, number).await {
        Ok(Some(by)) => cx.note(format!(
            "a merge of #{number} is scheduled by {by}: the forge merges it when its checks pass"
        )),
        Ok(None) => {}
        // The verdict is whole without it.
        Err(error) => tracing::debug!(%error, "cannot tell whether a merge is scheduled"),
    }
}

impl Output {
    /// Whether it is open and something is still to come that a scheduled merge could wait for
    fn waits_for_rules(&self) -> bool {
        let awaited = |blocker: &Blocker| {
            matches!(
                blocker.code,
                Code::ChecksPending | Code::ChecksMissing | Code::ChecksFailed | Code::Approvals
            )
        };
        self.state == "open" && self.blockers.iter().any(awaited)
    }

    fn verdict_lines(&self, page: &mut Page) {
        let list = |page: &mut Page, rows: &[Blocker]| {
            for row in rows {
                page.line(&format!("- {}", row.message), Style::Plain);
            }
        };
        match self.can_merge {
            _ if self.state == "merged" => {
                page.line("It is merged.", Style::Good);
                return;
            }
            CanMerge::Yes if !self.bypass.is_empty() => {
                page.line("It can be merged only by bypassing rules:", Style::Warn);
                list(page, &self.bypass);
            }
            CanMerge::Yes => {
                page.line("It can be merged.", Style::Good);
            }
            CanMerge::No => {
                page.line("It cannot be merged now:", Style::Bad);
                list(page, &self.blockers);
            }
            CanMerge::Unknown => {}
        }
        if !self.unknown.is_empty() {
            let said = match self.can_merge {
                CanMerge::No => "It is unknown whether this blocks it too:",
                _ => "Whether it can be merged is unknown:",
            };
            page.line(said, Style::Warn);
            list(page, &self.unknown);
        }
        if self.partial && self.state == "open" {
            let said = "Not all of the rule or the checks can be read.";
            page.line(said, Style::Dim);
        }
    }

    fn behind_cell(&self) -> Cell {
        if self.behind {
            Cell::new(
                &format!("{} has newer commits", self.base_branch),
                Style::Warn,
            )
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
    let found = blockers::find(&facts, &tally, &standing);
    let plan = TestPlan::of(&facts.pr.body);
    let can_merge = if !found.blockers.is_empty() {
        CanMerge::No
    } else if !found.unknown.is_empty() {
        CanMerge::Unknown
    } else {
        CanMerge::Yes
    };
    let steps = steps(&facts, &found, can_merge, tally.counts.failed > 0, &plan);
    let Obstacles {
        blockers,
        unknown,
        bypassed,
    } = found;
    let pr = facts.pr;
    let mut reply = Reply::from(Output {
        number: pr.number,
        title: pr.title,
        author: pr.author,
        html_url: pr.html_url,
        state: rows::pr_state(pr.state),
        mergeable: match facts.mergeability {
            Mergeability::Clean => Mergeable::Yes,
            Mergeability::Checking => Mergeable::Checking,
            _ => Mergeable::No,
        },
        head_branch: pr.head.branch,
        head_sha: pr.head.sha.map(|sha| sha.to_string()),
        base_branch: pr.base.branch,
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
        unknown,
        bypass: bypassed,
        can_merge,
        partial: facts.rule.partial || facts.hidden_checks,
        body: cut(pr.body),
    });
    for step in steps {
        reply = reply.next(step);
    }
    reply
}

/// Returns a body of at most [`MAX_BODY_CHARS`] characters, with a mark where it was cut
fn cut(body: String) -> String {
    if body.chars().count() <= MAX_BODY_CHARS {
        return body;
    }
    body.chars().take(MAX_BODY_CHARS - 1).chain(['…']).collect()
}

/// What to do about it
fn steps(
    facts: &Facts,
    found: &Obstacles,
    can_merge: CanMerge,
    red: bool,
    plan: &TestPlan,
) -> Vec<String> {
    let pr = &facts.pr;
    let has = |codes: &[Code]| found.blockers.iter().any(|b| codes.contains(&b.code));
    let checking = found.unknown.iter().any(|b| b.code == Code::Checking);
    let (number, base) = (pr.number, &pr.base.branch);
    let style = facts.styles.as_ref().and_then(MergeStyles::preferred);
    let style = style.unwrap_or_default().as_str();
    let merge = match &pr.head.sha {
        Some(sha) => format!("pr_merge, index {number}, style {style}, head_sha {sha}"),
        None => format!("pr_merge, index {number}, style {style}"),
    };
    let (yes, bypass) = (can_merge == CanMerge::Yes, !found.bypassed.is_empty());
    let steps = [
        (
            checking,
            format!("The forge still computes: call pr_verify, index {number}, wait_seconds 60"),
        ),
        (
            has(&[Code::ChecksFailed]),
            format!("See why checks fail with workflow_run_status, index {number}"),
        ),
        (
            red && yes && !bypass,
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
        (
            has(&[Code::Conflict]),
            rows::capitalised(&conflict_advice(Some(base))),
        ),
        (
            has(&[Code::Behind]),
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
            !plan.open.is_empty() && facts.is_open(),
            "Items of the test plan are open; they do not stop pr_merge: do and tick them first"
                .to_owned(),
        ),
        (
            can_merge == CanMerge::Unknown && !checking,
            format!(
                "Not all that decides can be read: {merge} tries it, and the forge refuses what it \
                 forbids"
            ),
        ),
        (
            yes && bypass,
            format!(
                "Rules are not met, and this token may bypass them: only if the user wants that, {merge}"
            ),
        ),
        (yes && !bypass, format!("Merge with {merge}")),
    ];
    steps
        .into_iter()
        .filter_map(|(sensible, step)| sensible.then_some(step))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_cut_at_its_limit() {
        let whole = "ä".repeat(MAX_BODY_CHARS);
        assert_eq!(cut(whole.clone()), whole);
        let long = cut(whole + "x");
        assert_eq!(
            (long.chars().count(), long.ends_with("ä…")),
            (MAX_BODY_CHARS, true)
        );
    }
}
