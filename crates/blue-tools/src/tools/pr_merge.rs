//! `pr_merge`

use blue_forge::{
    ConflictKind, ForgeError, MergeBlock,
    model::{MergeOpts, MergeOutcome, MergeStrategy, MergeStyles, PrState, Sha},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Cx, Effect, Page, Reply, Repo, Style, Tool, ToolError, args::RepoArgs, error::conflict_advice,
    id, pr_selector::PrSelector,
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
    #[arg(skip)]
    #[schemars(description = "")]
    pub index: u64,
    #[command(flatten)]
    #[serde(skip)]
    pub which: PrSelector,
    /// How its commits reach the base branch [default: `merge`, or the repository's own if that is not allowed]
    #[arg(long, value_enum)]
    #[serde(default)]
    #[schemars(description = "default: merge, if allowed")]
    pub style: Option<MergeStyle>,
    /// Title of the resulting commit
    #[arg(
        long,
        short = 't',
        visible_alias = "title",
        alias = "subject",
        value_name = "TEXT"
    )]
    #[schemars(description = "")]
    pub merge_message_title: Option<String>,
    /// Body of the resulting commit
    #[arg(
        long,
        short = 'b',
        visible_alias = "message",
        alias = "body",
        value_name = "TEXT"
    )]
    #[schemars(description = "")]
    pub merge_message_field: Option<String>,
    /// Merge only if the head is still this commit
    #[arg(long, alias = "match-head-commit", value_name = "COMMIT")]
    #[schemars(description = "From pr_verify; refuses if the head moved since")]
    pub head_sha: Option<String>,
    /// Delete the head branch afterwards, unless something else needs it
    #[arg(long, short)]
    #[serde(default)]
    #[schemars(description = "")]
    pub delete_branch: bool,
    #[command(flatten)]
    #[serde(skip)]
    pub styles: StyleFlags,
}

// The flags that gh has for the style. No doc comment: clap would show it as the command's help.
#[derive(Debug, Default, clap::Args)]
#[group(multiple = false, conflicts_with = "style")]
pub struct StyleFlags {
    /// Same as `--style merge`
    #[arg(long, short)]
    merge: bool,
    /// Same as `--style squash`
    #[arg(long, short)]
    squash: bool,
    /// Same as `--style rebase`
    #[arg(long, short)]
    rebase: bool,
}

impl StyleFlags {
    fn style(&self) -> Option<MergeStyle> {
        let flags = [
            (self.merge, MergeStyle::Merge),
            (self.squash, MergeStyle::Squash),
            (self.rebase, MergeStyle::Rebase),
        ];
        flags
            .into_iter()
            .find_map(|(typed, style)| typed.then_some(style))
    }
}

const EXAMPLES: &str = "\
Examples:
  blue pr merge 12
  blue pr merge 12 --style squash --delete-branch";

#[derive(Debug, Clone, Copy, clap::ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MergeStyle {
    /// A merge commit
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
    /// Merge style that was used; absent when it was merged before this call
    #[serde(skip_serializing_if = "Option::is_none")]
    pub style: Option<&'static str>,
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
        let recent = repo.forge.recent_merge_styles(&repo.id);
        let unnamed = || recent.and_then(|styles| styles.unnamed());
        let mut opts = MergeOpts {
            strategy: match input.style {
                Some(style) => style.into(),
                None => unnamed().unwrap_or_default(),
            },
            title: given(input.merge_message_title),
            message: given(input.merge_message_field),
            head_sha,
            delete_branch: input.delete_branch && kept.is_none(),
            ..MergeOpts::default()
        };
        let mut outcome = repo.forge.merge_pr(&repo.id, input.index, &opts).await;
        if let Err(ForgeError::NotMergeable {
            reason: MergeBlock::Style,
            ..
        }) = &outcome
        {
            let styles = allowed_styles(&repo, input.index).await;
            let other = styles.as_ref().and_then(MergeStyles::unnamed);
            match (other, outcome) {
                // No style was named, and the one that was tried is not allowed.
                (Some(other), _) if input.style.is_none() && other != opts.strategy => {
                    opts.strategy = other;
                    outcome = repo.forge.merge_pr(&repo.id, input.index, &opts).await;
                }
                (_, Err(error)) => return Err(refused_style(error, styles.as_ref())),
                (_, merged) => outcome = merged,
            }
        }
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => return Err(explained(&repo, input.index, error).await),
        };
        Ok(reply(input.index, outcome, &opts, kept))
    }

    async fn typed(&self, cx: &Cx, mut input: Input) -> Result<Input, ToolError> {
        input.index = input.which.number(cx, &mut input.repo).await?;
        if let Some(style) = input.styles.style() {
            input.style = Some(style);
        }
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
        let how = output
            .style
            .map_or(String::new(), |style| format!(" ({style})"));
        page.line(&format!("#{number} is merged{again}{at}{how}"), Style::Good);
        if output.branch_deleted {
            page.line("The branch is deleted", Style::Dim);
        }
        if let Some(why) = &output.branch_kept {
            page.line(&format!("The branch stays: {why}"), Style::Warn);
        }
    }
}

/// Returns the styles that repository and base branch allow now, where the forge tells
async fn allowed_styles(repo: &Repo, number: u64) -> Option<MergeStyles> {
    let (found, pr) = tokio::join!(
        repo.forge.repository(&repo.id),
        repo.forge.get_pr(&repo.id, number),
    );
    let (found, pr) = (found.ok()?, pr.ok()?);
    let rule = repo.forge.protection(&repo.id, &pr.base.branch).await.ok();
    let by_rule = rule.and_then(|rule| rule.merge_styles);
    let styles = found.styles.or(pr.styles)?;
    Some(styles.within(by_rule.as_deref()))
}

/// A style that is not allowed, with those that are
fn refused_style(error: ForgeError, styles: Option<&MergeStyles>) -> ToolError {
    let error = ToolError::from(error);
    let names = |style: &MergeStrategy| format!("`{}`", style.as_str());
    match styles {
        Some(styles) if !styles.allowed.is_empty() => {
            let names: Vec<String> = styles.allowed.iter().map(names).collect();
            error.with_hint(format!(
                "give another merge style as `style`: allowed here: {}",
                names.join(", ")
            ))
        }
        _ => error,
    }
}

fn reply(
    number: u64,
    outcome: MergeOutcome,
    opts: &MergeOpts,
    kept: Option<String>,
) -> Reply<Output> {
    let (style, delete) = (opts.strategy.as_str(), opts.delete_branch);
    match outcome {
        MergeOutcome::Scheduled => Reply::from(Output {
            scheduled: true,
            style: Some(style),
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
            branch_moved,
            own_branch,
        } => {
            let why = if already {
                "this call merged nothing"
            } else if branch_moved {
                "it has commits that are not merged"
            } else {
                "the forge did not delete it"
            };
            let open = !branch_deleted && kept.is_none();
            let branch_kept = kept.or_else(|| (delete && open).then(|| why.to_owned()));
            let reply = Reply::from(Output {
                merged: true,
                commit_sha: sha.map(|sha| sha.to_string()),
                style: (!already).then_some(style),
                already,
                branch_deleted,
                branch_kept,
                number,
                ..Output::default()
            });
            match own_branch.filter(|_| open && !already) {
                // Whether others use it is not known here; branch_delete looks before it deletes.
                Some(name) => reply.next(format!(
                    "Delete its branch with branch_delete, branch \"{name}\", unless another pull \
                     request uses it"
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
    if branch.is_empty() && pr.state == PrState::Open {
        return kept("a push made this pull request, without a branch".to_owned());
    }
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
async fn explained(repo: &Repo, number: u64, error: ForgeError) -> ToolError {
    let hint = match &error {
        ForgeError::NotMergeable {
            reason: MergeBlock::Conflict,
            ..
        }
        | ForgeError::Conflict {
            kind: ConflictKind::Merge,
            ..
        } => {
            // The same advice as pr_verify gives, which names the base.
            let pr = repo.forge.get_pr(&repo.id, number).await.ok();
            let base = pr.as_ref().map(|pr| pr.base.branch.as_str());
            Some(conflict_advice(base))
        }
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
