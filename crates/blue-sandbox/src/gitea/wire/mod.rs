//! The JSON shapes of Gitea's answers

mod commit;
mod pull;
mod repo;
mod user;

use jiff::Timestamp;

pub(crate) use self::user::avatar;
pub(super) use self::{
    commit::{Parts, commit, file_commit, payload_commit, verification},
    pull::{full as pull, listed as listed_pull},
    repo::repo,
    user::{View, org, user},
};

/// Gitea's "not set" in two tastes
pub(super) const NEVER: &str = "0001-01-01T00:00:00Z";
pub(super) const EPOCH: &str = "1970-01-01T00:00:00Z";

/// Whole seconds, as Gitea prints times
pub(super) fn time(ms: i64) -> String {
    Timestamp::from_second(ms.div_euclid(1000))
        .unwrap_or(Timestamp::UNIX_EPOCH)
        .to_string()
}

pub(super) fn opt_time(ms: Option<i64>) -> Option<String> {
    ms.map(time)
}

/// Percent-encode each part of a path, as in links
pub(super) fn path_url(path: &str) -> String {
    const KEEP: percent_encoding::AsciiSet = percent_encoding::NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'_')
        .remove(b'.')
        .remove(b'~')
        .remove(b'$')
        .remove(b'&')
        .remove(b'+')
        .remove(b':')
        .remove(b'=')
        .remove(b'@');
    let part = |part: &str| percent_encoding::utf8_percent_encode(part, &KEEP).to_string();
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}
