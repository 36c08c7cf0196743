//! Reading files and directories

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;

use super::{GitHub, commit::tree::WireTree, wire};
use crate::{
    forge::{
        ConflictKind, ForgeError, Result,
        blob::{ObjectFormat, blob_id},
        model::{Entry, EntryKind, File, RepoId, Sha},
        rest::Call,
    },
    http::HeaderValue,
};

/// Directories are cut there without a word
const MOST_ENTRIES: usize = 1000;
/// Room for the JSON around a file that is not larger than the caller allows
const ROOM: u64 = 8 * 1024 * 1024;

/// A file, a link, a submodule, or a directory with its entries
#[derive(Debug, Deserialize)]
struct Found {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    sha: wire::Oid,
    #[serde(default)]
    size: u64,
    encoding: Option<String>,
    content: Option<String>,
    target: Option<String>,
    html_url: Option<String>,
    #[serde(default)]
    entries: Vec<WireEntry>,
}

#[derive(Debug, Deserialize)]
struct WireEntry {
    #[serde(rename = "type")]
    kind: String,
    name: String,
    path: String,
    sha: wire::Oid,
    #[serde(default)]
    size: u64,
    git_url: Option<String>,
}

impl From<WireEntry> for Entry {
    fn from(row: WireEntry) -> Self {
        let is_blob = row.git_url.is_none_or(|url| url.contains("/git/blobs/"));
        let kind = match row.kind.as_str() {
            "dir" => EntryKind::Dir,
            "symlink" => EntryKind::Symlink,
            "submodule" => EntryKind::Submodule,
            // In lists a submodule is called a file.
            _ if !is_blob => EntryKind::Submodule,
            _ => EntryKind::File,
        };
        Self {
            name: row.name,
            path: row.path,
            kind,
            sha: row.sha.0,
            size: row.size,
        }
    }
}

impl GitHub {
    pub(super) async fn file(
        &self,
        repo: &RepoId,
        path: &str,
        rev: Option<&str>,
        max_bytes: u64,
    ) -> Result<File> {
        let invalid = |message: String| {
            Err(ForgeError::Invalid {
                message,
                status: None,
            })
        };
        let path = path.trim_matches('/');
        if path.is_empty() {
            return Err(ForgeError::is_directory());
        }
        let commit = self.commit_for(repo, rev).await?;
        let at = commit.as_ref();
        let (found, own) = tokio::join!(self.content(repo, path, at), self.link_at(repo, path, at));
        let found = match (found, rev) {
            (Err(ForgeError::NotFound { .. }), Some(rev)) => {
                return Err(self.nothing_at(repo, path, rev).await);
            }
            (found, _) => found?,
        };
        if found.kind == "dir" {
            return Err(ForgeError::is_directory());
        }
        // A link to a file is answered with that file; only the directory knows better.
        if let Some(link) = own
            && found.kind == "file"
        {
            return self.read_link(repo, found, link, commit, max_bytes).await;
        }
        if found.size > max_bytes {
            return Err(ForgeError::TooLarge {
                host: self.rest.host().clone(),
                limit: max_bytes,
            });
        }
        if found.kind == "symlink" {
            let target = found.target.clone().unwrap_or_default();
            return Ok(link(found, target, commit));
        }
        if found.kind == "submodule" {
            return invalid(format!("`{path}` is a submodule, not a file"));
        }
        let content = match inline(&found) {
            Some(content) => content,
            None => self.raw(repo, path, at, max_bytes).await?,
        };
        if at.is_none() && blob_id(&content, ObjectFormat::of(&found.sha.0)) != found.sha.0 {
            return Err(ForgeError::Conflict {
                kind: ConflictKind::Other,
                message: format!("`{path}` changed while it was read"),
                status: None,
            });
        }
        Ok(File {
            path: found.path,
            sha: found.sha.0,
            size: content.len() as u64,
            content,
            kind: EntryKind::File,
            target: None,
            commit,
            html_url: found.html_url.unwrap_or_default(),
        })
    }

    /// The commit that is asked for; none for the default branch as it is
    async fn commit_for(&self, repo: &RepoId, rev: Option<&str>) -> Result<Option<Sha>> {
        match rev {
            Some(rev) => self.resolve_for_read(repo, rev).await.map(Some),
            None => Ok(None),
        }
    }

    /// The blob of the link at a path, if it is one
    async fn link_at(&self, repo: &RepoId, path: &str, commit: Option<&Sha>) -> Option<Sha> {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let entries = self.dir_at(repo, parent, commit).await.ok()?;
        let entry = entries.into_iter().find(|entry| entry.path == path)?;
        (entry.kind == EntryKind::Symlink).then_some(entry.sha)
    }

    async fn read_link(
        &self,
        repo: &RepoId,
        mut found: Found,
        own: Sha,
        commit: Option<Sha>,
        max_bytes: u64,
    ) -> Result<File> {
        let answer = self
            .get(repo, &["git", "blobs", own.as_str()])
            .header(http::header::ACCEPT, raw_media())
            .max_body(max_bytes.saturating_add(ROOM))
            .send()
            .await?;
        found.sha = wire::Oid(own);
        let target = String::from_utf8_lossy(&answer.body).into_owned();
        Ok(link(found, target, commit))
    }

    pub(super) async fn dir(
        &self,
        repo: &RepoId,
        path: &str,
        rev: Option<&str>,
    ) -> Result<Vec<Entry>> {
        let commit = self.commit_for(repo, rev).await?;
        let path = path.trim_matches('/');
        match self.dir_at(repo, path, commit.as_ref()).await {
            // The root of a repository without any commit is an empty directory.
            Err(ForgeError::NotFound { .. } | ForgeError::Conflict { .. })
                if rev.is_none() && path.is_empty() && self.read_repository(repo).await?.empty =>
            {
                Ok(Vec::new())
            }
            Err(error @ ForgeError::NotFound { .. }) => Err(match rev {
                Some(rev) => self.nothing_at(repo, path, rev).await,
                None => error,
            }),
            other => other,
        }
    }

    /// Why nothing is there: no such path, or no such commit
    async fn nothing_at(&self, repo: &RepoId, path: &str, rev: &str) -> ForgeError {
        // Any other name was resolved before.
        if Sha::parse(rev).is_ok()
            && let Err(error) = self.resolve_rev(repo, rev).await
        {
            return error;
        }
        self.not_found(format!("`{path}` at `{rev}` in `{repo}`"))
    }

    async fn dir_at(&self, repo: &RepoId, path: &str, commit: Option<&Sha>) -> Result<Vec<Entry>> {
        if path.is_empty() {
            let root = commit.map_or("HEAD", Sha::as_str);
            return self.tree_entries(repo, root, path).await;
        }
        let found = self.content(repo, path, commit).await?;
        if found.kind != "dir" {
            return Err(ForgeError::not_a_directory(match found.kind.as_str() {
                "symlink" => EntryKind::Symlink,
                "submodule" => EntryKind::Submodule,
                _ => EntryKind::File,
            }));
        }
        if found.entries.len() >= MOST_ENTRIES {
            return self.tree_entries(repo, found.sha.0.as_str(), path).await;
        }
        Ok(found.entries.into_iter().map(Into::into).collect())
    }

    /// The entries of a tree, or of the root of a commit; not cut at a thousand
    async fn tree_entries(&self, repo: &RepoId, tree: &str, path: &str) -> Result<Vec<Entry>> {
        let found: WireTree = self
            .get(repo, &["git", "trees", tree])
            .what(format!("`{path}` in `{repo}`"))
            .send()
            .await?
            .json()?;
        if found.truncated {
            return Err(ForgeError::Unsupported {
                message: format!("`{path}` has more entries than GitHub tells"),
                status: None,
            });
        }
        Ok(found.tree.into_iter().map(|e| e.into_entry(path)).collect())
    }

    async fn content(&self, repo: &RepoId, path: &str, commit: Option<&Sha>) -> Result<Found> {
        self.content_call(repo, path, commit)
            .header(
                http::header::ACCEPT,
                HeaderValue::from_static("application/vnd.github.object+json"),
            )
            .send()
            .await?
            .json()
    }

    /// Files over a megabyte have no content in JSON
    async fn raw(
        &self,
        repo: &RepoId,
        path: &str,
        commit: Option<&Sha>,
        max_bytes: u64,
    ) -> Result<Vec<u8>> {
        let answer = self
            .content_call(repo, path, commit)
            .header(http::header::ACCEPT, raw_media())
            .max_body(max_bytes.saturating_add(ROOM))
            .send()
            .await?;
        if answer.body.len() as u64 > max_bytes {
            return Err(ForgeError::TooLarge {
                host: self.rest.host().clone(),
                limit: max_bytes,
            });
        }
        Ok(answer.body.to_vec())
    }

    fn content_call(&self, repo: &RepoId, path: &str, commit: Option<&Sha>) -> Call<'_> {
        self.get(repo, &["contents"])
            .path(path)
            .query_opt("ref", commit)
            .what(format!("`{path}` in `{repo}`"))
    }
}

fn raw_media() -> HeaderValue {
    HeaderValue::from_static("application/vnd.github.raw+json")
}

/// The bytes, where the answer has them all
fn inline(found: &Found) -> Option<Vec<u8>> {
    if found.encoding.as_deref() != Some("base64") {
        return None;
    }
    let text: String = found.content.as_ref()?.split_whitespace().collect();
    let bytes = STANDARD.decode(text).ok()?;
    (bytes.len() as u64 == found.size || !bytes.is_empty()).then_some(bytes)
}

fn link(found: Found, target: String, commit: Option<Sha>) -> File {
    File {
        path: found.path,
        sha: found.sha.0,
        size: target.len() as u64,
        content: target.clone().into_bytes(),
        kind: EntryKind::Symlink,
        target: Some(target),
        commit,
        html_url: found.html_url.unwrap_or_default(),
    }
}
