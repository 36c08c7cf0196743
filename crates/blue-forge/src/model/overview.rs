//! A repository at a glance

use super::{Branch, Listing, Protection, PullRequest, Repository};

/// Summary of a repository, read in one round of requests: what a client new to it needs first
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    /// Empty as the list of branches tells, which is never behind
    pub repository: Repository,
    /// The first page in the forge's own order
    pub branches: Listing<Branch>,
    /// The first page of the open ones; absent where they are switched off, or not shown
    pub prs: Option<Listing<PullRequest>>,
    /// The repository should have pull requests, and the forge does not show them to this caller:
    /// it is a mirror, or their team may not read them (Gitea and Forgejo)
    pub prs_unreadable: bool,
    /// The branch that was asked for, else the default branch
    pub branch: String,
    /// Where it is; absent when there is no such branch
    pub tip: Option<Branch>,
    pub protection: Protection,
}
