//! How the client behaves

use std::{path::PathBuf, sync::Arc, time::Duration};

use crate::{
    clock::{Clock, SystemClock},
    host::Host,
    secret::Secret,
};

/// How the client behaves; made once, from the environment or by a test
#[derive(Debug, Clone)]
pub struct HttpConfig {
    pub user_agent: String,
    pub connect_timeout: Duration,
    /// For a whole request: answer, further tries and the waits between them
    pub timeout: Duration,
    /// Largest answer that is read, counted after decompression
    pub max_body: u64,
    /// Requests at once to one host with one token
    pub in_flight: usize,
    /// More tries of a request that may be repeated
    pub retries: u32,
    /// Wait before the first further try; doubled each time
    pub backoff: Duration,
    /// Longest wait a server may ask for; beyond it the caller is told instead
    pub max_wait: Duration,
    /// Memory for answers that a server may confirm instead of sending again
    pub cache_bytes: u64,
    /// Certificates to trust beside the system's
    pub ca_file: Option<PathBuf>,
    pub proxy: ProxyConfig,
    /// Send only GET and HEAD
    pub read_only: bool,
    /// Hosts that a token may be sent to over plain HTTP; loopback is always allowed
    pub plain_http_hosts: Vec<Host>,
    /// Hosts on private networks that a forge may redirect to, such as the storage of its job logs
    pub private_hosts: Vec<Host>,
    /// What dates in answers are compared with
    pub clock: Arc<dyn Clock>,
    /// Called with every token that its host answered 401 to
    pub refused: Option<Refused>,
}

/// Callback for every token that its host rejects with 401
#[derive(Clone)]
pub struct Refused(pub Arc<dyn Fn(&Secret) + Send + Sync>);

impl std::fmt::Debug for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Refused")
    }
}

/// Values of the usual proxy variables; loopback is never reached through a proxy
#[derive(Debug, Clone, Default)]
pub struct ProxyConfig {
    pub http: Option<Secret>,
    pub https: Option<Secret>,
    /// Comma-separated hosts, domains and networks that are reached directly
    pub no_proxy: Option<String>,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            user_agent: concat!("blue/", env!("CARGO_PKG_VERSION")).to_owned(),
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_mins(1),
            max_body: 64 * 1024 * 1024,
            in_flight: 8,
            retries: 2,
            backoff: Duration::from_millis(250),
            max_wait: Duration::from_secs(30),
            cache_bytes: 8 * 1024 * 1024,
            ca_file: None,
            proxy: ProxyConfig::default(),
            read_only: false,
            plain_http_hosts: Vec::new(),
            private_hosts: Vec::new(),
            clock: Arc::new(SystemClock),
            refused: None,
        }
    }
}
