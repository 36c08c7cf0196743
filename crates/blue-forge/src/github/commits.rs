//! Commits: names to ids, history, comparison

use jiff::Timestamp;
use serde::Deserialize;

use super::{GitHub, PAGE_LIMIT, branches::Tip, says_empty, wire};
use crate::{
    ConflictKind, ForgeError, Result,
    model::{ChangeKind, ChangedFile, Commit, Comparison, Listing, Page, RepoId, Sha},
};
use blue_base::http::HeaderValue;

#[derive(Debug, Deserialize)]
struct WireCommit {
    sha: wire::Oid,
    #[serde(default)]
    html_url: String,
    commit: Inner,
    #[serde(default)]
    parents: Vec<wire::Pointer>,
}

#[derive(Debug, Deserialize)]
struct Inner {
    message: String,
    author: Option<Signature>,
    tree: Option<wire::Pointer>,
}

#[derive(Debug, Default, Deserialize)]
struct Signature {
    name: Option<String>,
    date: Option<Timestamp>,
}

impl From<WireCommit> for Commit {
    fn from(row: WireCommit) -> Self {
        let author = row.commit.author.unwrap_or_default();
        Self {
            sha: row.sha.0,
            parents: row.parents.into_iter().map(|p| p.sha.0).collect(),
            message: row.commit.message,
            author: author.name.unwrap_or_default(),
            date: author.date,
            html_url: row.html_url,
        }
    }
}

#[derive(Debug, Deserialize)]
struct WireCompare {
    ahead_by: u64,
    behind_by: u64,
    #[serde(default)]
    commits: Vec<WireCommit>,
    #[serde(default)]
    files: Vec<WireFile>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireFile {
    filename: String,
    previous_filename: Option<String>,
    #[serde(default)]
    status: String,
    #[serde(default)]
    additions: u64,
    #[serde(default)]
    deletions: u64,
}

impl From<WireFile> for ChangedFile {
    fn from(row: WireFile) -> Self {
        let change = match row.status.as_str() {
            "added" | "copied" => ChangeKind::Added,
            "removed" => ChangeKind::Deleted,
            "modified" | "changed" => ChangeKind::Modified,
            "renamed" => ChangeKind::Renamed,
            _ => ChangeKind::Other,
        };
        Self {
            path: row.filename,
            previous_path: row.previous_filename,
            change,
            additions: row.additions,
            deletions: row.deletions,
        }
    }
}

impl GitHub {
    /// Branch before tag before short id, and a full id is always itself
    pub(super) async fn resolve_rev(&self, repo: &RepoId, rev: &str) -> Result<Sha> {
        let plain = rev.strip_prefix("refs/").unwrap_or(rev);
        if rev != "HEAD"
            && Sha::parse(rev).is_err()
            && !plain.starts_with("tags/")
            && let Tip::At(sha) = self
                .branch_tip(repo, plain.strip_prefix("heads/").unwrap_or(plain))
                .await?
        {
            return Ok(sha);
        }
        self.commit_id(repo, plain).await
    }

    /// A full id is taken at its word, since whatever is read with it will tell
    pub(super) async fn resolve_for_read(&self, repo: &RepoId, rev: &str) -> Result<Sha> {
        match Sha::parse(rev) {
            Ok(sha) => Ok(sha),
            Err(_) => self.resolve_rev(repo, rev).await,
        }
    }

    async fn commit_id(&self, repo: &RepoId, rev: &str) -> Result<Sha> {
        let what = format!("`{rev}` of `{repo}`");
        if rev.is_empty() {
            return Err(self.not_found(what).answered(None));
        }
        let answer = self
            .get(repo, &["commits", rev])
            .header(
                http::header::ACCEPT,
                HeaderValue::from_static("application/vnd.github.sha"),
            )
            .what(&what)
            .answer()
            .await?;
        if answer.status.as_u16() == 422 || says_empty(&answer) {
            let status = answer.status.as_u16();
            return Err(self.not_found(what).answered(status));
        }
        let answer = answer.ok()?;
        let text = String::from_utf8_lossy(&answer.body);
        match Sha::parse(&text) {
            Ok(sha) => Ok(sha),
            // A server that does not know the media type gives the whole commit.
            Err(_) => Ok(answer.json::<wire::Pointer>()?.sha.0),
        }
    }

    pub(super) async fn read_commit(&self, repo: &RepoId, rev: &str) -> Result<Commit> {
        let what = format!("commit `{rev}` of `{repo}`");
        let sha = self.resolve_for_read(repo, rev).await?;
        Ok(self.wire_commit(repo, sha.as_str(), what).await?.into())
    }

    /// A commit and its tree, by a name as [`Self::resolve_rev`] takes it
    pub(super) async fn commit_and_tree(
        &self,
        repo: &RepoId,
        rev: &str,
    ) -> Result<(Sha, Option<Sha>)> {
        let plain = rev.strip_prefix("refs/").unwrap_or(rev);
        if rev != "HEAD" && Sha::parse(rev).is_err() && !plain.starts_with("tags/") {
            let branch = plain.strip_prefix("heads/").unwrap_or(plain);
            match self.wire_branch(repo, branch).await {
                Ok(found) => return Ok((found.sha().clone(), found.tree().cloned())),
                Err(ForgeError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let what = format!("`{rev}` of `{repo}`");
        let found = self.wire_commit(repo, plain, what).await?;
        Ok((found.sha.0, found.commit.tree.map(|tree| tree.sha.0)))
    }

    async fn wire_commit(&self, repo: &RepoId, rev: &str, what: String) -> Result<WireCommit> {
        if rev.is_empty() {
            return Err(self.not_found(what).answered(None));
        }
        let answer = self
            .get(repo, &["commits", rev])
            // Its files are not wanted, and there may be thousands.
            .query("per_page", 1)
            .what(&what)
            .answer()
            .await?;
        if answer.status.as_u16() == 422 || says_empty(&answer) {
            let status = answer.status.as_u16();
            return Err(self.not_found(what).answered(status));
        }
        answer.ok()?.json()
    }

    pub(super) async fn commit_page(
        &self,
        repo: &RepoId,
        rev: Option<&str>,
        path: Option<&str>,
        page: Page,
    ) -> Result<Listing<Commit>> {
        let sha = match rev {
            Some(rev) => Some(self.resolve_for_read(repo, rev).await?),
            None => None,
        };
        let rows = self
            .get(repo, &["commits"])
            .query_opt("sha", sha.as_ref())
            .query_opt("path", path.filter(|p| !p.is_empty()))
            .page::<WireCommit>(page, PAGE_LIMIT)
            .await;
        match rows {
            Ok(rows) => Ok(Listing {
                items: rows.items.into_iter().map(Into::into).collect(),
                next_page: rows.next_page,
                total: rows.total,
            }),
            Err(ForgeError::Conflict {
                kind: ConflictKind::EmptyRepository,
                ..
            }) => Ok(Listing::of_all(Vec::new(), page)),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn compare_revs(
        &self,
        repo: &RepoId,
        base: &str,
        head: &str,
    ) -> Result<Comparison> {
        let base = self.resolve_for_read(repo, base).await?;
        let head = self.resolve_for_read(repo, head).await?;
        self.compare_names(repo, base.as_str(), head.as_str()).await
    }

    /// Names as they are; `owner:branch` is one in a fork
    pub(super) async fn compare_names(
        &self,
        repo: &RepoId,
        base: &str,
        head: &str,
    ) -> Result<Comparison> {
        self.compare_part(repo, base, head, None).await
    }

    /// With no more than so many commits
    pub(super) async fn compare_part(
        &self,
        repo: &RepoId,
        base: &str,
        head: &str,
        commits: Option<u32>,
    ) -> Result<Comparison> {
        let found: WireCompare = self
            .get(repo, &["compare", &format!("{base}...{head}")])
            .query_opt("per_page", commits)
            .what(format!("`{base}` or `{head}` of `{repo}`"))
            .send()
            .await?
            .json()?;
        Ok(Comparison {
            ahead: found.ahead_by,
            behind: found.behind_by,
            commits: found.commits.into_iter().map(Into::into).collect(),
            files: found.files.into_iter().map(Into::into).collect(),
        })
    }
}
