//! Redirect URIs: where a code may be sent
//!
//! They are compared byte by byte; only the port of a loopback address is free, because native apps
//! listen on whatever port they get. So that equal bytes mean equal destinations, a URI is accepted
//! only in the one spelling that a browser would give it.

use url::{Host, Url};

use crate::{
    config::{Config, PublicUrl},
    store::Client,
};

/// Longest redirect URI
const LONGEST: usize = 2048;

/// Why a redirect URI is not accepted
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RedirectError {
    #[error("is longer than {LONGEST} characters")]
    Long,
    #[error("holds a character that must be percent-encoded")]
    Character,
    #[error("is not an absolute URI")]
    NotAbsolute,
    #[error("must have no fragment")]
    Fragment,
    #[error("must hold no user and no password")]
    UserInfo,
    #[error("must hold no wildcard")]
    Wildcard,
    #[error("must be https, http on the own machine, or have a scheme that was allowed")]
    Scheme,
    #[error("must be written as `{0}`")]
    Spelling(String),
    #[error("must not lead to the broker itself")]
    Own,
    #[error("must not hold the parameter `{0}`, which is part of the answer")]
    Answer(String),
}

/// Parameters that a response adds (RFC 6749, 4.1.2; RFC 9207). A URI must not have them already:
/// with two, two parsers could use different ones
const ANSWER: &[&str] = &[
    "code",
    "state",
    "iss",
    "error",
    "error_description",
    "error_uri",
];

/// Whether a code for this client may go to this URI
pub(crate) fn allowed(client: &Client, uri: &str) -> bool {
    if client.redirect_uris.iter().any(|known| known == uri) {
        return true;
    }
    let Some(asked) = Loopback::parse(uri) else {
        return false;
    };
    let known = client
        .redirect_uris
        .iter()
        .filter_map(|uri| Loopback::parse(uri));
    known.into_iter().any(|known| known.same_but_port(&asked))
}

/// Whether the URI is a loopback address
pub(crate) fn is_loopback(uri: &str) -> bool {
    Loopback::parse(uri).is_some()
        || Url::parse(uri).is_ok_and(|url| match url.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            None => false,
        })
}

/// The URI without a free port, so that registrations of one client that differ in it compare equal
pub(super) fn without_free_port(uri: &str) -> String {
    match Loopback::parse(uri) {
        Some(place) => format!("http://{}{}", place.host, place.rest()),
        None => uri.to_owned(),
    }
}

/// Whether a client may have this redirect URI
pub(crate) fn registrable(config: &Config, uri: &str) -> Result<(), RedirectError> {
    good(&config.private_schemes, &config.public_url, uri)
}

/// Like [`registrable`], from single settings, for use before there is a [`Config`]
pub(crate) fn good(schemes: &[String], own: &PublicUrl, uri: &str) -> Result<(), RedirectError> {
    if uri.len() > LONGEST {
        return Err(RedirectError::Long);
    }
    if !plain(uri) {
        return Err(RedirectError::Character);
    }
    if uri.contains('#') {
        return Err(RedirectError::Fragment);
    }
    if uri.contains('*') {
        return Err(RedirectError::Wildcard);
    }
    let url = Url::parse(uri).map_err(|_| RedirectError::NotAbsolute)?;
    if !url.username().is_empty() || url.password().is_some() || authority(uri).contains('@') {
        return Err(RedirectError::UserInfo);
    }
    let good = match url.scheme() {
        "https" => url.has_host(),
        "http" => Loopback::parse(uri).is_some(),
        other => schemes.iter().any(|scheme| scheme == other) && url.has_host(),
    };
    if !good {
        return Err(RedirectError::Scheme);
    }
    if !one_spelling(&url, uri) {
        return Err(RedirectError::Spelling(url.into()));
    }
    if own.leads_here(&url) {
        return Err(RedirectError::Own);
    }
    let added = url.query_pairs().map(|(name, _)| name);
    match added.into_iter().find(|name| ANSWER.contains(&&**name)) {
        Some(name) => Err(RedirectError::Answer(name.into_owned())),
        None => Ok(()),
    }
}

/// Whether all browsers read the text alike: no blank, control character or backslash, nothing
/// beyond ASCII
fn plain(uri: &str) -> bool {
    uri.bytes()
        .all(|b| b.is_ascii_graphic() && !b"\\\"<>^`{|}".contains(&b))
}

/// Whether a URL parser leaves the text as it is, but for an empty path and the scheme's own port
fn one_spelling(url: &Url, uri: &str) -> bool {
    let canonical = url.as_str();
    if uri == canonical || (url.query().is_none() && format!("{uri}/") == canonical) {
        return true;
    }
    let port = match url.scheme() {
        "https" => ":443",
        "http" => ":80",
        _ => return false,
    };
    let authority = authority(uri);
    let Some(host) = authority.strip_suffix(port) else {
        return false;
    };
    let rest = &uri[url.scheme().len() + 3 + authority.len()..];
    let bare = format!("{}://{host}{rest}", url.scheme());
    bare == canonical || (url.query().is_none() && format!("{bare}/") == canonical)
}

/// What stands between `://` and the next `/`, `?` or `#`
fn authority(uri: &str) -> &str {
    let rest = uri.split_once("://").map_or("", |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// An `http://` loopback URI, split by hand, because a URL parser would correct mistakes
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Loopback<'a> {
    host: &'a str,
    /// Path and query
    rest: &'a str,
}

impl<'a> Loopback<'a> {
    fn parse(uri: &'a str) -> Option<Self> {
        if uri.len() > LONGEST || !plain(uri) || uri.contains('#') {
            return None;
        }
        let after = uri.strip_prefix("http://")?;
        let end = after.find(['/', '?']).unwrap_or(after.len());
        let (authority, rest) = after.split_at(end);
        let host = ["localhost", "127.0.0.1", "[::1]"]
            .into_iter()
            .find(|host| authority.starts_with(host))?;
        let port = &authority[host.len()..];
        let good = match port.strip_prefix(':') {
            None => port.is_empty(),
            Some(digits) => {
                digits.bytes().all(|b| b.is_ascii_digit())
                    && !digits.starts_with('0')
                    && digits.parse::<u16>().is_ok()
            }
        };
        good.then_some(Self {
            host: &authority[..host.len()],
            rest,
        })
    }

    fn rest(&self) -> &'a str {
        if self.rest.is_empty() { "/" } else { self.rest }
    }

    fn same_but_port(&self, other: &Self) -> bool {
        self.host == other.host && self.rest() == other.rest()
    }
}

#[cfg(test)]
mod tests;
