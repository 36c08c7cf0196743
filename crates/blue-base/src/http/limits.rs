//! When to try again, and what a server says about its limits

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use http::StatusCode;
use jiff::Timestamp;

use super::Response;
use crate::clock::Clock;

/// Wait for a limit of GitHub that comes without a time: its documentation asks for at least this
const LIMIT_WAIT: Duration = Duration::from_mins(1);
/// Far enough into a body to find the words that tell a limit from a refusal
const WORDS_WITHIN: usize = 4096;

/// What an answer means for a further try
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// An answer to give back
    No,
    /// Trouble on the way, perhaps with a time to come back
    Busy(Option<Duration>),
    /// A limit of the server, perhaps with the time it lasts
    Limited(Option<Duration>),
}

pub(super) fn hold(answer: &Response, clock: &dyn Clock) -> Hold {
    match answer.status {
        StatusCode::TOO_MANY_REQUESTS => Hold::Limited(too_many(answer, clock)),
        StatusCode::FORBIDDEN => forbidden(answer, clock),
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            Hold::Busy(retry_after(answer, clock))
        }
        _ => Hold::No,
    }
}

/// Returns how long a 429 lasts
///
/// GitHub sends its secondary limits as 403 or as 429, both also without a time, and counts
/// requests during such a limit against the client. Other servers that name no time limit bursts,
/// which are over after the usual backoff.
fn too_many(answer: &Response, clock: &dyn Clock) -> Option<Duration> {
    let is_github = is_secondary(&opening_words(answer))
        || answer.headers.contains_key("x-ratelimit-remaining")
        || answer.headers.contains_key("x-github-request-id");
    wait(answer, clock).or_else(|| is_github.then_some(LIMIT_WAIT))
}

/// The start of the body in lower case, long enough to tell a limit from a refusal
fn opening_words(answer: &Response) -> String {
    let start = &answer.body[..answer.body.len().min(WORDS_WITHIN)];
    String::from_utf8_lossy(start).to_lowercase()
}

fn is_secondary(words: &str) -> bool {
    words.contains("secondary rate limit") || words.contains("abuse detection")
}

/// GitHub uses 403 for its limits too, and is told from a plain refusal by headers and words
fn forbidden(answer: &Response, clock: &dyn Clock) -> Hold {
    let words = opening_words(answer);
    if answer.headers.contains_key("retry-after") || is_secondary(&words) {
        return Hold::Limited(Some(retry_after(answer, clock).unwrap_or(LIMIT_WAIT)));
    }
    let spent = answer.header("x-ratelimit-remaining") == Some("0") && words.contains("rate limit");
    // A proxy may have taken the headers away.
    if spent || words.contains("rate limit exceeded") {
        return Hold::Limited(wait(answer, clock));
    }
    Hold::No
}

fn wait(answer: &Response, clock: &dyn Clock) -> Option<Duration> {
    retry_after(answer, clock).or_else(|| {
        let spent = answer.header("x-ratelimit-remaining") == Some("0");
        let reset = answer.header("x-ratelimit-reset")?.trim().parse().ok()?;
        spent.then(|| until(Timestamp::from_second(reset).ok(), answer, clock))?
    })
}

/// Seconds, or an HTTP date
fn retry_after(answer: &Response, clock: &dyn Clock) -> Option<Duration> {
    let text = answer.header("retry-after")?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    until(http_date(text), answer, clock)
}

/// Time left until then, by the server's own clock where it tells: ours may be wrong
fn until(then: Option<Timestamp>, answer: &Response, clock: &dyn Clock) -> Option<Duration> {
    let now = answer
        .header("date")
        .and_then(http_date)
        .unwrap_or_else(|| clock.now());
    let left = then?.duration_since(now);
    Some(Duration::try_from(left).unwrap_or_default())
}

fn http_date(text: &str) -> Option<Timestamp> {
    // `Sun, 06 Nov 1994 08:49:37 GMT` is RFC 2822 but for its old zone name, which jiff knows.
    jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(text)
        .ok()
}

/// A wait that doubles with each try, spread so that many clients do not come back at once
pub(super) fn backoff(base: Duration, tried: u32) -> Duration {
    let full = base.saturating_mul(1 << tried.min(10));
    spread(full, RandomState::new().hash_one(tried))
}

/// Between half of `full` and all of it
fn spread(full: Duration, random: u64) -> Duration {
    let part = u32::try_from(random % 1000).unwrap_or_default();
    full / 2 + full / 2 * part / 1000
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, HeaderName, HeaderValue};

    use super::*;
    use crate::clock::ManualClock;

    fn answer(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Response {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        Response {
            status: StatusCode::from_u16(status).unwrap(),
            headers: map,
            body: Bytes::copy_from_slice(body.as_bytes()),
            skipped: 0,
        }
    }

    fn seen(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Hold {
        // 1994-11-06T08:49:37Z
        let clock = ManualClock::at(Timestamp::from_second(784_111_777).unwrap());
        hold(&answer(status, headers, body), &clock)
    }

    #[test]
    fn times_to_wait() {
        assert_eq!(
            seen(429, &[("retry-after", "7")], ""),
            Hold::Limited(Some(Duration::from_secs(7)))
        );
        let date = "Sun, 06 Nov 1994 08:50:37 GMT";
        assert_eq!(
            seen(429, &[("retry-after", date)], ""),
            Hold::Limited(Some(Duration::from_mins(1)))
        );
        let server = [
            ("retry-after", date),
            ("date", "Sun, 06 Nov 1994 08:50:27 GMT"),
        ];
        assert_eq!(
            seen(429, &server, ""),
            Hold::Limited(Some(Duration::from_secs(10)))
        );
        let past = "Sun, 06 Nov 1994 08:00:00 GMT";
        assert_eq!(
            seen(503, &[("retry-after", past)], ""),
            Hold::Busy(Some(Duration::ZERO))
        );
        assert_eq!(
            seen(429, &[("retry-after", "soon")], ""),
            Hold::Limited(None)
        );
        assert_eq!(seen(502, &[], ""), Hold::Busy(None));
        assert_eq!(seen(500, &[("retry-after", "7")], ""), Hold::No);
    }

    #[test]
    fn github_limits_are_told_from_refusals() {
        let spent = [
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "784111877"),
        ];
        let primary = r#"{"message":"API rate limit exceeded for user ID 1."}"#;
        assert_eq!(
            seen(403, &spent, primary),
            Hold::Limited(Some(Duration::from_secs(100)))
        );
        assert_eq!(
            seen(429, &spent, primary),
            Hold::Limited(Some(Duration::from_secs(100)))
        );
        assert_eq!(seen(403, &[], primary), Hold::Limited(None));
        // The last request of the hour may be refused for its own sake.
        let refused = r#"{"message":"Must have admin rights to Repository."}"#;
        assert_eq!(seen(403, &spent, refused), Hold::No);
        let secondary = r#"{"message":"You have exceeded a secondary rate limit."}"#;
        assert_eq!(
            seen(403, &[], secondary),
            Hold::Limited(Some(Duration::from_mins(1)))
        );
        assert_eq!(
            seen(403, &[("retry-after", "5")], secondary),
            Hold::Limited(Some(Duration::from_secs(5)))
        );
        assert_eq!(seen(403, &[], refused), Hold::No);
    }

    #[test]
    fn a_429_of_github_without_a_time_lasts_as_long_as_its_403_form() {
        let minute = Hold::Limited(Some(Duration::from_mins(1)));
        let secondary = r#"{"message":"You have exceeded a secondary rate limit."}"#;
        assert_eq!(seen(429, &[], secondary), minute);
        assert_eq!(seen(429, &[("x-ratelimit-remaining", "17")], ""), minute);
        assert_eq!(seen(429, &[("x-github-request-id", "C0:FF")], ""), minute);
        assert_eq!(
            seen(429, &[("retry-after", "5")], secondary),
            Hold::Limited(Some(Duration::from_secs(5)))
        );
        assert_eq!(seen(429, &[], "slow down"), Hold::Limited(None));
    }

    #[test]
    fn waits_grow_and_stay_in_bounds() {
        let base = Duration::from_millis(100);
        for tried in 0..40 {
            let full = base * (1 << tried.min(10));
            let wait = backoff(base, tried);
            assert!(wait >= full / 2 && wait <= full, "{tried} {wait:?}");
        }
        assert_ne!(spread(base, 1), spread(base, 900));
    }
}
