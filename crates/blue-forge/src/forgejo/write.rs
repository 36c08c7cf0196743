//! Writing: one commit with one or many files
//!
//! The servers make commits that change nothing, delete without being asked twice, and say "done"
//! where nothing was done. So what is there now is looked up first, and only real changes are sent.

use std::time::Duration;

use base64::Engine as _;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use super::{
    Forgejo,
    contents::At,
    wire,
    write_check::{check, nothing_given},
    write_errors::Sent,
};
use crate::{
    ConflictKind, ForgeError, Result,
    blob::{ObjectFormat, blob_id},
    model::{
        CommitOpts, CommitOutcome, EntryKind, FileChange, RepoId, Sha, WrittenFile, head_is_another,
    },
    rest::Answer,
    turns,
};

/// Paths looked up at once
const AT_ONCE: usize = 6;
/// How often a commit is made anew on a branch that others write to
const REBUILDS: u32 = 4;
/// Before that, longer each time: what another wrote is in the server's own list only a while later
const PAUSE: Duration = Duration::from_millis(400);

#[derive(Debug, Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_branch: Option<&'a str>,
    message: &'a str,
    files: &'a [Operation],
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Operation {
    #[serde(rename = "operation")]
    pub(super) action: &'static str,
    pub(super) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sha: Option<Sha>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from_path: Option<String>,
}

impl Operation {
    /// The path whose blob it names
    pub(super) fn looked_at(&self) -> String {
        self.from_path.as_ref().unwrap_or(&self.path).clone()
    }
}

#[derive(Debug, Deserialize)]
struct Answered {
    commit: Option<AnsweredCommit>,
    /// Deleted ones are `null`
    #[serde(default, deserialize_with = "wire::or_default")]
    files: Vec<Option<AnsweredFile>>,
}

#[derive(Debug, Deserialize)]
struct AnsweredFile {
    #[serde(default, deserialize_with = "wire::or_default")]
    path: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    sha: String,
}

#[derive(Debug, Deserialize)]
struct AnsweredCommit {
    #[serde(default, deserialize_with = "wire::or_default")]
    sha: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    html_url: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    parents: Vec<wire::CommitRef>,
}

/// Where the commit goes
#[derive(Debug)]
enum Place {
    /// The branch, at this commit
    Branch(Sha),
    /// A new branch from a branch that the server finds by itself; `None` is the default branch
    From {
        base: Option<String>,
        /// Where that is, if it had to be known
        at: Option<Sha>,
    },
    /// A new branch from a commit
    At(Sha),
    /// The first commit of a repository
    Empty,
}

impl Place {
    fn head(&self) -> Option<&Sha> {
        match self {
            Self::Branch(sha) | Self::At(sha) => Some(sha),
            Self::From { at, .. } => at.as_ref(),
            Self::Empty => None,
        }
    }
}

/// A change with what stands at its path now
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) operations: Vec<Operation>,
    pub(super) written: Option<WrittenFile>,
}

/// A commit that came too late: what was sent, and the refusal
#[derive(Debug)]
struct Late {
    operations: Vec<Operation>,
    error: ForgeError,
}

/// Another writer was faster; one who made the branch too may not be in the list of branches yet
fn came_late(place: &Place, error: &ForgeError) -> bool {
    let moved = matches!(
        error,
        ForgeError::Conflict {
            kind: ConflictKind::HeadMoved { .. },
            ..
        }
    );
    error.has_moved() || moved && !matches!(place, Place::Branch(_))
}

impl Forgejo {
    pub(super) async fn commit(&self, repo: &RepoId, opts: &CommitOpts) -> Result<CommitOutcome> {
        check(opts)?;
        let place = (self.rest.host(), repo, opts.branch.as_str());
        let user = self.rest.user_key();
        turns::exclusively(
            place,
            user,
            self.may_push(repo),
            Box::pin(self.commit_locked(repo, opts)),
        )
        .await
    }

    async fn commit_locked(&self, repo: &RepoId, opts: &CommitOpts) -> Result<CommitOutcome> {
        if let Some(outcome) = self.commit_at_once(repo, opts).await? {
            return Ok(outcome);
        }
        let mut late = None;
        for round in 0..REBUILDS {
            if round > 0 {
                tokio::time::sleep(PAUSE * round).await;
            }
            if let Some(outcome) = self.build(repo, opts, &mut late).await? {
                return Ok(outcome);
            }
        }
        let late: Late = late.expect("a commit that was not made came too late");
        Err(late.error)
    }

    /// Make the commit on the branch as it is now; `None` when another writer was faster
    async fn build(
        &self,
        repo: &RepoId,
        opts: &CommitOpts,
        late: &mut Option<Late>,
    ) -> Result<Option<CommitOutcome>> {
        let place = self.place(repo, opts).await?;
        if let Some(expected) = &opts.expected_head
            && place.head() != Some(expected)
        {
            let (branch, now) = (&opts.branch, place.head());
            let is_there = matches!(place, Place::Branch(_));
            return Err(head_is_another(branch, expected, now, is_there));
        }
        let plans: Vec<_> = opts
            .changes
            .iter()
            .map(|change| self.plan(repo, change, &place))
            .collect();
        let planned: Vec<Planned> = stream::iter(plans).buffered(AT_ONCE).try_collect().await?;
        let (mut operations, mut files) = (Vec::new(), Vec::new());
        for plan in planned {
            operations.extend(plan.operations);
            files.extend(plan.written);
        }
        // The other writer's file is not overwritten unseen.
        if let Some(late) = late.take_if(|late| late.operations != operations) {
            return Err(late.error);
        }
        if operations.is_empty() {
            let outcome = self.nothing_to_do(repo, opts, place, files).await;
            return outcome.map(Some);
        }
        match self.send(repo, opts, &place, &operations, files).await {
            Err(error) if opts.expected_head.is_none() && came_late(&place, &error) => {
                *late = Some(Late { operations, error });
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    async fn place(&self, repo: &RepoId, opts: &CommitOpts) -> Result<Place> {
        if let Some(branch) = self.branch_if_any(repo, &opts.branch).await? {
            return Ok(Place::Branch(branch.sha));
        }
        let empty = match self.recent.default_branch(repo) {
            Some(_) => false,
            None => self.wire_repo(repo).await?.empty,
        };
        if empty {
            return match opts.base_that_is_missing() {
                Some(base) => Err(self.no_start(repo, base)),
                None => Ok(Place::Empty),
            };
        }
        let Some(base) = &opts.base else {
            return Err(ForgeError::NotFound {
                host: self.rest.host().clone(),
                what: format!("branch `{}` of `{repo}`", opts.branch),
                status: Some(404),
            });
        };
        // By name, so that branch and commit are made in one go.
        if base == "HEAD" {
            let moves = |change: &FileChange| matches!(change, FileChange::Rename { .. });
            let needed = opts.expected_head.is_some() || opts.changes.iter().any(moves);
            let at = if needed {
                Some(self.head_of_default(repo).await?.0)
            } else {
                None
            };
            return Ok(Place::From { base: None, at });
        }
        if let Some(branch) = self.branch_if_any(repo, base).await? {
            return Ok(Place::From {
                base: Some(branch.name),
                at: Some(branch.sha),
            });
        }
        Ok(Place::At(self.resolve_rev(repo, base).await?))
    }

    async fn plan(&self, repo: &RepoId, change: &FileChange, place: &Place) -> Result<Planned> {
        let head = place.head();
        match change {
            FileChange::Write {
                path,
                content,
                expect,
            } => {
                let now = self.now(repo, path, place).await?;
                expect.hold(path, now.as_ref().map(|n| &n.0))?;
                plan_write(path, content, now, head)
            }
            FileChange::Delete { path, expect } => {
                let now = self.now(repo, path, place).await?;
                expect.hold(path, now.as_ref().map(|n| &n.0))?;
                let (sha, _) = now.ok_or_else(|| self.no_file(repo, path))?;
                Ok(Planned {
                    operations: vec![delete(path, sha)],
                    written: None,
                })
            }
            FileChange::Rename {
                from,
                to,
                content,
                expect,
            } => {
                let now = self.now(repo, from, place).await?;
                expect.hold(from, now.as_ref().map(|n| &n.0))?;
                let (sha, kind) = now.ok_or_else(|| self.no_file(repo, from))?;
                if self.now(repo, to, place).await?.is_some() {
                    return Err(ForgeError::Conflict {
                        kind: ConflictKind::Exists,
                        message: format!("`{to}` exists already"),
                        status: None,
                    });
                }
                let content = content.as_deref();
                self.plan_move(repo, (from, to), content, (sha, kind), head)
                    .await
            }
        }
    }

    async fn now(
        &self,
        repo: &RepoId,
        path: &str,
        place: &Place,
    ) -> Result<Option<(Sha, EntryKind)>> {
        match place {
            Place::Empty => Ok(None),
            _ => self.now_at(repo, path, place.head()).await,
        }
    }

    /// Blob and kind of what is at a path of a commit or of the default branch; a directory cannot
    /// be written or deleted
    pub(super) async fn now_at(
        &self,
        repo: &RepoId,
        path: &str,
        head: Option<&Sha>,
    ) -> Result<Option<(Sha, EntryKind)>> {
        match self.look_at(repo, path, head).await? {
            At::Nothing => Ok(None),
            At::Entry(entry) if entry.kind() != EntryKind::Dir => {
                let kind = entry.kind();
                Ok(Some((wire::sha(self.rest.host(), &entry.sha)?, kind)))
            }
            At::Entry(_) | At::Dir(_) => Err(ForgeError::Invalid {
                message: format!("`{path}` is a directory, not a file"),
                status: None,
            }),
        }
    }

    async fn send(
        &self,
        repo: &RepoId,
        opts: &CommitOpts,
        place: &Place,
        operations: &[Operation],
        files: Vec<WrittenFile>,
    ) -> Result<CommitOutcome> {
        let (mut branch, mut new_branch) = (Some(opts.branch.as_str()), None);
        let mut made = None;
        match place {
            Place::From { base, .. } => {
                branch = base.as_deref();
                new_branch = Some(opts.branch.as_str());
            }
            // The server starts a commit only from a branch, so make the branch first.
            Place::At(start) => {
                made = Some(self.make_branch(repo, &opts.branch, start.as_str()).await?);
            }
            Place::Branch(_) | Place::Empty => {}
        }
        let sent = Sent {
            repo,
            branch: &opts.branch,
            before: match place {
                Place::Branch(sha) => Some(sha),
                _ => None,
            },
            head: place.head(),
            operations,
        };
        let answer = self
            .post_files(repo, opts, (branch, new_branch), operations)
            .await;
        let answer = match answer {
            Ok(answer) if answer.status.is_success() => answer,
            other => {
                if let Some(made) = made {
                    self.take_back(repo, &made).await;
                }
                return Err(match other {
                    Ok(answer) => self.write_error(&sent, answer).await,
                    Err(error) => error,
                });
            }
        };
        let created = !matches!(place, Place::Branch(_));
        let outcome = self.committed(repo, opts, answer, files, created).await?;
        Ok(CommitOutcome {
            first: matches!(place, Place::Empty),
            ..outcome
        })
    }

    /// Send a commit; `new_branch` is made from `branch`, which is the default branch if left out
    pub(super) async fn post_files(
        &self,
        repo: &RepoId,
        opts: &CommitOpts,
        (branch, new_branch): (Option<&str>, Option<&str>),
        operations: &[Operation],
    ) -> Result<Answer> {
        let body = Body {
            branch,
            new_branch,
            message: &opts.message,
            files: operations,
        };
        self.repo_post(repo, &["contents"])
            .what(format!("branch `{}` of `{repo}`", opts.branch))
            .json(&body)
            .answer()
            .await
    }

    /// What came of a commit that the server took
    pub(super) async fn committed(
        &self,
        repo: &RepoId,
        opts: &CommitOpts,
        answer: Answer,
        mut files: Vec<WrittenFile>,
        created: bool,
    ) -> Result<CommitOutcome> {
        self.recent.saw_branch(repo, &opts.branch);
        let answered: Answered = answer.json()?;
        for row in answered.files.iter().flatten() {
            let written = files.iter_mut().find(|f| f.path == row.path);
            if let (Some(written), Ok(sha)) = (written, Sha::parse(&row.sha)) {
                written.sha = sha;
            }
        }
        let Some(commit) = answered.commit else {
            let tip = self.read_branch(repo, &opts.branch).await?.sha;
            return Ok(self.outcome(repo, tip, created, files));
        };
        let sha = wire::sha(self.rest.host(), &commit.sha)?;
        let parents = commit.parents.iter();
        let parents = parents.filter_map(|parent| Sha::parse(parent.sha()).ok());
        self.recent.saw_commit(&sha, parents.collect());
        if self.recent.default_branch(repo).as_ref() == Some(&opts.branch) {
            for file in &files {
                self.recent.saw_file(repo, &file.path, &file.sha);
            }
        }
        if let (Some(expected), Some(parent)) = (&opts.expected_head, commit.parents.first())
            && parent.sha() != expected.as_str()
        {
            return Err(ForgeError::Conflict {
                message: format!(
                    "`{}` moved from {expected} to {} in the very moment of writing, and commit \
                     {sha} was made on top of that",
                    opts.branch,
                    parent.sha(),
                ),
                kind: ConflictKind::Landed { commit: sha },
                status: None,
            });
        }
        let mut outcome = self.outcome(repo, sha, created, files);
        if !commit.html_url.is_empty() {
            outcome.html_url = commit.html_url;
        }
        Ok(outcome)
    }

    async fn nothing_to_do(
        &self,
        repo: &RepoId,
        opts: &CommitOpts,
        place: Place,
        files: Vec<WrittenFile>,
    ) -> Result<CommitOutcome> {
        let head = match &place {
            Place::Branch(head) => head.clone(),
            Place::From { base, at: None } => {
                let base = base.as_deref().unwrap_or("HEAD");
                self.make_branch(repo, &opts.branch, base).await?.sha
            }
            Place::At(start)
            | Place::From {
                at: Some(start), ..
            } => {
                let branch = self.make_branch(repo, &opts.branch, start.as_str()).await?;
                branch.sha
            }
            Place::Empty => return Err(nothing_given()),
        };
        let created = !matches!(place, Place::Branch(_));
        Ok(CommitOutcome {
            unchanged: true,
            ..self.outcome(repo, head, created, files)
        })
    }

    fn outcome(
        &self,
        repo: &RepoId,
        sha: Sha,
        created: bool,
        files: Vec<WrittenFile>,
    ) -> CommitOutcome {
        CommitOutcome {
            html_url: self.web(&format!("{repo}/commit/{sha}")),
            sha,
            branch_created: created,
            first: false,
            unchanged: false,
            files,
        }
    }

    /// Remove a branch that was made for a commit which then failed
    async fn take_back(&self, repo: &RepoId, made: &crate::model::Branch) {
        if let Ok(Some(now)) = self.branch_if_any(repo, &made.name).await
            && now.sha == made.sha
            && let Err(error) = self.remove_branch(repo, &made.name).await
        {
            tracing::warn!(branch = made.name, %error, "could not remove the unused branch");
        }
    }

    fn no_start(&self, repo: &RepoId, base: &str) -> ForgeError {
        ForgeError::NotFound {
            host: self.rest.host().clone(),
            what: format!("`{base}` of `{repo}`, which has no commit yet,"),
            status: None,
        }
    }

    pub(super) fn no_file(&self, repo: &RepoId, path: &str) -> ForgeError {
        ForgeError::NotFound {
            host: self.rest.host().clone(),
            what: format!("`{path}` in `{repo}`"),
            status: Some(404),
        }
    }
}

fn plan_write(
    path: &str,
    content: &[u8],
    now: Option<(Sha, EntryKind)>,
    head: Option<&Sha>,
) -> Result<Planned> {
    let known = now.as_ref().map(|n| &n.0).or(head);
    let id = blob_id(content, known.map_or(ObjectFormat::Sha1, ObjectFormat::of));
    let same = now == Some((id.clone(), EntryKind::File));
    match now {
        Some((_, EntryKind::Submodule)) => {
            return Err(ForgeError::Invalid {
                message: format!("`{path}` is a submodule, not a file"),
                status: None,
            });
        }
        // The servers refuse it, with words about a directory.
        Some((_, EntryKind::Symlink)) => return Err(ForgeError::is_a_link(path)),
        _ => {}
    }
    let replaced = now.filter(|_| !same).map(|(blob, _)| blob);
    let operations = if same {
        Vec::new()
    } else {
        vec![write(path, content, replaced.clone())]
    };
    Ok(Planned {
        operations,
        written: Some(WrittenFile {
            path: path.to_owned(),
            sha: id,
            replaced,
        }),
    })
}

pub(super) fn write(path: &str, content: &[u8], now: Option<Sha>) -> Operation {
    Operation {
        action: if now.is_some() { "update" } else { "create" },
        path: path.to_owned(),
        content: Some(encode(content)),
        sha: now,
        from_path: None,
    }
}

pub(super) fn encode(content: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(content)
}

fn delete(path: &str, sha: Sha) -> Operation {
    Operation {
        action: "delete",
        path: path.to_owned(),
        content: None,
        sha: Some(sha),
        from_path: None,
    }
}
