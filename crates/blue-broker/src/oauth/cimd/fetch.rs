//! Fetching from a URL that an untrusted client chose

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use reqwest::{Client, Response, header};
use url::Url;

use super::address;

/// Largest document
const LARGEST: usize = 5 * 1024;
/// Timeout of the whole fetch: name resolution, connection and response
const PATIENCE: Duration = Duration::from_secs(5);
const KEEP_LEAST: Duration = Duration::from_mins(5);
const KEEP_USUAL: Duration = Duration::from_hours(1);
const KEEP_MOST: Duration = Duration::from_hours(24);

/// Finds the addresses of a name
#[async_trait]
pub(super) trait Resolver: Send + Sync + fmt::Debug {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// Resolves names as the operating system does
#[derive(Debug)]
struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((host, 443)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// Fetches documents from public addresses only
#[derive(Debug)]
pub(crate) struct Fetcher {
    pub(super) resolver: Arc<dyn Resolver>,
    /// Which addresses may be connected to
    pub(super) open: fn(IpAddr) -> bool,
    /// Certificates to trust beside the system's
    pub(super) ca_file: Option<PathBuf>,
    pub(super) user_agent: String,
    pub(super) patience: Duration,
}

/// A fetched document
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) body: Vec<u8>,
    /// How long it may be cached
    pub(super) keep: Duration,
}

/// Why a fetch failed; what [`FetchError::is_fault_of_client`] is shown to users, the rest only
/// logged
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("the name could not be resolved: {0}")]
    Name(io::Error),
    #[error("the name leads to {0}, which is not public")]
    Closed(IpAddr),
    #[error("the name leads nowhere")]
    Nowhere,
    #[error("no client could be made: {0}")]
    Setup(String),
    #[error("{0}")]
    Http(reqwest::Error),
    #[error("it took longer than five seconds")]
    Slow,
    #[error("the answer was a redirect ({0})")]
    Redirect(u16),
    #[error("the answer was {0}")]
    Status(u16),
    #[error("the answer is not JSON")]
    Kind,
    #[error("the answer is larger than {LARGEST} bytes")]
    Large,
}

impl FetchError {
    /// Whether a server responded with something other than the document
    pub(super) fn is_answer(&self) -> bool {
        match self {
            Self::Status(status) => *status < 500,
            Self::Redirect(_) | Self::Kind | Self::Large | Self::Closed(_) => true,
            Self::Name(_) | Self::Nowhere | Self::Setup(_) | Self::Http(_) | Self::Slow => false,
        }
    }
}

impl FetchError {
    /// Whether the server of the document has to be mended before another try can succeed
    ///
    /// An address that is not public is not told apart from a name that does not resolve: the
    /// difference would be a map of the network around the broker.
    pub(super) fn is_fault_of_client(&self) -> bool {
        match self {
            Self::Status(status) => *status < 500,
            Self::Redirect(_) | Self::Kind | Self::Large | Self::Slow => true,
            Self::Name(_) | Self::Closed(_) | Self::Nowhere | Self::Setup(_) | Self::Http(_) => {
                false
            }
        }
    }
}

impl Fetcher {
    pub(crate) fn new(ca_file: Option<PathBuf>, user_agent: String) -> Self {
        Self {
            resolver: Arc::new(SystemResolver),
            open: address::is_public,
            ca_file,
            user_agent,
            patience: PATIENCE,
        }
    }

    pub(super) async fn fetch(&self, url: &Url) -> Result<Fetched, FetchError> {
        let fetched = tokio::time::timeout(self.patience, self.fetch_now(url)).await;
        fetched.map_err(|_| FetchError::Slow)?
    }

    async fn fetch_now(&self, url: &Url) -> Result<Fetched, FetchError> {
        let host = url.host_str().unwrap_or_default();
        let found = self
            .resolver
            .resolve(host)
            .await
            .map_err(FetchError::Name)?;
        // One private address among public ones is an attack: the next lookup could return only
        // that one.
        if let Some(closed) = found.iter().find(|ip| !(self.open)(**ip)) {
            return Err(FetchError::Closed(*closed));
        }
        if found.is_empty() {
            return Err(FetchError::Nowhere);
        }
        let client = self.pinned(host, &found)?;
        let answer = client
            .get(url.clone())
            .header(header::ACCEPT, "application/json")
            .send()
            .await
            .map_err(|error| FetchError::Http(error.without_url()))?;
        read(answer).await
    }

    /// A client that connects to these addresses for that host, without another name lookup
    fn pinned(&self, host: &str, found: &[IpAddr]) -> Result<Client, FetchError> {
        let setup = |error: &dyn fmt::Display| FetchError::Setup(error.to_string());
        // An error means that a provider is installed already, which is the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let addresses: Vec<SocketAddr> = found.iter().map(|ip| (*ip, 0).into()).collect();
        let mut builder = Client::builder()
            .user_agent(self.user_agent.clone())
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .no_gzip()
            .resolve_to_addrs(host, &addresses);
        if let Some(path) = &self.ca_file {
            let pem = std::fs::read(path).map_err(|error| setup(&error))?;
            let extra = reqwest::Certificate::from_pem_bundle(&pem).map_err(|e| setup(&e))?;
            builder = builder.tls_certs_merge(extra);
        }
        builder.build().map_err(|error| setup(&error))
    }
}

async fn read(mut answer: Response) -> Result<Fetched, FetchError> {
    let status = answer.status().as_u16();
    match status {
        200 => {}
        300..400 => return Err(FetchError::Redirect(status)),
        _ => return Err(FetchError::Status(status)),
    }
    let text = |name| answer.headers().get(name).and_then(|v| v.to_str().ok());
    let kind = text(header::CONTENT_TYPE).unwrap_or("").to_lowercase();
    let kind = kind.split(';').next().unwrap_or("").trim();
    if kind != "application/json" && !(kind.starts_with("application/") && kind.ends_with("+json"))
    {
        return Err(FetchError::Kind);
    }
    let keep = keep(text(header::CACHE_CONTROL).unwrap_or(""));
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(FetchError::Http)? {
        if body.len() + chunk.len() > LARGEST {
            return Err(FetchError::Large);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Fetched { body, keep })
}

/// How long the response may be cached, by its `Cache-Control`, within bounds
pub(super) fn keep(control: &str) -> Duration {
    let control = control.to_lowercase();
    let words: Vec<&str> = control.split(',').map(str::trim).collect();
    if words
        .iter()
        .any(|word| matches!(*word, "no-store" | "no-cache"))
    {
        return KEEP_LEAST;
    }
    let age = words.iter().find_map(|word| word.strip_prefix("max-age="));
    match age.and_then(|age| age.parse().ok()) {
        Some(seconds) => Duration::from_secs(seconds).clamp(KEEP_LEAST, KEEP_MOST),
        None => KEEP_USUAL,
    }
}
