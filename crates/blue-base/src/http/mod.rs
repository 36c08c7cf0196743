//! The one HTTP client: what every request of Blue goes through
//!
//! It never follows a redirect, sends a token only to the host the token is bound to, and reads
//! no more of an answer than it was told to take. The process environment is not read: proxies
//! and trust come from [`HttpConfig`].

mod address;
mod body;
mod cache;
mod config;
mod connect;
mod error;
mod limits;
mod pause;
mod request;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::Duration,
};

pub use address::is_public;
pub use config::{HttpConfig, ProxyConfig, Refused};
pub use error::{Cause, HttpError};
pub use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
pub use request::{AuthScheme, Credential, Request, Response};
use tokio::{sync::Semaphore, time::Instant};

use body::BodyError;
use bytes::Bytes;
use cache::Answers;
use limits::Hold;
use pause::Pauses;

use crate::load::{self, LIGHT_BYTES};

/// The client; cheap to make, since TLS and sockets are set up at the first request
#[derive(Debug, Default)]
pub struct Http {
    config: HttpConfig,
    encrypted: OnceLock<reqwest::Client>,
    plain: OnceLock<reqwest::Client>,
    answers: OnceLock<Answers>,
    hasher: RandomState,
    turns: Mutex<HashMap<Whose, Weak<Semaphore>>>,
    pauses: Pauses,
}

/// Whose turns: a host's, and of those each token has its own
type Whose = (String, Option<u64>);

impl Http {
    pub fn new(config: HttpConfig) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// Find out whether the settings make sense, before the first request
    pub fn check(config: &HttpConfig) -> Result<(), HttpError> {
        connect::check(config)
    }

    /// Send a request and read its answer, whatever its status
    ///
    /// GET and HEAD are tried again after a failed connection, an answer that broke off, 502, 503,
    /// 504 and a limit that ends soon; anything else only when no connection was made, so that
    /// nothing can have been done. While a limit that another request met is not over, nothing is
    /// sent: a request waits for its end, or is refused where that is too far away.
    pub async fn send(&self, request: Request) -> Result<Response, HttpError> {
        let host = authority(&request.url);
        if self.config.read_only && !request.repeatable() {
            return Err(HttpError::ReadOnly {
                host,
                method: request.method,
            });
        }
        if let Some(credential) = &request.credential {
            credential.check(&request.url, &self.config.plain_http_hosts)?;
        }
        let sent = request.body.as_ref().map_or(0, Bytes::len);
        if sent as u64 > LIGHT_BYTES {
            load::heavy().await?;
        }
        let Some(key) = self.answers().key(&request) else {
            return self.send_patiently(&request, &host, None).await;
        };
        let kept = self.answers().get(&key);
        let etag = kept.as_ref().map(|k| &k.etag);
        let answer = self.send_patiently(&request, &host, etag).await?;
        match kept {
            Some(kept) if answer.status == StatusCode::NOT_MODIFIED => Ok(kept.confirmed(&answer)),
            _ => {
                self.answers().keep(key, &answer);
                Ok(answer)
            }
        }
    }

    async fn send_patiently(
        &self,
        request: &Request,
        host: &str,
        etag: Option<&HeaderValue>,
    ) -> Result<Response, HttpError> {
        let whose = self.whose(host, request);
        let turn = self.turn(&whose);
        let _turn = turn.acquire().await.map_err(|e| HttpError::Setup {
            message: e.to_string(),
        })?;
        let end = Instant::now() + self.time_for(request);
        let mut tried = 0;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if let Some(pause) = self.pauses.of(&whose) {
                let wait = pause.left() + limits::backoff(self.config.backoff, 0);
                if wait >= left || wait > self.config.max_wait {
                    return Err(HttpError::RateLimited {
                        host: host.to_owned(),
                        retry_after: Some(pause.left()),
                        status: pause.status,
                        body: pause.body,
                    });
                }
                tokio::time::sleep(wait).await;
                continue;
            }
            let outcome = self.send_once(request, host, etag, left).await;
            let (outcome, again, after) = match outcome {
                Ok(answer) => match limits::hold(&answer, &*self.config.clock) {
                    Hold::No => return Ok(answer),
                    Hold::Busy(after) => (Ok(answer), request.repeatable(), after),
                    Hold::Limited(retry_after) => {
                        let host = host.to_owned();
                        if let Some(wait) = retry_after {
                            let (status, body) = (answer.status, answer.body.clone());
                            self.pauses.begin(whose.clone(), wait, status, body);
                        }
                        let error = HttpError::RateLimited {
                            host,
                            retry_after,
                            status: answer.status,
                            body: answer.body,
                        };
                        (Err(error), request.repeatable(), retry_after)
                    }
                },
                Err(error) => {
                    let again = match &error {
                        HttpError::Unreachable { source, .. } => {
                            source.is_connect() || request.repeatable()
                        }
                        HttpError::Broken { .. } => request.repeatable(),
                        _ => false,
                    };
                    (Err(error), again, None)
                }
            };
            let spread = limits::backoff(self.config.backoff, tried);
            let wait = after.map_or(spread, |after| after.saturating_add(spread));
            let in_time = wait < end.saturating_duration_since(Instant::now());
            if !again || !in_time || wait > self.config.max_wait || tried >= self.config.retries {
                return outcome;
            }
            tried += 1;
            tracing::debug!(%host, tried, ?wait, "trying again");
            tokio::time::sleep(wait).await;
        }
    }

    async fn send_once(
        &self,
        request: &Request,
        host: &str,
        etag: Option<&HeaderValue>,
        left: Duration,
    ) -> Result<Response, HttpError> {
        let whole = self.time_for(request);
        let pinned;
        let client = if request.public_only {
            pinned = address::public_client(&self.config, &request.url, host).await?;
            &pinned
        } else {
            self.client(&request.url)?
        };
        let mut builder = client
            .request(request.method.clone(), request.url.clone())
            .headers(request.headers.clone())
            .timeout(left);
        if let Some(credential) = &request.credential {
            builder = builder.header(http::header::AUTHORIZATION, credential.header()?);
        }
        if let Some(etag) = etag {
            builder = builder.header(http::header::IF_NONE_MATCH, etag);
        }
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        let start = Instant::now();
        let answer = builder
            .send()
            .await
            .map_err(|e| failure(e, host, whole, false))?;
        let status = answer.status();
        if status == StatusCode::UNAUTHORIZED
            && let (Some(credential), Some(Refused(tell))) =
                (&request.credential, &self.config.refused)
        {
            tell(&credential.token);
        }
        // The query stays out: it may hold a signature.
        tracing::debug!(
            method = %request.method,
            %host,
            path = request.url.path(),
            status = status.as_u16(),
            ms = start.elapsed().as_millis(),
            "answer"
        );
        let limit = request.max_body.unwrap_or(self.config.max_body);
        let read = match request.tail {
            Some(keep) if status.is_success() => body::tail(answer, keep).await,
            // The answer to a write is always read: what it tells was done.
            _ => body::whole(answer, limit, request.repeatable()).await,
        };
        read.map_err(|e| match e {
            BodyError::TooLarge => HttpError::TooLarge {
                host: host.to_owned(),
                limit,
            },
            BodyError::Busy(busy) => busy.into(),
            BodyError::Failed(e) => failure(e, host, whole, true),
        })
    }

    /// Whether a redirect may lead to this host although it is not on a public address
    pub fn may_be_private(&self, host: &crate::host::Host) -> bool {
        self.config.private_hosts.contains(host)
    }

    fn time_for(&self, request: &Request) -> Duration {
        request.timeout.unwrap_or(self.config.timeout)
    }

    fn client(&self, url: &url::Url) -> Result<&reqwest::Client, HttpError> {
        let proxy = self.config.proxy.http.as_ref();
        let encrypted_proxy = proxy.is_some_and(|p| p.expose().starts_with("https:"));
        let (place, make): (_, fn(&HttpConfig) -> _) = if url.scheme() == "http" && !encrypted_proxy
        {
            (&self.plain, connect::plain)
        } else {
            (&self.encrypted, connect::encrypted)
        };
        if let Some(client) = place.get() {
            return Ok(client);
        }
        let client = make(&self.config)?;
        Ok(place.get_or_init(|| client))
    }

    fn answers(&self) -> &Answers {
        self.answers
            .get_or_init(|| Answers::new(self.config.cache_bytes))
    }

    fn whose(&self, host: &str, request: &Request) -> Whose {
        let token = request.credential.as_ref();
        let token = token.map(|own| self.hasher.hash_one(own.token.expose()));
        (host.to_owned(), token)
    }

    /// Returns the semaphore that limits the requests in flight for one host and token
    ///
    /// Behind a broker many users share the client, so the limit is per token: slow answers to one user
    /// do not delay the requests of another.
    fn turn(&self, whose: &Whose) -> Arc<Semaphore> {
        let mut all = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turns) = all.get(whose).and_then(Weak::upgrade) {
            return turns;
        }
        all.retain(|_, turns| turns.strong_count() > 0);
        let turns = Arc::new(Semaphore::new(self.config.in_flight.max(1)));
        all.insert(whose.clone(), Arc::downgrade(&turns));
        turns
    }
}

/// Host and port as they are shown
fn authority(url: &url::Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn failure(error: reqwest::Error, host: &str, limit: Duration, answering: bool) -> HttpError {
    let host = host.to_owned();
    let is_late = error.is_timeout() && !error.is_connect();
    let source = Cause::from(error.without_url());
    if is_late {
        HttpError::Timeout { host, after: limit }
    } else if answering {
        HttpError::Broken { host, source }
    } else {
        HttpError::Unreachable { host, source }
    }
}
