//! The one place where a status becomes an error
//!
//! But for the limits of a server, 429 and some of its 403: the client tells those from refusals, since it
//! may wait for their end ([`blue_base::http::HttpError::RateLimited`]).

use super::Answer;
use crate::{ConflictKind, ForgeError, error::WITHOUT_TOKEN};

pub(super) fn error_of(answer: &Answer) -> ForgeError {
    let host = answer.host.clone();
    let message = answer.message_or_reason();
    let status = answer.status.as_u16();
    match status {
        401 => ForgeError::Unauthorized {
            host,
            message,
            sent: answer.secret.is_some(),
        },
        // GitHub tells "archived" by its words alone.
        403 if answer.says("was archived") || answer.says("is archived") => ForgeError::Archived {
            message,
            status: Some(status),
        },
        403 | 451 => ForgeError::Forbidden {
            host,
            message,
            status: Some(status),
        },
        // What an organization with single sign-on hides from the token is there.
        404 if answer.sso_url().is_some() => ForgeError::Forbidden {
            host,
            message,
            status: Some(status),
        },
        404 | 410 => ForgeError::NotFound {
            host,
            what: asked_for(answer),
            status: Some(status),
        },
        409 => ForgeError::Conflict {
            kind: if answer.says("is empty") {
                ConflictKind::EmptyRepository
            } else {
                ConflictKind::Other
            },
            message,
            status: Some(status),
        },
        // How Forgejo says that a quota is used up; the same request works once there is room.
        413 if message.to_lowercase().contains("quota") => ForgeError::Forbidden {
            host,
            message: format!("the forge takes no more data: {message}"),
            status: Some(status),
        },
        400 | 413 | 422 => ForgeError::Invalid {
            message,
            status: Some(status),
        },
        423 => ForgeError::Archived {
            message,
            status: Some(status),
        },
        _ => ForgeError::Unexpected {
            host,
            status,
            message,
        },
    }
}

/// What is private is not there for those who have no token
fn asked_for(answer: &Answer) -> String {
    let what = &answer.what;
    if answer.secret.is_none() && what.starts_with("repository `") {
        format!("{what} ({WITHOUT_TOKEN})")
    } else {
        what.clone()
    }
}
