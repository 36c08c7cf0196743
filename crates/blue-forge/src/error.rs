//! What can go wrong with a forge, sorted by what the caller can do about it

use std::time::Duration;

use super::{
    allow::NotAllowed,
    model::{EntryKind, Host, Sha},
};

/// What an error says of a repository that was not found, where a token might have found it
pub const WITHOUT_TOKEN: &str = "asked without a token";

/// Every message of a forge in here went through `text::clean_line` and is otherwise whole
///
/// `status` is that of the answer that led to it; none where Blue found out by itself.
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    /// May also mean private, empty or switched off: a forge does not say which
    #[error("{what} not found on {host}")]
    NotFound {
        host: Host,
        what: String,
        status: Option<u16>,
    },
    #[error("{host} {}: {message}", if *.sent { "refused the token" } else { "wants a token" })]
    Unauthorized {
        host: Host,
        message: String,
        /// Whether there was a token
        sent: bool,
    },
    /// The forge's own words
    #[error("{message}")]
    Forbidden {
        host: Host,
        message: String,
        status: Option<u16>,
    },
    /// The pull request cannot be merged now; the forge's own words
    #[error("{message}")]
    NotMergeable {
        reason: MergeBlock,
        message: String,
        status: Option<u16>,
    },
    #[error("{message}")]
    Conflict {
        kind: ConflictKind,
        message: String,
        status: Option<u16>,
    },
    /// The request makes no sense to the forge; the same request will never work
    #[error("{message}")]
    Invalid {
        message: String,
        status: Option<u16>,
    },
    /// This forge, or this version of it, has no such thing
    #[error("{message}")]
    Unsupported {
        message: String,
        status: Option<u16>,
    },
    /// The repository is archived
    #[error("{message}")]
    Archived {
        message: String,
        status: Option<u16>,
    },
    #[error("{host} accepts no more requests for now{}", after_colon(message))]
    RateLimited {
        host: Host,
        /// The forge's own words; empty when it said nothing
        message: String,
        retry_after: Option<Duration>,
        status: u16,
    },
    #[error("could not reach {host}")]
    Unreachable {
        host: Host,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The request was sent, and no whole answer came; a write may have been done all the same
    #[error("{host} was asked{}, but did not answer", if *.write { " to change something" } else { "" })]
    NoAnswer {
        host: Host,
        write: bool,
        /// Status of a gateway that answered in place of the forge
        status: Option<u16>,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A redirect leads into a private network, where a forge must not send Blue
    #[error("{host} points to {to}, which is not on a public address")]
    NotPublic { host: Host, to: String },
    /// The token lacks a scope that this change needs
    #[error("{message}")]
    MissingScope {
        host: Host,
        scope: &'static str,
        message: String,
        status: Option<u16>,
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
    Moved {
        what: String,
        to: String,
        status: Option<u16>,
    },
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
        source: super::rest::DecodeError,
    },
    /// Blue itself has too much to do for this now; nothing was changed
    #[error("{message}")]
    Busy { message: String },
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
    /// The branch moved in the very moment of writing, and the change is on it all the same
    Landed {
        commit: Sha,
    },
    /// It exists already
    Exists,
    /// The repository has no commit
    EmptyRepository,
    /// A name in the way: `a` and `a/b` cannot both be branches
    NameClash,
    /// The two sides changed the same lines
    Merge,
    Other,
}

fn after_colon(message: &str) -> String {
    match message {
        "" => String::new(),
        _ => format!(": {message}"),
    }
}

impl ForgeError {
    /// The status of the answer that led to this, where there was one
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::NotFound { status, .. }
            | Self::Forbidden { status, .. }
            | Self::NotMergeable { status, .. }
            | Self::Conflict { status, .. }
            | Self::Invalid { status, .. }
            | Self::Unsupported { status, .. }
            | Self::Archived { status, .. }
            | Self::NoAnswer { status, .. }
            | Self::MissingScope { status, .. }
            | Self::Moved { status, .. } => *status,
            Self::Unauthorized { .. } => Some(401),
            Self::RateLimited { status, .. } | Self::Unexpected { status, .. } => Some(*status),
            Self::Unreachable { .. }
            | Self::NotPublic { .. }
            | Self::TooLarge { .. }
            | Self::TokenHost { .. }
            | Self::ReadOnly { .. }
            | Self::NotAllowed(_)
            | Self::Decode { .. }
            | Self::Busy { .. } => None,
        }
    }

    /// This error, caused by an answer with that status
    #[must_use]
    pub(crate) fn answered(mut self, code: impl Into<Option<u16>>) -> Self {
        if let Self::NotFound { status, .. }
        | Self::Forbidden { status, .. }
        | Self::NotMergeable { status, .. }
        | Self::Conflict { status, .. }
        | Self::Invalid { status, .. }
        | Self::Unsupported { status, .. }
        | Self::Archived { status, .. }
        | Self::Moved { status, .. } = &mut self
        {
            *status = code.into();
        }
        self
    }

    /// A file was asked for where a directory is; names the tool that lists it
    pub(crate) fn is_directory() -> Self {
        Self::Invalid {
            message: "path is a directory, not a file — use dir_list".to_owned(),
            status: None,
        }
    }

    /// The branch is there, with commits that were not seen
    pub(crate) fn has_moved(&self) -> bool {
        matches!(
            self,
            Self::Conflict {
                kind: ConflictKind::HeadMoved { current: Some(_) },
                ..
            }
        )
    }

    /// A link was to be written, so that its text would become where it points to
    pub(crate) fn is_a_link(path: &str) -> Self {
        Self::Invalid {
            message: format!("`{path}` is a symlink, not a file: write to what it points at"),
            status: None,
        }
    }

    /// Two files of one commit of which one would be the directory of the other
    pub(crate) fn file_and_directory(file: &str, below: &str) -> Self {
        Self::Invalid {
            message: format!("`{file}` cannot be both a file and the directory of `{below}`"),
            status: None,
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
            status: None,
        }
    }

    /// Whether a retry of the call may succeed without any other change
    pub fn retryable(&self) -> bool {
        match self {
            Self::RateLimited { .. } | Self::Unreachable { .. } | Self::Busy { .. } => true,
            // Done twice, a write can do harm. The answer of a gateway to a write is a `NoAnswer` too.
            Self::NoAnswer { write, .. } => !write,
            Self::NotMergeable { reason, .. } => *reason == MergeBlock::Checking,
            Self::Unexpected { status, .. } => matches!(status, 502..=504),
            _ => false,
        }
    }
}
