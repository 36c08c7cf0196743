//! The pull requests of one branch

use super::{GitHub, PAGE_LIMIT, pulls::WirePull};
use crate::{
    Result,
    model::{Page, PrFilter, PrState, PrStateFilter, PullRequest, RepoId, Sha},
};

/// More than were open a moment ago; rows are large
const FEW: u32 = 50;

impl GitHub {
    pub(super) async fn open_at(&self, repo: &RepoId, branch: &str) -> Result<Vec<PullRequest>> {
        // Where few are open, one list of them all tells both.
        if self.recent.has_few_open(repo) {
            let rows = self
                .pulls_call(repo, &PrFilter::default())
                .page::<WirePull>(Page::first(FEW), PAGE_LIMIT)
                .await?;
            if rows.next_page.is_none() {
                let rows = rows.items.into_iter();
                let rows = rows.filter(|row| row.is_from(repo, branch) || row.is_to(branch));
                return Ok(rows.map(Into::into).collect());
            }
        }
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
