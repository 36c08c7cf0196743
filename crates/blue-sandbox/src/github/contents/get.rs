//! Read a file or a folder

use http::StatusCode;
use serde_json::{Value, json};

use super::super::cx::At;
use super::super::media::Media;
use super::super::refusal::{Refusal, Result};
use super::super::reply::Reply;
use super::super::view::content::{self, Found};
use super::super::view::git::wrapped;
use crate::git::{Entry, Kind, Mode, Oid};

/// Larger files come without their bytes unless asked for raw
const INLINE: u64 = 1 << 20;
/// Larger files do not come at all
const MOST: u64 = 100 << 20;
/// Rows of a folder
const ROWS: usize = 1000;
/// Links that are followed one after the other
const HOPS: usize = 8;

pub(in crate::github) fn get(at: &At<'_>, path: &str) -> Result<Reply> {
    let path = path.trim_matches('/');
    let rev = at.ask().param("ref").unwrap_or(&at.repo.row.default_branch);
    let commit = commit(at, rev)?;
    let tree = at.git.commit(commit)?.tree;
    let entry = at.git.entry(tree, path)?.ok_or_else(Refusal::not_found)?;
    let found = Found {
        path: path.to_owned(),
        size: size(at, &entry)?,
        mode: entry.mode,
        oid: entry.oid,
    };
    match entry.mode {
        Mode::Tree => folder(at, rev, &found),
        Mode::File | Mode::Executable => file(at, rev, &found, found.oid),
        Mode::Symlink => link(at, rev, tree, &found),
        Mode::Submodule => {
            let mut shown = content::entry(at.urls(), &at.repo, rev, &found);
            shown["submodule_git_url"] = module_url(at, tree, path)?.into();
            Ok(Reply::ok(&shown))
        }
    }
}

fn commit(at: &At<'_>, rev: &str) -> Result<Oid> {
    if let Some(oid) = at.resolve(rev)? {
        return Ok(oid);
    }
    let message = if at.is_empty()? {
        "This repository is empty.".to_owned()
    } else {
        format!("No commit found for the ref {rev}")
    };
    Err(Refusal::new(StatusCode::NOT_FOUND, message))
}

fn size(at: &At<'_>, entry: &Entry) -> Result<u64> {
    if entry.mode.is_blob() {
        return Ok(at.git.stat(entry.oid)?.1);
    }
    Ok(0)
}

fn folder(at: &At<'_>, rev: &str, found: &Found) -> Result<Reply> {
    let mut rows: Vec<Value> = Vec::new();
    for entry in at.git.tree(found.oid)?.into_iter().take(ROWS) {
        let path = match found.path.as_str() {
            "" => entry.name.clone(),
            folder => format!("{folder}/{}", entry.name),
        };
        let row = Found {
            path,
            size: size(at, &entry)?,
            mode: entry.mode,
            oid: entry.oid,
        };
        rows.push(content::row(at.urls(), &at.repo, rev, &row));
    }
    if at.ask().media() == Media::Object {
        let mut shown = content::entry(at.urls(), &at.repo, rev, found);
        shown["entries"] = rows.into();
        return Ok(Reply::ok(&shown));
    }
    Ok(Reply::ok(&rows.into()))
}

/// `bytes` is the blob to read, which a link does not share with what it is shown as
fn file(at: &At<'_>, rev: &str, found: &Found, bytes: Oid) -> Result<Reply> {
    if found.size > MOST {
        let errors = json!([{"resource": "Blob", "field": "data", "code": "too_large"}]);
        let message = "This API returns blobs up to 100 MB in size. The requested blob is too large \
                       to fetch via the API, but you can always clone the repository via Git.";
        return Err(Refusal::with_errors(message, errors).with_status(StatusCode::FORBIDDEN));
    }
    if at.ask().media() == Media::Raw {
        let data = at.git.read_kind(bytes, Kind::Blob)?;
        return Ok(Reply::bytes(
            "application/vnd.github.raw+json; charset=utf-8",
            data,
        ));
    }
    let mut shown = content::entry(at.urls(), &at.repo, rev, found);
    let (content, encoding) = if found.size > INLINE {
        (String::new(), "none")
    } else {
        (wrapped(&at.git.read_kind(bytes, Kind::Blob)?), "base64")
    };
    shown["content"] = content.into();
    shown["encoding"] = encoding.into();
    Ok(Reply::ok(&shown))
}

/// A link to a file of the repository is answered with that file's bytes
fn link(at: &At<'_>, rev: &str, tree: Oid, found: &Found) -> Result<Reply> {
    let target = at.git.read_kind(found.oid, Kind::Blob)?;
    let target = String::from_utf8_lossy(&target).into_owned();
    if let Some(entry) = follow(at, tree, &found.path, &target)? {
        // The bytes and their size are the file's; the id stays the link's own.
        let file = Found {
            path: found.path.clone(),
            size: size(at, &entry)?,
            mode: entry.mode,
            oid: found.oid,
        };
        return self::file(at, rev, &file, entry.oid);
    }
    let mut shown = content::entry(at.urls(), &at.repo, rev, found);
    shown["target"] = target.into();
    Ok(Reply::ok(&shown))
}

fn follow(at: &At<'_>, tree: Oid, from: &str, target: &str) -> Result<Option<Entry>> {
    let (mut from, mut target) = (from.to_owned(), target.to_owned());
    for _ in 0..HOPS {
        let Some(path) = join(&from, &target) else {
            return Ok(None);
        };
        match at.git.entry(tree, &path)? {
            Some(entry) if matches!(entry.mode, Mode::File | Mode::Executable) => {
                return Ok(Some(entry));
            }
            Some(entry) if entry.mode == Mode::Symlink => {
                let next = at.git.read_kind(entry.oid, Kind::Blob)?;
                target = String::from_utf8_lossy(&next).into_owned();
                from = path;
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// Where a link leads, if that is inside the repository
fn join(link: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = link.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// What `.gitmodules` says about a path
fn module_url(at: &At<'_>, tree: Oid, path: &str) -> Result<String> {
    let Some(entry) = at.git.entry(tree, ".gitmodules")? else {
        return Ok(String::new());
    };
    let text = at.git.read_kind(entry.oid, Kind::Blob)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let (mut here, mut url) = (false, None);
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            if here && url.is_some() {
                break;
            }
            (here, url) = (false, None);
        } else if let Some((key, value)) = line.split_once('=') {
            match key.trim() {
                "path" => here = value.trim() == path,
                "url" => url = Some(value.trim().to_owned()),
                _ => {}
            }
        }
    }
    Ok(url.filter(|_| here).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn links_stay_inside() {
        assert_eq!(join("a/link", "b.txt").as_deref(), Some("a/b.txt"));
        assert_eq!(join("a/link", "../b.txt").as_deref(), Some("b.txt"));
        assert_eq!(join("link", "./x/../y").as_deref(), Some("y"));
        assert_eq!(join("link", "../y"), None);
        assert_eq!(join("link", "/etc/passwd"), None);
    }
}
