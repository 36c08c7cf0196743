//! `tag_create`

use blue_forge::{
    ConflictKind, ForgeError,
    model::{Tag, TagOpts},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Cell, Cx, Effect, ErrorCode, Page, Reply, Style, Tool, ToolError, args::RepoArgs, cx::Repo,
    path, rows::short,
};

#[derive(Debug)]
pub struct TagCreate;

/// Create a tag
///
/// The same tag on the same commit is no error.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[command(after_help = EXAMPLES)]
pub struct Input {
    #[command(flatten)]
    #[serde(flatten)]
    pub repo: RepoArgs,
    /// Name of the tag
    #[schemars(description = "")]
    pub tag: String,
    /// Branch or commit
    pub target: String,
    /// Message of the tag; makes it annotated
    #[arg(long, short)]
    #[schemars(description = "Makes it annotated")]
    pub message: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  blue tag create v1.2.0 main --message 'Discounts'
  blue tag create nightly main";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    pub tag: String,
    pub commit_sha: String,
    pub html_url: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub annotated: bool,
    /// It was there before, on the same commit
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub existing: bool,
}

impl Output {
    fn new(tag: Tag, existing: bool) -> Self {
        Self {
            tag: tag.name,
            commit_sha: tag.commit_sha.to_string(),
            html_url: tag.html_url,
            annotated: tag.annotated,
            existing,
        }
    }
}

impl Tool for TagCreate {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "tag_create";
    const EFFECT: Effect = Effect::Write;
    const IDEMPOTENT: bool = true;

    async fn run(&self, cx: &Cx, input: Input) -> Result<Reply<Output>, ToolError> {
        let opts = TagOpts {
            name: plain(Some(path::of_tag(&input.tag)), "tag")?,
            target: plain(path::branch_if_given(Some(&input.target)), "target")?,
            message: input.message.filter(|text| !text.trim().is_empty()),
        };
        let repo = cx.repo(&input.repo).await?;
        match repo.forge.create_tag(&repo.id, &opts).await {
            Ok(tag) => Ok(Reply::from(Output::new(tag, false))),
            Err(ForgeError::Conflict {
                kind: ConflictKind::Exists,
                message,
                status,
            }) => held_against(&repo, &opts, message, status).await,
            Err(error) => Err(error.into()),
        }
    }

    fn page(output: &Output, page: &mut Page) {
        let did = if output.existing {
            "already exists, on"
        } else {
            "created on"
        };
        let text = format!("Tag {} {did} {}", output.tag, short(&output.commit_sha));
        page.cell(Cell::new(&text, Style::Good).linked(&output.html_url));
    }
}

fn plain(text: Option<&str>, what: &str) -> Result<String, ToolError> {
    let text = text.filter(|text| !text.is_empty());
    text.map(str::to_owned)
        .ok_or_else(|| ToolError::new(ErrorCode::Invalid, format!("`{what}` is empty")))
}

/// Whether the tag that is there is the one that was wanted; `said` are the forge's words
async fn held_against(
    repo: &Repo,
    opts: &TagOpts,
    said: String,
    status: Option<u16>,
) -> Result<Reply<Output>, ToolError> {
    let (tag, wanted) = futures_util::future::try_join(
        repo.forge.get_tag(&repo.id, &opts.name),
        repo.forge.resolve(&repo.id, &opts.target),
    )
    .await?;
    if tag.commit_sha == wanted {
        return Ok(Reply::from(Output::new(tag, true)));
    }
    let message = format!(
        "tag `{}` is on commit `{}`, not on `{wanted}`: {said}",
        tag.name, tag.commit_sha
    );
    let mut error = ToolError::new(ErrorCode::Conflict, message)
        .with_hint("choose another name: Blue does not move tags");
    error.forge_status = status;
    Err(error)
}
