//! What can go wrong before there is an answer

use std::{error::Error, fmt, time::Duration};

use bytes::Bytes;
use http::{Method, StatusCode};

use crate::{host::Host, load::Busy};

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("could not reach {host}")]
    Unreachable {
        host: String,
        #[source]
        source: Cause,
    },
    #[error("{host} did not answer within {} s", after.as_secs_f32())]
    Timeout { host: String, after: Duration },
    #[error("the answer of {host} broke off")]
    Broken {
        host: String,
        #[source]
        source: Cause,
    },
    /// A limit of the server, primary or secondary; how long to wait where it says so
    #[error("{host} accepts no more requests for now")]
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
    #[error("{host} is not on a public address")]
    NotPublic { host: String },
    #[error("read-only: {method} is not sent to {host}")]
    ReadOnly { host: String, method: Method },
    /// Too many large contents are on their way at once; nothing was sent that changes anything
    #[error(transparent)]
    Busy(#[from] Busy),
    #[error("could not set up the HTTP client: {message}")]
    Setup { message: String },
}

/// Why no answer came, in the words of what failed first: the layers above it only say that they
/// could not do their part
#[derive(Debug)]
pub struct Cause {
    error: Box<dyn Error + Send + Sync>,
    is_connect: bool,
}

impl Cause {
    /// Whether not even a connection was made
    pub fn is_connect(&self) -> bool {
        self.is_connect
    }
}

impl From<reqwest::Error> for Cause {
    fn from(error: reqwest::Error) -> Self {
        Self {
            is_connect: error.is_connect(),
            error: error.into(),
        }
    }
}

/// A name that could not be resolved
impl From<std::io::Error> for Cause {
    fn from(error: std::io::Error) -> Self {
        Self {
            is_connect: true,
            error: error.into(),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut root: &dyn Error = self.error.as_ref();
        while let Some(deeper) = root.source() {
            root = deeper;
        }
        let said = root.to_string();
        // What rustls makes of an answer in plain text.
        if said.contains("InvalidContentType") {
            return f.write_str("it does not speak TLS; is it plain HTTP?");
        }
        f.write_str(&said)
    }
}

impl Error for Cause {}
