//! Commits, comparisons, changed files

use serde_json::{Value, json};

use super::super::url::{Urls, node_id, path};
use super::repo::Shown;
use super::seconds;
use crate::git::{Change, ChangeKind, Commit, Oid, Signature};

/// A person as a commit names them
pub(in crate::github) fn signature(of: &Signature) -> Value {
    json!({"name": of.name, "email": of.email, "date": seconds(of.seconds)})
}

/// The text as it was given: git ends every message with a newline
pub(in crate::github) fn message(of: &str) -> &str {
    of.strip_suffix('\n').unwrap_or(of)
}

/// Signature block of a commit; never verified, because the sandbox knows no keys
pub(in crate::github) fn verification(signed: Option<&str>) -> Value {
    json!({
        "verified": false,
        "reason": if signed.is_some() { "unknown_key" } else { "unsigned" },
        "signature": signed,
        "payload": null,
        "verified_at": null,
    })
}

/// Who wrote and who committed, where they have accounts
#[derive(Debug, Default, Clone)]
pub(in crate::github) struct People {
    pub(in crate::github) author: Option<Value>,
    pub(in crate::github) committer: Option<Value>,
}

/// A commit with its place in the repository
pub(in crate::github) fn commit(
    urls: &Urls,
    repo: &Shown,
    oid: Oid,
    commit: &Commit,
    people: &People,
) -> Value {
    let (api, web) = (repo.api(urls), repo.web(urls));
    let parents: Vec<Value> = commit
        .parents
        .iter()
        .map(|parent| {
            json!({
                "sha": parent.to_string(),
                "url": format!("{api}/commits/{parent}"),
                "html_url": format!("{web}/commit/{parent}"),
            })
        })
        .collect();
    json!({
        "sha": oid.to_string(),
        "node_id": node_id("Commit", oid),
        "commit": {
            "author": signature(&commit.author),
            "committer": signature(&commit.committer),
            "message": message(&commit.message),
            "tree": {"sha": commit.tree.to_string(), "url": format!("{api}/git/trees/{}", commit.tree)},
            "url": format!("{api}/git/commits/{oid}"),
            "comment_count": 0,
            "verification": verification(commit.gpgsig.as_deref()),
        },
        "url": format!("{api}/commits/{oid}"),
        "html_url": format!("{web}/commit/{oid}"),
        "comments_url": format!("{api}/commits/{oid}/comments"),
        "author": people.author,
        "committer": people.committer,
        "parents": parents,
    })
}

/// One changed file; `at` is the commit that has it
pub(in crate::github) fn file(
    urls: &Urls,
    repo: &Shown,
    at: Oid,
    change: &Change,
    patch: Option<&str>,
) -> Value {
    let (api, web) = (repo.api(urls), repo.web(urls));
    let name = path(&change.path);
    let status = match change.kind {
        ChangeKind::Added => "added",
        ChangeKind::Modified => "modified",
        ChangeKind::Deleted => "removed",
        ChangeKind::Renamed => "renamed",
    };
    let mut shown = json!({
        "sha": change.oid.to_string(),
        "filename": change.path,
        "status": status,
        "additions": change.additions,
        "deletions": change.deletions,
        "changes": change.additions + change.deletions,
        "blob_url": format!("{web}/blob/{at}/{name}"),
        "raw_url": format!("{web}/raw/{at}/{name}"),
        "contents_url": format!("{api}/contents/{name}?ref={at}"),
    });
    if let Some(patch) = patch {
        shown["patch"] = patch.into();
    }
    if let Some(old) = &change.old_path {
        shown["previous_filename"] = old.as_str().into();
    }
    shown
}
