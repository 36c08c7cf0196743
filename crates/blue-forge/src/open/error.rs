use std::path::PathBuf;

use crate::{
    allow::NotAllowed,
    git_url::GitUrlError,
    project::ConfigError,
    token::{HostsError, TokenError},
};
use blue_base::{
    git::GitError,
    host::{BadName, Host},
};

/// Why no forge could be opened, sorted by what the caller can do
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing names a forge: no argument, remote, variable or `hosts.yaml`
    #[error("there is no forge to ask")]
    NoForge,
    /// A forge, but neither the caller nor `cwd` names a repository on it
    #[error("no repository was given, and `{cwd}` has no remote that names one")]
    NoRepository { cwd: PathBuf },
    /// The caller names no repository, and there is no working directory whose remotes could
    #[error("no repository was given")]
    Unnamed,
    /// The caller has to name the host
    #[error("several forges match: {}", names(.candidates))]
    Ambiguous { candidates: Vec<Host> },
    /// The caller has to name the remote, or write `forge:` in `.blue/config.yaml`
    #[error("several remotes could be meant: {}", .remotes.join(", "))]
    Remotes { remotes: Vec<String> },
    #[error("there is no remote `{name}`, only {}", list(.remotes))]
    NoSuchRemote { name: String, remotes: Vec<String> },
    /// The remote is a path on this machine
    #[error("the remote `{remote}` is a local path, which has no forge")]
    Local { remote: String },
    #[error("the URL of {} cannot be used", .remote.as_ref().map_or_else(|| "the repository".to_owned(), |r| format!("the remote `{r}`")))]
    Url {
        remote: Option<String>,
        #[source]
        source: GitUrlError,
    },
    /// There is but one forge here, and another one was named
    #[error("`{asked}` cannot be reached from here, only `{only}`")]
    OtherForge { asked: Host, only: Host },
    /// Not on the list of those that may be touched
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    #[error(transparent)]
    Name(#[from] BadName),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Hosts(#[from] HostsError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Git(#[from] GitError),
    /// Another one of these, and what was noticed before it
    #[error("{error}")]
    Noticed {
        notices: Vec<String>,
        /// Not a source: it is this very error
        error: Box<Self>,
    },
}

impl OpenError {
    /// Add what was noticed before the failure
    pub(super) fn noticed(self, notices: Vec<String>) -> Self {
        if notices.is_empty() {
            return self;
        }
        Self::Noticed {
            notices,
            error: Box::new(self),
        }
    }
}

fn names(hosts: &[Host]) -> String {
    let names: Vec<&str> = hosts.iter().map(Host::as_str).collect();
    names.join(", ")
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        return "none at all".to_owned();
    }
    names.join(", ")
}
