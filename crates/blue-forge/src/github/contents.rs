//! Reading files and directories

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;

use super::{GitHub, commit::tree::WireTree, wire};
use crate::{
    ConflictKind, ForgeError, Result,
    blob::{ObjectFormat, blob_id},
    model::{Entry, EntryKind, File, RepoId, Sha},
    rest::{Answer, Call},
};
use blue_base::http::HeaderValue;

/// Directories are cut there without a word
const MOST_ENTRIES: usize = 1000;
/// Room for the JSON around a file that is not larger than the caller allows
const ROOM: u64 = 8 * 1024 * 1024;
/// Largest blob that GitHub's API gives
const MAX_BLOB_BYTES: u64 = 100 * 1024 * 1024;

/// Entries of a directory, perhaps not all
struct Listed {
    entries: Vec<Entry>,
    truncated: bool,
}

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
        if found.kind == "file"
            && let Some(link) = own?
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
    ///
    /// An error where that cannot be known: the file that a link points at has another blob, with
    /// which it would be overwritten.
    async fn link_at(
        &self,
        repo: &RepoId,
        path: &str,
        commit: Option<&Sha>,
    ) -> Result<Option<Sha>> {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let listed = self.entries_of(repo, parent, commit).await?;
        let entry = listed.entries.into_iter().find(|entry| entry.path == path);
        if entry.is_none() && listed.truncated {
            return Err(ForgeError::Unsupported {
                message: format!(
                    "{} has more entries than GitHub lists, so that `{path}` may be a symlink",
                    directory(parent)
                ),
                status: None,
            });
        }
        let link = entry.filter(|entry| entry.kind == EntryKind::Symlink);
        Ok(link.map(|entry| entry.sha))
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
        let listed = self.entries_of(repo, path, commit).await?;
        if listed.truncated {
            return Err(too_many_entries(path));
        }
        Ok(listed.entries)
    }

    async fn entries_of(&self, repo: &RepoId, path: &str, commit: Option<&Sha>) -> Result<Listed> {
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
        Ok(Listed {
            entries: found.entries.into_iter().map(Into::into).collect(),
            truncated: false,
        })
    }

    /// The entries of a tree, or of the root of a commit; not cut at a thousand
    async fn tree_entries(&self, repo: &RepoId, tree: &str, path: &str) -> Result<Listed> {
        let found: WireTree = self
            .get(repo, &["git", "trees", tree])
            .what(format!("{} in `{repo}`", directory(path)))
            .send()
            .await?
            .json()?;
        Ok(Listed {
            entries: found.tree.into_iter().map(|e| e.into_entry(path)).collect(),
            truncated: found.truncated,
        })
    }

    async fn content(&self, repo: &RepoId, path: &str, commit: Option<&Sha>) -> Result<Found> {
        let answer = self
            .content_call(repo, path, commit)
            .header(
                http::header::ACCEPT,
                HeaderValue::from_static("application/vnd.github.object+json"),
            )
            .answer()
            .await?;
        self.readable(answer)?.json()
    }

    /// This answer, or the error that it means: of files over 100 MB GitHub gives nothing
    fn readable(&self, answer: Answer) -> Result<Answer> {
        if matches!(answer.status.as_u16(), 403 | 413 | 422) && answer.says("too large") {
            return Err(ForgeError::TooLarge {
                host: self.rest.host().clone(),
                limit: MAX_BLOB_BYTES,
            });
        }
        answer.ok()
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
            .answer()
            .await?;
        let answer = self.readable(answer)?;
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

/// A directory as a message names it
pub(super) fn directory(path: &str) -> String {
    match path.trim_end_matches('/') {
        "" => "the root directory".to_owned(),
        path => format!("`{path}`"),
    }
}

/// A directory of which GitHub lists only a part
pub(super) fn too_many_entries(path: &str) -> ForgeError {
    ForgeError::Unsupported {
        message: format!("{} has more entries than GitHub lists", directory(path)),
        status: None,
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
