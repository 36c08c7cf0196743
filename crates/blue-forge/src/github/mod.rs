//! GitHub: github.com, GitHub Enterprise Server, ghe.com

mod about;
mod branch_prs;
mod branches;
mod checks;
mod commit;
mod commits;
mod contents;
mod overview;
mod protection;
mod pulls;
mod repo;
mod runs;
mod scopes;
mod tags;
#[cfg(test)]
mod tests;
mod wire;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use url::Url;

use super::{
    About, Endpoint, Forge, ForgeError, ForgeType, Result,
    allow::Allow,
    model::{
        Branch, ChangedFile, Checks, Commit, CommitOpts, CommitOutcome, Comparison, CreatePrOpts,
        Entry, File, Host, Identity, Job, Listing, LogTail, MergeOpts, MergeOutcome, MergeStyles,
        Mergeability, Overview, Page, Permissions, PrFilter, Protection, PullRequest, RepoId,
        Repository, Review, Run, RunFilter, Sha, StatusOpts, Tag, TagOpts,
    },
    recent::Recent,
    rest::{Answer, Call, Paging, Rest},
};
use blue_base::http::{Credential, HeaderName, HeaderValue, Http};

/// Later versions drop fields that are read here, such as `merge_commit_sha`
const API_VERSION: &str = "2022-11-28";
/// Most rows that GitHub gives in one page
const PAGE_LIMIT: u32 = 100;

/// Where the API of a GitHub begins, by the name of its host
pub fn api_url(host: &Host) -> Url {
    let text = if matches!(
        host.as_str(),
        "github.com" | "www.github.com" | "api.github.com"
    ) {
        "https://api.github.com/".to_owned()
    } else if host.port().is_none() && host.name().ends_with(".ghe.com") {
        let name = host.name();
        format!("https://api.{}/", name.strip_prefix("api.").unwrap_or(name))
    } else if host.is_loopback() {
        format!("http://{host}/api/v3/")
    } else {
        format!("https://{host}/api/v3/")
    };
    Url::parse(&text).expect("a host makes a URL")
}

/// A GitHub as one user sees it
#[derive(Debug)]
pub struct GitHub {
    rest: Rest,
    recent: Recent,
}

impl GitHub {
    pub fn new(http: Arc<Http>, endpoint: Endpoint, credential: Option<Credential>) -> Self {
        let credential = credential.map(|c| bound_to_api(c, &endpoint));
        let paging = Paging {
            size: "per_page",
            always_links: true,
        };
        let rest = Rest::new(http, endpoint, credential, paging)
            .with_header(
                http::header::ACCEPT,
                HeaderValue::from_static("application/vnd.github+json"),
            )
            .with_header(
                HeaderName::from_static("x-github-api-version"),
                HeaderValue::from_static(API_VERSION),
            )
            .cached();
        Self {
            rest,
            recent: Recent::default(),
        }
    }

    /// Touch only what is allowed
    #[must_use]
    pub fn allowing(mut self, allow: Allow) -> Self {
        self.rest = self.rest.allowing(allow);
        self
    }

    fn get(&self, repo: &RepoId, tail: &[&str]) -> Call<'_> {
        about_repo(
            self.rest.get(&["repos", repo.owner(), repo.name()]),
            repo,
            tail,
        )
    }

    fn post(&self, repo: &RepoId, tail: &[&str]) -> Call<'_> {
        about_repo(
            self.rest.post(&["repos", repo.owner(), repo.name()]),
            repo,
            tail,
        )
    }

    fn put(&self, repo: &RepoId, tail: &[&str]) -> Call<'_> {
        about_repo(
            self.rest.put(&["repos", repo.owner(), repo.name()]),
            repo,
            tail,
        )
    }

    fn patch(&self, repo: &RepoId, tail: &[&str]) -> Call<'_> {
        about_repo(
            self.rest.patch(&["repos", repo.owner(), repo.name()]),
            repo,
            tail,
        )
    }

    fn delete(&self, repo: &RepoId, tail: &[&str]) -> Call<'_> {
        about_repo(
            self.rest.delete(&["repos", repo.owner(), repo.name()]),
            repo,
            tail,
        )
    }

    /// Say what a refused write means: GitHub hides what the token may not do behind "not found"
    async fn explain(&self, repo: &RepoId, error: ForgeError) -> ForgeError {
        self.explain_or(repo, error, |hidden| hidden).await
    }

    /// Like `explain`; `hidden` says why a write is "not found" in a repository that is there and
    /// that the token's user may push to
    async fn explain_or(
        &self,
        repo: &RepoId,
        error: ForgeError,
        hidden: impl FnOnce(ForgeError) -> ForgeError,
    ) -> ForgeError {
        match error {
            ForgeError::NotFound { host, what, status } => match self.wire_repo(repo).await {
                Ok(found) if found.archived => ForgeError::Archived {
                    message: format!("`{repo}` is archived"),
                    status,
                },
                Ok(found) if !found.may_push() => ForgeError::Forbidden {
                    host,
                    message: format!("the token may not write to `{repo}`"),
                    status,
                },
                Ok(_) => hidden(ForgeError::NotFound { host, what, status }),
                Err(gone @ ForgeError::NotFound { .. }) => gone,
                Err(_) => ForgeError::NotFound { host, what, status },
            },
            other => other,
        }
    }

    /// Make the most of a 404: a missing or private repository, an empty one, or the thing itself
    async fn missing<T>(&self, repo: &RepoId, result: Result<T>) -> Result<T> {
        let (host, what, status) = match result {
            Err(ForgeError::NotFound { host, what, status }) => (host, what, status),
            other => return other,
        };
        // It was there a moment ago, with a commit in it.
        if self.recent.default_branch(repo).is_some() {
            return Err(ForgeError::NotFound { host, what, status });
        }
        let what = match self.read_repository(repo).await {
            Ok(found) if found.empty => format!("{what} (the repository is empty)"),
            Err(gone @ (ForgeError::NotFound { .. } | ForgeError::NotAllowed(_))) => {
                return Err(gone);
            }
            _ => what,
        };
        Err(ForgeError::NotFound { host, what, status })
    }

    /// Say the new name of a repository that was not written to because it moved: GitHub redirects
    /// to a number
    async fn new_name<T>(&self, repo: &RepoId, result: Result<T>) -> Result<T> {
        match result {
            Err(ForgeError::Moved { what, to, status }) => {
                let to = match self.wire_repo(repo).await {
                    Ok(found) => format!("`{}`", found.full_name()),
                    Err(refused @ ForgeError::NotAllowed(_)) => return Err(refused),
                    Err(_) => to,
                };
                Err(ForgeError::Moved { what, to, status })
            }
            other => other,
        }
    }

    fn not_found(&self, what: impl Into<String>) -> ForgeError {
        ForgeError::NotFound {
            host: self.rest.host().clone(),
            what: what.into(),
            status: Some(404),
        }
    }

    fn forbidden(&self, message: impl Into<String>) -> ForgeError {
        ForgeError::Forbidden {
            host: self.rest.host().clone(),
            message: message.into(),
            status: None,
        }
    }

    /// A page for people, where the API does not name it
    fn web_url(&self, repo: &RepoId, tail: &str) -> String {
        let endpoint = self.rest.endpoint();
        format!(
            "{}://{}/{repo}/{tail}",
            endpoint.api.scheme(),
            endpoint.host
        )
    }
}

/// The answer to anything about the commits of a repository that has none
fn says_empty(answer: &Answer) -> bool {
    answer.status.as_u16() == 409 && answer.says("is empty")
}

fn about_repo<'a>(mut call: Call<'a>, repo: &RepoId, tail: &[&str]) -> Call<'a> {
    for segment in tail {
        call = call.segment(segment);
    }
    call.what(format!("repository `{repo}`"))
}

/// Let the token of `github.com` travel to `api.github.com`, and likewise on ghe.com
///
/// No other GitHub has its API on another host; for any other pair the token stays bound as it
/// is, and the client refuses to send it.
fn bound_to_api(mut credential: Credential, endpoint: &Endpoint) -> Credential {
    if credential.host == endpoint.host
        && endpoint.api.scheme() == "https"
        && endpoint.api.origin() == api_url(&endpoint.host).origin()
        && let Some(host) = Host::of_url(&endpoint.api)
    {
        credential.host = host;
    }
    credential
}

#[async_trait]
impl Forge for GitHub {
    fn forge_type(&self) -> ForgeType {
        ForgeType::GitHub
    }

    fn host(&self) -> &Host {
        self.rest.host()
    }

    async fn about(&self) -> Result<About> {
        self.read_about().await
    }

    async fn whoami(&self) -> Result<Identity> {
        self.read_identity().await
    }

    async fn repository(&self, repo: &RepoId) -> Result<Repository> {
        self.read_repository(repo).await
    }

    async fn default_branch(&self, repo: &RepoId) -> Result<String> {
        match self.recent.default_branch(repo) {
            Some(name) => Ok(name),
            None => Ok(self.read_repository(repo).await?.default_branch),
        }
    }

    fn heard_default(&self, repo: &RepoId, name: &str) {
        self.recent.heard_default(repo, name);
    }

    async fn permissions(&self, repo: &RepoId) -> Result<Option<Permissions>> {
        match self.recent.permissions(repo) {
            Some(may) => Ok(Some(may)),
            None => Ok(self.read_repository(repo).await?.permissions),
        }
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
        let found = self.wire_branch(repo, name).await;
        Ok(self.missing(repo, found).await?.into())
    }

    async fn create_branch(&self, repo: &RepoId, name: &str, from: &str) -> Result<Branch> {
        let made = self.make_branch(repo, name, from).await;
        self.new_name(repo, made).await
    }

    async fn delete_branch(&self, repo: &RepoId, name: &str) -> Result<()> {
        let removed = self.remove_branch(repo, name).await;
        self.new_name(repo, removed).await
    }

    async fn protection(&self, repo: &RepoId, branch: &str) -> Result<Protection> {
        self.read_protection(repo, branch).await
    }

    async fn create_pr(&self, opts: CreatePrOpts) -> Result<PullRequest> {
        let opened = self.open_pr(&opts).await;
        self.new_name(&opts.repo, opened).await
    }

    async fn get_pr(&self, repo: &RepoId, number: u64) -> Result<PullRequest> {
        let found = self.wire_pull(repo, number).await;
        let pr = self.missing(repo, found).await?.into();
        self.recent.saw_pr(repo, &pr);
        Ok(pr)
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
        let merged = self.merge(repo, number, opts).await;
        let merged = self.new_name(repo, merged).await;
        self.missing(repo, merged).await
    }

    async fn pr_is_merged(&self, repo: &RepoId, number: u64) -> Result<bool> {
        Ok(self.wire_pull(repo, number).await?.is_merged())
    }

    async fn pr_files(&self, repo: &RepoId, number: u64) -> Result<Vec<ChangedFile>> {
        self.files_of_pr(repo, number).await
    }

    async fn pr_reviews(&self, repo: &RepoId, number: u64) -> Result<Vec<Review>> {
        let pull = self.wire_pull(repo, number).await?;
        self.reviews_at(repo, &pull.into()).await
    }

    async fn reviews_of(&self, repo: &RepoId, pr: &PullRequest) -> Result<Vec<Review>> {
        self.reviews_at(repo, pr).await
    }

    fn recent_merge_styles(&self, repo: &RepoId) -> Option<MergeStyles> {
        self.recent.styles(repo)
    }

    async fn may_bypass(&self, repo: &RepoId, rule: &Protection) -> bool {
        self.can_bypass(repo, rule).await
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
        let pr = self.get_pr(repo, number).await?;
        Ok(self.settled(repo, pr, patience).await?.0)
    }

    async fn mergeability_of(
        &self,
        repo: &RepoId,
        pr: PullRequest,
        patience: Duration,
    ) -> Result<(Mergeability, PullRequest)> {
        self.settled(repo, pr, patience).await
    }

    async fn resolve(&self, repo: &RepoId, rev: &str) -> Result<Sha> {
        let found = self.resolve_rev(repo, rev).await;
        self.missing(repo, found).await
    }

    async fn get_commit(&self, repo: &RepoId, rev: &str) -> Result<Commit> {
        self.read_commit(repo, rev).await
    }

    fn parents_of(&self, commit: &Sha) -> Option<Vec<Sha>> {
        self.recent.parents(commit)
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
        self.commits_ahead(repo, base, head).await
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
        let found = self.file(repo, path, rev, max_bytes).await;
        self.missing(repo, found).await
    }

    async fn list_dir(&self, repo: &RepoId, path: &str, rev: Option<&str>) -> Result<Vec<Entry>> {
        let found = self.dir(repo, path, rev).await;
        self.missing(repo, found).await
    }

    async fn commit_files(&self, repo: &RepoId, opts: &CommitOpts) -> Result<CommitOutcome> {
        let made = self.make_commit(repo, opts).await;
        self.new_name(repo, made).await
    }

    async fn checks(&self, repo: &RepoId, rev: &str) -> Result<Checks> {
        let sha = self.resolve_rev(repo, rev).await?;
        self.all_checks(repo, &sha).await
    }

    async fn checks_of(&self, repo: &RepoId, sha: &Sha) -> Result<Checks> {
        self.all_checks(repo, sha).await
    }

    async fn set_status(&self, repo: &RepoId, sha: &Sha, opts: &StatusOpts) -> Result<()> {
        let set = self.report_status(repo, sha, opts).await;
        self.new_name(repo, set).await
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
        let found = self.read_run(repo, id).await;
        self.missing(repo, found).await
    }

    async fn list_jobs(&self, repo: &RepoId, run: u64) -> Result<Vec<Job>> {
        self.jobs_of_run(repo, run).await
    }

    async fn job_log(&self, repo: &RepoId, job: u64, max_bytes: usize) -> Result<LogTail> {
        self.log_tail(repo, job, max_bytes).await
    }

    async fn list_tags(&self, repo: &RepoId, page: Page) -> Result<Listing<Tag>> {
        self.tag_page(repo, page).await
    }

    async fn get_tag(&self, repo: &RepoId, name: &str) -> Result<Tag> {
        self.read_tag(repo, name).await
    }

    async fn create_tag(&self, repo: &RepoId, opts: &TagOpts) -> Result<Tag> {
        let made = self.make_tag(repo, opts).await;
        let made = self.new_name(repo, made).await;
        self.missing(repo, made).await
    }
}
