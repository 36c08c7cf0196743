//! The pull requests of one branch

use super::GitHub;
use crate::forge::{
    Result,
    model::{PrFilter, PrState, PrStateFilter, PullRequest, RepoId, Sha},
};

impl GitHub {
    pub(super) async fn open_at(&self, repo: &RepoId, branch: &str) -> Result<Vec<PullRequest>> {
        let from = PrFilter {
            head: Some(branch.to_owned()),
            ..PrFilter::default()
        };
        let to = PrFilter {
            base: Some(branch.to_owned()),
            ..PrFilter::default()
        };
        let (mut found, to) =
            tokio::try_join!(self.filtered(repo, &from), self.filtered(repo, &to))?;
        found.extend(to);
        Ok(found)
    }

    pub(super) async fn merged_at(
        &self,
        repo: &RepoId,
        branch: &str,
        head: &Sha,
    ) -> Result<Option<PullRequest>> {
        let filter = PrFilter {
            state: PrStateFilter::Closed,
            head: Some(branch.to_owned()),
            base: None,
        };
        let rows = self.filtered(repo, &filter).await?;
        Ok(rows
            .into_iter()
            .find(|pr| pr.state == PrState::Merged && pr.head.sha.as_ref() == Some(head)))
    }

    /// Names as they are
    pub(super) async fn commits_ahead(&self, repo: &RepoId, base: &str, head: &str) -> Result<u64> {
        // The commits themselves are not wanted.
        let compared = self.compare_part(repo, base, head, Some(1)).await?;
        Ok(compared.ahead)
    }
}
