//! The one HTTP client: what every request of Blue goes through
//!
//! It never follows a redirect, sends a token only to the host the token is bound to, and reads
//! no more of an answer than it was told to take.

use std::{path::PathBuf, sync::OnceLock, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
pub use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use url::Url;

use crate::{forge::model::Host, secret::Secret};

/// How the client behaves; made once, from the environment or by a test
#[derive(Debug, Clone)]
pub struct HttpConfig {
    pub user_agent: String,
    pub connect_timeout: Duration,
    /// For a whole request, answer included
    pub timeout: Duration,
    /// Largest answer that is read
    pub max_body: u64,
    /// Requests at once to one host
    pub in_flight: usize,
    /// More tries of a request that may be repeated
    pub retries: u32,
    /// Certificates to trust beside the system's
    pub ca_file: Option<PathBuf>,
    pub proxy: ProxyConfig,
    /// Send only GET and HEAD
    pub read_only: bool,
}

/// The usual proxy variables, as values
#[derive(Debug, Clone, Default)]
pub struct ProxyConfig {
    pub http: Option<Secret>,
    pub https: Option<Secret>,
    pub no_proxy: Option<String>,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            user_agent: concat!("blue/", env!("CARGO_PKG_VERSION")).to_owned(),
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(60),
            max_body: 64 * 1024 * 1024,
            in_flight: 8,
            retries: 2,
            ca_file: None,
            proxy: ProxyConfig::default(),
            read_only: false,
        }
    }
}

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
        }
    }
}

/// A whole answer
#[derive(Debug, Clone)]
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("could not reach {host}")]
    Unreachable {
        host: String,
        #[source]
        source: reqwest::Error,
    },
    #[error("the answer of {host} is larger than {limit} bytes")]
    TooLarge { host: String, limit: u64 },
    #[error("the token for {bound} is not sent to {host}")]
    TokenHost { bound: Host, host: String },
    #[error("read-only: {method} is not sent to {host}")]
    ReadOnly { host: String, method: Method },
    #[error("could not set up the HTTP client: {message}")]
    Setup { message: String },
}

/// The client; cheap to make, since TLS and sockets are set up at the first request
#[derive(Debug, Default)]
pub struct Http {
    config: HttpConfig,
    client: OnceLock<reqwest::Client>,
}

impl Http {
    pub fn new(config: HttpConfig) -> Self {
        Self {
            config,
            client: OnceLock::new(),
        }
    }

    pub async fn send(&self, request: Request) -> Result<Response, HttpError> {
        let host = request.url.host_str().unwrap_or_default().to_owned();
        if self.config.read_only && !matches!(request.method, Method::GET | Method::HEAD) {
            return Err(HttpError::ReadOnly {
                host,
                method: request.method,
            });
        }
        let limit = request.max_body.unwrap_or(self.config.max_body);
        let mut builder = self
            .client()?
            .request(request.method, request.url.clone())
            .headers(request.headers)
            .timeout(request.timeout.unwrap_or(self.config.timeout));
        if let Some(credential) = request.credential {
            if Host::of_url(&request.url).as_ref() != Some(&credential.host) {
                return Err(HttpError::TokenHost {
                    bound: credential.host,
                    host,
                });
            }
            let scheme = match credential.scheme {
                AuthScheme::Bearer => "Bearer",
                AuthScheme::Token => "token",
            };
            let value = HeaderValue::try_from(format!("{scheme} {}", credential.token.expose()))
                .map(|mut v| {
                    v.set_sensitive(true);
                    v
                })
                .map_err(|_| HttpError::Setup {
                    message: "the token has characters that no header can carry".to_owned(),
                })?;
            builder = builder.header(http::header::AUTHORIZATION, value);
        }
        if let Some(body) = request.body {
            builder = builder.body(body);
        }
        let unreachable = |source: reqwest::Error| HttpError::Unreachable {
            host: host.clone(),
            source: source.without_url(),
        };
        let answer = builder.send().await.map_err(unreachable)?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let mut body = BytesMut::new();
        let mut stream = answer.bytes_stream();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(unreachable)?;
            if (body.len() + chunk.len()) as u64 > limit {
                return Err(HttpError::TooLarge { host, limit });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Response {
            status,
            headers,
            body: body.freeze(),
        })
    }

    fn client(&self) -> Result<&reqwest::Client, HttpError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // Whoever was first wins: the provider is the same either way.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .user_agent(self.config.user_agent.clone())
            .connect_timeout(self.config.connect_timeout)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|e| HttpError::Setup {
                message: e.to_string(),
            })?;
        Ok(self.client.get_or_init(|| client))
    }
}
