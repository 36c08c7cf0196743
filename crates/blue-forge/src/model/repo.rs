//! Repositories, branches, tags, commits, files

use jiff::Timestamp;
use serde::Serialize;

use super::{MergeStyles, RepoId, Sha};

/// Who asks, and what the token may do
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Identity {
    pub login: String,
    pub admin: bool,
    /// Scopes of the token, where the forge tells
    pub scopes: Option<Vec<String>>,
    pub rate: Option<Rate>,
}

impl Identity {
    /// Whether the token reads repositories, where that is known
    pub fn may_read(&self) -> Option<bool> {
        self.may("read")
    }

    /// Whether the token writes to repositories, where that is known
    pub fn may_write(&self) -> Option<bool> {
        self.may("write")
    }

    /// By the scopes of Gitea and Forgejo; those of GitHub have other names
    fn may(&self, verb: &str) -> Option<bool> {
        let scopes = self.scopes.as_ref()?;
        let has = |wanted: &str| scopes.iter().any(|scope| scope == wanted);
        let writes = has("all") || has("write:repository");
        Some(writes || verb == "read" && has("read:repository"))
    }
}

/// What is left of the forge's request allowance
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rate {
    pub limit: u64,
    pub remaining: u64,
    pub reset: Option<Timestamp>,
}

/// What the caller may do in a repository
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
pub struct Permissions {
    pub admin: bool,
    pub push: bool,
    pub pull: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own that a forge tells"
)]
pub struct Repository {
    /// Its present name, which may differ from the one asked for after a rename
    pub id: RepoId,
    pub description: String,
    pub default_branch: String,
    pub private: bool,
    pub fork: bool,
    pub archived: bool,
    /// It copies another repository, and takes changes from there only (Gitea and Forgejo)
    pub mirror: bool,
    /// No commit yet: most routes of a forge answer oddly until the first one
    pub empty: bool,
    pub permissions: Option<Permissions>,
    /// Where the forge tells the caller; GitHub tells those who can push
    #[serde(skip_serializing_if = "Option::is_none")]
    pub styles: Option<MergeStyles>,
    pub html_url: String,
    pub clone_url: String,
    pub ssh_url: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Branch {
    pub name: String,
    pub sha: Sha,
    pub protected: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tag {
    pub name: String,
    /// The commit it points at, also when annotated
    pub commit_sha: Sha,
    pub annotated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    pub html_url: String,
}

/// A tag to make
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagOpts {
    pub name: String,
    /// Branch name or commit
    pub target: String,
    /// Makes it annotated
    pub message: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Commit {
    pub sha: Sha,
    pub parents: Vec<Sha>,
    pub message: String,
    pub author: String,
    /// Absent where the forge sends its "not set" date
    pub date: Option<Timestamp>,
    pub html_url: String,
}

/// What `head` has that `base` has not, and the other way round
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Commits on `head` that are not on `base`
    pub ahead: u64,
    /// Commits on `base` that are not on `head`
    pub behind: u64,
    /// The commits ahead, oldest first; may be cut by the forge
    pub commits: Vec<Commit>,
    pub files: Vec<ChangedFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_path: Option<String>,
    pub change: ChangeKind,
    pub additions: u64,
    pub deletions: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Added,
    Modified,
    Deleted,
    Renamed,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    File,
    Dir,
    Symlink,
    Submodule,
}

/// A row of a directory
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub name: String,
    pub path: String,
    #[serde(rename = "type")]
    pub kind: EntryKind,
    pub sha: Sha,
    pub size: u64,
}

/// A file with its bytes
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub path: String,
    /// Blob id: what a later write gives back to prove that it saw this content
    pub sha: Sha,
    pub size: u64,
    pub content: Vec<u8>,
    pub kind: EntryKind,
    /// Where a symlink points
    pub target: Option<String>,
    /// The commit it was read at; absent where none was asked for
    pub commit: Option<Sha>,
    pub html_url: String,
}
