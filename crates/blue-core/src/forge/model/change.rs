//! Writing: one commit with one or many files

use std::collections::BTreeSet;

use serde::Serialize;

use super::Sha;

/// One file of a commit
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// Create or overwrite
    Write {
        path: String,
        content: Vec<u8>,
        expect: Expect,
    },
    Delete {
        path: String,
        expect: Expect,
    },
    /// Move, with new content or as it is
    Rename {
        from: String,
        to: String,
        content: Option<Vec<u8>>,
        expect: Expect,
    },
}

/// What the writer believes is there now
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Expect {
    /// Whatever it is
    #[default]
    Any,
    /// No such file
    Absent,
    /// This very blob
    Blob(Sha),
}

/// A commit to make on a branch
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitOpts {
    pub branch: String,
    /// Where the branch starts when it is not there, `HEAD` for the default branch; `None` means
    /// it must be there
    pub base: Option<String>,
    pub message: String,
    pub changes: Vec<FileChange>,
    /// Refuse unless the branch is at this commit
    pub expected_head: Option<Sha>,
}

impl CommitOpts {
    /// The base that an empty repository cannot have
    pub(crate) fn base_that_is_missing(&self) -> Option<&str> {
        let base = self.base.as_deref();
        base.filter(|base| *base != "HEAD" && *base != self.branch)
    }
}

/// A file that another file of the same commit would have to lie in: servers take both, and keep one
pub(crate) fn file_in_the_way(changes: &[FileChange]) -> Option<(&str, &str)> {
    let written: BTreeSet<&str> = changes
        .iter()
        .filter_map(|change| match change {
            FileChange::Write { path, .. } | FileChange::Rename { to: path, .. } => {
                Some(path.as_str())
            }
            FileChange::Delete { .. } => None,
        })
        .collect();
    written.iter().find_map(|path| {
        let mut above = path.match_indices('/').map(|(end, _)| &path[..end]);
        above
            .find(|dir| written.contains(dir))
            .map(|dir| (dir, *path))
    })
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommitOutcome {
    /// The new commit, or the branch's present one when nothing changed
    pub sha: Sha,
    pub html_url: String,
    pub branch_created: bool,
    /// The repository had no commit before, so the branch is its default branch now
    pub first: bool,
    /// Every file had its new content already: no commit was made
    pub unchanged: bool,
    /// Blob ids of what was written
    pub files: Vec<WrittenFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WrittenFile {
    pub path: String,
    pub sha: Sha,
}
