//! Writing: one commit with one or many files
//!
//! Always the same way, by blobs, tree and commit, and last the branch: moving it without force is
//! the compare-and-swap that lets exactly one of several writers win.

mod first;
mod plan;
pub(super) mod tree;

use serde::{Deserialize, Serialize};

use super::{
    GitHub,
    branches::{Tip, check_ref_name},
    wire,
};
use crate::forge::{
    ConflictKind, ForgeError, Result,
    model::{CommitOpts, CommitOutcome, FileChange, RepoId, Sha, file_in_the_way},
    rest::Answer,
    turns,
};
use plan::Plan;
use tree::Present;

/// How often a commit is built anew on a branch that others write to
const REBUILDS: usize = 4;

#[derive(Debug, Serialize)]
struct NewCommit<'a> {
    message: &'a str,
    tree: &'a str,
    parents: Vec<&'a str>,
}

#[derive(Debug, Deserialize)]
struct MadeCommit {
    sha: wire::Oid,
    #[serde(default)]
    html_url: String,
}

#[derive(Debug, Deserialize)]
struct GitCommit {
    tree: wire::Pointer,
}

#[derive(Debug, Serialize)]
struct MoveRef<'a> {
    sha: &'a str,
    force: bool,
}

/// The commit that the new one goes on top of
#[derive(Debug)]
struct Start {
    commit: Sha,
    /// The branch is not there yet
    fresh: bool,
}

/// A commit that came too late: what it was built on, and the refusal
#[derive(Debug)]
struct Late {
    present: Present,
    error: ForgeError,
}

impl GitHub {
    pub(super) async fn make_commit(
        &self,
        repo: &RepoId,
        opts: &CommitOpts,
    ) -> Result<CommitOutcome> {
        check(opts)?;
        let _turn = turns::take(self.rest.host(), repo, &opts.branch).await;
        let mut late = None;
        for _ in 0..REBUILDS {
            if let Some(outcome) = self.build(repo, opts, &mut late).await? {
                return Ok(outcome);
            }
        }
        Err(late.map_or_else(|| head_moved(&opts.branch, None), |late| late.error))
    }

    /// Build the commit on the branch as it is now; `None` when another writer was faster
    async fn build(
        &self,
        repo: &RepoId,
        opts: &CommitOpts,
        late: &mut Option<Late>,
    ) -> Result<Option<CommitOutcome>> {
        let Some(start) = self.start(repo, opts).await? else {
            return self.first_commit(repo, opts).await.map(Some);
        };
        if let Some(expected) = &opts.expected_head
            && *expected != start.commit
        {
            return Err(head_moved(&opts.branch, Some(start.commit)));
        }
        let base: GitCommit = self
            .get(repo, &["git", "commits", start.commit.as_str()])
            .send()
            .await?
            .json()?;
        let base_tree = base.tree.sha.0;
        let paths = paths(&opts.changes);
        let present = self.entries_at(repo, &base_tree, &paths).await?;
        let plan = Plan::make(self, &opts.changes, &present)?;
        // The other writer's file is not overwritten unseen.
        if let Some(late) = late.take_if(|late| !same_files(&late.present, &present, &paths)) {
            return Err(late.error);
        }
        if plan.is_empty() {
            return self.unchanged(repo, opts, start, plan).await.map(Some);
        }
        let tree = self.write_tree(repo, &plan, Some(&base_tree)).await?;
        if tree == base_tree {
            return self.unchanged(repo, opts, start, plan).await.map(Some);
        }
        let made = self
            .write_commit(repo, &opts.message, &tree, &[&start.commit])
            .await?;
        match self.publish(repo, &opts.branch, &start, &made.sha.0).await {
            Ok(()) => {}
            Err(error) if opts.expected_head.is_none() && has_moved(&error) => {
                *late = Some(Late { present, error });
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        Ok(Some(CommitOutcome {
            sha: made.sha.0,
            html_url: made.html_url,
            branch_created: start.fresh,
            first: false,
            unchanged: false,
            files: plan.written(),
        }))
    }

    /// Nothing where the repository has no commit at all
    async fn start(&self, repo: &RepoId, opts: &CommitOpts) -> Result<Option<Start>> {
        let base = match (self.branch_tip(repo, &opts.branch).await?, &opts.base) {
            (Tip::At(commit), _) => {
                return Ok(Some(Start {
                    commit,
                    fresh: false,
                }));
            }
            (Tip::EmptyRepository, _) => return Ok(None),
            (Tip::Missing, Some(base)) => base,
            (Tip::Missing, None) => {
                // Not every GitHub says "empty" for a missing ref.
                if self.read_repository(repo).await?.empty {
                    return Ok(None);
                }
                let what = format!("branch `{}` of `{repo}`", opts.branch);
                return Err(self.not_found(what));
            }
        };
        match self.resolve_rev(repo, base).await {
            Ok(commit) => Ok(Some(Start {
                commit,
                fresh: true,
            })),
            Err(error @ ForgeError::NotFound { .. }) => {
                if self.read_repository(repo).await?.empty {
                    return Ok(None);
                }
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    async fn unchanged(
        &self,
        repo: &RepoId,
        opts: &CommitOpts,
        start: Start,
        plan: Plan,
    ) -> Result<CommitOutcome> {
        if start.fresh {
            self.make_ref(repo, "heads", &opts.branch, &start.commit)
                .await?;
        }
        Ok(CommitOutcome {
            html_url: self.web_url(repo, &format!("commit/{}", start.commit)),
            sha: start.commit,
            branch_created: start.fresh,
            first: false,
            unchanged: true,
            files: plan.written(),
        })
    }

    async fn write_commit(
        &self,
        repo: &RepoId,
        message: &str,
        tree: &Sha,
        parents: &[&Sha],
    ) -> Result<MadeCommit> {
        let body = NewCommit {
            message,
            tree: tree.as_str(),
            parents: parents.iter().map(|p| p.as_str()).collect(),
        };
        let result = self
            .post(repo, &["git", "commits"])
            .json(&body)
            .send()
            .await;
        self.explained(repo, result).await?.json()
    }

    /// Let the branch show the new commit
    async fn publish(&self, repo: &RepoId, branch: &str, start: &Start, new: &Sha) -> Result<()> {
        if start.fresh {
            return match self.make_ref(repo, "heads", branch, new).await {
                Err(ForgeError::Conflict {
                    kind: ConflictKind::Exists,
                    ..
                }) => Err(self.moved(repo, branch).await.answered(422)),
                other => other,
            };
        }
        let body = MoveRef {
            sha: new.as_str(),
            force: false,
        };
        let result = self
            .patch(repo, &["git", "refs", "heads"])
            .path(branch)
            .json(&body)
            .answer()
            .await;
        match result {
            Ok(answer) if answer.status.is_success() => Ok(()),
            Ok(answer) => Err(self.why_not_moved(repo, branch, answer).await),
            // The answer was lost, which says nothing about the branch.
            Err(error @ ForgeError::Unreachable { .. }) => {
                match self.branch_tip(repo, branch).await {
                    Ok(Tip::At(tip)) if tip == *new => Ok(()),
                    _ => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }

    async fn why_not_moved(&self, repo: &RepoId, branch: &str, answer: Answer) -> ForgeError {
        let message = answer.message_or_reason();
        let lower = message.to_lowercase();
        match answer.status.as_u16() {
            409 => self.moved(repo, branch).await.answered(409),
            422 if lower.contains("fast forward")
                || lower.contains("fast-forward")
                || lower.contains("does not exist") =>
            {
                self.moved(repo, branch).await.answered(422)
            }
            // Protection and rulesets: reviews, checks, signatures.
            422 => self.forbidden(message).answered(422),
            _ => self.explain(repo, answer.into_error()).await,
        }
    }

    async fn moved(&self, repo: &RepoId, branch: &str) -> ForgeError {
        let current = match self.branch_tip(repo, branch).await {
            Ok(Tip::At(sha)) => Some(sha),
            _ => None,
        };
        head_moved(branch, current)
    }
}

fn head_moved(branch: &str, current: Option<Sha>) -> ForgeError {
    let place = current
        .as_ref()
        .map_or_else(|| "is gone".to_owned(), |sha| format!("is at {sha}"));
    ForgeError::Conflict {
        kind: ConflictKind::HeadMoved { current },
        message: format!("branch `{branch}` has moved and {place}"),
        status: None,
    }
}

/// The branch is there, with commits that were not seen
fn has_moved(error: &ForgeError) -> bool {
    matches!(
        error,
        ForgeError::Conflict {
            kind: ConflictKind::HeadMoved { current: Some(_) },
            ..
        }
    )
}

/// Whether the same is at each path in both
fn same_files(one: &Present, other: &Present, paths: &[&str]) -> bool {
    let at = |present: &Present, path: &str| {
        let entry = present.get(path)?;
        Some((entry.mode.clone(), entry.sha().clone()))
    };
    paths.iter().all(|path| at(one, path) == at(other, path))
}

/// What makes no sense on any branch
fn check(opts: &CommitOpts) -> Result<()> {
    let invalid = |message: String| {
        Err(ForgeError::Invalid {
            message,
            status: None,
        })
    };
    check_ref_name(&opts.branch, "branch")?;
    if opts.changes.is_empty() {
        return invalid("a commit needs at least one change".to_owned());
    }
    let paths = paths(&opts.changes);
    for (i, path) in paths.iter().enumerate() {
        let bad = |part: &str| {
            part.is_empty() || part == "." || part == ".." || part.eq_ignore_ascii_case(".git")
        };
        if path.split('/').any(bad) || path.contains('\0') {
            let shown = crate::text::clean_line(path);
            return invalid(format!("`{shown}` is not a path of a file"));
        }
        if paths[..i].contains(path) {
            return invalid(format!("`{path}` is changed twice"));
        }
    }
    match file_in_the_way(&opts.changes) {
        Some((file, below)) => Err(ForgeError::file_and_directory(file, below)),
        None => Ok(()),
    }
}

fn paths(changes: &[FileChange]) -> Vec<&str> {
    let mut all = Vec::new();
    for change in changes {
        match change {
            FileChange::Write { path, .. } | FileChange::Delete { path, .. } => {
                all.push(path.as_str());
            }
            FileChange::Rename { from, to, .. } => {
                all.push(from.as_str());
                all.push(to.as_str());
            }
        }
    }
    all
}
