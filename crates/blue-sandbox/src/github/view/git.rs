//! Objects and refs as git has them

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::super::url::{Urls, node_id, path};
use super::commit::{message, signature, verification};
use super::repo::Shown;
use crate::git::{Commit, Entry, Kind, Mode, Oid, Tag};

/// `name` is whole: `refs/heads/main`
pub(in crate::github) fn reference(
    urls: &Urls,
    repo: &Shown,
    name: &str,
    oid: Oid,
    kind: Kind,
) -> Value {
    let api = repo.api(urls);
    json!({
        "ref": name,
        "node_id": node_id("Ref", name),
        "url": format!("{api}/git/{}", path(name)),
        "object": object(&api, oid, kind),
    })
}

fn object(api: &str, oid: Oid, kind: Kind) -> Value {
    let folder = match kind {
        Kind::Commit => "commits",
        Kind::Tag => "tags",
        Kind::Tree => "trees",
        Kind::Blob => "blobs",
    };
    json!({"sha": oid.to_string(), "type": kind.name(), "url": format!("{api}/git/{folder}/{oid}")})
}

pub(in crate::github) fn commit(urls: &Urls, repo: &Shown, oid: Oid, commit: &Commit) -> Value {
    let (api, web) = (repo.api(urls), repo.web(urls));
    let parents: Vec<Value> = commit
        .parents
        .iter()
        .map(|parent| {
            json!({
                "sha": parent.to_string(),
                "url": format!("{api}/git/commits/{parent}"),
                "html_url": format!("{web}/commit/{parent}"),
            })
        })
        .collect();
    json!({
        "sha": oid.to_string(),
        "node_id": node_id("Commit", oid),
        "url": format!("{api}/git/commits/{oid}"),
        "html_url": format!("{web}/commit/{oid}"),
        "author": signature(&commit.author),
        "committer": signature(&commit.committer),
        "tree": {"sha": commit.tree.to_string(), "url": format!("{api}/git/trees/{}", commit.tree)},
        "message": message(&commit.message),
        "parents": parents,
        "verification": verification(commit.gpgsig.as_deref()),
    })
}

/// `size` of each blob where the caller looked it up
pub(in crate::github) fn tree(
    urls: &Urls,
    repo: &Shown,
    oid: Oid,
    rows: &[(Entry, Option<u64>)],
    truncated: bool,
) -> Value {
    let api = repo.api(urls);
    let rows: Vec<Value> = rows
        .iter()
        .map(|(entry, size)| {
            let (kind, folder) = match entry.mode {
                Mode::Tree => ("tree", Some("trees")),
                Mode::Submodule => ("commit", None),
                _ => ("blob", Some("blobs")),
            };
            let mut row = json!({
                "path": entry.name,
                "mode": entry.mode.text(),
                "type": kind,
                "sha": entry.oid.to_string(),
            });
            if let Some(size) = size {
                row["size"] = (*size).into();
            }
            // A submodule's commit is in another repository.
            if let Some(folder) = folder {
                row["url"] = format!("{api}/git/{folder}/{}", entry.oid).into();
            }
            row
        })
        .collect();
    json!({
        "sha": oid.to_string(),
        "url": format!("{api}/git/trees/{oid}"),
        "tree": rows,
        "truncated": truncated,
    })
}

pub(in crate::github) fn blob(urls: &Urls, repo: &Shown, oid: Oid, data: &[u8]) -> Value {
    json!({
        "sha": oid.to_string(),
        "node_id": node_id("Blob", oid),
        "size": data.len(),
        "url": format!("{}/git/blobs/{oid}", repo.api(urls)),
        "content": wrapped(data),
        "encoding": "base64",
    })
}

pub(in crate::github) fn tag(urls: &Urls, repo: &Shown, oid: Oid, tag: &Tag) -> Value {
    let api = repo.api(urls);
    let kind = match tag.kind.as_str() {
        "tree" => Kind::Tree,
        "blob" => Kind::Blob,
        "tag" => Kind::Tag,
        _ => Kind::Commit,
    };
    let nobody = json!({"name": "", "email": "", "date": super::seconds(0)});
    json!({
        "node_id": node_id("Tag", oid),
        "sha": oid.to_string(),
        "url": format!("{api}/git/tags/{oid}"),
        "tag": tag.name,
        "message": message(&tag.message),
        "tagger": tag.tagger.as_ref().map_or(nobody, signature),
        "object": object(&api, tag.target, kind),
        "verification": verification(None),
    })
}

/// Base64 in lines of 60 characters, each with its newline
pub(in crate::github) fn wrapped(data: &[u8]) -> String {
    let text = STANDARD.encode(data);
    let mut out = String::with_capacity(text.len() + text.len() / 60 + 1);
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(60));
        out.push_str(line);
        out.push('\n');
        rest = more;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_wrapped() {
        assert_eq!(wrapped(b""), "");
        assert_eq!(wrapped(b"hello"), "aGVsbG8=\n");
        let long = wrapped(&[0; 100]);
        assert!(long.lines().all(|line| line.len() <= 60));
        assert_eq!(long.lines().count(), 3);
    }
}
