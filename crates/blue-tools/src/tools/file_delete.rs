//! `file_delete`

use blue_forge::{
    ConflictKind, ForgeError,
    model::{EntryKind, Sha},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Cell, Cx, Effect, ErrorCode, Page, Reply, Style, Tool, ToolError,
    args::RepoArgs,
    error::{Resend, branch_beside, what_there_is},
    id, path,
    rows::short,
};

#[derive(Debug)]
pub struct FileDelete;

/// Delete a file from a branch
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[command(after_help = EXAMPLES)]
pub struct Input {
    #[command(flatten)]
    #[serde(flatten)]
    pub repo: RepoArgs,
    /// File to delete
    #[schemars(description = "")]
    pub path: String,
    /// Branch to delete it from
    #[arg(long, short)]
    #[schemars(description = "")]
    pub branch: String,
    /// Delete only if the file is still this blob [default: the current one]
    #[arg(long, default_value = "", hide_default_value = true)]
    #[schemars(description = "Its blob, from file_read or dir_list")]
    pub sha: String,
    /// Commit message [default: `Delete PATH`]
    #[arg(long, short)]
    #[schemars(description = "")]
    pub message: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  blue file delete docs/old.md --branch topic --sha 3b18e512dba79e4c8300dd08aeb37f8e728b8dad
  blue file delete docs/old.md --branch topic";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    pub commit_sha: String,
    pub html_url: String,
}

impl Tool for FileDelete {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "file_delete";
    const EFFECT: Effect = Effect::Destroy;

    async fn run(&self, cx: &Cx, input: Input) -> Result<Reply<Output>, ToolError> {
        let path = path::of_file(&input.path)?;
        let branch = path::of_branch(&input.branch)?;
        let sha = match input.sha.trim() {
            "" => Err(ToolError::new(ErrorCode::Invalid, "`sha` is empty")),
            sha => Sha::parse(sha).map_err(ToolError::from),
        };
        let sha =
            sha.map_err(|error| error.with_hint("file_read and dir_list tell the blob of a file"))?;
        let message = input.message.as_deref().unwrap_or_default().trim();
        let message = if message.is_empty() {
            format!("Delete {path}")
        } else {
            message.to_owned()
        };
        let repo = cx.repo(&input.repo).await?;
        let made = repo
            .forge
            .delete_file(&repo.id, branch, &path, &sha, &message)
            .await;
        let made = match made {
            Ok(made) => made,
            Err(ForgeError::Conflict {
                kind: ConflictKind::StaleFile { current: None, .. },
                ..
            }) => {
                let message = format!("`{path}` is not on branch `{branch}` of `{}`", repo.id);
                return Err(
                    ToolError::new(ErrorCode::NotFound, message).with_hint(what_there_is(&path))
                );
            }
            Err(error) => {
                let resend = on_another_branch(branch, &path, &sha);
                return Err(ToolError::of_commit(&repo, error, branch, &resend).await);
            }
        };
        Ok(Reply::from(Output {
            commit_sha: made.sha.to_string(),
            html_url: made.html_url,
        }))
    }

    /// A person need not name the blob, or all of it: it is the one that is there now
    async fn typed(&self, cx: &Cx, mut input: Input) -> Result<Input, ToolError> {
        if input.sha.is_empty() || id::is_start(&input.sha)? {
            let path = path::of_file(&input.path)?;
            let branch = path::of_branch(&input.branch)?;
            let repo = cx.repo(&input.repo).await?;
            let found = id::blob_at(&repo, &path, Some(branch)).await?;
            let row = found.ok_or_else(|| {
                let message = format!("`{path}` is not on branch `{branch}` of `{}`", repo.id);
                ToolError::new(ErrorCode::NotFound, message).with_hint(what_there_is(&path))
            })?;
            if row.kind == EntryKind::Dir {
                let message = format!("`{path}` is a directory, not a file");
                return Err(ToolError::new(ErrorCode::Invalid, message));
            }
            input.sha = id::completed(&input.sha, &row.sha, &format!("`{path}`"))?;
        }
        Ok(input)
    }

    fn page(output: &Output, page: &mut Page) {
        let text = format!("Deleted in commit {}", short(&output.commit_sha));
        page.cell(Cell::new(&text, Style::Good).linked(&output.html_url));
    }
}

/// How the file is deleted on a branch that does not exist yet
fn on_another_branch(branch: &str, path: &str, sha: &Sha) -> Resend {
    let new = branch_beside(branch);
    let file = serde_json::json!({"path": path, "delete": true, "sha": sha.as_str()});
    // A command in advice ends at a space.
    let delete = if path.contains(char::is_whitespace) {
        " and `--delete`".to_owned()
    } else {
        format!(", delete \"{path}\"")
    };
    Resend {
        sent: format!(
            "delete it on a new branch with file_write_branch, `branch: \"{new}\"`, \
             `base: \"{branch}\"`, `files: [{file}]`"
        ),
        typed: format!(
            "delete it on a new branch with file_write_branch, branch \"{new}\", base \
             \"{branch}\"{delete}"
        ),
    }
}
