//! Reading files and directories

use std::time::Duration;

use base64::Engine as _;
use serde::Deserialize;

use super::{Forgejo, wire};
use crate::{
    ConflictKind, ForgeError, Result,
    blob::{ObjectFormat, blob_id},
    model::{Entry, EntryKind, File, RepoId, Sha},
};

/// How long a server still calls a repository empty after the first push to it, with some reserve
const FIRST_PUSH_LAG: Duration = Duration::from_millis(500);

#[derive(Debug, Deserialize)]
pub(super) struct WireEntry {
    #[serde(default, deserialize_with = "wire::or_default")]
    name: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    pub(super) path: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    pub(super) sha: String,
    #[serde(rename = "type", default, deserialize_with = "wire::or_default")]
    kind: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    size: u64,
    content: Option<String>,
    target: Option<String>,
    submodule_git_url: Option<String>,
    #[serde(default, deserialize_with = "wire::or_default")]
    html_url: String,
}

impl WireEntry {
    pub(super) fn kind(&self) -> EntryKind {
        match self.kind.as_str() {
            "dir" => EntryKind::Dir,
            "symlink" => EntryKind::Symlink,
            "submodule" | "commit" => EntryKind::Submodule,
            _ if self
                .submodule_git_url
                .as_ref()
                .is_some_and(|u| !u.is_empty()) =>
            {
                EntryKind::Submodule
            }
            _ => EntryKind::File,
        }
    }
}

/// What stands at a path
#[derive(Debug)]
pub(super) enum At {
    Nothing,
    Entry(Box<WireEntry>),
    Dir(Vec<WireEntry>),
}

impl At {
    fn is_empty_list(&self) -> bool {
        matches!(self, Self::Dir(rows) if rows.is_empty())
    }
}

impl Forgejo {
    /// Look at a path of a commit, or of the default branch; the empty path is the root
    pub(super) async fn look_at(
        &self,
        repo: &RepoId,
        path: &str,
        commit: Option<&Sha>,
    ) -> Result<At> {
        let mut at = self.look_once(repo, path, commit).await;
        // Git has no empty directories: the server takes the repository for an empty one, as it
        // does for a moment after the first push too. Forgejo lists nothing then, Gitea fails.
        let in_doubt = match &at {
            Ok(at) => at.is_empty_list(),
            Err(error) => matches!(error, ForgeError::Unexpected { status: 500, .. }),
        };
        if in_doubt {
            tokio::time::sleep(FIRST_PUSH_LAG).await;
            at = self.look_once(repo, path, commit).await;
        }
        let at = match at {
            Err(ForgeError::Unexpected { status: 500, .. })
                if self.wire_repo(repo).await.is_ok_and(|found| found.empty) =>
            {
                At::Nothing
            }
            other => other?,
        };
        Ok(if at.is_empty_list() && !path.is_empty() {
            At::Nothing
        } else {
            at
        })
    }

    async fn look_once(&self, repo: &RepoId, path: &str, commit: Option<&Sha>) -> Result<At> {
        let mut call = self.repo_get(repo, &["contents"]).query_opt("ref", commit);
        if !path.is_empty() {
            call = call.path(path);
        }
        let answer = call.what(format!("`{path}` of `{repo}`")).answer().await?;
        if answer.status.as_u16() == 404 {
            return Ok(At::Nothing);
        }
        let answer = answer.ok()?;
        match answer.body.iter().find(|b| !b.is_ascii_whitespace()) {
            Some(b'{') => answer.json().map(At::Entry),
            _ => answer.list().map(At::Dir),
        }
    }

    pub(super) async fn file(
        &self,
        repo: &RepoId,
        path: &str,
        rev: Option<&str>,
        max_bytes: u64,
    ) -> Result<File> {
        let path = checked_path(path)?;
        if path.is_empty() {
            return Err(ForgeError::is_directory());
        }
        let commit = self.commit_for(repo, rev).await?;
        let entry = match self.look_at(repo, path, commit.as_ref()).await? {
            At::Entry(entry) => *entry,
            At::Dir(_) => return Err(ForgeError::is_directory()),
            At::Nothing => return Err(self.nothing_at(repo, path, rev).await),
        };
        let kind = entry.kind();
        let content = match kind {
            EntryKind::Dir => return Err(ForgeError::is_directory()),
            EntryKind::Symlink => entry.target.clone().unwrap_or_default().into_bytes(),
            EntryKind::Submodule => {
                return Err(ForgeError::Invalid {
                    message: format!("`{path}` is a submodule, not a file"),
                    status: None,
                });
            }
            EntryKind::File => {
                self.bytes_of(repo, path, commit.as_ref(), &entry, max_bytes)
                    .await?
            }
        };
        let sha = wire::sha(self.rest.host(), &entry.sha)?;
        if commit.is_none() && kind == EntryKind::File {
            self.recent.saw_file(repo, path, &sha);
        }
        Ok(File {
            path: path.to_owned(),
            sha,
            size: if kind == EntryKind::File {
                entry.size
            } else {
                content.len() as u64
            },
            content,
            kind,
            target: entry
                .target
                .filter(|t| kind == EntryKind::Symlink && !t.is_empty()),
            html_url: if entry.html_url.is_empty() {
                let at = commit.as_ref().map_or_else(
                    || repo.to_string(),
                    |commit| format!("{repo}/src/commit/{commit}/{}", super::encoded(path)),
                );
                self.web(&at)
            } else {
                entry.html_url
            },
            commit,
        })
    }

    async fn bytes_of(
        &self,
        repo: &RepoId,
        path: &str,
        commit: Option<&Sha>,
        entry: &WireEntry,
        max_bytes: u64,
    ) -> Result<Vec<u8>> {
        if entry.size > max_bytes {
            return Err(ForgeError::TooLarge {
                host: self.rest.host().clone(),
                limit: max_bytes,
            });
        }
        match &entry.content {
            Some(text) if !text.is_empty() || entry.size == 0 => self.decode_base64(text),
            // Not sent with the rest: too large for the server's taste.
            _ => self.large(repo, path, commit, entry, max_bytes).await,
        }
    }

    async fn large(
        &self,
        repo: &RepoId,
        path: &str,
        commit: Option<&Sha>,
        entry: &WireEntry,
        max_bytes: u64,
    ) -> Result<Vec<u8>> {
        // A commit that is known to exist, or the raw route would fall back to another one.
        let commit = match commit {
            Some(commit) => commit.clone(),
            None => self.head_of_default(repo).await?.0,
        };
        let bytes = self.raw(repo, path, &commit, max_bytes).await?;
        let read = blob_id(&bytes, ObjectFormat::of(&commit));
        if read.as_str() != entry.sha {
            return Err(ForgeError::Conflict {
                kind: ConflictKind::Other,
                message: format!("`{path}` changed while it was read"),
                status: None,
            });
        }
        Ok(bytes)
    }

    /// The commit that is asked for; none for the default branch as it is
    async fn commit_for(&self, repo: &RepoId, rev: Option<&str>) -> Result<Option<Sha>> {
        let Some(rev) = rev else { return Ok(None) };
        match Sha::parse(rev) {
            Ok(full) => Ok(Some(full)),
            Err(_) => self.resolve_rev(repo, rev).await.map(Some),
        }
    }

    /// Why nothing is there: no such path, or no such commit
    async fn nothing_at(&self, repo: &RepoId, path: &str, rev: Option<&str>) -> ForgeError {
        let Some(rev) = rev else {
            return self.missing(repo, format!("`{path}` in `{repo}`")).await;
        };
        if Sha::parse(rev).is_ok()
            && let Err(error) = self.resolve_rev(repo, rev).await
        {
            return error;
        }
        self.missing(repo, format!("`{path}` at `{rev}` in `{repo}`"))
            .await
    }

    pub(super) async fn raw(
        &self,
        repo: &RepoId,
        path: &str,
        commit: &Sha,
        max_bytes: u64,
    ) -> Result<Vec<u8>> {
        let answer = self
            .repo_get(repo, &["raw"])
            .path(path)
            .query("ref", commit)
            .max_body(max_bytes)
            .what(format!("`{path}` of `{repo}`"))
            .send()
            .await?;
        Ok(answer.body.to_vec())
    }

    fn decode_base64(&self, text: &str) -> Result<Vec<u8>> {
        let text: String = text.split_whitespace().collect();
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .map_err(|e| ForgeError::Unexpected {
                host: self.rest.host().clone(),
                status: 200,
                message: format!("the content of the file is not base64: {e}"),
            })
    }

    pub(super) async fn directory(
        &self,
        repo: &RepoId,
        path: &str,
        rev: Option<&str>,
    ) -> Result<Vec<Entry>> {
        let path = checked_path(path.trim_end_matches('/'))?;
        let commit = self.commit_for(repo, rev).await?;
        if let Some(entries) = self.tree_at(repo, path, commit.as_ref()).await? {
            return Ok(entries);
        }
        match self.look_at(repo, path, commit.as_ref()).await? {
            At::Dir(rows) => rows.into_iter().map(|row| self.entry_of(row)).collect(),
            At::Entry(entry) => Err(ForgeError::not_a_directory(entry.kind())),
            // The root of a repository without any commit is an empty directory.
            At::Nothing
                if rev.is_none() && path.is_empty() && self.wire_repo(repo).await?.empty =>
            {
                Ok(Vec::new())
            }
            At::Nothing => Err(self.nothing_at(repo, path, rev).await),
        }
    }

    fn entry_of(&self, row: WireEntry) -> Result<Entry> {
        Ok(Entry {
            kind: row.kind(),
            sha: wire::sha(self.rest.host(), &row.sha)?,
            name: row.name,
            path: row.path,
            size: row.size,
        })
    }
}

/// A path inside a repository, or why it is none; `/` and `.` are the root
pub(super) fn checked_path(path: &str) -> Result<&str> {
    if matches!(path, "" | "/" | ".") {
        return Ok("");
    }
    let wrong = |why: &str| {
        Err(ForgeError::Invalid {
            message: format!("`{}` {why}", blue_base::text::clean_line(path)),
            status: None,
        })
    };
    if path.starts_with('/') {
        return wrong("is an absolute path; paths start at the root of the repository");
    }
    if path.contains('\0') {
        return wrong("has a zero byte in it");
    }
    for part in path.split('/') {
        match part {
            "" => return wrong("has an empty part"),
            "." | ".." => return wrong("has a `.` or `..` in it"),
            part if part.eq_ignore_ascii_case(".git") => {
                return wrong("is inside `.git`, which is not part of the tree");
            }
            _ => {}
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        for good in ["a", "a/b c#%?", "dir/.gitignore", "日本"] {
            assert_eq!(checked_path(good).unwrap(), good);
        }
        assert_eq!(checked_path("/").unwrap(), "");
        for bad in [
            "/a",
            "../x",
            "a/../b",
            "a//b",
            "a/",
            "./a",
            ".git/config",
            "x/.GIT/y",
            "a\0",
        ] {
            assert!(checked_path(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn kinds() {
        let kind = |text: &str| serde_json::from_str::<WireEntry>(text).unwrap().kind();
        assert_eq!(
            kind(r#"{"type":"file","submodule_git_url":null}"#),
            EntryKind::File
        );
        assert_eq!(
            kind(r#"{"type":"file","submodule_git_url":"http://x"}"#),
            EntryKind::Submodule
        );
        assert_eq!(kind(r#"{"type":"symlink"}"#), EntryKind::Symlink);
        assert_eq!(kind(r#"{"type":"dir"}"#), EntryKind::Dir);
    }
}
