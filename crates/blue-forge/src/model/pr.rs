//! Pull requests

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{RepoId, Sha};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PullRequest {
    pub number: u64,
    /// As the forge has it, draft prefix included
    pub title: String,
    pub body: String,
    pub state: PrState,
    pub draft: bool,
    pub head: PrSide,
    pub base: PrSide,
    pub mergeable: Mergeable,
    /// When this was read, by the server's own clock (Gitea and Forgejo)
    #[serde(skip)]
    pub server_time: Option<Timestamp>,
    /// Latest change of the pull request or of either repository, by the server's clock; a push of a
    /// moment ago may be missing (Gitea and Forgejo)
    #[serde(skip)]
    pub last_push: Option<Timestamp>,
    /// Where the head left the base, as the forge keeps it (Gitea and Forgejo)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_base: Option<Sha>,
    pub ruling: Ruling,
    /// The repository is archived, as far as the pull request tells
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// Commit the merge made
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_sha: Option<Sha>,
    /// How many files it changes, where the forge tells; commits without changes make it 0 too
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_files: Option<u64>,
    /// How many commits it has, where the forge tells (GitHub)
    #[serde(skip)]
    pub commits: Option<u64>,
    /// Merge styles of the base repository, where the forge tells them with the pull request
    #[serde(skip)]
    pub styles: Option<MergeStyles>,
    pub author: String,
    pub created: Option<Timestamp>,
    pub updated: Option<Timestamp>,
    pub html_url: String,
}

impl PullRequest {
    /// Returns the time `quiet` before this was read, if nothing is known to have changed since then
    pub(crate) fn quiet_since(&self, quiet: SignedDuration) -> Option<Timestamp> {
        let then = self.server_time?.checked_sub(quiet).ok()?;
        self.last_push.filter(|at| *at <= then).map(|_| then)
    }

    /// The head branch, unless it is one of a fork
    pub(crate) fn own_branch(&self, repo: &RepoId) -> Option<String> {
        // After a rename the base has another name than was asked for.
        let home = self.base.repo.as_ref().unwrap_or(repo);
        let own = self.head.repo.as_ref() == Some(home);
        // The head of a pull request that a push made (AGit) is no branch.
        (own && !self.head.branch.is_empty()).then(|| self.head.branch.clone())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PrState {
    Open,
    Closed,
    Merged,
}

/// One end of a pull request
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PrSide {
    /// Branch name, also after the branch is gone; empty where a push to `refs/for/` made the pull
    /// request (`AGit`)
    pub branch: String,
    pub sha: Option<Sha>,
    /// Absent when a fork was deleted
    pub repo: Option<RepoId>,
}

/// What one look at the pull request tells; `Unknown` needs [`super::Mergeability`]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mergeable {
    Yes,
    /// The forge says no and means a conflict
    No,
    /// Still computing, or a "no" that can mean several things
    Unknown,
}

/// What the forge itself says of its rules, without saying which (GitHub)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// It says nothing, or not yet
    #[default]
    Unknown,
    /// No rule is in the way
    Clear,
    /// The base must be in the head first
    Behind,
    Blocked,
}

/// Why a pull request merges or not, after waiting for the forge to make up its mind
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mergeability {
    Clean,
    Conflict,
    Draft,
    /// Nothing between the branches
    Empty,
    Merged,
    Closed,
    /// Patience ran out first
    Checking,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrStateFilter {
    #[default]
    Open,
    Closed,
    All,
}

/// Which pull requests are wanted; holds on every forge, also where the server ignores a filter
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PrFilter {
    pub state: PrStateFilter,
    /// Branch, or `owner:branch` for one in a fork
    pub head: Option<String>,
    pub base: Option<String>,
}

/// A pull request to open
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatePrOpts {
    pub repo: RepoId,
    /// Branch with the changes, or `owner:branch`
    pub head: String,
    /// Branch they go to
    pub base: String,
    pub title: String,
    pub body: Option<String>,
    pub draft: bool,
}

/// How the commits of a pull request reach the base branch
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MergeStrategy {
    /// A merge commit
    #[default]
    Merge,
    /// All changes as one commit
    Squash,
    /// Rebase each commit onto the base
    Rebase,
    /// Rebase, then add a merge commit (Gitea and Forgejo)
    RebaseMerge,
    /// Fast-forward the base branch, or refuse (Gitea and Forgejo)
    FastForwardOnly,
}

impl MergeStrategy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
            Self::RebaseMerge => "rebase-merge",
            Self::FastForwardOnly => "fast-forward-only",
        }
    }
}

/// Merge styles that a repository allows
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct MergeStyles {
    pub allowed: Vec<MergeStrategy>,
    /// The style that the forge proposes, where it has such a setting (Gitea and Forgejo)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<MergeStrategy>,
}

impl MergeStyles {
    /// Returns the style that the repository prefers: its default, else the first that is allowed
    pub fn preferred(&self) -> Option<MergeStrategy> {
        let default = self.default.filter(|style| self.allowed.contains(style));
        default.or_else(|| self.allowed.first().copied())
    }

    /// Returns the style of a merge that names none: `merge` where it is allowed, else the preferred one
    pub fn unnamed(&self) -> Option<MergeStrategy> {
        let merge = MergeStrategy::Merge;
        let allowed = self.allowed.contains(&merge);
        if allowed {
            Some(merge)
        } else {
            self.preferred()
        }
    }

    /// Keeps only the styles that a rule of the base branch allows too
    #[must_use]
    pub fn within(mut self, rule: Option<&[MergeStrategy]>) -> Self {
        if let Some(rule) = rule {
            self.allowed.retain(|style| rule.contains(style));
        }
        self
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeOpts {
    pub strategy: MergeStrategy,
    pub title: Option<String>,
    pub message: Option<String>,
    /// Merge only if the head is still this commit
    pub head_sha: Option<Sha>,
    pub delete_branch: bool,
    /// Merge later, when the checks pass; cannot be pinned to a head
    pub when_checks_succeed: bool,
    /// How long to wait for a forge that is still computing
    pub patience: Duration,
}

impl Default for MergeOpts {
    fn default() -> Self {
        Self {
            strategy: MergeStrategy::default(),
            title: None,
            message: None,
            head_sha: None,
            delete_branch: false,
            when_checks_succeed: false,
            patience: Duration::from_secs(10),
        }
    }
}

impl From<MergeStrategy> for MergeOpts {
    fn from(strategy: MergeStrategy) -> Self {
        Self {
            strategy,
            ..Self::default()
        }
    }
}

/// What became of a merge that the forge accepted
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeOutcome {
    Merged {
        /// Commit the merge made, where the forge tells
        sha: Option<Sha>,
        /// It was merged before this call
        already: bool,
        branch_deleted: bool,
        /// The head branch was to be deleted, and stays: it has commits that were not merged
        branch_moved: bool,
        /// The head branch, where it is one of this very repository and that is known
        own_branch: Option<String>,
    },
    /// The forge will merge when the checks pass; not merged yet
    Scheduled,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Review {
    pub author: String,
    pub state: ReviewState,
    /// Counts towards required approvals; `None` where the forge does not tell
    pub official: Option<bool>,
    /// The head moved since
    pub stale: bool,
    /// The commit that was looked at
    pub commit: Option<Sha>,
    pub submitted: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewState {
    Approved,
    ChangesRequested,
    Commented,
    Dismissed,
    /// Not submitted, or asked for
    Pending,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_without_a_style_is_merge_where_allowed_else_the_default() {
        use MergeStrategy::{Merge, Rebase, Squash};
        let styles = |allowed: &[MergeStrategy], default| MergeStyles {
            allowed: allowed.to_vec(),
            default,
        };
        let all = styles(&[Merge, Rebase, Squash], Some(Squash));
        assert_eq!(
            (all.unnamed(), all.preferred()),
            (Some(Merge), Some(Squash))
        );
        let linear = all.clone().within(Some(&[Rebase, Squash]));
        assert_eq!(linear.unnamed(), Some(Squash));
        let without_default = all.within(Some(&[Rebase]));
        assert_eq!(without_default.unnamed(), Some(Rebase));
        assert_eq!(styles(&[], Some(Merge)).unnamed(), None);
    }
}
