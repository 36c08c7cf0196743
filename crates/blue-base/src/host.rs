//! Host names that cannot be malformed

use std::fmt;

use serde::Serialize;

/// A text that is not a name of the kind it was given as
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BadName {
    message: String,
}

impl BadName {
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// A host with its port if that is not the scheme's own, in lower case
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Host(String);

impl Host {
    /// Read `git.example.org`, `git.example.org:3000` or `[::1]:3000`
    pub fn parse(text: &str) -> Result<Self, BadName> {
        let bad = || {
            BadName::new(format!(
                "`{}` is not a host name",
                crate::text::clean_line(text)
            ))
        };
        let text = text.trim();
        if text.is_empty() || text.contains(['/', '@', '?', '#', '\\']) {
            return Err(bad());
        }
        // The URL parser knows IDNA, IPv6 and ports; `ssh` has no default port of its own there.
        let url = url::Url::parse(&format!("http://{text}/")).map_err(|_| bad())?;
        if url.path() != "/" || url.host_str().is_none_or(str::is_empty) {
            return Err(bad());
        }
        // `:80` and `:443` are the schemes' own ports and never part of the name.
        let port = url.port().filter(|p| *p != 443);
        let host = url.host_str().unwrap_or_default().to_lowercase();
        Ok(Self(
            port.map_or_else(|| host.clone(), |p| format!("{host}:{p}")),
        ))
    }

    /// The host that a URL names
    pub fn of_url(url: &url::Url) -> Option<Self> {
        let host = url.host_str().filter(|h| !h.is_empty())?.to_lowercase();
        Some(Self(
            url.port()
                .filter(|p| !matches!(p, 80 | 443))
                .map_or_else(|| host.clone(), |p| format!("{host}:{p}")),
        ))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name without its port
    pub fn name(&self) -> &str {
        match self.0.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => &self.0,
        }
    }

    pub fn port(&self) -> Option<u16> {
        self.0
            .strip_prefix(self.name())?
            .strip_prefix(':')?
            .parse()
            .ok()
    }

    /// This very machine, where plain HTTP is no risk
    pub fn is_loopback(&self) -> bool {
        let name = self.name();
        name == "localhost"
            || name.ends_with(".localhost")
            || name == "[::1]"
            || name
                .parse::<std::net::Ipv4Addr>()
                .is_ok_and(|ip| ip.is_loopback())
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        assert_eq!(
            Host::parse("Git.Example.org:3000").unwrap().as_str(),
            "git.example.org:3000"
        );
        assert_eq!(
            Host::parse("git.example.org:443").unwrap().as_str(),
            "git.example.org"
        );
        assert_eq!(Host::parse("[::1]:3000").unwrap().name(), "[::1]");
        assert_eq!(Host::parse("[::1]").unwrap().name(), "[::1]");
        assert!(Host::parse("127.0.0.1:8080").unwrap().is_loopback());
        assert!(!Host::parse("127.0.0.1.evil.example").unwrap().is_loopback());
        for bad in ["", "a/b", "user@host", "http://x", "host:99999"] {
            assert!(Host::parse(bad).is_err(), "{bad}");
        }
    }
}
