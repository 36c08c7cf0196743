//! Times as pages show them

use jiff::Timestamp;

pub(super) fn seconds(seconds: i64) -> String {
    show(Timestamp::from_second(seconds).ok())
}

pub(super) fn milliseconds(ms: i64) -> String {
    show(Timestamp::from_millisecond(ms).ok())
}

fn show(at: Option<Timestamp>) -> String {
    at.map(|at| at.strftime("%F %H:%M").to_string())
        .unwrap_or_default()
}
