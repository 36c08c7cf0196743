//! What can go wrong with a forge, sorted by what the caller can do about it

use std::time::Duration;

use super::{
    allow::NotAllowed,
    model::{EntryKind, Host, Sha},
};

/// Every message of a forge in here went through `text::clean_line` and is otherwise whole
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    /// May also mean private, empty or switched off: a forge does not say which
    #[error("{what} not found on {host}")]
    NotFound { host: Host, what: String },
    #[error("{host} refused the token: {message}")]
    Unauthorized { host: Host, message: String },
    /// The forge's own words
    #[error("{message}")]
    Forbidden { host: Host, message: String },
    /// The pull request cannot be merged now; the forge's own words
    #[error("{message}")]
    NotMergeable { reason: MergeBlock, message: String },
    #[error("{message}")]
    Conflict { kind: ConflictKind, message: String },
    /// The request makes no sense to the forge; the same request will never work
    #[error("{message}")]
    Invalid { message: String },
    /// This forge, or this version of it, has no such thing
    #[error("{message}")]
    Unsupported { message: String },
    /// The repository is archived
    #[error("{message}")]
    Archived { message: String },
    #[error("{host} allows no more requests for now")]
    RateLimited {
        host: Host,
        retry_after: Option<Duration>,
    },
    #[error("could not reach {host}")]
    Unreachable {
        host: Host,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The answer is larger than Blue takes
    #[error("the answer of {host} is larger than {limit} bytes")]
    TooLarge { host: Host, limit: u64 },
    /// A token is only sent to the host it belongs to
    #[error("the token for {bound} is not sent to {host}")]
    TokenHost { bound: Host, host: Host },
    /// Only GET and HEAD are allowed
    #[error("read-only: {method} is not sent to {host}")]
    ReadOnly { host: Host, method: String },
    /// The owner or the repository is not on the list of those that may be touched
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// The repository was renamed: a write is never redirected
    #[error("{what} has moved to {to}")]
    Moved { what: String, to: String },
    #[error("{host} answered {status}: {message}")]
    Unexpected {
        host: Host,
        status: u16,
        message: String,
    },
    #[error("could not read the answer of {host}")]
    Decode {
        host: Host,
        #[source]
        source: serde_path_to_error::Error<serde_json::Error>,
    },
}

/// Why a forge will not merge
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeBlock {
    /// Still computing after all patience
    Checking,
    Conflict,
    Empty,
    Draft,
    Closed,
    Checks,
    Approvals,
    ChangesRequested,
    ReviewRequested,
    Behind,
    ProtectedFiles,
    NotPermitted,
    Style,
    Signing,
    Dependency,
    FastForward,
    Queue,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictKind {
    /// The file is not what the writer believed; its present blob where known
    StaleFile {
        path: String,
        current: Option<Sha>,
    },
    /// The branch or the pull request's head moved
    HeadMoved {
        current: Option<Sha>,
    },
    /// It exists already
    Exists,
    /// A name in the way: `a` and `a/b` cannot both be branches
    NameClash,
    /// The two sides changed the same lines
    Merge,
    Other,
}

impl ForgeError {
    /// A file was asked for where a directory is; names the tool that lists it
    pub(crate) fn is_directory() -> Self {
        Self::Invalid {
            message: "path is a directory, not a file — use dir_list".to_owned(),
        }
    }

    /// A directory was asked for where something else is
    pub(crate) fn not_a_directory(kind: EntryKind) -> Self {
        let message = match kind {
            EntryKind::Submodule => {
                "path is a submodule, not a directory — its files are in another repository"
            }
            EntryKind::Symlink => "path is a symlink, not a directory — use file_read",
            EntryKind::File | EntryKind::Dir => "path is a file, not a directory — use file_read",
        };
        Self::Invalid {
            message: message.to_owned(),
        }
    }

    /// The same call may work later without anything else changing
    pub fn retryable(&self) -> bool {
        match self {
            Self::RateLimited { .. } | Self::Unreachable { .. } => true,
            Self::NotMergeable { reason, .. } => *reason == MergeBlock::Checking,
            Self::Unexpected { status, .. } => matches!(status, 502..=504),
            _ => false,
        }
    }
}
