//! The one place where a status becomes an error

use std::time::Duration;

use super::Answer;
use crate::forge::{ConflictKind, ForgeError, error::WITHOUT_TOKEN};

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
        _ if status == 429 || status == 403 && is_rate_limit(answer, &message) => {
            ForgeError::RateLimited {
                host,
                message: answer.message(),
                retry_after: retry_after(answer),
                status,
            }
        }
        403 | 451 => ForgeError::Forbidden {
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
            kind: ConflictKind::Other,
            message,
            status: Some(status),
        },
        // 413 is also how Forgejo says that a quota is used up.
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

fn is_rate_limit(answer: &Answer, message: &str) -> bool {
    let message = message.to_lowercase();
    answer.header("retry-after").is_some()
        || answer.header("x-ratelimit-remaining") == Some("0")
        || message.contains("rate limit")
        || message.contains("abuse detection")
}

fn retry_after(answer: &Answer) -> Option<Duration> {
    if let Some(text) = answer.header("retry-after") {
        if let Ok(seconds) = text.trim().parse() {
            return Some(Duration::from_secs(seconds));
        }
        return http_date(text).and_then(|at| until(answer, at));
    }
    let reset: i64 = answer.header("x-ratelimit-reset")?.parse().ok()?;
    until(answer, reset)
}

/// How long it is until then by the server's own clock
fn until(answer: &Answer, at: i64) -> Option<Duration> {
    let now = http_date(answer.header("date")?)?;
    Some(Duration::from_secs(u64::try_from(at - now).unwrap_or(0)))
}

fn http_date(text: &str) -> Option<i64> {
    jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(text.trim())
        .ok()
        .map(jiff::Timestamp::as_second)
}
