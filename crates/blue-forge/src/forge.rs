//! The interface that every forge implements

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::error::ForgeError;
use crate::model::{
    Branch, ChangedFile, Checks, Commit, CommitOpts, CommitOutcome, Comparison, CreatePrOpts,
    Entry, Expect, File, FileChange, Host, Identity, Job, Listing, LogTail, MergeOpts,
    MergeOutcome, MergeStyles, Mergeability, Overview, Page, Permissions, PrFilter, Protection,
    PullRequest, RepoId, Repository, Review, Run, RunFilter, Sha, StatusOpts, Tag, TagOpts,
};

pub type Result<T, E = ForgeError> = std::result::Result<T, E>;

/// The family of a forge: which API it speaks
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ForgeType {
    GitHub,
    /// Forgejo and Gitea
    Forgejo,
}

/// Which program answers
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavor {
    GitHub,
    Gitea,
    Forgejo,
}

/// What a forge says of itself
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct About {
    pub flavor: Flavor,
    /// As the server prints it; absent on github.com
    pub version: Option<String>,
    /// Most rows it gives in one page
    pub page_limit: u32,
}

/// Where a forge is reached
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The host as people and git remotes name it
    pub host: Host,
    /// Where its API begins: `https://api.github.com/`, `https://HOST/api/v3/`, `https://HOST/api/v1/`
    pub api: url::Url,
}

/// A forge as one user sees it
///
/// Lists of `all_…` methods are whole: the pages after the first are fetched concurrently.
/// Where a branch, tag or commit may be given it is called `rev`; it is resolved to a full commit
/// before anything is read with it. Without one the forge itself takes the default branch.
#[async_trait]
pub trait Forge: Send + Sync + std::fmt::Debug {
    fn forge_type(&self) -> ForgeType;
    fn host(&self) -> &Host;

    async fn about(&self) -> Result<About>;
    /// Which program answers; mostly with fewer requests than [`Forge::about`]
    async fn flavor(&self) -> Result<Flavor> {
        Ok(self.about().await?.flavor)
    }
    /// The user behind the token
    async fn whoami(&self) -> Result<Identity>;

    async fn repository(&self, repo: &RepoId) -> Result<Repository>;
    /// The name of the default branch; mostly without asking where it was read a moment ago
    async fn default_branch(&self, repo: &RepoId) -> Result<String> {
        Ok(self.repository(repo).await?.default_branch)
    }
    /// Takes a hint for the name of the default branch from the local clone; it is used to prefetch,
    /// and never trusted
    fn heard_default(&self, _repo: &RepoId, _name: &str) {}
    /// What the caller may do, where the forge tells; mostly without asking where it was read a
    /// moment ago
    async fn permissions(&self, repo: &RepoId) -> Result<Option<Permissions>> {
        Ok(self.repository(repo).await?.permissions)
    }
    /// The repository, its branches, its open pull requests and the protection of `branch`
    /// (default: the default branch) in one round of requests where the forge allows it
    async fn overview(&self, repo: &RepoId, branch: Option<&str>) -> Result<Overview>;

    async fn list_branches(&self, repo: &RepoId, page: Page) -> Result<Listing<Branch>>;
    async fn all_branches(&self, repo: &RepoId) -> Result<Vec<Branch>>;
    async fn get_branch(&self, repo: &RepoId, name: &str) -> Result<Branch>;
    /// `from`: branch, tag or commit
    async fn create_branch(&self, repo: &RepoId, name: &str, from: &str) -> Result<Branch>;
    async fn delete_branch(&self, repo: &RepoId, name: &str) -> Result<()>;
    /// A branch without rules is [`Protection::none`], never an error
    async fn protection(&self, repo: &RepoId, branch: &str) -> Result<Protection>;

    /// Open a pull request; one without any commit between the branches is refused
    async fn create_pr(&self, opts: CreatePrOpts) -> Result<PullRequest>;
    async fn get_pr(&self, repo: &RepoId, number: u64) -> Result<PullRequest>;
    async fn list_prs(
        &self,
        repo: &RepoId,
        filter: &PrFilter,
        page: Page,
    ) -> Result<Listing<PullRequest>>;
    /// The open pull request from `head` to `base`
    async fn find_pr(&self, repo: &RepoId, head: &str, base: &str) -> Result<Option<PullRequest>>;
    /// The open pull requests from and to a branch of this very repository
    async fn open_prs_at(&self, repo: &RepoId, branch: &str) -> Result<Vec<PullRequest>>;
    /// A merged pull request whose head was this very commit: a branch that was squashed or
    /// rebased into another has commits of its own and is merged all the same
    async fn merged_pr_at(
        &self,
        repo: &RepoId,
        branch: &str,
        head: &Sha,
    ) -> Result<Option<PullRequest>>;
    /// Whether this client itself merged a pull request with this head a moment ago; sends no request,
    /// so `false` means "not known" (see [`Forge::merged_pr_at`])
    fn merged_before(&self, _repo: &RepoId, _branch: &str, _head: &Sha) -> bool {
        false
    }
    /// Merge; after any refusal the pull request is read again, so a merge that happened is never
    /// reported as an error
    async fn merge_pr(&self, repo: &RepoId, number: u64, opts: &MergeOpts) -> Result<MergeOutcome>;
    async fn pr_is_merged(&self, repo: &RepoId, number: u64) -> Result<bool>;
    async fn pr_files(&self, repo: &RepoId, number: u64) -> Result<Vec<ChangedFile>>;
    async fn pr_reviews(&self, repo: &RepoId, number: u64) -> Result<Vec<Review>>;
    /// Like [`Forge::pr_reviews`], for a pull request that was just read; mostly saves a request
    async fn reviews_of(&self, repo: &RepoId, pr: &PullRequest) -> Result<Vec<Review>> {
        self.pr_reviews(repo, pr.number).await
    }
    /// Whether the pull request depends on another one that is still open
    ///
    /// Also `false` if the dependencies cannot be read, and for a pull request that this client opened
    /// a moment ago, which had no time to get any.
    async fn has_open_dependency(&self, _repo: &RepoId, _number: u64) -> bool {
        false
    }
    /// Returns the login of the user who scheduled a merge that waits for checks, if there is one
    async fn scheduled_merge(&self, _repo: &RepoId, _number: u64) -> Result<Option<String>> {
        Ok(None)
    }
    /// Returns the merge styles of the repository as they were read a moment ago; `None` where they must
    /// be asked for with [`Forge::repository`]
    fn recent_merge_styles(&self, _repo: &RepoId) -> Option<MergeStyles> {
        None
    }
    /// Whether the caller may merge in spite of this rule, where the forge tells
    async fn may_bypass(&self, _repo: &RepoId, _rule: &Protection) -> bool {
        false
    }
    /// Returns how long ago something was pushed to the repository, by the server's own clock
    async fn since_last_push(&self, repo: &RepoId) -> Result<Option<std::time::Duration>>;
    /// Waits up to `patience` until the forge has computed whether the pull request can be merged
    async fn mergeability(
        &self,
        repo: &RepoId,
        number: u64,
        patience: std::time::Duration,
    ) -> Result<Mergeability>;

    /// Like [`Forge::mergeability`], starting from an already fetched pull request; also returns the
    /// latest one
    async fn mergeability_of(
        &self,
        repo: &RepoId,
        pr: PullRequest,
        patience: std::time::Duration,
    ) -> Result<(Mergeability, PullRequest)>;

    /// The commit that a branch, tag, short or full commit id names
    async fn resolve(&self, repo: &RepoId, rev: &str) -> Result<Sha>;
    async fn get_commit(&self, repo: &RepoId, rev: &str) -> Result<Commit>;
    /// The parents of a commit as far as they are known without asking: this very client made it
    fn parents_of(&self, _commit: &Sha) -> Option<Vec<Sha>> {
        None
    }
    /// History of `rev` (default: the default branch), newest first, of one path if given
    async fn list_commits(
        &self,
        repo: &RepoId,
        rev: Option<&str>,
        path: Option<&str>,
        page: Page,
    ) -> Result<Listing<Commit>>;
    /// How many commits `head` has that `base` has not; cheaper than [`Forge::compare`], and
    /// names are taken as the forge takes them
    async fn ahead(&self, repo: &RepoId, base: &str, head: &str) -> Result<u64>;
    async fn compare(&self, repo: &RepoId, base: &str, head: &str) -> Result<Comparison>;

    /// A file of at most `max_bytes`; a directory is [`ForgeError::Invalid`]
    async fn read_file(
        &self,
        repo: &RepoId,
        path: &str,
        rev: Option<&str>,
        max_bytes: u64,
    ) -> Result<File>;
    /// A whole directory, however large; a file is [`ForgeError::Invalid`]
    async fn list_dir(&self, repo: &RepoId, path: &str, rev: Option<&str>) -> Result<Vec<Entry>>;
    /// Write, delete and move files in one commit
    async fn commit_files(&self, repo: &RepoId, opts: &CommitOpts) -> Result<CommitOutcome>;
    async fn delete_file(
        &self,
        repo: &RepoId,
        branch: &str,
        path: &str,
        sha: &Sha,
        message: &str,
    ) -> Result<CommitOutcome> {
        let change = FileChange::Delete {
            path: path.to_owned(),
            expect: Expect::Blob(sha.clone()),
        };
        let opts = CommitOpts {
            branch: branch.to_owned(),
            base: None,
            message: message.to_owned(),
            changes: vec![change],
            expected_head: None,
        };
        self.commit_files(repo, &opts).await
    }

    /// Statuses and check runs of a commit together, from all pages
    async fn checks(&self, repo: &RepoId, rev: &str) -> Result<Checks>;
    /// Like [`Forge::checks`], for a full commit id that is known to exist; skips resolving it
    async fn checks_of(&self, repo: &RepoId, sha: &Sha) -> Result<Checks> {
        self.checks(repo, sha.as_str()).await
    }
    async fn set_status(&self, repo: &RepoId, sha: &Sha, opts: &StatusOpts) -> Result<()>;
    /// Newest first; [`ForgeError::Unsupported`] where the forge has no such list
    async fn list_runs(
        &self,
        repo: &RepoId,
        filter: &RunFilter,
        page: Page,
    ) -> Result<Listing<Run>>;
    async fn get_run(&self, repo: &RepoId, id: u64) -> Result<Run>;
    async fn list_jobs(&self, repo: &RepoId, run: u64) -> Result<Vec<Job>>;
    /// The last `max_bytes` of a job's log
    async fn job_log(&self, repo: &RepoId, job: u64, max_bytes: usize) -> Result<LogTail>;

    async fn list_tags(&self, repo: &RepoId, page: Page) -> Result<Listing<Tag>>;
    async fn get_tag(&self, repo: &RepoId, name: &str) -> Result<Tag>;
    async fn create_tag(&self, repo: &RepoId, opts: &TagOpts) -> Result<Tag>;
}
