//! What both families of forges share on the wire: URLs, bodies, errors, redirects, pages

mod answer;
mod decode;
mod folders;
mod guard;
mod pages;
mod redirect;
mod status;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use answer::Answer;
pub use decode::DecodeError;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use url::Url;

use super::{
    Endpoint, ForgeError, Result,
    allow::Allow,
    model::Host,
    turns::{UserKey, WriteInFlight},
};
use blue_base::{
    http::{Credential, HeaderName, HeaderValue, Http, HttpError, Method, Request},
    text::{clean_line, reveal},
};

/// What needs no encoding in a path segment (RFC 3986 "unreserved")
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Longest address that is asked for; many servers take less, and no name is longer
const MAX_URL: usize = 16 * 1024;
/// Redirects followed for one read
const MAX_REDIRECTS: usize = 4;

/// A forge's API as one user reaches it
#[derive(Debug, Clone)]
pub(crate) struct Rest {
    http: Arc<Http>,
    endpoint: Endpoint,
    credential: Option<Credential>,
    headers: Vec<(HeaderName, HeaderValue)>,
    paging: Paging,
    cache: bool,
    allow: Allow,
}

/// How a family numbers its pages
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paging {
    /// Query parameter for rows per page
    pub(crate) size: &'static str,
    /// An answer without `Link` was the only page
    pub(crate) always_links: bool,
}

impl Rest {
    pub(crate) fn new(
        http: Arc<Http>,
        endpoint: Endpoint,
        credential: Option<Credential>,
        paging: Paging,
    ) -> Self {
        Self {
            http,
            endpoint,
            credential,
            headers: Vec::new(),
            paging,
            cache: false,
            allow: Allow::everything(),
        }
    }

    /// Let the forge confirm what it said before instead of saying it again
    #[must_use]
    pub(crate) fn cached(mut self) -> Self {
        self.cache = true;
        self
    }

    /// Send this header with every request
    #[must_use]
    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn host(&self) -> &Host {
        &self.endpoint.host
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The user that requests are sent for, as the locks of branches tell users apart
    pub(super) fn user_key(&self) -> UserKey {
        UserKey::of(self.credential.as_ref().map(|credential| &credential.token))
    }

    pub(crate) fn get(&self, segments: &[&str]) -> Call<'_> {
        Call::new(self, Method::GET, segments)
    }

    pub(crate) fn post(&self, segments: &[&str]) -> Call<'_> {
        Call::new(self, Method::POST, segments)
    }

    pub(crate) fn put(&self, segments: &[&str]) -> Call<'_> {
        Call::new(self, Method::PUT, segments)
    }

    pub(crate) fn patch(&self, segments: &[&str]) -> Call<'_> {
        Call::new(self, Method::PATCH, segments)
    }

    pub(crate) fn delete(&self, segments: &[&str]) -> Call<'_> {
        Call::new(self, Method::DELETE, segments)
    }

    async fn transmit(&self, request: Request, what: &str) -> Result<Answer> {
        let write = !matches!(request.method, Method::GET | Method::HEAD);
        let in_flight = write.then(WriteInFlight::begin);
        let response = Box::pin(self.http.send(request))
            .await
            .map_err(|e| self.transport_error(e, write))?;
        if let Some(in_flight) = in_flight {
            in_flight.answered(response.status.is_success());
        }
        let answer = Answer {
            status: response.status,
            headers: response.headers,
            body: response.body,
            skipped: response.skipped,
            host: self.endpoint.host.clone(),
            what: what.to_owned(),
            secret: self.credential.as_ref().map(|c| c.token.clone()),
        };
        // The gateway in front of a forge does not know whether the forge did what it was sent.
        if write && matches!(answer.status.as_u16(), 502..=504) {
            return Err(ForgeError::NoAnswer {
                host: answer.host.clone(),
                write,
                status: Some(answer.status.as_u16()),
                source: format!(
                    "a gateway answered {}: {}",
                    answer.status.as_u16(),
                    answer.message_or_reason()
                )
                .into(),
            });
        }
        Ok(answer)
    }

    fn transport_error(&self, error: HttpError, write: bool) -> ForgeError {
        let named = |host: &str| Host::parse(host).unwrap_or_else(|_| self.endpoint.host.clone());
        match error {
            HttpError::Unreachable { host, source } if source.is_connect() => {
                ForgeError::Unreachable {
                    host: named(&host),
                    source: Box::new(source),
                }
            }
            HttpError::TooLarge { host, limit } => ForgeError::TooLarge {
                host: named(&host),
                limit,
            },
            HttpError::TokenHost { bound, host } => ForgeError::TokenHost {
                bound,
                host: named(&host),
            },
            HttpError::ReadOnly { host, method } => ForgeError::ReadOnly {
                host: named(&host),
                method: method.to_string(),
            },
            HttpError::RateLimited {
                host,
                retry_after,
                status,
                body,
            } => ForgeError::RateLimited {
                host: named(&host),
                message: answer::message_in(&body, self.credential.as_ref().map(|c| &c.token)),
                retry_after,
                status: status.as_u16(),
            },
            HttpError::Busy(busy) => ForgeError::Busy {
                message: busy.to_string(),
            },
            HttpError::Unreachable { host, source } => ForgeError::NoAnswer {
                host: named(&host),
                write,
                status: None,
                source: Box::new(source),
            },
            error @ (HttpError::Timeout { .. } | HttpError::Broken { .. }) => {
                ForgeError::NoAnswer {
                    host: self.endpoint.host.clone(),
                    write,
                    status: None,
                    source: Box::new(error),
                }
            }
            // Trying again would not help.
            error @ (HttpError::Setup { .. } | HttpError::TokenPlain { .. }) => {
                ForgeError::Invalid {
                    message: error.to_string(),
                    status: None,
                }
            }
            HttpError::NotPublic { host } => ForgeError::NotPublic {
                host: self.endpoint.host.clone(),
                to: clean_line(&host),
            },
        }
    }
}

/// One request in the making; cloned for each page of a list
#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    rest: &'a Rest,
    method: Method,
    segments: Vec<String>,
    query: Vec<(String, String)>,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Option<std::result::Result<bytes::Bytes, String>>,
    what: Option<String>,
    max_body: Option<u64>,
    tail: Option<usize>,
    keep_redirect: bool,
}

impl<'a> Call<'a> {
    fn new(rest: &'a Rest, method: Method, segments: &[&str]) -> Self {
        Self {
            rest,
            method,
            segments: segments.iter().map(|s| (*s).to_owned()).collect(),
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
            what: None,
            max_body: None,
            tail: None,
            keep_redirect: false,
        }
    }

    /// Add one more segment; a slash in it is encoded
    pub(crate) fn segment(mut self, segment: &str) -> Self {
        self.segments.push(segment.to_owned());
        self
    }

    /// Add a path of several segments: a file, or a name with slashes where the server takes them
    pub(crate) fn path(mut self, path: &str) -> Self {
        self.segments.extend(path.split('/').map(str::to_owned));
        self
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "numbers and texts alike, without an ampersand at each call"
    )]
    pub(crate) fn query(mut self, key: &str, value: impl ToString) -> Self {
        self.query.push((key.to_owned(), value.to_string()));
        self
    }

    pub(crate) fn query_opt(self, key: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.query(key, value),
            None => self,
        }
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn json(mut self, body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body).map_err(|e| e.to_string());
        self.body = Some(body.map(Into::into));
        self
    }

    /// Name the thing asked for, as "not found" will call it
    pub(crate) fn what(mut self, what: impl Into<String>) -> Self {
        self.what = Some(what.into());
        self
    }

    pub(crate) fn max_body(mut self, limit: u64) -> Self {
        self.max_body = Some(limit);
        self
    }

    /// Keep only that many bytes from the end of the answer
    pub(crate) fn tail(mut self, keep: usize) -> Self {
        self.tail = Some(keep);
        self
    }

    /// Give a redirect back as it is, for a file that lives on another host
    pub(crate) fn keep_redirect(mut self) -> Self {
        self.keep_redirect = true;
        self
    }

    /// Send, and make an error of every status but 2xx
    pub(crate) async fn send(self) -> Result<Answer> {
        self.answer().await?.ok()
    }

    /// Send, and give back whatever status came; only redirects are dealt with
    pub(crate) async fn answer(self) -> Result<Answer> {
        self.may_ask()?;
        let what = self.what_text();
        let mut url = self.url()?;
        let mut status = 0;
        for _ in 0..=MAX_REDIRECTS {
            let answer = self
                .rest
                .transmit(self.request(url.clone())?, &what)
                .await?;
            if !answer.status.is_redirection() || answer.status.as_u16() == 304 {
                return Ok(answer);
            }
            let Some(target) = answer.location(&url) else {
                return Err(answer.into_error());
            };
            self.may_follow(&target).await?;
            if self.keep_redirect {
                return Ok(answer);
            }
            self.same_place(&target, &answer)?;
            // A followed 301 would turn a POST into a GET that "succeeds".
            if self.method != Method::GET && self.method != Method::HEAD {
                return Err(ForgeError::Moved {
                    what: self.repo_text().unwrap_or(what),
                    to: self.moved_to(&target),
                    status: Some(answer.status.as_u16()),
                });
            }
            url = target;
            status = answer.status.as_u16();
        }
        Err(ForgeError::Unexpected {
            host: self.rest.host().clone(),
            status,
            message: format!("{what} is redirected in a circle"),
        })
    }

    /// The address; every segment is encoded exactly once
    pub(crate) fn url(&self) -> Result<Url> {
        let mut path = self.rest.endpoint.api.path().to_owned();
        if !path.ends_with('/') {
            path.push('/');
        }
        for (i, segment) in self.segments.iter().enumerate() {
            // An empty segment would ask for the list instead, dots for a level above.
            if segment.is_empty() || segment == "." || segment == ".." {
                return Err(ForgeError::Invalid {
                    message: format!(
                        "`{}` has an empty or relative part and names nothing",
                        clean_line(&self.segments.join("/"))
                    ),
                    status: None,
                });
            }
            if i > 0 {
                path.push('/');
            }
            path.extend(utf8_percent_encode(segment, SEGMENT));
        }
        let mut url = self.rest.endpoint.api.clone();
        url.set_path(&path);
        url.set_query(None);
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        if url.as_str().len() > MAX_URL {
            return Err(ForgeError::Invalid {
                message: format!(
                    "a name, path or reference is too long: the address would have {} bytes",
                    url.as_str().len()
                ),
                status: None,
            });
        }
        Ok(url)
    }

    fn request(&self, url: Url) -> Result<Request> {
        let mut request = Request::new(self.method.clone(), url);
        request.headers.insert(
            http::header::ACCEPT,
            HeaderValue::from_static("application/json"),
        );
        for (name, value) in self.rest.headers.iter().chain(&self.headers) {
            request.headers.insert(name.clone(), value.clone());
        }
        if let Some(body) = &self.body {
            let body = body.clone().map_err(|message| ForgeError::Invalid {
                message: format!("could not write the request: {message}"),
                status: None,
            })?;
            request.headers.insert(
                http::header::CONTENT_TYPE,
                HeaderValue::from_static("application/json"),
            );
            request.body = Some(body);
        }
        request.credential.clone_from(&self.rest.credential);
        request.max_body = self.max_body;
        request.tail = self.tail;
        request.cache = self.rest.cache;
        Ok(request)
    }

    /// Only the very same API is believed: the token must not travel, and no advice lead elsewhere
    fn same_place(&self, target: &Url, answer: &Answer) -> Result<()> {
        let api = &self.rest.endpoint.api;
        let refuse = |message: String| {
            Err(ForgeError::Unexpected {
                host: self.rest.host().clone(),
                status: answer.status.as_u16(),
                message,
            })
        };
        if target.scheme() != api.scheme()
            || target.host_str() != api.host_str()
            || target.port_or_known_default() != api.port_or_known_default()
        {
            return refuse(format!(
                "the answer points to another server, `{}`, which is not asked",
                clean_line(&server(target))
            ));
        }
        if !target.path().starts_with(api.path()) {
            return refuse(format!(
                "the answer points to `{}`, which is not its API",
                clean_line(target.path())
            ));
        }
        Ok(())
    }

    fn what_text(&self) -> String {
        self.what
            .clone()
            .unwrap_or_else(|| format!("`{}`", clean_line(&reveal(&self.segments.join("/")))))
    }

    fn repo_text(&self) -> Option<String> {
        match self.segments.as_slice() {
            [repos, owner, name, ..] if repos == "repos" => Some(format!("`{owner}/{name}`")),
            _ => None,
        }
    }

    fn moved_to(&self, target: &Url) -> String {
        let rest = target
            .path()
            .strip_prefix(self.rest.endpoint.api.path())
            .unwrap_or_default();
        let shown = match rest.split('/').collect::<Vec<_>>().as_slice() {
            ["repos", owner, name, ..] => format!("{owner}/{name}"),
            ["repositories", id, ..] => format!("repositories/{id}"),
            _ => target.path().to_owned(),
        };
        format!("`{}`", clean_line(&shown))
    }
}

/// The server of an address that may be of any kind
fn server(url: &Url) -> String {
    let origin = url.origin();
    if origin.is_tuple() {
        return origin.ascii_serialization();
    }
    format!("{}:{}", url.scheme(), url.host_str().unwrap_or_default())
}
