//! The pull requests of one branch

use serde::Deserialize;

use super::{
    Forgejo,
    pulls::{WirePull, fits},
    server::{DEFAULT_CAP, SMALL_PAGE},
    wire,
};
use crate::{
    ForgeError, Result,
    model::{Page, PrFilter, PrState, PrStateFilter, PullRequest, RepoId, Sha},
};

/// How far back a merged pull request is looked for
const PAGES_BACK: u32 = 10;

#[derive(Debug, Deserialize)]
struct WireRef {
    #[serde(rename = "ref")]
    name: String,
    object: wire::CommitRef,
}

impl Forgejo {
    pub(super) async fn open_at(&self, repo: &RepoId, branch: &str) -> Result<Vec<PullRequest>> {
        let from = PrFilter {
            head: Some(branch.to_owned()),
            ..PrFilter::default()
        };
        let to = PrFilter {
            base: Some(branch.to_owned()),
            ..PrFilter::default()
        };
        let rows = self
            .pulls_call(repo, &PrFilter::default())
            .all::<WirePull>(DEFAULT_CAP)
            .await;
        match rows {
            Ok(rows) => Ok(rows
                .into_iter()
                .map(PullRequest::from)
                .filter(|pr| fits(pr, repo, &from) || fits(pr, repo, &to))
                .collect()),
            // The repository has no list of them, or none for this caller.
            Err(ForgeError::NotFound { .. }) => self.wire_repo(repo).await.map(|_| Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Among those that changed last: the servers cannot be asked for one branch
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
        for number in 1..=PAGES_BACK {
            let rows = self
                .pulls_call(repo, &filter)
                .query("sort", "recentupdate")
                .page::<WirePull>(Page::new(number, SMALL_PAGE), SMALL_PAGE)
                .await;
            let rows = match rows {
                Ok(rows) => rows,
                Err(ForgeError::NotFound { .. }) => return Ok(None),
                Err(error) => return Err(error),
            };
            let found = rows.items.into_iter().map(PullRequest::from).find(|pr| {
                pr.state == PrState::Merged
                    && pr.head.sha.as_ref() == Some(head)
                    && fits(pr, repo, &filter)
            });
            if let Some(pr) = found {
                let still = self.was_head(repo, pr.number, head).await?;
                return Ok(still.then_some(pr));
            }
            if rows.next_page.is_none() {
                break;
            }
        }
        Ok(None)
    }

    /// Some servers show the present tip of the branch as the head of a merged pull request; its
    /// own ref stays where it was
    async fn was_head(&self, repo: &RepoId, number: u64, head: &Sha) -> Result<bool> {
        let name = format!("pull/{number}/head");
        let answer = self
            .repo_get(repo, &["git", "refs"])
            .path(&name)
            .answer()
            .await?;
        if !answer.status.is_success() {
            return Ok(true);
        }
        // One match comes bare from some versions, in a list from others.
        let refs = answer
            .list::<WireRef>()
            .or_else(|_| answer.json().map(|one| vec![one]))?;
        let own = refs
            .iter()
            .find(|r| r.name.strip_prefix("refs/") == Some(name.as_str()));
        Ok(own.is_none_or(|r| r.object.sha() == head.as_str()))
    }
}
