//! Reading files and directories

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;

use super::{GitHub, commit::tree::WireTree, wire};
use crate::{
    forge::{
        ForgeError, Result,
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
        let commit = self.resolve_for_read(repo, rev).await?;
        let (found, own) = tokio::join!(
            self.content(repo, path, &commit),
            self.link_at(repo, path, &commit)
        );
        let found = found?;
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
            None => self.raw(repo, path, &commit, max_bytes).await?,
        };
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

    /// The blob of the link at a path, if it is one
    async fn link_at(&self, repo: &RepoId, path: &str, commit: &Sha) -> Option<Sha> {
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
        commit: Sha,
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
        let commit = match self.resolve_for_read(repo, rev).await {
            // The root of a repository without any commit is an empty directory.
            Err(ForgeError::NotFound { .. })
                if rev.is_none()
                    && path.trim_matches('/').is_empty()
                    && self.read_repository(repo).await?.empty =>
            {
                return Ok(Vec::new());
            }
            other => other?,
        };
        self.dir_at(repo, path.trim_matches('/'), &commit).await
    }

    async fn dir_at(&self, repo: &RepoId, path: &str, commit: &Sha) -> Result<Vec<Entry>> {
        if path.is_empty() {
            return self.tree_entries(repo, commit, path).await;
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
            return self.tree_entries(repo, &found.sha.0, path).await;
        }
        Ok(found.entries.into_iter().map(Into::into).collect())
    }

    /// The entries of a tree, or of the root of a commit; not cut at a thousand
    async fn tree_entries(&self, repo: &RepoId, tree: &Sha, path: &str) -> Result<Vec<Entry>> {
        let found: WireTree = self
            .get(repo, &["git", "trees", tree.as_str()])
            .what(format!("`{path}` of `{repo}`"))
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

    async fn content(&self, repo: &RepoId, path: &str, commit: &Sha) -> Result<Found> {
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
        commit: &Sha,
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

    fn content_call(&self, repo: &RepoId, path: &str, commit: &Sha) -> Call<'_> {
        self.get(repo, &["contents"])
            .path(path)
            .query("ref", commit)
            .what(format!("`{path}` of `{repo}`"))
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

fn link(found: Found, target: String, commit: Sha) -> File {
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
