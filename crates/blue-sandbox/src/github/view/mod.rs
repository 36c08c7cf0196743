//! What GitHub's answers look like

pub(super) mod branch;
pub(super) mod check;
pub(super) mod commit;
pub(super) mod content;
pub(super) mod git;
pub(super) mod protection;
pub(super) mod pull;
pub(super) mod repo;
pub(super) mod run;
pub(super) mod user;

use jiff::Timestamp;

/// Milliseconds since 1970 as GitHub prints a time: UTC, whole seconds
pub(super) fn date(milliseconds: i64) -> String {
    seconds(milliseconds.div_euclid(1000))
}

/// Prints seconds since 1970 as GitHub prints a time
pub(super) fn seconds(seconds: i64) -> String {
    Timestamp::from_second(seconds)
        .unwrap_or(Timestamp::UNIX_EPOCH)
        .to_string()
}
