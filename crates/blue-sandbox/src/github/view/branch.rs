//! Branches and tags

use serde_json::{Value, json};

use super::super::url::{Urls, node_id, path, segment};
use super::protection;
use super::repo::Shown;
use crate::git::Oid;
use crate::store::protections::Rule;

/// As one row of a list
pub(in crate::github) fn row(
    urls: &Urls,
    repo: &Shown,
    name: &str,
    oid: Oid,
    rule: Option<&Rule>,
) -> Value {
    let api = repo.api(urls);
    json!({
        "name": name,
        "commit": {"sha": oid.to_string(), "url": format!("{api}/commits/{oid}")},
        "protected": rule.is_some(),
        "protection": protection::summary(rule),
        "protection_url": protection::url(urls, repo, name),
    })
}

/// `commit` as the commit's own view shows it
pub(in crate::github) fn full(
    urls: &Urls,
    repo: &Shown,
    name: &str,
    commit: &Value,
    rule: Option<&Rule>,
) -> Value {
    json!({
        "name": name,
        "commit": commit,
        "_links": {
            "self": format!("{}/branches/{}", repo.api(urls), path(name)),
            "html": format!("{}/tree/{}", repo.web(urls), path(name)),
        },
        "protected": rule.is_some(),
        "protection": protection::summary(rule),
        "protection_url": protection::url(urls, repo, name),
    })
}

pub(in crate::github) fn tag(urls: &Urls, repo: &Shown, name: &str, commit: Oid) -> Value {
    let api = repo.api(urls);
    let whole = format!("refs/tags/{}", path(name));
    json!({
        "name": name,
        "zipball_url": format!("{api}/zipball/{whole}"),
        "tarball_url": format!("{api}/tarball/{whole}"),
        "commit": {"sha": commit.to_string(), "url": format!("{api}/commits/{commit}")},
        "node_id": node_id("Ref", segment(name)),
    })
}
