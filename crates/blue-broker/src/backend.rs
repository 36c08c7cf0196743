//! What stands behind the door

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use axum::{body::Body, http::Request, response::Response};
use blue_base::secret::Secret;
use url::Url;

/// An MCP server that answers for one caller at a time
///
/// The broker has checked who calls before it asks; the request comes without the broker's own
/// token. It knows nothing of what can be called.
#[async_trait]
pub trait Backend: Send + Sync + fmt::Debug {
    async fn answer(&self, caller: Caller, request: Request<Body>) -> Response;

    /// Called when a person or an admin ends grants; whatever runs for them must stop
    fn ended(&self, _ended: &Ended) {}
}

/// On whose behalf a request is answered
#[derive(Debug, Clone)]
pub struct Caller {
    /// The grant: one person's yes to one client
    pub grant: String,
    /// The person, as the broker knows them
    pub user: String,
    /// The person's name at the forge
    pub login: String,
    pub forge: Url,
    /// Opens the forge as that person; it must go nowhere else
    pub forge_token: Secret,
    /// Names of the broker's scopes that the grant holds
    pub scopes: Vec<String>,
    /// To be called when the forge answers 401 to the token
    pub refused: Refused,
}

/// Tells the broker that the forge takes somebody's token no more
///
/// It then asks for another, once; and if that does not help, the person has to sign in again.
#[derive(Clone)]
pub struct Refused(Arc<dyn Fn() + Send + Sync>);

impl Refused {
    /// What is to be done then
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

/// What was ended
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    Grant(String),
}
