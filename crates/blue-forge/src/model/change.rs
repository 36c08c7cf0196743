//! Writing: one commit with one or many files

use std::collections::BTreeSet;

use serde::Serialize;

use super::Sha;
use crate::{ConflictKind, ForgeError, Result};

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

impl Expect {
    /// Hold it against the blob that is there
    pub(crate) fn hold(&self, path: &str, now: Option<&Sha>) -> Result<()> {
        let message = match (self, now) {
            (Self::Any, _) | (Self::Absent, None) => return Ok(()),
            (Self::Blob(blob), Some(now)) if blob == now => return Ok(()),
            (Self::Absent, Some(now)) => format!("`{path}` exists already, as {now}"),
            (Self::Blob(blob), Some(now)) => {
                format!("`{path}` has changed: it is {now} now, not {blob}")
            }
            (Self::Blob(blob), None) => {
                format!("`{path}` is gone; it was expected to be {blob}")
            }
        };
        Err(ForgeError::Conflict {
            kind: ConflictKind::StaleFile {
                path: path.to_owned(),
                current: now.cloned(),
            },
            message,
            status: None,
        })
    }
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

/// The branch is not at the commit that the writer named; `now` is where it is, or would start
pub(crate) fn head_is_another(
    branch: &str,
    expected: &Sha,
    now: Option<&Sha>,
    is_there: bool,
) -> ForgeError {
    let at = match now {
        Some(now) if is_there => format!("at {now},"),
        Some(now) => format!("not there, and would start at {now},"),
        None => "not there, so".to_owned(),
    };
    ForgeError::Conflict {
        kind: ConflictKind::HeadMoved {
            current: now.cloned(),
        },
        message: format!("branch `{branch}` is {at} not at {expected}"),
        status: None,
    }
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
    /// Blob that was at the path before, where another one was
    pub replaced: Option<Sha>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_branch_is_instead() {
        let (now, expected) = ("a".repeat(40), "b".repeat(40));
        let sha = |text: &str| Sha::parse(text).unwrap();
        for (at, is_there, said) in [
            (Some(&now), true, format!("is at {now}, not at")),
            (
                Some(&now),
                false,
                format!("is not there, and would start at {now}, not at"),
            ),
            (None, false, "is not there, so not at".to_owned()),
        ] {
            let at = at.map(|text| sha(text));
            let error = head_is_another("x", &sha(&expected), at.as_ref(), is_there);
            assert!(
                error
                    .to_string()
                    .ends_with(&format!("branch `x` {said} {expected}")),
                "{error}"
            );
        }
    }

    #[test]
    fn expectations() {
        let blob = |c: &str| Sha::parse(&c.repeat(40)).unwrap();
        let current = |r: Result<()>| match r.unwrap_err() {
            ForgeError::Conflict {
                kind: ConflictKind::StaleFile { current, .. },
                ..
            } => current,
            other => panic!("{other:?}"),
        };
        assert!(Expect::Any.hold("p", Some(&blob("a"))).is_ok());
        assert!(Expect::Absent.hold("p", None).is_ok());
        assert!(Expect::Blob(blob("a")).hold("p", Some(&blob("a"))).is_ok());
        assert_eq!(
            current(Expect::Absent.hold("p", Some(&blob("a")))),
            Some(blob("a"))
        );
        assert_eq!(
            current(Expect::Blob(blob("b")).hold("p", Some(&blob("a")))),
            Some(blob("a"))
        );
        assert_eq!(current(Expect::Blob(blob("b")).hold("p", None)), None);
    }
}
