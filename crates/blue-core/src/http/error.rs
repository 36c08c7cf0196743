//! What can go wrong before there is an answer

use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};

use crate::forge::model::Host;

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("could not reach {host}")]
    Unreachable {
        host: String,
        #[source]
        source: reqwest::Error,
    },
    #[error("{host} did not answer within {} s", after.as_secs_f32())]
    Timeout { host: String, after: Duration },
    #[error("the answer of {host} broke off")]
    Broken {
        host: String,
        #[source]
        source: reqwest::Error,
    },
    /// A limit of the server, primary or secondary; how long to wait where it says so
    #[error("{host} allows no more requests for now")]
    RateLimited {
        host: String,
        retry_after: Option<Duration>,
        status: StatusCode,
        /// What the server said
        body: Bytes,
    },
    #[error("the answer of {host} is larger than {limit} bytes")]
    TooLarge { host: String, limit: u64 },
    #[error("the token for {bound} is not sent to {host}")]
    TokenHost { bound: Host, host: String },
    #[error("the token for {host} is not sent over plain HTTP")]
    TokenPlain { host: String },
    #[error("read-only: {method} is not sent to {host}")]
    ReadOnly { host: String, method: Method },
    #[error("could not set up the HTTP client: {message}")]
    Setup { message: String },
}
