//! `pr_create`

mod fill;

use blue_base::text::clean_line;
use blue_forge::{
    ConflictKind, ForgeError,
    model::{CreatePrOpts, PullRequest},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Cell, Cx, Effect, ErrorCode, Page, Reply, Style, Tool, ToolError, args::RepoArgs, path,
};

#[derive(Debug)]
pub struct PrCreate;

/// Open a pull request, or return the one that is open for the same head and base
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[command(after_help = EXAMPLES)]
pub struct Input {
    #[command(flatten)]
    #[serde(flatten)]
    pub repo: RepoArgs,
    /// Title [default: from the last commit, together with the body]
    #[arg(long, short)]
    #[schemars(required, description = "")]
    pub title: Option<String>,
    /// Branch with the changes, or `owner:branch` of a fork [default: the current branch]
    #[arg(long, short = 'H', value_name = "BRANCH")]
    #[schemars(required, description = "branch, or owner:branch of a fork")]
    pub head: Option<String>,
    /// Branch to merge into [default: the default branch]
    #[arg(long, short = 'B', value_name = "BRANCH")]
    #[schemars(description = "")]
    pub base: Option<String>,
    /// Body; `-` reads it from stdin
    #[arg(long, short)]
    #[schemars(description = "")]
    pub body: Option<String>,
    /// Read the body from a file; `-` is stdin
    #[arg(long, short = 'F', value_name = "FILE", conflicts_with = "body")]
    #[serde(skip)]
    #[schemars(skip)]
    pub body_file: Option<String>,
    /// Take title and body from all commits of the branch
    #[arg(long, short)]
    #[serde(skip)]
    #[schemars(skip)]
    pub fill: bool,
    /// Open it as a draft
    #[arg(long, short)]
    #[serde(default)]
    #[schemars(description = "")]
    pub draft: bool,
    /// The title and body were taken from commits, not named by the caller
    #[arg(skip)]
    #[serde(skip)]
    #[schemars(skip)]
    pub filled: Filled,
}

/// Which texts of a pull request were taken from its commits
#[derive(Debug, Clone, Copy, Default)]
pub struct Filled {
    title: bool,
    body: bool,
}

const EXAMPLES: &str = "\
Examples:
  blue pr create --title 'Give a discount' --head feature/discount
  blue pr create --fill
  blue pr create --fill --body-file notes.md --draft";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Always `success`
    pub status: &'static str,
    pub pr_url: String,
    pub pr_number: u64,
    pub number: u64,
    pub html_url: String,
    /// `github`, `gitea` or `forgejo`
    pub forge: &'static str,
    /// It was open before this call, and was left as it is
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub existing: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
}

impl Tool for PrCreate {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "pr_create";
    const EFFECT: Effect = Effect::Write;
    const IDEMPOTENT: bool = true;

    async fn run(&self, cx: &Cx, input: Input) -> Result<Reply<Output>, ToolError> {
        let title = needed(input.title.map(|title| clean_line(&title)), "title")?;
        let head = needed(path::head_if_given(input.head.as_deref()), "head")?;
        let repo = cx.repo(&input.repo).await?;
        let given_base = path::branch_if_given(input.base.as_deref());
        let base = match given_base {
            Some(base) => base.to_owned(),
            None => repo.forge.default_branch(&repo.id).await?,
        };
        let mut opts = CreatePrOpts {
            repo: repo.id.clone(),
            head: head.clone(),
            base,
            title,
            body: given(input.body),
            draft: input.draft,
        };
        let mut made = repo.forge.create_pr(opts.clone()).await;
        // What was the default branch a moment ago may be gone.
        if given_base.is_none() && matches!(made, Err(ForgeError::NotFound { .. })) {
            let now = repo.forge.repository(&repo.id).await?.default_branch;
            if now != opts.base {
                opts.base = now;
                made = repo.forge.create_pr(opts.clone()).await;
            }
        }
        let base = opts.base;
        let named = Named {
            title: (!input.filled.title).then_some(opts.title),
            body: opts.body.filter(|_| !input.filled.body),
            draft: opts.draft,
        };
        let (pr, existing) = match made {
            Ok(pr) => (pr, false),
            Err(
                exists @ ForgeError::Conflict {
                    kind: ConflictKind::Exists,
                    ..
                },
            ) => match repo.forge.find_pr(&repo.id, &head, &base).await? {
                Some(pr) => {
                    if let Some(note) = named.left_out(&pr) {
                        cx.note(note);
                    }
                    (pr, true)
                }
                None => return Err(exists.into()),
            },
            Err(error) => return Err(explained(error, &head)),
        };
        Ok(reply(&pr, repo.forge_name().await, existing))
    }

    async fn typed(&self, cx: &Cx, input: Input) -> Result<Input, ToolError> {
        fill::complete(cx, input).await
    }

    fn page(output: &Output, page: &mut Page) {
        let number = output.pr_number;
        let said = match (output.existing, output.draft) {
            (true, _) => format!("#{number} was open already"),
            (false, true) => format!("Opened #{number} as a draft"),
            (false, false) => format!("Opened #{number}"),
        };
        page.cell(Cell::new(&said, Style::Good).linked(&output.pr_url));
        page.line(&output.pr_url, Style::Plain);
    }
}

/// What the caller named for a new pull request
struct Named {
    title: Option<String>,
    body: Option<String>,
    draft: bool,
}

impl Named {
    /// Says what of it an open pull request does not have, and how to change that
    ///
    /// A pull request that exists is left as it is, since a repeated call must not undo an edit.
    fn left_out(&self, pr: &PullRequest) -> Option<String> {
        let differs = |named: &Option<String>, has: &str| {
            named
                .as_deref()
                .is_some_and(|text| text.trim() != has.trim())
        };
        // A forge that has no drafts of its own marks them in the title.
        let title = differs(&self.title, &pr.title)
            && !self
                .title
                .as_deref()
                .is_some_and(|title| pr.draft && pr.title.trim().ends_with(title.trim()));
        let parts = [
            (title, "title"),
            (differs(&self.body, &pr.body), "body"),
            (self.draft && !pr.draft, "draft state"),
        ];
        let parts = parts.iter().filter(|(differs, _)| *differs);
        let parts: Vec<&str> = parts.map(|(_, part)| *part).collect();
        if parts.is_empty() {
            return None;
        }
        let (were, them) = match parts.len() {
            1 => ("was", "it"),
            _ => ("were", "them"),
        };
        Some(format!(
            "#{} was open already, and its {} {were} not changed: edit {them} at {}",
            pr.number,
            parts.join(" and "),
            pr.html_url
        ))
    }
}

fn reply(pr: &PullRequest, forge: &'static str, existing: bool) -> Reply<Output> {
    let reply = Reply::from(Output {
        status: "success",
        pr_url: pr.html_url.clone(),
        pr_number: pr.number,
        number: pr.number,
        html_url: pr.html_url.clone(),
        forge,
        existing,
        draft: pr.draft,
    });
    let number = pr.number;
    reply.next(format!(
        "Wait for CI with workflow_run_status, index {number}, wait_seconds 300; \
         then check with pr_verify, index {number}"
    ))
}

/// An empty text is how some models leave an argument out
fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

fn needed(text: Option<String>, name: &str) -> Result<String, ToolError> {
    given(text).ok_or_else(|| {
        let message = format!("{} needs `{name}`, a text", PrCreate::NAME);
        ToolError::new(ErrorCode::Invalid, message)
    })
}

/// The mistakes that are made often have a way out that the forge does not tell
fn explained(error: ForgeError, head: &str) -> ToolError {
    let missing = matches!(error, ForgeError::NotFound { .. });
    let error = ToolError::from(error);
    if missing && error.message.contains(&format!("`{head}`")) {
        return error.with_hint(
            "the branch must be on the forge: push it, or write to it with file_write_branch; of a \
             fork give `owner:branch`",
        );
    }
    // GitHub's words for a branch of this very repository, when the caller may not write to it.
    if error.message.contains("must be a collaborator") {
        return error.with_hint("to merge a branch of a fork, give `owner:branch` as `head`");
    }
    if error.message.starts_with("nothing to merge") {
        return error.with_hint("commit to the branch first, for example with file_write_branch");
    }
    if error.message.ends_with("cannot be merged into itself") {
        return error.with_hint("give the branch with the changes as `head`");
    }
    error
}
