//! Everything git does
//!
//! Objects and refs are read and written in place: a repository here only ever holds loose objects
//! (pushes are unpacked), so a read costs one file and no process. Merges and diffs are left to the
//! real git.

mod commit;
mod diff;
mod history;
mod merge;
mod object;
mod oid;
mod process;
mod refs;
mod repo;
mod resolve;
mod tree;

pub(crate) use self::{
    commit::{Commit, Signature, Tag},
    diff::{Change, ChangeKind, Diff},
    merge::Merged,
    object::Kind,
    oid::Oid,
    process::{HERMETIC, check},
    refs::{Expect, valid_branch_name},
    repo::Repo,
    tree::{Edit, Entry, Mode},
};

/// What can go wrong below the domain
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("git object `{0}` is missing")]
    Missing(Oid),
    #[error("git object `{0}` is damaged")]
    Damaged(Oid),
    #[error("cannot lock ref '{name}': {why}")]
    Lock { name: String, why: String },
    /// The ref is not where the caller thought
    #[error("cannot lock ref '{name}': is at {found} but expected {expected}")]
    Moved {
        name: String,
        expected: Oid,
        found: Oid,
    },
    #[error("git {command} failed: {stderr}")]
    Command { command: String, stderr: String },
    #[error("cannot reach the repository")]
    Io(#[from] std::io::Error),
}

pub(crate) type Result<T> = std::result::Result<T, Error>;
