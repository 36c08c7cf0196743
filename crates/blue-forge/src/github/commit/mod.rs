//! Writing: one commit with one or many files
//!
//! Always the same way, by blobs, tree and commit, and last the branch: moving it without force is
//! the compare-and-swap that lets exactly one of several writers win.

mod first;
mod plan;
pub(super) mod tree;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    GitHub,
    branches::{Tip, check_ref_name},
    wire,
};
use crate::{
    ConflictKind, ForgeError, Result,
    model::{CommitOpts, CommitOutcome, FileChange, RepoId, Sha, file_in_the_way, head_is_another},
    rest::Answer,
    turns,
};
use plan::Plan;
use tree::Present;

/// How often a commit is built anew on a branch that others write to
const REBUILDS: u32 = 4;
/// Before that, longer each time, so that writers get out of each other's way
const PAUSE: Duration = Duration::from_millis(200);

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
    /// Its tree, where that was told along
    tree: Option<Sha>,
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

    /// Whether the caller may push, for the lock of a branch; believed for a minute
    async fn may_push(&self, repo: &RepoId) -> Result<bool> {
        let may = match self.recent.permissions(repo) {
            Some(may) => Some(may),
            None => self.read_repository(repo).await?.permissions,
        };
        Ok(may.is_some_and(|may| may.push))
    }

    async fn commit_locked(&self, repo: &RepoId, opts: &CommitOpts) -> Result<CommitOutcome> {
        // A branch that was not there a moment ago is not looked up: GitHub refuses to make it twice.
        let may_be_new = opts.base.is_some() && opts.expected_head.is_none();
        if may_be_new && self.recent.lacks_branch(repo, &opts.branch) {
            match self.build(repo, opts, true, &mut None).await {
                // It may have come meanwhile, and then it is what counts.
                Ok(None)
                | Err(
                    ForgeError::Conflict { .. }
                    | ForgeError::NotFound { .. }
                    | ForgeError::Invalid { .. },
                ) => {}
                Ok(Some(outcome)) => return Ok(outcome),
                Err(error) => return Err(error),
            }
        }
        let mut late = None;
        for round in 0..REBUILDS {
            if round > 0 {
                tokio::time::sleep(PAUSE * round).await;
            }
            if let Some(outcome) = self.build(repo, opts, false, &mut late).await? {
                return Ok(outcome);
            }
        }
        Err(late.map_or_else(|| head_moved(&opts.branch, None), |late| late.error))
    }

    /// Build the commit on the branch as it is now, or on its base where the branch `is_new`;
    /// `None` when another writer was faster
    async fn build(
        &self,
        repo: &RepoId,
        opts: &CommitOpts,
        is_new: bool,
        late: &mut Option<Late>,
    ) -> Result<Option<CommitOutcome>> {
        let Some(start) = self.start(repo, opts, is_new).await? else {
            return self.first_commit(repo, opts).await.map(Some);
        };
        if let Some(expected) = &opts.expected_head
            && *expected != start.commit
        {
            let (branch, now) = (&opts.branch, Some(&start.commit));
            return Err(head_is_another(branch, expected, now, !start.fresh));
        }
        let base_tree = match &start.tree {
            Some(tree) => tree.clone(),
            None => self.tree_of(repo, &start.commit).await?,
        };
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
            Err(error) if opts.expected_head.is_none() && error.has_moved() => {
                *late = Some(Late { present, error });
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        self.recent
            .saw_commit(&made.sha.0, vec![start.commit.clone()]);
        self.recent.saw_branch(repo, &opts.branch);
        Ok(Some(CommitOutcome {
            sha: made.sha.0,
            html_url: made.html_url,
            branch_created: start.fresh,
            first: false,
            unchanged: false,
            files: plan.written(),
        }))
    }

    async fn tree_of(&self, repo: &RepoId, commit: &Sha) -> Result<Sha> {
        let found: GitCommit = self
            .get(repo, &["git", "commits", commit.as_str()])
            .send()
            .await?
            .json()?;
        Ok(found.tree.sha.0)
    }

    /// Nothing where the repository has no commit at all
    async fn start(&self, repo: &RepoId, opts: &CommitOpts, is_new: bool) -> Result<Option<Start>> {
        if !is_new {
            match self.wire_branch(repo, &opts.branch).await {
                Ok(found) => {
                    return Ok(Some(Start {
                        commit: found.sha().clone(),
                        tree: found.tree().cloned(),
                        fresh: false,
                    }));
                }
                Err(ForgeError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let missing = match &opts.base {
            Some(base) => match self.commit_and_tree(repo, base).await {
                Ok((commit, tree)) => {
                    return Ok(Some(Start {
                        commit,
                        tree,
                        fresh: true,
                    }));
                }
                Err(error @ ForgeError::NotFound { .. }) => error,
                Err(error) => return Err(error),
            },
            None => self.not_found(format!("branch `{}` of `{repo}`", opts.branch)),
        };
        if self.read_repository(repo).await?.empty {
            return Ok(None);
        }
        Err(missing)
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
        let answer = self
            .post(repo, &["git", "commits"])
            .json(&body)
            .answer()
            .await?;
        self.written(repo, answer).await?.json()
    }

    /// Let the branch show the new commit
    async fn publish(&self, repo: &RepoId, branch: &str, start: &Start, new: &Sha) -> Result<()> {
        if start.fresh {
            return match self.make_ref(repo, "heads", branch, new).await {
                Err(ForgeError::Conflict {
                    kind: ConflictKind::Exists,
                    ..
                }) => Err(self.moved(repo, branch).await.answered(422)),
                Err(error @ (ForgeError::Unreachable { .. } | ForgeError::NoAnswer { .. })) => {
                    self.lost(repo, branch, new, error).await
                }
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
            Err(error @ (ForgeError::Unreachable { .. } | ForgeError::NoAnswer { .. })) => {
                self.lost(repo, branch, new, error).await
            }
            Err(error) => Err(error),
        }
    }

    /// An answer was lost; the branch itself tells whether it shows the new commit
    async fn lost(&self, repo: &RepoId, branch: &str, new: &Sha, error: ForgeError) -> Result<()> {
        match self.branch_tip(repo, branch).await {
            Ok(Tip::At(tip)) if tip == *new => Ok(()),
            _ => Err(error),
        }
    }

    async fn why_not_moved(&self, repo: &RepoId, branch: &str, answer: Answer) -> ForgeError {
        let message = answer.message_or_reason();
        match answer.status.as_u16() {
            409 => self.moved(repo, branch).await.answered(409),
            422 if answer.says("fast forward")
                || answer.says("fast-forward")
                || answer.says("does not exist") =>
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
            let shown = blue_base::text::clean_line(path);
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
