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
    model::{CommitOpts, CommitOutcome, FileChange, RepoId, Sha},
    rest::Answer,
};
use plan::Plan;

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

impl GitHub {
    pub(super) async fn make_commit(
        &self,
        repo: &RepoId,
        opts: &CommitOpts,
    ) -> Result<CommitOutcome> {
        check(opts)?;
        let Some(start) = self.start(repo, opts).await? else {
            return self.first_commit(repo, opts).await;
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
        let present = self
            .entries_at(repo, &base_tree, &paths(&opts.changes))
            .await?;
        let plan = Plan::make(self, &opts.changes, &present)?;
        if plan.is_empty() {
            return self.unchanged(repo, opts, start, plan).await;
        }
        let tree = self.write_tree(repo, &plan, Some(&base_tree)).await?;
        if tree == base_tree {
            return self.unchanged(repo, opts, start, plan).await;
        }
        let made = self
            .write_commit(repo, &opts.message, &tree, &[&start.commit])
            .await?;
        self.publish(repo, &opts.branch, &start, &made.sha.0)
            .await?;
        Ok(CommitOutcome {
            sha: made.sha.0,
            html_url: made.html_url,
            branch_created: start.fresh,
            unchanged: false,
            files: plan.written(),
        })
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
            Err(error @ (ForgeError::Unreachable { .. } | ForgeError::NoAnswer { .. })) => {
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
    Ok(())
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
