//! The forge as an OAuth provider, and the tokens that it issued for each user

mod fresh;
mod oauth;
mod token_endpoint;
mod vault;

use std::time::Duration;

use blue_base::{http::HttpError, secret::Secret};

use crate::causes;

pub(crate) use fresh::{FreshError, Turns, distrust, fresh};
pub(crate) use oauth::{
    Reach, account, authorize_url, granted_scope, reach, same_scope, settings_url, verifier,
};
pub(crate) use token_endpoint::{exchange, refresh};
#[cfg(test)]
pub(crate) use vault::open;
pub(crate) use vault::{SignIn, key_place, sign_in};

/// Tokens that the forge issued for a code or a refresh token
#[derive(Debug, Clone)]
pub(crate) struct Tokens {
    pub(crate) access: Secret,
    pub(crate) refresh: Secret,
    pub(crate) expires_in: Duration,
}

/// The account of a user at the forge
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForgeAccount {
    /// The number of the account, which stays when the login changes
    pub(crate) id: String,
    pub(crate) login: String,
}

/// Why the forge issued no tokens
#[derive(Debug, thiserror::Error)]
pub(crate) enum UpstreamError {
    /// The forge's own OAuth error
    #[error("the forge refused: {error} {description}")]
    Refused { error: String, description: String },
    /// It is unknown whether the request took effect
    #[error("the forge did not answer as it should, asked {asked} (status {status})")]
    Unclear { asked: &'static str, status: u16 },
    #[error("the forge could not be asked: {}", causes::whole(.0))]
    Http(#[from] HttpError),
}

impl UpstreamError {
    /// Whether the forge rejects the code or refresh token for good
    ///
    /// Gitea and Forgejo answer `unauthorized_client` to a used refresh token and `invalid_grant`
    /// where the user removed the grant. Any other failure may pass.
    pub(crate) fn is_final(&self) -> bool {
        !self.is_misconfiguration()
            && matches!(self, Self::Refused { error, .. } if matches!(
                error.as_str(),
                "unauthorized_client" | "invalid_grant"
            ))
    }

    /// Whether the forge rejects the broker's own client id or secret
    ///
    /// This says nothing about a user's tokens: they are good again once an admin has set the
    /// right secret. Gitea and Forgejo answer `invalid_client` to a refresh, and
    /// `unauthorized_client` with this description to a code.
    pub(crate) fn is_misconfiguration(&self) -> bool {
        matches!(self, Self::Refused { error, description }
            if error == "invalid_client" || description.contains("client secret"))
    }

    /// Logs a failed request for tokens; as an error where an admin has to act
    pub(crate) fn log(&self, user: Option<&str>, message: &'static str) {
        let error = self as &dyn std::error::Error;
        if self.is_misconfiguration() {
            tracing::error!(
                user,
                error,
                "the forge rejects client_id or client_secret of this broker: calls fail with \
                 503 until the settings are right; no user's tokens are erased"
            );
        } else {
            tracing::warn!(user, error, "{message}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing::{
        Event, Level, Metadata, Subscriber,
        span::{Attributes, Id, Record},
    };

    use super::*;

    /// Keeps the level of every event
    #[derive(Default)]
    struct Levels(Arc<Mutex<Vec<Level>>>);

    impl Subscriber for Levels {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            self.0.lock().unwrap().push(*event.metadata().level());
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    /// The level at which an error is logged
    fn logged(error: &UpstreamError) -> Level {
        let levels = Levels::default();
        let seen = Arc::clone(&levels.0);
        tracing::subscriber::with_default(levels, || error.log(Some("u"), "no tokens"));
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 1, "{error}");
        seen[0]
    }

    #[test]
    fn a_rejected_client_secret_is_not_final_and_is_logged_as_an_error() {
        // What Gitea 1.26 and Forgejo 11 and 15 answer.
        for (error, description, is_final, level) in [
            (
                "invalid_client",
                "invalid client secret",
                false,
                Level::ERROR,
            ),
            ("invalid_client", "cannot load client", false, Level::ERROR),
            (
                "unauthorized_client",
                "invalid client secret",
                false,
                Level::ERROR,
            ),
            (
                "unauthorized_client",
                "invalid empty client secret",
                false,
                Level::ERROR,
            ),
            (
                "unauthorized_client",
                "token was already used",
                true,
                Level::WARN,
            ),
            (
                "unauthorized_client",
                "unable to parse refresh token",
                true,
                Level::WARN,
            ),
            ("invalid_grant", "grant does not exist", true, Level::WARN),
            ("server_error", "", false, Level::WARN),
        ] {
            let refused = UpstreamError::Refused {
                error: error.to_owned(),
                description: description.to_owned(),
            };
            assert_eq!(refused.is_final(), is_final, "{refused}");
            assert_eq!(logged(&refused), level, "{refused}");
        }
    }
}
