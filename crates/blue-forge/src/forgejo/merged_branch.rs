//! The head branch of a merged pull request, which is deleted only where nothing is lost by it

use super::Forgejo;
use crate::{
    ForgeError,
    model::{MergeOpts, PullRequest, Sha},
};

/// What became of the head branch of a merged pull request
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BranchLeft {
    Gone,
    /// It has commits that were not merged
    Moved,
    Stays,
}

/// The commit to merge: the one that the caller names, or, where its branch is deleted afterwards,
/// the one that was looked at, so that it is known what was merged: the servers show the tip of the
/// branch as the head of a merged pull request too
pub(super) fn merged_head(opts: &MergeOpts, pr: Option<&PullRequest>) -> Option<Sha> {
    let seen = pr.filter(|_| opts.delete_branch && !opts.when_checks_succeed);
    let seen = seen.and_then(|pr| pr.head.sha.clone());
    opts.head_sha.clone().or(seen)
}

impl Forgejo {
    /// Deletes the head branch if it is still at the commit that was merged
    ///
    /// The servers can delete it with the merge, but do so wherever it is by then: a push between
    /// the two would be lost.
    pub(super) async fn delete_merged(&self, pr: &PullRequest, merged: &Sha) -> BranchLeft {
        let Some(repo) = &pr.head.repo else {
            return BranchLeft::Gone;
        };
        let branch = &pr.head.branch;
        // An AGit pull request has none.
        if branch.is_empty() {
            return BranchLeft::Stays;
        }
        let removed = match self.branch_if_any(repo, branch).await {
            // The repository may delete head branches by itself.
            Ok(None) => return BranchLeft::Gone,
            Ok(Some(found)) if found.sha != *merged => return BranchLeft::Moved,
            Ok(Some(_)) => self.remove_branch(repo, branch).await,
            Err(error) => Err(error),
        };
        match removed {
            Ok(()) | Err(ForgeError::NotFound { .. }) => BranchLeft::Gone,
            Err(error) => {
                tracing::warn!(%error, branch, "merged, but the branch stays");
                BranchLeft::Stays
            }
        }
    }

    pub(super) async fn head_is_gone(&self, pr: &PullRequest) -> bool {
        match &pr.head.repo {
            _ if pr.head.branch.is_empty() => false,
            Some(repo) => matches!(self.branch_if_any(repo, &pr.head.branch).await, Ok(None)),
            None => true,
        }
    }
}
