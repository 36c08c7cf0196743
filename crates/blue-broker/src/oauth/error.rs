//! Error responses for clients, as RFC 6749 defines them

use axum::{
    extract::rejection::BytesRejection,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::form::FormError;
use crate::{http, store::StoreError};

/// What a client did wrong, or what went wrong here
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OAuthError {
    status: StatusCode,
    error: &'static str,
    /// For the people who write the client
    description: String,
    retry_after: Option<u64>,
}

impl OAuthError {
    fn new(status: StatusCode, error: &'static str, description: impl Into<String>) -> Self {
        Self {
            status,
            error,
            description: description.into(),
            retry_after: None,
        }
    }

    pub(crate) fn invalid_request(description: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", description)
    }

    /// The client is unknown or failed to authenticate; some clients register again when they get
    /// it
    pub(crate) fn invalid_client(description: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "invalid_client", description)
    }

    /// The code or token is invalid; the user has to consent again
    pub(crate) fn invalid_grant(description: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_grant", description)
    }

    pub(crate) fn invalid_target() -> Self {
        let description = "`resource` names another server";
        Self::new(StatusCode::BAD_REQUEST, "invalid_target", description)
    }

    pub(crate) fn unsupported_grant_type() -> Self {
        let description = "`grant_type` must be `authorization_code` or `refresh_token`";
        Self::new(
            StatusCode::BAD_REQUEST,
            "unsupported_grant_type",
            description,
        )
    }

    pub(crate) fn too_many(retry_after: u64) -> Self {
        let description = "too many requests in a short time";
        Self {
            retry_after: Some(retry_after),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "slow_down", description)
        }
    }

    /// A temporary failure
    pub(crate) fn unavailable(description: impl Into<String>) -> Self {
        Self {
            retry_after: Some(10),
            ..Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "temporarily_unavailable",
                description,
            )
        }
    }

    /// An internal error; the log has the details
    pub(crate) fn server_error() -> Self {
        let description = "the broker could not do its work";
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "server_error",
            description,
        )
    }
}

impl IntoResponse for OAuthError {
    fn into_response(self) -> Response {
        let body = json!({ "error": self.error, "error_description": self.description });
        let mut answer = http::json(self.status, &body);
        let headers = answer.headers_mut();
        headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
        if self.status == StatusCode::UNAUTHORIZED {
            let basic = HeaderValue::from_static("Basic realm=\"oauth\"");
            headers.insert(header::WWW_AUTHENTICATE, basic);
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        answer
    }
}

impl From<BytesRejection> for OAuthError {
    fn from(rejection: BytesRejection) -> Self {
        Self {
            status: rejection.status(),
            ..Self::invalid_request("the body could not be read, or is too large")
        }
    }
}

impl From<FormError> for OAuthError {
    fn from(error: FormError) -> Self {
        Self::invalid_request(error.to_string())
    }
}

impl From<StoreError> for OAuthError {
    fn from(error: StoreError) -> Self {
        let why = &error as &dyn std::error::Error;
        tracing::error!(error = why, "the database failed");
        Self::server_error()
    }
}
