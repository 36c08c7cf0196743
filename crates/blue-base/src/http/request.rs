//! What goes out and what comes back

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use url::Url;

use super::HttpError;
use crate::{host::Host, secret::Secret};

/// A token that can only travel to its host
#[derive(Debug, Clone)]
pub struct Credential {
    pub host: Host,
    pub scheme: AuthScheme,
    pub token: Secret,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthScheme {
    /// `Authorization: Bearer …`
    Bearer,
    /// `Authorization: token …`, as Gitea and Forgejo have it
    Token,
}

impl Credential {
    /// Refuse to let the token travel to `url` unless host, port and scheme are its own
    ///
    /// Plain HTTP would show it to everybody on the way, so that is for the own machine and for
    /// the hosts in `plain_http`.
    pub(super) fn check(&self, url: &Url, plain_http: &[Host]) -> Result<(), HttpError> {
        let shown = || url.host_str().unwrap_or_default().to_owned();
        let same = Host::of_url(url).as_ref() == Some(&self.host)
            // A port that only differs by being the other scheme's own one is another server.
            && (self.host.port().is_some() || url.port().is_none());
        if !same {
            return Err(HttpError::TokenHost {
                bound: self.host.clone(),
                host: shown(),
            });
        }
        match url.scheme() {
            "https" => Ok(()),
            "http" if self.host.is_loopback() || plain_http.contains(&self.host) => Ok(()),
            _ => Err(HttpError::TokenPlain { host: shown() }),
        }
    }

    pub(super) fn header(&self) -> Result<HeaderValue, HttpError> {
        let scheme = match self.scheme {
            AuthScheme::Bearer => "Bearer",
            AuthScheme::Token => "token",
        };
        let mut value = HeaderValue::try_from(format!("{scheme} {}", self.token.expose()))
            .map_err(|_| HttpError::Setup {
                message: format!(
                    "the token for {} has characters that no header can carry",
                    self.host
                ),
            })?;
        value.set_sensitive(true);
        Ok(value)
    }
}

/// A request to send; the only way to give it a token is a [`Credential`]
#[derive(Debug, Clone)]
pub struct Request {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<Bytes>,
    pub credential: Option<Credential>,
    /// Instead of the client's own limit
    pub max_body: Option<u64>,
    /// Instead of the client's own limit
    pub timeout: Option<Duration>,
    /// Keep the answer of a GET, and next time only ask whether it still holds
    pub cache: bool,
    /// Keep only that many bytes from the end of the answer, however long it is
    pub tail: Option<usize>,
    /// Connect to public addresses only: the server that is asked chose the URL of another
    pub public_only: bool,
}

impl Request {
    pub fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: None,
            credential: None,
            max_body: None,
            timeout: None,
            cache: false,
            tail: None,
            public_only: false,
        }
    }

    /// Whether sending it twice is the same as sending it once
    pub(super) fn repeatable(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD)
    }
}

/// A whole answer
#[derive(Debug, Clone)]
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// How many bytes were before `body`; only with [`Request::tail`]
    pub skipped: u64,
}

impl Response {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_to_its_host_port_and_scheme_only() {
        let credential = |host: &str| Credential {
            host: Host::parse(host).unwrap(),
            scheme: AuthScheme::Bearer,
            token: Secret::new("t0ken"),
        };
        let check = |host: &str, url: &str| {
            let plain = [Host::parse("old.example").unwrap()];
            credential(host).check(&Url::parse(url).unwrap(), &plain)
        };
        for (host, url) in [
            ("git.example", "https://git.example/api"),
            ("git.example", "https://git.example:443/api"),
            ("git.example:3000", "https://git.example:3000/"),
            ("127.0.0.1:3000", "http://127.0.0.1:3000/"),
            ("[::1]:3000", "http://[::1]:3000/"),
            ("localhost", "http://localhost/"),
            ("old.example", "http://old.example/"),
        ] {
            assert!(check(host, url).is_ok(), "{host} {url}");
        }
        for (host, url) in [
            ("git.example", "https://git.example:3000/"),
            ("git.example", "https://git.example:80/"),
            ("git.example:3000", "https://git.example/"),
            ("git.example", "https://evil.example/"),
            ("git.example", "https://git.example.evil.example/"),
            ("git.example", "https://git.example@evil.example/"),
            ("git.example", "https://sub.git.example/"),
        ] {
            let refused = check(host, url).unwrap_err();
            assert!(matches!(refused, HttpError::TokenHost { .. }), "{url}");
        }
        for url in ["http://git.example/", "ftp://git.example/"] {
            let refused = check("git.example", url).unwrap_err();
            assert!(matches!(refused, HttpError::TokenPlain { .. }), "{url}");
        }
    }
}
