//! The URL of a git remote, and what it tells about the forge behind it

mod alias;
mod parse;
#[cfg(test)]
mod tests;

use std::fmt;

use url::Url;

use super::model::{Host, RepoId};

/// A git URL: of a repository on some host, or of this machine
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitUrl {
    Hosted(HostedUrl),
    /// `file://`, a path or a drive: there is no forge
    Local,
}

/// A repository on a host
///
/// The user name stays out of `Debug` and `Display`, because many people put a token there.
#[derive(Clone, PartialEq, Eq)]
pub struct HostedUrl {
    scheme: Scheme,
    user: Option<String>,
    /// Without port, in lower case, IPv6 in brackets
    name: Host,
    port: Option<u16>,
    sub_path: Option<String>,
    repo: RepoId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Https,
    Http,
    /// `ssh://` and `user@host:path`
    Ssh,
    /// `git://`
    Git,
}

/// Why a text is not a git URL of a repository; never holds a password of it
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitUrlError {
    #[error("the git URL is empty")]
    Empty,
    /// Git or ssh would read it as an option
    #[error("the {part} begins with `-`, which git could take for an option")]
    OptionLike { part: &'static str },
    /// Git would run a program
    #[error("the git URL uses the transport helper `{helper}`, which runs a program")]
    TransportHelper { helper: String },
    #[error("the git URL begins with `{scheme}://`, which no forge uses")]
    UnknownScheme { scheme: String },
    #[error("the git URL has characters that are invisible, blank or not text")]
    Characters,
    /// Some parsers take it for a slash, so that they find another host in the URL
    #[error("the git URL has a backslash, which programs read in different ways")]
    Backslash,
    #[error("the git URL has no valid host name")]
    BadHost,
    #[error("the git URL has no valid port")]
    BadPort,
    #[error("the git URL has a `?` or `#` part, which no repository has")]
    Query,
    /// Owner, repository or sub-path is no name of one
    #[error("`{path}` is not `owner/repository`")]
    NotRepository { path: String },
    #[error(
        "`{path}` lies too deep: nested groups are not supported, only `owner/repository` below at most one folder"
    )]
    NestedGroups { path: String },
}

impl GitUrl {
    pub fn hosted(&self) -> Option<&HostedUrl> {
        match self {
            Self::Hosted(url) => Some(url),
            Self::Local => None,
        }
    }

    pub fn host(&self) -> Option<Host> {
        self.hosted().map(HostedUrl::host)
    }

    pub fn owner(&self) -> Option<&str> {
        self.hosted().map(HostedUrl::owner)
    }

    pub fn repo(&self) -> Option<&str> {
        self.hosted().map(HostedUrl::repo)
    }
}

impl HostedUrl {
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Who the URL signs in as; may be a token, so it is not for showing
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The host with its web port: the port of `ssh://` and `git://` is another service's
    pub fn host(&self) -> Host {
        match (self.scheme, self.port) {
            (Scheme::Https | Scheme::Http, Some(port)) => {
                Host::parse(&format!("{}:{port}", self.name)).unwrap_or_else(|_| self.name.clone())
            }
            _ => self.name.clone(),
        }
    }

    /// The port as the URL has it
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// `git` of `https://host/git/owner/repo`
    pub fn sub_path(&self) -> Option<&str> {
        self.sub_path.as_deref()
    }

    pub fn owner(&self) -> &str {
        self.repo.owner()
    }

    pub fn repo(&self) -> &str {
        self.repo.name()
    }

    pub fn repo_id(&self) -> &RepoId {
        &self.repo
    }

    /// Returns where the web pages of the forge begin by a URL that a user typed, with its scheme
    ///
    /// None of an ssh or git URL, which does not tell.
    pub fn written_base(&self) -> Option<Url> {
        let mut base = self.base_url();
        let scheme = match self.scheme {
            Scheme::Https => "https",
            Scheme::Http => "http",
            _ => return None,
        };
        base.set_scheme(scheme).ok()?;
        Some(base)
    }

    /// Where the web pages of the forge begin, with a slash at the end
    ///
    /// HTTPS, unless the URL says HTTP and the host is this machine.
    pub fn base_url(&self) -> Url {
        let scheme = match self.scheme {
            Scheme::Http if self.name.is_loopback() => "http",
            _ => "https",
        };
        let port = match (self.scheme, self.port) {
            (Scheme::Https | Scheme::Http, Some(port)) => format!(":{port}"),
            _ => String::new(),
        };
        let sub = self
            .sub_path
            .as_ref()
            .map_or_else(String::new, |s| format!("{s}/"));
        Url::parse(&format!("{scheme}://{}{port}/{sub}", self.name))
            .expect("the parts were checked when the git URL was parsed")
    }

    /// The page of the repository
    pub fn web_url(&self) -> Url {
        let mut url = self.base_url();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push(self.owner()).push(self.repo());
        }
        url
    }
}

impl fmt::Display for GitUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hosted(url) => url.fmt(f),
            Self::Local => f.write_str("a local path"),
        }
    }
}

impl fmt::Display for HostedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            Scheme::Https => "https",
            Scheme::Http => "http",
            Scheme::Ssh => "ssh",
            Scheme::Git => "git",
        };
        write!(f, "{scheme}://{}", self.name)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        if let Some(sub) = &self.sub_path {
            write!(f, "/{sub}")?;
        }
        write!(f, "/{}", self.repo)
    }
}

impl fmt::Debug for HostedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostedUrl({self})")
    }
}
