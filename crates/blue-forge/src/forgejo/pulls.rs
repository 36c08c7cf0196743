//! Pull requests: read, find, open

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Forgejo, wire};
use crate::{
    ConflictKind, Flavor, ForgeError, Result,
    model::{
        ChangeKind, ChangedFile, CreatePrOpts, Listing, Mergeable, Page, PrFilter, PrSide, PrState,
        PrStateFilter, PullRequest, RepoId, Review, ReviewState, Ruling, Sha,
    },
};

#[derive(Debug, Deserialize)]
pub(super) struct WirePull {
    number: u64,
    #[serde(default, deserialize_with = "wire::or_default")]
    title: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    body: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    state: String,
    draft: Option<bool>,
    #[serde(default, deserialize_with = "wire::or_default")]
    merged: bool,
    #[serde(default, deserialize_with = "wire::or_default")]
    mergeable: bool,
    merge_commit_sha: Option<String>,
    merge_base: Option<String>,
    changed_files: Option<u64>,
    /// 1 is `AGit`: made by a push, without a branch (Forgejo)
    flow: Option<u64>,
    head: Option<WireSide>,
    base: Option<WireSide>,
    user: Option<wire::User>,
    #[serde(default, deserialize_with = "wire::when")]
    created_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "wire::when")]
    updated_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "wire::or_default")]
    html_url: String,
}

#[derive(Debug, Deserialize)]
struct WireSide {
    #[serde(default, deserialize_with = "wire::or_default")]
    label: String,
    #[serde(rename = "ref", default, deserialize_with = "wire::or_default")]
    name: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    sha: String,
    repo: Option<wire::Repo>,
}

impl WirePull {
    /// Returns the latest time that either side may have been pushed to; `None` unless all are told
    fn last_push(&self) -> Option<Timestamp> {
        let pushed = |side: &Option<WireSide>| side.as_ref()?.repo.as_ref()?.updated_at;
        let (head, base) = (pushed(&self.head)?, pushed(&self.base)?);
        Some(self.updated_at?.max(head).max(base))
    }
}

impl WireSide {
    fn into_model(self) -> PrSide {
        // When the branch is gone only the label still has its name.
        let name = if self.name.is_empty() || self.name.starts_with("refs/pull/") {
            self.label
        } else {
            self.name
        };
        PrSide {
            branch: name.rsplit(':').next().unwrap_or_default().to_owned(),
            sha: Sha::parse(&self.sha).ok(),
            repo: self.repo.and_then(|r| r.id()),
        }
    }
}

impl From<WirePull> for PullRequest {
    fn from(row: WirePull) -> Self {
        let side = |side: Option<WireSide>| {
            side.map_or(
                PrSide {
                    branch: String::new(),
                    sha: None,
                    repo: None,
                },
                WireSide::into_model,
            )
        };
        let state = if row.merged {
            PrState::Merged
        } else if row.state == "closed" {
            PrState::Closed
        } else {
            PrState::Open
        };
        let base_repo = row.base.as_ref().and_then(|base| base.repo.as_ref());
        let archived = base_repo.is_some_and(|repo| repo.archived);
        let styles = base_repo.and_then(wire::Repo::styles);
        let last_push = row.last_push();
        Self {
            number: row.number,
            draft: row.draft.unwrap_or_else(|| has_draft_prefix(&row.title)),
            title: row.title,
            body: row.body,
            state,
            head: side(row.head),
            base: side(row.base),
            // "No" may be a conflict, a draft, an error, or a check that still runs.
            mergeable: if row.mergeable && state == PrState::Open {
                Mergeable::Yes
            } else {
                Mergeable::Unknown
            },
            server_time: None,
            last_push,
            merge_base: row.merge_base.and_then(|s| Sha::parse(&s).ok()),
            ruling: Ruling::Unknown,
            archived,
            merge_sha: row
                .merge_commit_sha
                .filter(|_| row.merged)
                .and_then(|s| Sha::parse(&s).ok()),
            // Nothing is counted of a pull request without a branch.
            changed_files: row.changed_files.filter(|_| row.flow != Some(1)),
            commits: None,
            styles,
            author: row.user.unwrap_or_default().login,
            created: row.created_at,
            updated: row.updated_at,
            html_url: row.html_url,
        }
    }
}

#[derive(Debug, Serialize)]
struct NewPull<'a> {
    head: &'a str,
    base: &'a str,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a str>,
}

#[derive(Debug, Deserialize)]
struct WireFile {
    filename: String,
    previous_filename: Option<String>,
    #[serde(default, deserialize_with = "wire::or_default")]
    status: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    additions: u64,
    #[serde(default, deserialize_with = "wire::or_default")]
    deletions: u64,
}

#[derive(Debug, Deserialize)]
struct WireTeam {
    #[serde(default, deserialize_with = "wire::or_default")]
    name: String,
}

#[derive(Debug, Deserialize)]
struct WireReview {
    user: Option<wire::User>,
    /// Instead of a user, where a team was asked
    team: Option<WireTeam>,
    #[serde(default, deserialize_with = "wire::or_default")]
    state: String,
    official: Option<bool>,
    #[serde(default, deserialize_with = "wire::or_default")]
    stale: bool,
    #[serde(default, deserialize_with = "wire::or_default")]
    dismissed: bool,
    commit_id: Option<String>,
    #[serde(default, deserialize_with = "wire::when")]
    submitted_at: Option<Timestamp>,
}

impl Forgejo {
    pub(super) async fn read_pr(&self, repo: &RepoId, number: u64) -> Result<PullRequest> {
        let result = self
            .repo_get(repo, &["pulls", &number.to_string()])
            .what(format!("pull request #{number} of `{repo}`"))
            .send()
            .await;
        let answer = self.explain(repo, result).await?;
        let pull: WirePull = answer.json()?;
        let pr = PullRequest {
            server_time: answer.date(),
            ..pull.into()
        };
        self.recent.saw_pr(repo, &pr);
        Ok(pr)
    }

    pub(super) async fn pr_page(
        &self,
        repo: &RepoId,
        filter: &PrFilter,
        page: Page,
    ) -> Result<Listing<PullRequest>> {
        let result = if filter.head.is_none() && filter.base.is_none() {
            self.pulls_call(repo, filter)
                .page::<WirePull>(page, self.cap_for(page).await)
                .await
                .map(|listing| Listing {
                    items: listing.items.into_iter().map(Into::into).collect(),
                    next_page: listing.next_page,
                    total: listing.total,
                })
        } else {
            self.filtered(repo, filter)
                .await
                .map(|all| Listing::of_all(all, page))
        };
        match result {
            Err(ForgeError::NotFound { .. }) => self
                .no_pulls(repo)
                .await
                .map(|()| Listing::of_all(Vec::new(), page)),
            other => other,
        }
    }

    /// Every pull request that really fits: servers ignore filters that they do not know
    async fn filtered(&self, repo: &RepoId, filter: &PrFilter) -> Result<Vec<PullRequest>> {
        let mut call = self.pulls_call(repo, filter);
        if let Some(base) = &filter.base
            && self
                .server()
                .await
                .is_ok_and(|s| s.at_least(Flavor::Gitea, (1, 24)))
        {
            call = call.query("base_branch", base);
        }
        let rows = call.all::<WirePull>(self.likely_cap()).await?;
        Ok(rows
            .into_iter()
            .map(PullRequest::from)
            .filter(|pr| fits(pr, repo, filter))
            .collect())
    }

    pub(super) fn pulls_call(&self, repo: &RepoId, filter: &PrFilter) -> crate::rest::Call<'_> {
        let state = match filter.state {
            PrStateFilter::Open => "open",
            PrStateFilter::Closed => "closed",
            PrStateFilter::All => "all",
        };
        self.repo_get(repo, &["pulls"])
            .query("state", state)
            .what(format!("repository `{repo}`"))
    }

    /// Why the list itself is not there: an empty repository has no pull requests, and that is all
    pub(super) async fn no_pulls(&self, repo: &RepoId) -> Result<()> {
        let found = self.wire_repo(repo).await?;
        if found.has_pull_requests == Some(false) {
            return Err(ForgeError::Unsupported {
                message: format!("pull requests are switched off in `{repo}`"),
                status: Some(404),
            });
        }
        if found.empty {
            return Ok(());
        }
        let why = if found.mirror {
            "a mirror has none"
        } else {
            "this account may not read them"
        };
        Err(ForgeError::NotFound {
            host: self.rest.host().clone(),
            what: format!("pull requests of `{repo}` ({why})"),
            status: Some(404),
        })
    }

    /// Returns why no pull request can be opened, if it is the whole list that is missing
    async fn closed_to_pulls(&self, repo: &RepoId) -> Option<ForgeError> {
        let list = self
            .pulls_call(repo, &PrFilter::default())
            .query("limit", 1);
        if list.answer().await.ok()?.status.as_u16() != 404 {
            return None;
        }
        match self.no_pulls(repo).await {
            Err(ForgeError::NotFound { what, .. }) if what.starts_with("pull requests of") => {
                match self.mirror_refusal(repo).await {
                    Some(mirror) => Some(mirror),
                    None => Some(ForgeError::Forbidden {
                        host: self.rest.host().clone(),
                        message: format!("this account may not see the pull requests of `{repo}`"),
                        status: None,
                    }),
                }
            }
            Err(error @ ForgeError::Unsupported { .. }) => Some(error),
            _ => None,
        }
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
        match self.filtered(repo, &filter).await {
            Ok(found) => Ok(found.into_iter().max_by_key(|pr| pr.number)),
            Err(ForgeError::NotFound { .. }) => self.no_pulls(repo).await.map(|()| None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn open_pr(&self, opts: CreatePrOpts) -> Result<PullRequest> {
        let repo = &opts.repo;
        let head = own_branch(&opts.head, repo);
        if opts.title.trim().is_empty() {
            return Err(ForgeError::Invalid {
                message: "a pull request needs a title".to_owned(),
                status: None,
            });
        }
        if head == opts.base {
            return Err(ForgeError::Invalid {
                message: format!("`{head}` cannot be merged into itself"),
                status: None,
            });
        }
        self.refuse_empty(repo, head, &opts.base).await?;
        let title = if opts.draft && !has_draft_prefix(&opts.title) {
            format!("WIP: {}", opts.title)
        } else {
            opts.title.clone()
        };
        let body = NewPull {
            head,
            base: &opts.base,
            title,
            body: opts.body.as_deref(),
        };
        let answer = self
            .repo_post(repo, &["pulls"])
            .what(format!("`{head}` or `{}` of `{repo}`", opts.base))
            .json(&body)
            .answer()
            .await?;
        if answer.status.as_u16() == 409 {
            let twin = self.find_open_pr(repo, head, &opts.base).await?;
            let number = twin.map_or_else(String::new, |pr| format!(": #{}", pr.number));
            return Err(ForgeError::Conflict {
                kind: ConflictKind::Exists,
                message: format!(
                    "a pull request from `{head}` to `{}` exists already{number}",
                    opts.base
                ),
                status: Some(409),
            });
        }
        if answer.status.as_u16() == 404
            && let Some(error) = self.closed_to_pulls(repo).await
        {
            return Err(error.answered(404));
        }
        let pull: WirePull = self.explain(repo, answer.ok()).await?.json()?;
        self.recent.opened_pr(repo, pull.number);
        Ok(pull.into())
    }

    /// The servers open a pull request without a single commit, which can then never be merged
    async fn refuse_empty(&self, repo: &RepoId, head: &str, base: &str) -> Result<()> {
        // Mostly one question is enough; any other answer is looked into.
        let ahead = self.commits_ahead(repo, base, head).await;
        if ahead.is_ok_and(|ahead| ahead > 0) {
            return Ok(());
        }
        let base_tip = self.read_branch(repo, base).await?.sha;
        let ahead = if head.contains(':') {
            match self.commits_ahead(repo, base, head).await {
                // A fork that is not there, or not this branch in it, or a server that compares
                // nothing (Forgejo before 8).
                Err(ForgeError::NotFound { .. } | ForgeError::Invalid { .. }) => {
                    let tip = self.tip_in_fork(repo, head).await?;
                    u64::from(tip != base_tip)
                }
                other => other?,
            }
        } else {
            let head_tip = self.read_branch(repo, head).await?.sha;
            if head_tip == base_tip {
                0
            } else {
                self.commits_ahead(repo, base_tip.as_str(), head_tip.as_str())
                    .await?
            }
        };
        if ahead == 0 {
            return Err(ForgeError::Invalid {
                message: format!(
                    "nothing to merge: `{head}` has no commits that `{base}` does not have"
                ),
                status: None,
            });
        }
        Ok(())
    }

    /// Returns the commit of `owner:branch` in that owner's fork
    async fn tip_in_fork(&self, repo: &RepoId, head: &str) -> Result<Sha> {
        let missing = || ForgeError::NotFound {
            host: self.rest.host().clone(),
            what: format!("branch `{head}`"),
            status: Some(404),
        };
        let (owner, branch) = head.split_once(':').ok_or_else(missing)?;
        // Mostly a fork has the name of its source.
        let mut fork = match owner.split_once('/') {
            Some((owner, name)) => RepoId::parse(owner, name),
            None => RepoId::parse(owner, repo.name()),
        }
        .map_err(|_| missing())?;
        if self.wire_repo(&fork).await.is_err() {
            let forks = self
                .repo_get(repo, &["forks"])
                .all::<wire::Repo>(self.likely_cap())
                .await?;
            let of_owner = |fork: &RepoId| fork.owner().eq_ignore_ascii_case(owner);
            let mut ids = forks.iter().filter_map(wire::Repo::id);
            fork = ids.find(of_owner).ok_or_else(missing)?;
        }
        match self.branch_if_any(&fork, branch).await? {
            Some(found) => Ok(found.sha),
            None => Err(missing()),
        }
    }

    pub(super) async fn is_merged(&self, repo: &RepoId, number: u64) -> Result<bool> {
        let number_text = number.to_string();
        let answer = self
            .repo_get(repo, &["pulls", &number_text, "merge"])
            .what(format!("pull request #{number} of `{repo}`"))
            .answer()
            .await?;
        // 404 is "not merged" and "no such pull request" alike.
        if answer.status.as_u16() == 404 {
            let pr = self.read_pr(repo, number).await?;
            return Ok(pr.state == PrState::Merged);
        }
        answer.ok().map(|_| true)
    }

    pub(super) async fn files_of_pr(&self, repo: &RepoId, number: u64) -> Result<Vec<ChangedFile>> {
        let result = self
            .repo_get(repo, &["pulls", &number.to_string(), "files"])
            .what(format!("pull request #{number} of `{repo}`"))
            .all::<WireFile>(self.likely_cap())
            .await;
        let rows = self.explain(repo, result).await?;
        Ok(rows.into_iter().map(changed_file).collect())
    }

    pub(super) async fn reviews_of_pr(&self, repo: &RepoId, number: u64) -> Result<Vec<Review>> {
        let result = self
            .repo_get(repo, &["pulls", &number.to_string(), "reviews"])
            .what(format!("pull request #{number} of `{repo}`"))
            .all::<WireReview>(self.likely_cap())
            .await;
        let rows = self.explain(repo, result).await?;
        Ok(rows.into_iter().map(review).collect())
    }
}

fn changed_file(row: WireFile) -> ChangedFile {
    let change = match row.status.as_str() {
        "added" => ChangeKind::Added,
        "changed" | "modified" => ChangeKind::Modified,
        "deleted" | "removed" => ChangeKind::Deleted,
        "renamed" => ChangeKind::Renamed,
        _ => ChangeKind::Other,
    };
    ChangedFile {
        previous_path: row
            .previous_filename
            .filter(|p| !p.is_empty() && *p != row.filename),
        path: row.filename,
        change,
        additions: row.additions,
        deletions: row.deletions,
    }
}

fn review(row: WireReview) -> Review {
    let state = match row.state.as_str() {
        _ if row.dismissed => ReviewState::Dismissed,
        "APPROVED" => ReviewState::Approved,
        "REQUEST_CHANGES" => ReviewState::ChangesRequested,
        "COMMENT" => ReviewState::Commented,
        _ => ReviewState::Pending,
    };
    let team = row.team.map(|team| format!("@{}", team.name));
    Review {
        author: team.unwrap_or_else(|| row.user.unwrap_or_default().login),
        state,
        official: row.official,
        stale: row.stale,
        commit: row.commit_id.and_then(|c| Sha::parse(&c).ok()),
        submitted: row.submitted_at,
    }
}

/// `alice:topic` in alice's own repository is just `topic`
fn own_branch<'a>(head: &'a str, repo: &RepoId) -> &'a str {
    match head.split_once(':') {
        Some((owner, branch)) if owner.eq_ignore_ascii_case(repo.owner()) => branch,
        _ => head,
    }
}

pub(super) fn fits(pr: &PullRequest, repo: &RepoId, filter: &PrFilter) -> bool {
    let same = |a: &RepoId, b: &RepoId| a.to_string().eq_ignore_ascii_case(&b.to_string());
    // After a rename the base has another name than was asked for.
    let home = pr.base.repo.as_ref().unwrap_or(repo);
    let state = match filter.state {
        PrStateFilter::Open => pr.state == PrState::Open,
        PrStateFilter::Closed => pr.state != PrState::Open,
        PrStateFilter::All => true,
    };
    let head =
        filter
            .head
            .as_deref()
            .is_none_or(|head| match own_branch(head, repo).split_once(':') {
                None => {
                    pr.head.branch == own_branch(head, repo)
                        && pr.head.repo.as_ref().is_none_or(|r| same(r, home))
                }
                Some((owner, branch)) => {
                    let owner = owner.split('/').next().unwrap_or_default();
                    pr.head.branch == branch
                        && pr
                            .head
                            .repo
                            .as_ref()
                            .is_some_and(|r| r.owner().eq_ignore_ascii_case(owner))
                }
            });
    state && head && filter.base.as_ref().is_none_or(|b| *b == pr.base.branch)
}

/// The prefixes that servers take as "draft" unless told otherwise
pub(super) fn has_draft_prefix(title: &str) -> bool {
    let title = title.trim_start().to_lowercase();
    ["wip:", "[wip]"].iter().any(|p| title.starts_with(p))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pull(text: &str) -> PullRequest {
        serde_json::from_str::<WirePull>(text).unwrap().into()
    }

    #[test]
    fn a_head_branch_that_is_gone_keeps_its_name() {
        let pr = pull(
            r#"{"number":3,"title":"t","state":"closed","merged":true,"mergeable":true,
                "merge_commit_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                "head":{"label":"feat/x","ref":"refs/pull/3/head","sha":"","repo":null},
                "base":{"label":"main","ref":"main","sha":"bad","repo":{"owner":{"login":"a"},"name":"b"}}}"#,
        );
        assert_eq!(pr.head.branch, "feat/x");
        assert_eq!(pr.head.repo, None);
        assert_eq!(pr.state, PrState::Merged);
        assert_eq!(pr.mergeable, Mergeable::Unknown);
        assert_eq!(pr.base.repo.unwrap().to_string(), "a/b");
    }

    #[test]
    fn not_mergeable_is_unknown_and_a_draft_is_told_by_field_or_title() {
        let pr = pull(r#"{"number":1,"title":"[WIP] t","state":"open","mergeable":false}"#);
        assert_eq!(pr.mergeable, Mergeable::Unknown);
        assert!(pr.draft);
        let pr = pull(r#"{"number":1,"title":"wip: t","state":"open","draft":false}"#);
        assert!(!pr.draft);
    }

    #[test]
    fn a_team_that_was_asked_is_named() {
        let asked = r#"{"user":null,"team":{"id":2,"name":"core"},"state":"REQUEST_REVIEW","official":true}"#;
        let asked = review(serde_json::from_str(asked).unwrap());
        assert_eq!(
            (asked.author.as_str(), asked.state),
            ("@core", ReviewState::Pending)
        );
        let given = r#"{"user":{"login":"amy"},"team":null,"state":"APPROVED"}"#;
        assert_eq!(review(serde_json::from_str(given).unwrap()).author, "amy");
    }

    #[test]
    fn rows_are_checked_against_the_filter() {
        let repo = RepoId::parse("Alice", "demo").unwrap();
        let pr = |head: &str, owner: &str| {
            pull(&format!(
                r#"{{"number":1,"state":"open","head":{{"ref":"{head}","repo":{{"owner":{{"login":"{owner}"}},"name":"demo"}}}},
                    "base":{{"ref":"main","repo":{{"owner":{{"login":"alice"}},"name":"demo"}}}}}}"#
            ))
        };
        let filter = |head: &str, base: &str| PrFilter {
            state: PrStateFilter::Open,
            head: Some(head.to_owned()),
            base: Some(base.to_owned()),
        };
        assert!(fits(&pr("x", "alice"), &repo, &filter("x", "main")));
        assert!(fits(&pr("x", "alice"), &repo, &filter("alice:x", "main")));
        assert!(fits(&pr("x", "bob"), &repo, &filter("bob:x", "main")));
        assert!(!fits(&pr("x", "bob"), &repo, &filter("x", "main")));
        assert!(!fits(&pr("x", "alice"), &repo, &filter("bob:x", "main")));
        assert!(!fits(&pr("y", "alice"), &repo, &filter("x", "main")));
        assert!(!fits(&pr("x", "alice"), &repo, &filter("x", "dev")));
    }
}
