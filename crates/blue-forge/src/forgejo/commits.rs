//! Commits: names to ids, history, comparison

use serde::Deserialize;

use super::{Forgejo, branches::plausible_ref, wire};
use crate::{
    ConflictKind, ForgeError, Result,
    model::{ChangeKind, ChangedFile, Commit, Comparison, Listing, Page, RepoId, Sha},
};

#[derive(Debug, Deserialize)]
struct WireCompare {
    #[serde(default, deserialize_with = "wire::or_default")]
    total_commits: u64,
    #[serde(default, deserialize_with = "wire::or_default")]
    commits: Vec<wire::Commit>,
}

impl Forgejo {
    /// Branch before tag before commit id, but a full id is always itself, as git has it
    pub(super) async fn resolve_rev(&self, repo: &RepoId, rev: &str) -> Result<Sha> {
        let what = || format!("`{rev}` of `{repo}`");
        if let Ok(full) = Sha::parse(rev) {
            return match self.commit_if_any(repo, full.as_str()).await? {
                Some(commit) => wire::sha(self.rest.host(), &commit.sha),
                None => Err(self.missing(repo, format!("commit {}", what())).await),
            };
        }
        if rev == "HEAD" {
            return self.head_of_default(repo).await.map(|(sha, _)| sha);
        }
        let (branch, tag) = match rev.strip_prefix("refs/") {
            Some(full) => (full.strip_prefix("heads/"), full.strip_prefix("tags/")),
            None => (Some(rev), Some(rev)),
        };
        if let Some(name) = branch
            && let Some(branch) = self.branch_if_any(repo, name).await?
        {
            return Ok(branch.sha);
        }
        if let Some(name) = tag
            && let Some(tag) = self.tag_if_any(repo, name).await?
        {
            return Ok(tag.commit_sha);
        }
        if (4..40).contains(&rev.len())
            && rev.bytes().all(|b| b.is_ascii_hexdigit())
            && let Some(commit) = self.commit_if_any(repo, &rev.to_ascii_lowercase()).await?
            && commit.sha.starts_with(&rev.to_ascii_lowercase())
        {
            return wire::sha(self.rest.host(), &commit.sha);
        }
        Err(self.missing(repo, what()).await)
    }

    /// The commit and name of what is read when no revision was given
    pub(super) async fn head_of_default(&self, repo: &RepoId) -> Result<(Sha, String)> {
        if let Some(name) = self.recent.default_branch(repo)
            && let Some(branch) = self.branch_if_any(repo, &name).await?
        {
            return Ok((branch.sha, name));
        }
        let found = self.wire_repo(repo).await?;
        let name = found.default_branch;
        if found.empty {
            return Err(ForgeError::NotFound {
                host: self.rest.host().clone(),
                what: format!("branch `{name}` of `{repo}` (the repository is empty)"),
                status: None,
            });
        }
        let branch = self.read_branch(repo, &name).await?;
        Ok((branch.sha, name))
    }

    pub(super) async fn commit_if_any(
        &self,
        repo: &RepoId,
        id: &str,
    ) -> Result<Option<wire::Commit>> {
        if !plausible_ref(id) {
            return Ok(None);
        }
        let answer = self
            .repo_get(repo, &["git", "commits"])
            .segment(id)
            .query("stat", false)
            .query("files", false)
            .query("verification", false)
            .answer()
            .await?;
        match answer.status.as_u16() {
            404 | 409 | 422 => Ok(None),
            // An ambiguous or malformed short id.
            500 if answer.says("does not exist")
                || answer.says("ambiguous")
                || answer.says("unknown revision") =>
            {
                Ok(None)
            }
            _ => answer.ok()?.json().map(Some),
        }
    }

    pub(super) async fn read_commit(&self, repo: &RepoId, rev: &str) -> Result<Commit> {
        let sha = self.resolve_rev(repo, rev).await?;
        match self.commit_if_any(repo, sha.as_str()).await? {
            Some(commit) => self.commit_of(commit),
            None => Err(self
                .missing(repo, format!("commit `{rev}` of `{repo}`"))
                .await),
        }
    }

    pub(super) async fn commit_page(
        &self,
        repo: &RepoId,
        rev: Option<&str>,
        path: Option<&str>,
        page: Page,
    ) -> Result<Listing<Commit>> {
        let sha = match rev {
            Some(rev) => Some(self.resolve_rev(repo, rev).await?),
            None => None,
        };
        let path = path.filter(|p| !p.is_empty());
        let what = path.map_or_else(
            || format!("repository `{repo}`"),
            |path| format!("`{path}` in the history of `{repo}`"),
        );
        let result = self
            .repo_get(repo, &["commits"])
            .query_opt("sha", sha.as_ref())
            .query_opt("path", path)
            .query("stat", false)
            .query("files", false)
            .query("verification", false)
            .what(what)
            .page::<wire::Commit>(page, self.cap().await)
            .await;
        let listing = match result {
            Err(ForgeError::Conflict {
                kind: ConflictKind::EmptyRepository,
                ..
            }) => return Ok(Listing::of_all(Vec::new(), page)),
            other => self.explain(repo, other).await?,
        };
        Ok(Listing {
            items: self.commits_of(listing.items)?,
            next_page: listing.next_page,
            total: listing.total,
        })
    }

    pub(super) async fn compare_revs(
        &self,
        repo: &RepoId,
        base: &str,
        head: &str,
    ) -> Result<Comparison> {
        let base = self.resolve_rev(repo, base).await?;
        let head = self.resolve_rev(repo, head).await?;
        if base == head {
            return Ok(Comparison {
                ahead: 0,
                behind: 0,
                commits: Vec::new(),
                files: Vec::new(),
            });
        }
        let (ahead, behind) = tokio::try_join!(
            self.commits_between(repo, base.as_str(), head.as_str(), true),
            self.commits_between(repo, head.as_str(), base.as_str(), false),
        )?;
        let mut rows = ahead.commits;
        rows.reverse();
        let files = changed_files(&rows);
        Ok(Comparison {
            ahead: ahead.total_commits,
            behind: behind.total_commits,
            commits: self.commits_of(rows)?,
            files,
        })
    }

    /// How many commits `head` has that `base` has not; names or ids, `owner:branch` for a fork
    pub(super) async fn commits_ahead(&self, repo: &RepoId, base: &str, head: &str) -> Result<u64> {
        let compare = self.commits_between(repo, base, head, false).await?;
        Ok(compare.total_commits)
    }

    async fn commits_between(
        &self,
        repo: &RepoId,
        base: &str,
        head: &str,
        files: bool,
    ) -> Result<WireCompare> {
        let answer = self
            .repo_get(repo, &["compare"])
            .path(&format!("{base}...{head}"))
            .query("files", files)
            .query("verification", false)
            .what(format!("`{base}...{head}` of `{repo}`"))
            .answer()
            .await?;
        let ids = Sha::parse(base).is_ok() && Sha::parse(head).is_ok();
        // Both ends are known to exist, so it is the route that is missing (Forgejo before 8).
        if answer.status.as_u16() == 404 && ids {
            return self.commits_not_in(repo, base, head, files).await;
        }
        let mut compare: WireCompare = answer.ok()?.json()?;
        compare.total_commits = compare.total_commits.max(compare.commits.len() as u64);
        Ok(compare)
    }

    async fn commits_not_in(
        &self,
        repo: &RepoId,
        base: &str,
        head: &str,
        files: bool,
    ) -> Result<WireCompare> {
        let commits = self
            .repo_get(repo, &["commits"])
            .query("sha", head)
            .query("not", base)
            .query("stat", false)
            .query("files", files)
            .query("verification", false)
            .what(format!("history of `{repo}`"))
            .all::<wire::Commit>(self.likely_cap())
            .await?;
        Ok(WireCompare {
            total_commits: commits.len() as u64,
            commits,
        })
    }

    fn commits_of(&self, rows: Vec<wire::Commit>) -> Result<Vec<Commit>> {
        rows.into_iter().map(|row| self.commit_of(row)).collect()
    }

    fn commit_of(&self, row: wire::Commit) -> Result<Commit> {
        let host = self.rest.host();
        let (name, date) = row
            .body
            .author
            .map_or((String::new(), None), |a| (a.name, a.date));
        Ok(Commit {
            sha: wire::sha(host, &row.sha)?,
            parents: row
                .parents
                .iter()
                .map(|p| wire::sha(host, p.sha()))
                .collect::<Result<_>>()?,
            message: row.body.message,
            author: row
                .author
                .map(|a| a.login)
                .filter(|login| !login.is_empty())
                .unwrap_or(name),
            date: date.or(row.created),
            html_url: row.html_url,
        })
    }
}

/// The files that a row of commits, oldest first, changes taken together
fn changed_files(commits: &[wire::Commit]) -> Vec<ChangedFile> {
    let mut files: Vec<ChangedFile> = Vec::new();
    for row in commits.iter().flat_map(|c| c.files.iter().flatten()) {
        let change = match row.status.as_str() {
            "added" => ChangeKind::Added,
            "modified" | "changed" => ChangeKind::Modified,
            "removed" | "deleted" => ChangeKind::Deleted,
            "renamed" => ChangeKind::Renamed,
            _ => ChangeKind::Other,
        };
        let Some(at) = files.iter().position(|f| f.path == row.filename) else {
            files.push(ChangedFile {
                path: row.filename.clone(),
                previous_path: None,
                change,
                additions: 0,
                deletions: 0,
            });
            continue;
        };
        match (files[at].change, change) {
            (ChangeKind::Added, ChangeKind::Deleted) => {
                files.remove(at);
            }
            (ChangeKind::Added, _) => {}
            (ChangeKind::Deleted, ChangeKind::Added) => files[at].change = ChangeKind::Modified,
            (_, change) => files[at].change = change,
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(files: &[(&str, &str)]) -> wire::Commit {
        let files: Vec<_> = files
            .iter()
            .map(|(name, status)| serde_json::json!({"filename": name, "status": status}))
            .collect();
        serde_json::from_value(serde_json::json!({
            "sha": "a".repeat(40), "commit": {"message": "m"}, "files": files,
        }))
        .unwrap()
    }

    #[test]
    fn files_of_several_commits_are_put_together() {
        let files = changed_files(&[
            commit(&[
                ("new", "added"),
                ("gone", "added"),
                ("old", "removed"),
                ("m", "modified"),
            ]),
            commit(&[
                ("new", "modified"),
                ("gone", "removed"),
                ("old", "added"),
                ("m", "removed"),
            ]),
        ]);
        let files: Vec<_> = files.iter().map(|f| (f.path.as_str(), f.change)).collect();
        assert_eq!(
            files,
            [
                ("new", ChangeKind::Added),
                ("old", ChangeKind::Modified),
                ("m", ChangeKind::Deleted)
            ]
        );
    }
}
