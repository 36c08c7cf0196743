//! Pull requests: read and find

mod block;
mod create;
mod detail;
mod merge;

use jiff::Timestamp;
use serde::Deserialize;

use super::{GitHub, PAGE_LIMIT, wire};
use crate::{
    Result,
    model::{
        Listing, Mergeable, Page, PrFilter, PrSide, PrState, PrStateFilter, PullRequest, RepoId,
        Ruling,
    },
    rest::Call,
};

#[derive(Debug, Deserialize)]
pub(super) struct WirePull {
    number: u64,
    title: String,
    body: Option<String>,
    state: String,
    #[serde(default)]
    draft: bool,
    merged: Option<bool>,
    merged_at: Option<Timestamp>,
    /// `null` while GitHub computes it, and in lists
    mergeable: Option<bool>,
    /// Missing in lists
    mergeable_state: Option<String>,
    merge_commit_sha: Option<wire::Oid>,
    changed_files: Option<u64>,
    /// Missing in lists
    commits: Option<u64>,
    head: WireSide,
    base: WireSide,
    user: Option<wire::User>,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    #[serde(default)]
    html_url: String,
}

#[derive(Debug, Deserialize)]
struct WireSide {
    #[serde(rename = "ref")]
    name: String,
    sha: wire::Oid,
    /// `null` when the fork was deleted
    repo: Option<wire::RepoName>,
    user: Option<wire::User>,
}

impl WireSide {
    fn owner(&self) -> Option<&str> {
        self.user.as_ref().map(|u| u.login.as_str())
    }

    fn into_model(self) -> PrSide {
        PrSide {
            branch: self.name,
            sha: Some(self.sha.0),
            repo: self.repo.and_then(|r| r.id()),
        }
    }
}

impl WirePull {
    pub(super) fn is_merged(&self) -> bool {
        self.merged.unwrap_or_default() || self.merged_at.is_some()
    }

    /// From a branch of this very repository
    pub(super) fn is_from(&self, repo: &RepoId, branch: &str) -> bool {
        let owner = repo.owner();
        Head { owner, branch }.is(&self.head)
    }

    pub(super) fn is_to(&self, branch: &str) -> bool {
        self.base.name == branch
    }

    fn state(&self) -> PrState {
        if self.is_merged() {
            PrState::Merged
        } else if self.state == "closed" {
            PrState::Closed
        } else {
            PrState::Open
        }
    }
}

impl From<WirePull> for PullRequest {
    fn from(row: WirePull) -> Self {
        let state = row.state();
        let mergeable = match row.mergeable {
            Some(true) if state == PrState::Open => Mergeable::Yes,
            Some(false) if state == PrState::Open => Mergeable::No,
            _ => Mergeable::Unknown,
        };
        let ruling = match row.mergeable_state.as_deref() {
            _ if state != PrState::Open => Ruling::Unknown,
            // `unstable`: only optional checks fail; `has_hooks`: an Enterprise Server runs hooks at the merge.
            Some("clean" | "unstable" | "has_hooks") => Ruling::Clear,
            Some("behind") => Ruling::Behind,
            Some("blocked") => Ruling::Blocked,
            _ => Ruling::Unknown,
        };
        let styles = row.base.repo.as_ref().and_then(|repo| repo.styles.told());
        let archived = row.base.repo.as_ref().is_some_and(|repo| repo.archived);
        // Before the merge it is the commit of a trial.
        let merge_sha = row.merge_commit_sha.filter(|_| state == PrState::Merged);
        Self {
            number: row.number,
            title: row.title,
            body: row.body.unwrap_or_default(),
            state,
            draft: row.draft,
            head: row.head.into_model(),
            base: row.base.into_model(),
            mergeable,
            server_time: None,
            last_push: None,
            merge_base: None,
            ruling,
            archived,
            merge_sha: merge_sha.map(|s| s.0),
            changed_files: row.changed_files,
            commits: row.commits,
            styles,
            author: wire::login(row.user),
            created: row.created_at,
            updated: row.updated_at,
            html_url: row.html_url,
        }
    }
}

/// A head as a filter names it: `branch` or `owner:branch`
#[derive(Debug, Clone, Copy)]
struct Head<'a> {
    owner: &'a str,
    branch: &'a str,
}

impl<'a> Head<'a> {
    fn parse(text: &'a str, repo: &'a RepoId) -> Self {
        let (owner, branch) = text.split_once(':').unwrap_or((repo.owner(), text));
        Head { owner, branch }
    }

    fn is(&self, side: &WireSide) -> bool {
        side.name == self.branch
            && side
                .owner()
                .is_some_and(|owner| owner.eq_ignore_ascii_case(self.owner))
    }
}

impl GitHub {
    pub(super) async fn wire_pull(&self, repo: &RepoId, number: u64) -> Result<WirePull> {
        self.get(repo, &["pulls", &number.to_string()])
            .what(format!("pull request #{number} of `{repo}`"))
            .send()
            .await?
            .json()
    }

    pub(super) async fn pr_page(
        &self,
        repo: &RepoId,
        filter: &PrFilter,
        page: Page,
    ) -> Result<Listing<PullRequest>> {
        // A head has few; its filter takes in rows that do not fit, which would leave gaps in pages.
        if filter.head.is_some() {
            let all = self.filtered(repo, filter).await?;
            return Ok(Listing::of_all(all, page));
        }
        let rows = self
            .pulls_call(repo, filter)
            .query_opt("base", filter.base.as_ref())
            .page::<WirePull>(page, PAGE_LIMIT)
            .await?;
        Ok(Listing {
            items: rows.items.into_iter().map(Into::into).collect(),
            next_page: rows.next_page,
            total: rows.total,
        })
    }

    pub(super) async fn find_open_pr(
        &self,
        repo: &RepoId,
        head: &str,
        base: &str,
    ) -> Result<Option<PullRequest>> {
        let filter = PrFilter {
            state: PrStateFilter::Open,
            head: Some(head.to_owned()),
            base: Some(base.to_owned()),
        };
        let found = self.filtered(repo, &filter).await?;
        Ok(found.into_iter().max_by_key(|pr| pr.number))
    }

    /// Every row that really fits: the server's own filter also gives branches that merely share
    /// a commit, and all rows when it does not understand the name
    pub(super) async fn filtered(
        &self,
        repo: &RepoId,
        filter: &PrFilter,
    ) -> Result<Vec<PullRequest>> {
        let head = filter.head.as_deref().map(|head| Head::parse(head, repo));
        let rows = self
            .pulls_call(repo, filter)
            .query_opt("head", head.map(|h| format!("{}:{}", h.owner, h.branch)))
            .query_opt("base", filter.base.as_ref())
            .all::<WirePull>(PAGE_LIMIT)
            .await?;
        Ok(rows
            .into_iter()
            .filter(|row| head.is_none_or(|head| head.is(&row.head)))
            .filter(|row| {
                filter
                    .base
                    .as_ref()
                    .is_none_or(|base| row.base.name == *base)
            })
            .map(Into::into)
            .collect())
    }

    pub(super) fn pulls_call(&self, repo: &RepoId, filter: &PrFilter) -> Call<'_> {
        let state = match filter.state {
            PrStateFilter::Open => "open",
            PrStateFilter::Closed => "closed",
            PrStateFilter::All => "all",
        };
        self.get(repo, &["pulls"]).query("state", state)
    }
}
