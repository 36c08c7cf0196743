//! `branch_delete`

use blue_forge::{
    ForgeError,
    model::{Branch, PullRequest, Sha},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Cx, Effect, ErrorCode, Page, Reply, Style, Tool, ToolError, args::RepoArgs, cx::Repo, id, path,
    rows::count,
};

/// Pull requests that a refusal names
const NAMED: usize = 5;

#[derive(Debug)]
pub struct BranchDelete;

/// Delete a branch
///
/// A protected or unmerged one, or one with open pull requests, needs `force` and `sha`.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[command(after_help = EXAMPLES)]
pub struct Input {
    #[command(flatten)]
    #[serde(flatten)]
    pub repo: RepoArgs,
    /// Name of the branch
    #[schemars(description = "")]
    pub branch: String,
    /// Delete only if the branch is at this commit
    #[arg(long)]
    #[schemars(description = "Its current commit")]
    pub sha: Option<String>,
    /// Delete it even if something would be lost; needs `--sha`
    #[arg(long, requires = "sha")]
    #[serde(default)]
    #[schemars(description = "")]
    pub force: bool,
}

const EXAMPLES: &str = "\
Examples:
  blue branch delete feature/discount";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    pub message: String,
    /// Where it was: a branch made there brings it back
    pub sha: String,
}

impl Tool for BranchDelete {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "branch_delete";
    const EFFECT: Effect = Effect::Destroy;

    async fn run(&self, cx: &Cx, input: Input) -> Result<Reply<Output>, ToolError> {
        let name = path::of_branch(&input.branch)?;
        let expected = input.sha.as_deref().filter(|sha| !sha.is_empty());
        let expected = expected.map(Sha::parse).transpose()?;
        if input.force && expected.is_none() {
            return Err(ToolError::new(
                ErrorCode::Invalid,
                "`force` needs `sha`, the commit that the branch is at",
            )
            .with_hint("branch_list shows it; whoever names it knows what is deleted"));
        }
        let repo = cx.repo(&input.repo).await?;
        let branch = if input.force {
            let branch = repo.forge.get_branch(&repo.id, name).await?;
            stands(&branch, expected.as_ref())?;
            branch
        } else {
            may_go(&repo, name, expected.as_ref()).await?
        };
        let deleted = repo.forge.delete_branch(&repo.id, name).await;
        deleted.map_err(|error| sentence(&branch, error))?;
        Ok(Reply::from(Output {
            message: format!("deleted branch `{name}` of `{}`", repo.id),
            sha: branch.sha.to_string(),
        }))
    }

    async fn typed(&self, cx: &Cx, mut input: Input) -> Result<Input, ToolError> {
        if let Some(start) = &input.sha
            && id::is_start(start)?
        {
            let repo = cx.repo(&input.repo).await?;
            let branch = repo.forge.get_branch(&repo.id, &input.branch).await?;
            let what = format!("branch `{}`", branch.name);
            input.sha = Some(id::completed(start, &branch.sha, &what)?);
        }
        Ok(input)
    }

    fn page(output: &Output, page: &mut Page) {
        page.line(&output.message, Style::Good);
        page.line(&format!("It was at {}", output.sha), Style::Dim);
    }
}

/// The branch, if nothing is lost with it
async fn may_go(repo: &Repo, name: &str, expected: Option<&Sha>) -> Result<Branch, ToolError> {
    let (forge, id) = (&repo.forge, &repo.id);
    let (default, branch, prs) = futures_util::future::join3(
        forge.default_branch(id),
        forge.get_branch(id, name),
        forge.open_prs_at(id, name),
    )
    .await;
    let default = default?;
    let branch = branch?;
    stands(&branch, expected)?;
    if name == default {
        let reason = "it is the default branch";
        // No forge deletes it, whatever is given.
        return Err(refusal(ErrorCode::Forbidden, &branch, reason)
            .with_hint("make another branch the default one first"));
    }
    if branch.protected {
        let reason = "it is protected";
        return Err(refusal(ErrorCode::Forbidden, &branch, reason));
    }
    let prs = prs?;
    if !prs.is_empty() {
        return Err(refusal(ErrorCode::Conflict, &branch, &in_use(name, &prs)));
    }
    if let Some(reason) = unmerged(repo, &default, &branch).await? {
        return Err(refusal(ErrorCode::Conflict, &branch, &reason));
    }
    Ok(branch)
}

fn stands(branch: &Branch, expected: Option<&Sha>) -> Result<(), ToolError> {
    match expected {
        Some(expected) if *expected != branch.sha => Err(ToolError::new(
            ErrorCode::Conflict,
            format!(
                "branch `{}` is at `{}`, not at `{expected}`",
                branch.name, branch.sha
            ),
        )
        .with_hint("look at what is new there before you delete it")),
        _ => Ok(()),
    }
}

fn in_use(name: &str, prs: &[PullRequest]) -> String {
    let list = |prs: Vec<&PullRequest>| {
        let mut numbers: Vec<String> = prs.iter().map(|pr| format!("#{}", pr.number)).collect();
        let more = numbers.len().saturating_sub(NAMED);
        numbers.truncate(NAMED);
        if more > 0 {
            numbers.push(format!("{more} more"));
        }
        numbers.join(", ")
    };
    let (to, from): (Vec<_>, Vec<_>) = prs.iter().partition(|pr| pr.base.branch == name);
    let mut reasons = Vec::new();
    if !from.is_empty() {
        reasons.push(format!("it has an open pull request: {}", list(from)));
    }
    if !to.is_empty() {
        reasons.push(format!("open pull requests go to it: {}", list(to)));
    }
    reasons.join(", and ")
}

/// Why commits would be lost, if so
async fn unmerged(repo: &Repo, base: &str, branch: &Branch) -> Result<Option<String>, ToolError> {
    if (repo.forge).merged_before(&repo.id, &branch.name, &branch.sha) {
        return Ok(None);
    }
    let ahead = match repo.forge.ahead(&repo.id, base, branch.sha.as_str()).await {
        Ok(0) => return Ok(None),
        Ok(ahead) => count(ahead, "commit", "commits"),
        // Both are there, so they have no history in common.
        Err(ForgeError::NotFound { .. }) => "commits".to_owned(),
        Err(error) => return Err(error.into()),
    };
    let pr = repo
        .forge
        .merged_pr_at(&repo.id, &branch.name, &branch.sha)
        .await?;
    Ok(match pr {
        Some(_) => None,
        None => Some(format!("it has {ahead} that `{base}` does not have")),
    })
}

fn refusal(code: ErrorCode, branch: &Branch, reason: &str) -> ToolError {
    let message = format!("branch `{}` was not deleted: {reason}", branch.name);
    ToolError::new(code, message).with_hint(format!(
        "to delete it anyway, give `force` and `sha` = `{}`",
        branch.sha
    ))
}

/// The forge's refusal is a word or two; say what it is about
fn sentence(branch: &Branch, error: ForgeError) -> ToolError {
    let refused = match &error {
        ForgeError::Forbidden { message, .. } => {
            let name = &branch.name;
            format!("branch `{name}` cannot be deleted: {message}")
        }
        _ => return error.into(),
    };
    let mut error = ToolError::from(error);
    error.message = refused;
    if branch.protected {
        return error.with_hint(
            "its protection, which branch_protection_get shows, must allow that first: a person \
             can change it",
        );
    }
    error
}
