//! `file_write_branch`

mod checks;
mod edits;
mod limits;
mod typed;
mod wish;

use blue_base::load::{self, LIGHT_BYTES};
use blue_forge::{
    ConflictKind, Forge, ForgeError,
    model::{CommitOpts, EntryKind, Expect, File, FileChange, Sha},
};
pub use edits::Edit;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use limits::EditedBytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use wish::{Encoding, FileArg};
use wish::{Then, What, Wish};

use crate::{
    Cell, Cx, Effect, ErrorCode, Page, Reply, Repo, Style, Tool, ToolError,
    args::RepoArgs,
    error::{Resend, branch_beside},
    path, reply,
    rows::short,
};

/// Files read at once
const AT_ONCE: usize = 6;
/// The default branch, by the one name that every forge has for it
const DEFAULT: &str = "HEAD";
/// Room for the rows of an answer
const ROOM: usize = reply::MAX_BYTES - 4_000;

#[derive(Debug)]
pub struct FileWriteBranch;

/// Commit files to a branch, made from `base` or the default branch if missing
///
/// One file by `path`, more by `files`; each `old` must occur once.
#[derive(Debug, Default, clap::Args, Deserialize, JsonSchema)]
#[command(visible_alias = "write", after_help = EXAMPLES)]
pub struct Input {
    #[command(flatten)]
    #[serde(flatten)]
    pub repo: RepoArgs,
    /// Branch to write to; created if missing
    #[arg(long, short)]
    #[schemars(description = "")]
    pub branch: String,
    /// Commit message [default: generated from the paths]
    #[arg(long, short)]
    #[schemars(description = "")]
    pub message: Option<String>,
    /// File to write
    #[schemars(description = "")]
    pub path: Option<String>,
    /// New content of the file
    #[arg(long, requires = "path", conflicts_with_all = ["local", "edits", "edits_from"])]
    #[schemars(description = "")]
    pub content: Option<String>,
    #[arg(skip)]
    #[serde(default)]
    #[schemars(extend("default" = null))]
    pub edits: Vec<Edit>,
    /// Write only if the file is still this blob
    #[arg(long, requires = "path")]
    #[schemars(description = "")]
    pub sha: Option<String>,
    #[arg(skip)]
    #[serde(default)]
    #[schemars(extend("default" = null))]
    pub files: Vec<FileArg>,
    /// Where a new branch starts; one that exists stays where it is [default: the default branch]
    #[arg(long)]
    #[schemars(description = "")]
    pub base: Option<String>,
    /// Write only if the branch is still at this commit
    #[arg(long, value_name = "SHA")]
    #[schemars(description = "")]
    pub expected_head: Option<String>,

    /// Replace a text that occurs exactly once in the file; repeatable
    #[arg(
        id = "edits",
        long = "edit",
        value_names = ["OLD", "NEW"],
        num_args = 2,
        allow_hyphen_values = true,
        requires = "path",
        conflicts_with = "local"
    )]
    #[serde(skip)]
    pub replace: Vec<String>,
    /// Local file with edits, `[{"old": …, "new": …}]`; `-` is stdin
    #[arg(
        long = "edits",
        value_name = "FILE",
        requires = "path",
        conflicts_with = "local"
    )]
    #[serde(skip)]
    pub edits_from: Option<String>,
    /// Local file with the new content; `-` is stdin
    #[arg(long = "from", value_name = "FILE", requires = "path")]
    #[serde(skip)]
    pub local: Option<String>,
    /// Write another file, from a local one; repeatable
    #[arg(long = "file", value_name = "PATH=LOCAL")]
    #[serde(skip)]
    pub more: Vec<String>,
    /// Delete a file; repeatable
    #[arg(long = "delete", value_name = "PATH")]
    #[serde(skip)]
    pub gone: Vec<String>,
    /// Rename a file; repeatable
    #[arg(long = "rename", value_name = "OLD=NEW")]
    #[serde(skip)]
    pub moved: Vec<String>,
    /// A person agreed to the deletions, by `--yes` or when asked
    #[arg(skip)]
    #[serde(skip)]
    pub confirmed: bool,
}

const EXAMPLES: &str = "\
Examples:
  blue file write-branch docs/hours.md --branch topic --content 'Nine to six'
  blue file write-branch notes.md --branch topic --from notes.md
  blue file write-branch docs/hours.md --branch topic --edit 'to six' 'to five'
  blue file write-branch --branch topic --rename old.md=new.md --delete gone.md";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    pub branch: String,
    /// The new commit, or the branch's present one when nothing changed
    pub commit_sha: String,
    pub html_url: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub branch_created: bool,
    /// Every file had this content already: no commit was made
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
    /// Blobs of what was written
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Row>,
    /// Rows that found no place in the answer
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_left_out: Option<usize>,
    #[serde(skip)]
    #[schemars(skip)]
    gone: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Row {
    pub path: String,
    pub sha: String,
    /// Blob that was there before
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
}

impl Tool for FileWriteBranch {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "file_write_branch";
    const EFFECT: Effect = Effect::Write;
    const REMOVES: &'static [&'static str] = &["gone"];
    const FOR_PEOPLE: Option<&'static str> = Some(
        "One file by its path, more by `--file`, `--delete` and `--rename`: all in one commit. A text \
         that `--edit` replaces must occur once.",
    );

    async fn run(&self, cx: &Cx, input: Input) -> Result<Reply<Output>, ToolError> {
        let given = |text: &Option<String>| {
            let text = text.as_deref().unwrap_or_default().trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let branch = path::of_branch(&input.branch)?.to_owned();
        let expected_head = match given(&input.expected_head) {
            Some(sha) => Some(Sha::parse(&sha)?),
            None => None,
        };
        let given_base = path::branch_if_given(input.base.as_deref()).map(str::to_owned);
        let base = given_base.clone().unwrap_or_else(|| DEFAULT.to_owned());
        let message = given(&input.message);
        let repo_args = input.repo.clone();
        let confirmed = input.confirmed || expected_head.is_some();
        // Large contents are decoded where that holds up no other call.
        let wishes = if limits::content_bytes(&input) > LIGHT_BYTES {
            load::offload(move || wishes(input)).await?
        } else {
            wishes(input)?
        };
        if !confirmed {
            checks::deletions_are_pinned(&wishes)?;
        }
        let message = message.unwrap_or_else(|| match &wishes[..] {
            [one] => one.title(),
            many => format!("Change {} files", many.len()),
        });
        let gone = wishes
            .iter()
            .filter(|wish| matches!(wish.what, What::Delete));
        let gone = gone.map(|wish| wish.path.clone()).collect();
        let repo = cx.repo(&repo_args).await?;
        checks::is_no_remote_branch(cx, &repo, &branch).await?;
        let changes = changes(&repo, wishes, &branch, &base).await?;
        let opts = CommitOpts {
            branch: branch.clone(),
            base: Some(base),
            message,
            changes,
            expected_head,
        };
        let made = repo.forge.commit_files(&repo.id, &opts).await;
        let made = match made {
            Ok(made) => made,
            Err(error) => {
                let other = branch_beside(&branch);
                let resend = Resend {
                    sent: format!(
                        "send the same to a new branch: `branch: \"{other}\"` and `base: \"{branch}\"`"
                    ),
                    typed: format!(
                        "run the same on a new branch with `--branch {other} --base {branch}`"
                    ),
                };
                return Err(ToolError::of_commit(&repo, error, &branch, &resend).await);
            }
        };
        if let Some(base) = given_base.filter(|base| !made.branch_created && *base != branch) {
            cx.note(format!(
                "`base` was not used: branch `{branch}` exists, and starts where it did before, \
                 not at `{base}`"
            ));
        }
        let mut files: Vec<Row> = made
            .files
            .into_iter()
            .map(|file| Row {
                path: file.path,
                sha: file.sha.to_string(),
                replaced: file.replaced.map(|sha| sha.to_string()),
            })
            .collect();
        let cut = reply::fit(&mut files, ROOM);
        let output = Output {
            branch,
            commit_sha: made.sha.to_string(),
            html_url: made.html_url,
            branch_created: made.branch_created,
            unchanged: made.unchanged,
            files,
            files_left_out: (cut > 0).then_some(cut),
            gone,
        };
        let committed = !output.unchanged;
        // The first branch of an empty repository has nothing to be merged into.
        let opens = output.branch_created && committed && !made.first;
        let branch = output.branch.clone();
        let trunk = format!(
            "It is the first commit, so `{branch}` is the default branch now: go on with repo_status"
        );
        let open = format!("Open a pull request with pr_create, head \"{branch}\"");
        let wait =
            format!("Wait for CI with workflow_run_status, branch \"{branch}\", wait_seconds 300");
        Ok(Reply::from(output)
            .next_if(made.first, trunk)
            .next_if(opens, open)
            // CI is waited for with the pull request, where one is to be opened.
            .next_if(committed && !opens, wait))
    }

    async fn typed(&self, cx: &Cx, input: Input) -> Result<Input, ToolError> {
        typed::complete(cx, input).await
    }

    fn page(output: &Output, page: &mut Page) {
        let (branch, commit) = (&output.branch, short(&output.commit_sha));
        let text = match (output.unchanged, output.branch_created) {
            (true, true) => format!("Nothing to change; branch {branch} made at {commit}"),
            (true, false) => format!("Nothing to change; {branch} is at {commit}"),
            (false, true) => format!("Commit {commit} on new branch {branch}"),
            (false, false) => format!("Commit {commit} on {branch}"),
        };
        page.cell(Cell::new(&text, Style::Good).linked(&output.html_url));
        let row = |path: &str, blob: &str| vec![Cell::from(path), Cell::new(blob, Style::Dim)];
        let files = output.files.iter().map(|f| row(&f.path, short(&f.sha)));
        let gone = output.gone.iter().map(|path| row(path, "deleted"));
        let rows: Vec<_> = files.chain(gone.filter(|_| !output.unchanged)).collect();
        if !rows.is_empty() {
            page.table(&["FILE", "BLOB"], rows);
        }
    }
}

fn wishes(input: Input) -> Result<Vec<Wish>, ToolError> {
    let mut files = input.files;
    match input.path.filter(|path| !path.is_empty()) {
        Some(path) => files.insert(
            0,
            FileArg {
                path,
                content: input.content,
                edits: input.edits,
                sha: input.sha,
                ..FileArg::default()
            },
        ),
        None if input.content.is_some_and(|c| !c.is_empty()) || !input.edits.is_empty() => {
            let message = "`content` and `edits` need the `path` they are for";
            return Err(ToolError::new(ErrorCode::Invalid, message));
        }
        None => {}
    }
    limits::check_file_count(files.len())?;
    if files.is_empty() {
        let message = "there is nothing to write: give `path` and `content`, or `files`";
        return Err(ToolError::new(ErrorCode::Invalid, message));
    }
    files.into_iter().map(Wish::of).collect()
}

/// Turn wishes into changes; what must be read for that is pinned to the blob that was read
async fn changes(
    repo: &Repo,
    wishes: Vec<Wish>,
    branch: &str,
    base: &str,
) -> Result<Vec<FileChange>, ToolError> {
    let mut start = None;
    if wishes.iter().any(|wish| wish.reads().is_some()) {
        start = begin(repo, branch, base).await?;
    }
    let (start, edited) = (start.as_ref(), &EditedBytes::default());
    let pairs: Vec<(Wish, Option<File>)> = stream::iter(wishes)
        .map(|wish| async move {
            let Some(path) = wish.reads() else {
                return Ok((wish, None));
            };
            let file = read(repo, path, branch, start, wish.sha.as_ref()).await?;
            edited.add(file.content.len()).await?;
            Ok::<_, ToolError>((wish, Some(file)))
        })
        .buffered(AT_ONCE)
        .try_collect()
        .await?;
    let work = limits::edit_work(&pairs)?;
    let make = move || -> Result<Vec<FileChange>, ToolError> {
        let pairs = pairs.into_iter();
        pairs.map(|(wish, read)| change(wish, read)).collect()
    };
    let changes = limits::run_edits(work, make).await?;
    limits::check_total(&changes)?;
    Ok(changes)
}

/// The commit that the new one goes on top of; `None` is the default branch as it is
async fn begin(repo: &Repo, branch: &str, base: &str) -> Result<Option<Sha>, ToolError> {
    let forge: &dyn Forge = &*repo.forge;
    match forge.get_branch(&repo.id, branch).await {
        Ok(found) => Ok(Some(found.sha)),
        Err(ForgeError::NotFound { .. }) if base == DEFAULT => Ok(None),
        Err(ForgeError::NotFound { .. }) => Ok(Some(forge.resolve(&repo.id, base).await?)),
        Err(error) => Err(error.into()),
    }
}

async fn read(
    repo: &Repo,
    path: &str,
    branch: &str,
    start: Option<&Sha>,
    seen: Option<&Sha>,
) -> Result<File, ToolError> {
    let rev = start.map(Sha::as_str);
    let file = match repo
        .forge
        .read_file(&repo.id, path, rev, limits::MAX_EDITED_BYTES)
        .await
    {
        Err(ForgeError::NotFound { .. }) => {
            let message = format!(
                "`{path}` is not there for branch `{branch}` of `{}`",
                repo.id
            );
            return Err(ToolError::new(ErrorCode::NotFound, message)
                .with_hint("to make a new file give `content`"));
        }
        other => other?,
    };
    if file.kind != EntryKind::File {
        let message = format!("`{path}` is a symlink, so it cannot be edited");
        return Err(
            ToolError::new(ErrorCode::Invalid, message).with_hint("edit the file it points at")
        );
    }
    match seen {
        Some(seen) if *seen != file.sha => Err(ForgeError::Conflict {
            kind: ConflictKind::StaleFile {
                path: path.to_owned(),
                current: Some(file.sha.clone()),
            },
            message: format!("`{path}` has changed: it is {} now, not {seen}", file.sha),
            status: None,
        }
        .into()),
        _ => Ok(file),
    }
}

fn change(wish: Wish, read: Option<File>) -> Result<FileChange, ToolError> {
    let path = wish.path;
    let expect = wish.sha.map_or(Expect::Any, Expect::Blob);
    let edited = |edits: &[Edit], read: Option<File>, path: &str| {
        let file = read.ok_or_else(|| ToolError::new(ErrorCode::Internal, "nothing was read"))?;
        let content = edits::apply(path, &file.content, edits)?;
        Ok::<_, ToolError>((content, Expect::Blob(file.sha)))
    };
    Ok(match wish.what {
        What::Write(content) => FileChange::Write {
            path,
            content,
            expect,
        },
        What::Edit(edits) => {
            let (content, expect) = edited(&edits, read, &path)?;
            FileChange::Write {
                path,
                content,
                expect,
            }
        }
        What::Delete => FileChange::Delete { path, expect },
        What::Move { from, then } => {
            let (content, expect) = match then {
                Then::Same => (None, expect),
                Then::Write(content) => (Some(content), expect),
                Then::Edit(edits) => {
                    let (content, expect) = edited(&edits, read, &from)?;
                    (Some(content), expect)
                }
            };
            FileChange::Rename {
                from,
                to: path,
                content,
                expect,
            }
        }
    })
}
