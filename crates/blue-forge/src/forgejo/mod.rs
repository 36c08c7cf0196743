//! Gitea and Forgejo
//!
//! One API with two programs behind it; what differs goes by flavour and own version, or is tried.

mod actions;
mod blocks;
mod branch_prs;
mod branches;
mod commits;
mod contents;
mod merge;
mod merged_branch;
mod overview;
mod protection;
mod pulls;
mod server;
mod settle;
mod status;
mod tags;
mod tasks;
#[cfg(test)]
mod tests;
mod timeline;
mod trees;
mod wire;
mod write;
mod write_at_once;
mod write_check;
mod write_errors;
mod write_move;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use server::Server;
use tokio::sync::OnceCell;

use super::{
    About, Endpoint, Flavor, Forge, ForgeError, ForgeType, Result,
    allow::Allow,
    model::{
        Branch, ChangedFile, Checks, Commit, CommitOpts, CommitOutcome, Comparison, CreatePrOpts,
        Entry, File, Host, Identity, Job, Listing, LogTail, MergeOpts, MergeOutcome, MergeStyles,
        Mergeability, Overview, Page, PrFilter, Protection, PullRequest, RepoId, Repository,
        Review, Run, RunFilter, Sha, StatusOpts, Tag, TagOpts,
    },
    recent::Recent,
    rest::{Call, Paging, Rest},
};
use blue_base::http::{Credential, Http};

const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// A Gitea or Forgejo as one user sees it
#[derive(Debug)]
pub struct Forgejo {
    rest: Rest,
    /// Forgejo's own API, which tells it from Gitea
    own_api: Option<Rest>,
    server: OnceCell<Server>,
    /// What the server reported to be, where only that was asked
    flavor: OnceCell<Flavor>,
    recent: Recent,
}

impl Forgejo {
    pub fn new(http: Arc<Http>, endpoint: Endpoint, credential: Option<Credential>) -> Self {
        let paging = Paging {
            size: "limit",
            always_links: false,
        };
        let own_api = own_api(&endpoint)
            .map(|endpoint| Rest::new(http.clone(), endpoint, credential.clone(), paging));
        Self {
            rest: Rest::new(http, endpoint, credential, paging),
            own_api,
            server: OnceCell::new(),
            flavor: OnceCell::new(),
            recent: Recent::default(),
        }
    }

    /// Touch only what is allowed
    #[must_use]
    pub fn allowing(mut self, allow: Allow) -> Self {
        self.rest = self.rest.allowing(allow);
        self
    }

    fn repo_get(&self, repo: &RepoId, segments: &[&str]) -> Call<'_> {
        self.rest.get(&in_repo(repo, segments))
    }

    fn repo_post(&self, repo: &RepoId, segments: &[&str]) -> Call<'_> {
        self.rest.post(&in_repo(repo, segments))
    }

    fn repo_delete(&self, repo: &RepoId, segments: &[&str]) -> Call<'_> {
        self.rest.delete(&in_repo(repo, segments))
    }

    /// A page for people; `path` is encoded already
    fn web(&self, path: &str) -> String {
        let api = &self.rest.endpoint().api;
        let root = api
            .path()
            .trim_end_matches('/')
            .strip_suffix("/api/v1")
            .unwrap_or_default();
        format!("{}{root}/{path}", api.origin().ascii_serialization())
    }
}

fn in_repo<'a>(repo: &'a RepoId, segments: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["repos", repo.owner(), repo.name()];
    all.extend(segments);
    all
}

/// Encode a path for a link, slashes kept
fn encoded(path: &str) -> String {
    utf8_percent_encode(path, PATH).to_string()
}

/// `…/api/v1/` has `…/api/forgejo/v1/` beside it
fn own_api(endpoint: &Endpoint) -> Option<Endpoint> {
    let path = endpoint.api.path().trim_end_matches('/');
    let root = path.strip_suffix("/v1")?;
    let mut api = endpoint.api.clone();
    api.set_path(&format!("{root}/forgejo/v1/"));
    Some(Endpoint {
        host: endpoint.host.clone(),
        api,
    })
}

#[async_trait]
impl Forge for Forgejo {
    fn forge_type(&self) -> ForgeType {
        ForgeType::Forgejo
    }

    fn host(&self) -> &Host {
        self.rest.host()
    }

    async fn about(&self) -> Result<About> {
        self.about_server().await
    }

    async fn flavor(&self) -> Result<Flavor> {
        self.flavor_of_server().await
    }

    async fn whoami(&self) -> Result<Identity> {
        self.user().await
    }

    async fn repository(&self, repo: &RepoId) -> Result<Repository> {
        self.read_repository(repo).await
    }

    async fn default_branch(&self, repo: &RepoId) -> Result<String> {
        self.default_name(repo).await
    }

    async fn overview(&self, repo: &RepoId, branch: Option<&str>) -> Result<Overview> {
        self.read_overview(repo, branch).await
    }

    async fn list_branches(&self, repo: &RepoId, page: Page) -> Result<Listing<Branch>> {
        self.branch_page(repo, page).await
    }

    async fn all_branches(&self, repo: &RepoId) -> Result<Vec<Branch>> {
        self.every_branch(repo).await
    }

    async fn get_branch(&self, repo: &RepoId, name: &str) -> Result<Branch> {
        self.read_branch(repo, name).await
    }

    async fn create_branch(&self, repo: &RepoId, name: &str, from: &str) -> Result<Branch> {
        self.make_branch(repo, name, from).await
    }

    async fn delete_branch(&self, repo: &RepoId, name: &str) -> Result<()> {
        self.remove_branch(repo, name).await
    }

    async fn protection(&self, repo: &RepoId, branch: &str) -> Result<Protection> {
        self.read_protection(repo, branch).await
    }

    async fn create_pr(&self, opts: CreatePrOpts) -> Result<PullRequest> {
        self.open_pr(opts).await
    }

    async fn get_pr(&self, repo: &RepoId, number: u64) -> Result<PullRequest> {
        self.read_pr(repo, number).await
    }

    async fn list_prs(
        &self,
        repo: &RepoId,
        filter: &PrFilter,
        page: Page,
    ) -> Result<Listing<PullRequest>> {
        self.pr_page(repo, filter, page).await
    }

    async fn find_pr(&self, repo: &RepoId, head: &str, base: &str) -> Result<Option<PullRequest>> {
        self.find_open_pr(repo, head, base).await
    }

    async fn open_prs_at(&self, repo: &RepoId, branch: &str) -> Result<Vec<PullRequest>> {
        self.open_at(repo, branch).await
    }

    async fn merged_pr_at(
        &self,
        repo: &RepoId,
        branch: &str,
        head: &Sha,
    ) -> Result<Option<PullRequest>> {
        self.merged_at(repo, branch, head).await
    }

    fn merged_before(&self, repo: &RepoId, branch: &str, head: &Sha) -> bool {
        self.recent.was_merged(repo, branch, head)
    }

    async fn merge_pr(&self, repo: &RepoId, number: u64, opts: &MergeOpts) -> Result<MergeOutcome> {
        self.merge(repo, number, opts).await
    }

    async fn pr_is_merged(&self, repo: &RepoId, number: u64) -> Result<bool> {
        self.is_merged(repo, number).await
    }

    async fn pr_files(&self, repo: &RepoId, number: u64) -> Result<Vec<ChangedFile>> {
        self.files_of_pr(repo, number).await
    }

    async fn pr_reviews(&self, repo: &RepoId, number: u64) -> Result<Vec<Review>> {
        self.reviews_of_pr(repo, number).await
    }

    fn recent_merge_styles(&self, repo: &RepoId) -> Option<MergeStyles> {
        self.recent.styles(repo)
    }

    async fn since_last_push(&self, repo: &RepoId) -> Result<Option<Duration>> {
        self.idle_time(repo).await
    }

    async fn mergeability(
        &self,
        repo: &RepoId,
        number: u64,
        patience: Duration,
    ) -> Result<Mergeability> {
        let pr = self.read_pr(repo, number).await?;
        Ok(self.judge(repo, pr, patience).await?.0)
    }

    async fn scheduled_merge(&self, repo: &RepoId, number: u64) -> Result<Option<String>> {
        self.scheduled_by(repo, number).await
    }

    async fn has_open_dependency(&self, repo: &RepoId, number: u64) -> bool {
        !self.recent.is_new_pr(repo, number) && self.waits_for_another(repo, number).await
    }

    async fn mergeability_of(
        &self,
        repo: &RepoId,
        pr: PullRequest,
        patience: Duration,
    ) -> Result<(Mergeability, PullRequest)> {
        self.judge(repo, pr, patience).await
    }

    async fn resolve(&self, repo: &RepoId, rev: &str) -> Result<Sha> {
        self.resolve_rev(repo, rev).await
    }

    async fn get_commit(&self, repo: &RepoId, rev: &str) -> Result<Commit> {
        self.read_commit(repo, rev).await
    }

    async fn list_commits(
        &self,
        repo: &RepoId,
        rev: Option<&str>,
        path: Option<&str>,
        page: Page,
    ) -> Result<Listing<Commit>> {
        self.commit_page(repo, rev, path, page).await
    }

    async fn ahead(&self, repo: &RepoId, base: &str, head: &str) -> Result<u64> {
        match self.commits_ahead(repo, base, head).await {
            // An old server compares in another way, which takes nothing but ids.
            Err(ForgeError::NotFound { .. }) if Sha::parse(base).is_err() => {
                let base = self.resolve_rev(repo, base).await?;
                let head = if head.contains(':') {
                    head.to_owned()
                } else {
                    self.resolve_rev(repo, head).await?.to_string()
                };
                self.commits_ahead(repo, base.as_str(), &head).await
            }
            other => other,
        }
    }

    async fn compare(&self, repo: &RepoId, base: &str, head: &str) -> Result<Comparison> {
        self.compare_revs(repo, base, head).await
    }

    async fn read_file(
        &self,
        repo: &RepoId,
        path: &str,
        rev: Option<&str>,
        max_bytes: u64,
    ) -> Result<File> {
        self.file(repo, path, rev, max_bytes).await
    }

    async fn list_dir(&self, repo: &RepoId, path: &str, rev: Option<&str>) -> Result<Vec<Entry>> {
        self.directory(repo, path, rev).await
    }

    async fn commit_files(&self, repo: &RepoId, opts: &CommitOpts) -> Result<CommitOutcome> {
        self.commit(repo, opts).await
    }

    async fn checks(&self, repo: &RepoId, rev: &str) -> Result<Checks> {
        let sha = self.resolve_rev(repo, rev).await?;
        self.read_checks(repo, &sha).await
    }

    async fn checks_of(&self, repo: &RepoId, sha: &Sha) -> Result<Checks> {
        self.read_checks(repo, sha).await
    }

    async fn set_status(&self, repo: &RepoId, sha: &Sha, opts: &StatusOpts) -> Result<()> {
        self.report_status(repo, sha, opts).await
    }

    async fn list_runs(
        &self,
        repo: &RepoId,
        filter: &RunFilter,
        page: Page,
    ) -> Result<Listing<Run>> {
        self.run_page(repo, filter, page).await
    }

    async fn get_run(&self, repo: &RepoId, id: u64) -> Result<Run> {
        self.read_run(repo, id).await
    }

    async fn list_jobs(&self, repo: &RepoId, run: u64) -> Result<Vec<Job>> {
        self.jobs_of_run(repo, run).await
    }

    async fn job_log(&self, repo: &RepoId, job: u64, max_bytes: usize) -> Result<LogTail> {
        self.tail_of_log(repo, job, max_bytes).await
    }

    async fn list_tags(&self, repo: &RepoId, page: Page) -> Result<Listing<Tag>> {
        self.tag_page(repo, page).await
    }

    async fn get_tag(&self, repo: &RepoId, name: &str) -> Result<Tag> {
        self.read_tag(repo, name).await
    }

    async fn create_tag(&self, repo: &RepoId, opts: &TagOpts) -> Result<Tag> {
        self.make_tag(repo, opts).await
    }
}
