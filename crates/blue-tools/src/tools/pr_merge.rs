//! `pr_merge`

use blue_core::forge::{
    ConflictKind, ForgeError, MergeBlock,
    model::{MergeOpts, MergeOutcome, MergeStrategy, PrState, Sha},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Cx, Effect, Page, Reply, Repo, Style, Tool, ToolError,
    args::{self, RepoArgs},
    id,
};

#[derive(Debug)]
pub struct PrMerge;

/// Merge a pull request
///
/// Fails with the forge's words when it will not merge.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[command(after_help = EXAMPLES)]
pub struct Input {
    #[command(flatten)]
    #[serde(flatten)]
    pub repo: RepoArgs,
    /// Number of the pull request
    #[arg(value_name = "NUMBER", value_parser = args::number)]
    #[schemars(description = "")]
    pub index: u64,
    /// How its commits reach the base branch
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    #[schemars(description = "", extend("default" = "merge"))]
    pub style: MergeStyle,
    /// Title of the resulting commit
    #[arg(long, visible_alias = "title", value_name = "TEXT")]
    #[schemars(description = "")]
    pub merge_message_title: Option<String>,
    /// Body of the resulting commit
    #[arg(long, visible_alias = "message", value_name = "TEXT")]
    #[schemars(description = "")]
    pub merge_message_field: Option<String>,
    /// Merge only if the head is still this commit
    #[arg(long, value_name = "COMMIT")]
    #[schemars(description = "From pr_verify; refuses if the head moved since")]
    pub head_sha: Option<String>,
    /// Delete the head branch afterwards, unless something else needs it
    #[arg(long)]
    #[serde(default)]
    #[schemars(description = "")]
    pub delete_branch: bool,
}

const EXAMPLES: &str = "\
Examples:
  blue pr merge 12
  blue pr merge 12 --style squash --delete-branch";

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MergeStyle {
    /// A merge commit
    #[default]
    Merge,
    /// All changes as one commit
    Squash,
    /// Rebase each commit onto the base
    Rebase,
    /// Rebase, then add a merge commit (Gitea and Forgejo)
    RebaseMerge,
    /// Fast-forward the base branch, or refuse (Gitea and Forgejo)
    FastForwardOnly,
}

impl From<MergeStyle> for MergeStrategy {
    fn from(style: MergeStyle) -> Self {
        match style {
            MergeStyle::Merge => Self::Merge,
            MergeStyle::Squash => Self::Squash,
            MergeStyle::Rebase => Self::Rebase,
            MergeStyle::RebaseMerge => Self::RebaseMerge,
            MergeStyle::FastForwardOnly => Self::FastForwardOnly,
        }
    }
}

#[derive(Debug, Default, Serialize, JsonSchema)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an answer of its own to those who ask"
)]
pub struct Output {
    /// False only when it is scheduled: any other merge that did not happen is an error
    pub merged: bool,
    /// Commit the merge made; absent where it cannot be known
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_sha: Option<String>,
    /// It was merged before this call
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub already: bool,
    /// The forge will merge it when the checks pass; not merged yet
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub scheduled: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub branch_deleted: bool,
    /// Why the branch is still there although its deletion was asked for
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_kept: Option<String>,
    #[serde(skip)]
    #[schemars(skip)]
    number: u64,
}

impl Tool for PrMerge {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "pr_merge";
    const EFFECT: Effect = Effect::Write;
    const IDEMPOTENT: bool = true;

    async fn run(&self, cx: &Cx, input: Input) -> Result<Reply<Output>, ToolError> {
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let head_sha = match given(input.head_sha) {
            Some(sha) => Some(Sha::parse(&sha).map_err(|error| {
                ToolError::from(error).with_hint("pr_verify returns the whole `head_sha`")
            })?),
            None => None,
        };
        let repo = cx.repo(&input.repo).await?;
        let kept = if input.delete_branch {
            why_kept(&repo, input.index).await?
        } else {
            None
        };
        let opts = MergeOpts {
            strategy: input.style.into(),
            title: given(input.merge_message_title),
            message: given(input.merge_message_field),
            head_sha,
            delete_branch: input.delete_branch && kept.is_none(),
            ..MergeOpts::default()
        };
        let outcome = repo.forge.merge_pr(&repo.id, input.index, &opts).await;
        let outcome = outcome.map_err(explained)?;
        Ok(reply(input.index, outcome, opts.delete_branch, kept))
    }

    async fn typed(&self, cx: &Cx, mut input: Input) -> Result<Input, ToolError> {
        if let Some(start) = &input.head_sha
            && id::is_start(start)?
        {
            let repo = cx.repo(&input.repo).await?;
            let pr = repo.forge.get_pr(&repo.id, input.index).await?;
            if let Some(now) = &pr.head.sha {
                let what = format!("the head of #{}", input.index);
                input.head_sha = Some(id::completed(start, now, &what)?);
            }
        }
        Ok(input)
    }

    fn page(output: &Output, page: &mut Page) {
        let number = output.number;
        if output.scheduled {
            let said = format!("#{number} is scheduled: it is merged when its checks pass");
            page.line(&said, Style::Warn);
            return;
        }
        let again = if output.already { " already" } else { "" };
        let at = match &output.commit_sha {
            Some(sha) => format!(" as {}", crate::rows::short(sha)),
            None => String::new(),
        };
        page.line(&format!("#{number} is merged{again}{at}"), Style::Good);
        if output.branch_deleted {
            page.line("The branch is deleted", Style::Dim);
        }
        if let Some(why) = &output.branch_kept {
            page.line(&format!("The branch stays: {why}"), Style::Warn);
        }
    }
}

fn reply(number: u64, outcome: MergeOutcome, delete: bool, kept: Option<String>) -> Reply<Output> {
    match outcome {
        MergeOutcome::Scheduled => Reply::from(Output {
            scheduled: true,
            number,
            ..Output::default()
        })
        .next(format!(
            "Not merged yet: wait with workflow_run_status, index {number}, wait_seconds 300; \
             then look with pr_verify, index {number}"
        )),
        MergeOutcome::Merged {
            sha,
            already,
            branch_deleted,
            own_branch,
        } => {
            let why = if already {
                "this call merged nothing"
            } else {
                "the forge did not delete it"
            };
            let open = !branch_deleted && kept.is_none();
            let branch_kept = kept.or_else(|| (delete && open).then(|| why.to_owned()));
            let reply = Reply::from(Output {
                merged: true,
                commit_sha: sha.map(|sha| sha.to_string()),
                already,
                branch_deleted,
                branch_kept,
                number,
                ..Output::default()
            });
            match own_branch.filter(|_| open && !already) {
                Some(name) => reply.next(format!(
                    "Delete its branch with branch_delete, branch {name}"
                )),
                None => reply,
            }
        }
    }
}

/// What speaks against deleting the head branch; another pull request would be closed with it
async fn why_kept(repo: &Repo, number: u64) -> Result<Option<String>, ToolError> {
    let pr = repo.forge.get_pr(&repo.id, number).await?;
    let kept = |why: String| Ok(Some(why));
    let branch = &pr.head.branch;
    let home = pr.base.repo.as_ref().unwrap_or(&repo.id);
    match &pr.head.repo {
        Some(head) if head == home => {}
        Some(head) => return kept(format!("`{branch}` belongs to the fork `{head}`")),
        // The fork is gone, and the branch with it.
        None => return Ok(None),
    }
    // Nothing is merged, or it was before: that is to be told, not what became of the branch.
    if pr.state != PrState::Open {
        return Ok(None);
    }
    let (found, others) = tokio::join!(
        repo.forge.get_branch(&repo.id, branch),
        repo.forge.open_prs_at(&repo.id, branch),
    );
    let (found, others) = match found {
        Err(ForgeError::NotFound { .. }) => return Ok(None),
        found => (found?, others?),
    };
    if found.protected {
        return kept(format!("`{branch}` is protected"));
    }
    if let Some(other) = others.iter().find(|other| other.number != number) {
        return kept(format!("#{} needs `{branch}`", other.number));
    }
    Ok(None)
}

const ALL: &str = "pr_verify lists all that is in the way";

/// Where to look next, besides what the forge said
fn explained(error: ForgeError) -> ToolError {
    let hint = match &error {
        ForgeError::Conflict {
            kind: ConflictKind::HeadMoved { current },
            ..
        } => {
            let now = match current {
                Some(sha) => format!("the head is now {sha}"),
                None => "the head moved".to_owned(),
            };
            Some(format!(
                "{now}: look at it with pr_verify, then merge with the `head_sha` it returns"
            ))
        }
        ForgeError::NotMergeable {
            reason: MergeBlock::Closed,
            ..
        } => Some(
            "a closed pull request is not merged: reopen it, or open a new one with pr_create"
                .to_owned(),
        ),
        _ => None,
    };
    // How it is merged is up to the caller, and no matter of the pull request.
    let listed = matches!(
        &error,
        ForgeError::NotMergeable { reason, .. }
            if !matches!(reason, MergeBlock::Style | MergeBlock::FastForward)
    );
    let error = ToolError::from(error);
    match (hint, &error.hint) {
        (Some(hint), _) => error.with_hint(hint),
        (None, Some(hint)) if listed => {
            let hint = format!("{hint}; {ALL}");
            error.with_hint(hint)
        }
        (None, None) if listed => error.with_hint(ALL),
        _ => error,
    }
}
