//! Tokens, and the one host each may travel to

mod hosts;
mod hosts_file;
mod resolve;
mod source;
#[cfg(test)]
mod tests;
mod vars;

use std::path::PathBuf;

pub(crate) use hosts::Hosts;
pub use hosts::{HostEntry, TokenRef};
pub use hosts_file::{HostsError, HostsFile};
pub(crate) use resolve::{Places, Want, resolve};
pub use source::TokenSource;
pub use vars::{ServerUrl, Vars};

use super::model::Host;

/// Why there is no token to use
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The token is another host's
    #[error("{}", refusal(.variable, .host, .bound))]
    Refused {
        /// The variable it came by
        variable: String,
        host: Host,
        /// Where it may go; empty where it was never used and `host` is only a guess or the word of
        /// a cloned repository
        bound: Vec<Host>,
        by: Binding,
    },
    /// Nothing says which forge the host is
    #[error("the token in `{variable}` is not sent to {host}, which did not say which forge it is")]
    Guess { variable: String, host: Host },
    #[error("`{variable}` is not the URL of a forge")]
    BadUrl { variable: String },
    #[error("could not read the token file `{path}` of {of}")]
    File {
        of: String,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the token file `{path}` of {of} is empty")]
    EmptyFile { of: String, path: PathBuf },
    #[error(
        "the token from {source_of} is not valid: it has line breaks or characters beyond ASCII"
    )]
    Unfit { source_of: TokenSource },
    #[error("`hosts.yaml` takes the token for {host} from `{variable}`, which is not set")]
    Unset { host: Host, variable: String },
    /// The program's own words
    #[error("the token command for {host} failed: {message}")]
    Command { host: Host, message: String },
    #[error(transparent)]
    Hosts(#[from] HostsError),
}

/// What a person confirmed of a host; nothing until something says otherwise
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Confirmed {
    /// No helper of git is asked, and no token is bound to it
    #[default]
    Nothing,
    /// Git's helpers may be asked
    Host,
    /// It may also become the first host of a token
    HostAndType,
}

/// What ties a token to its host
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Binding {
    /// A variable such as `FORGEJO_URL`
    Variable(String),
    /// The hosts trusted in `hosts.yaml`; the first one by its first use
    Trust,
}

fn refusal(variable: &str, host: &Host, bound: &[Host]) -> String {
    if bound.is_empty() {
        return format!(
            "the token in `{variable}` is not sent to {host}, which has not been confirmed"
        );
    }
    let bound: Vec<&str> = bound.iter().map(Host::as_str).collect();
    format!(
        "the token in `{variable}` belongs to {} and is not sent to {host}",
        bound.join(", ")
    )
}
