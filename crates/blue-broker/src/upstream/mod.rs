//! The forge as an OAuth provider, and the tokens that it gave for each person

mod fresh;
mod oauth;
mod token_endpoint;
mod vault;

use std::time::Duration;

use blue_core::{http::HttpError, secret::Secret};

use crate::causes;

pub(crate) use fresh::{FreshError, Turns, distrust, fresh};
pub(crate) use oauth::{Reach, account, authorize_url, reach, same_scope, settings_url, verifier};
pub(crate) use token_endpoint::{exchange, refresh};
#[cfg(test)]
pub(crate) use vault::open;
pub(crate) use vault::{SignIn, key_place, sign_in};

/// What the forge gave for a code or a refresh token
#[derive(Debug, Clone)]
pub(crate) struct Tokens {
    pub(crate) access: Secret,
    pub(crate) refresh: Secret,
    pub(crate) expires_in: Duration,
}

/// Who somebody is at the forge
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForgeAccount {
    /// The number of the account, which stays when the login changes
    pub(crate) id: String,
    pub(crate) login: String,
}

/// Why the forge gave no tokens
#[derive(Debug, thiserror::Error)]
pub(crate) enum UpstreamError {
    /// Its own words, as an OAuth error
    #[error("the forge refused: {error} {description}")]
    Refused { error: String, description: String },
    /// Nobody knows whether it did something
    #[error("the forge did not answer as it should, asked {asked} (status {status})")]
    Unclear { asked: &'static str, status: u16 },
    #[error("the forge could not be asked: {}", causes::whole(.0))]
    Http(#[from] HttpError),
}

impl UpstreamError {
    /// Whether the forge will take what was sent no more; anything else may pass
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Self::Refused { error, .. } if matches!(
            error.as_str(),
            "unauthorized_client" | "invalid_grant" | "invalid_client"
        ))
    }
}
