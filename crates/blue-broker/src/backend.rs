//! The interface to the MCP server behind the broker

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use axum::{body::Body, http::Request, response::Response};
use blue_base::secret::Secret;
use url::Url;

/// An MCP server that answers for one caller at a time
///
/// The broker has authenticated the caller, and has removed its own token from the request. It
/// knows nothing about the tools.
#[async_trait]
pub trait Backend: Send + Sync + fmt::Debug {
    async fn answer(&self, caller: Caller, request: Request<Body>) -> Response;

    /// Called when a user or an admin revokes grants; calls in progress for them must stop
    fn ended(&self, _ended: &Ended) {}
}

/// On whose behalf a request is answered
#[derive(Debug, Clone)]
pub struct Caller {
    /// The grant: the consent of one user to one client
    pub grant: String,
    /// Id of the user at the broker
    pub user: String,
    /// Login of the user at the forge
    pub login: String,
    pub forge: Url,
    /// Forge token of that user; it must be sent to the forge alone
    pub forge_token: Secret,
    /// Names of the broker's scopes that the grant holds
    pub scopes: Vec<String>,
    /// To be called when the forge answers 401 to the token
    pub refused: Refused,
}

/// Tells the broker that the forge rejected the caller's token
///
/// The broker then refreshes it once; if the forge rejects the new token too, the user has to sign
/// in again.
#[derive(Clone)]
pub struct Refused(Arc<dyn Fn() + Send + Sync>);

impl Refused {
    /// Wraps the function that is called on a rejection
    pub fn new(tell: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub fn tell(&self) {
        (self.0)();
    }
}

impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Refused")
    }
}

/// Which grants were revoked
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    Grant(String),
}
