//! How GitHub says no

use http::StatusCode;
use serde_json::{Value, json};

use super::reply::Reply;
use crate::ops;

const DOCS: &str = "https://docs.github.com/rest";

/// An answer that is not a success, in GitHub's words
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    message: String,
    errors: Option<Value>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            errors: None,
        }
    }

    /// Missing or hidden from the caller; both look alike, so that private names cannot be probed
    pub(super) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not Found")
    }

    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    pub(super) fn not_allowed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, message)
    }

    pub(super) fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// A rule of the branch forbids it
    pub(super) fn rule(why: &str) -> Self {
        Self::unprocessable(format!("Repository rule violations found\n\n{why}\n\n"))
    }

    pub(super) fn empty_repository() -> Self {
        Self::conflict("Git Repository is empty.")
    }

    /// One field of a body is wrong: `missing_field`, `invalid`, `already_exists`
    pub(super) fn field(resource: &str, field: &str, code: &str) -> Self {
        Self {
            errors: Some(json!([{"resource": resource, "field": field, "code": code}])),
            ..Self::unprocessable("Validation Failed")
        }
    }

    /// A rule about the whole thing is broken, told in words
    pub(super) fn custom(resource: &str, message: impl Into<String>) -> Self {
        let message: String = message.into();
        Self {
            errors: Some(json!([{"resource": resource, "code": "custom", "message": message}])),
            ..Self::unprocessable("Validation Failed")
        }
    }

    pub(super) fn with_errors(message: impl Into<String>, errors: Value) -> Self {
        Self {
            errors: Some(errors),
            ..Self::unprocessable(message)
        }
    }

    pub(super) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    pub(super) fn into_reply(self) -> Reply {
        let mut body = json!({"message": self.message});
        if let Some(errors) = self.errors {
            body["errors"] = errors;
        }
        body["documentation_url"] = DOCS.into();
        body["status"] = self.status.as_str().into();
        Reply::json(self.status, &body)
    }
}

/// What an action refused, where the handler has no better word for it
impl From<ops::Error> for Refusal {
    fn from(error: ops::Error) -> Self {
        match error {
            ops::Error::NotFound(_) => Self::not_found(),
            ops::Error::EmptyRepo => Self::empty_repository(),
            ops::Error::Archived => Self::forbidden("Repository was archived so is read-only."),
            ops::Error::Git(error) => error.into(),
            ops::Error::Store(error) => error.into(),
            ops::Error::Io(error) => {
                tracing::error!(%error, "the folder failed");
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Server Error")
            }
            other => Self::unprocessable(other.to_string()),
        }
    }
}

/// What went wrong inside is for the log, not for the caller
impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        tracing::error!(%error, "the store failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Server Error")
    }
}

impl From<crate::git::Error> for Refusal {
    fn from(error: crate::git::Error) -> Self {
        tracing::error!(%error, "git failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Server Error")
    }
}

pub(super) type Result<T, E = Refusal> = std::result::Result<T, E>;
