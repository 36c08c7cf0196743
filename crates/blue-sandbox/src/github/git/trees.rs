//! Trees

use std::collections::HashSet;

use serde::{Deserialize, Deserializer};

use super::super::cx::At;
use super::super::refusal::{Refusal, Result};
use super::super::reply::Reply;
use super::super::view::git;
use super::{not_empty, object};
use crate::git::{Edit, Entry, Kind, Mode, Oid};

/// Rows of a whole tree before it is cut
const MOST: usize = 100_000;

#[derive(Debug, Deserialize)]
struct Create {
    base_tree: Option<String>,
    tree: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    path: Option<String>,
    mode: Option<String>,
    content: Option<String>,
    /// Absent, `null` (delete) or an object
    #[serde(default, deserialize_with = "given")]
    sha: Sha,
}

#[derive(Debug, Default)]
enum Sha {
    #[default]
    Absent,
    Null,
    Of(String),
}

fn given<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Sha, D::Error> {
    Option::<String>::deserialize(from).map(|sha| sha.map_or(Sha::Null, Sha::Of))
}

pub(in crate::github) fn create(at: &At<'_>) -> Result<Reply> {
    at.writer()?;
    let body: Create = at.ask().body()?;
    not_empty(at)?;
    if body.tree.is_empty() {
        return Err(Refusal::unprocessable("Invalid tree info"));
    }
    let base = match &body.base_tree {
        Some(sha) => base(at, sha)?,
        None => Oid::EMPTY_TREE,
    };
    let mut seen = HashSet::new();
    let mut edits = Vec::new();
    for row in body.tree {
        at.cx.may_write(row.path.as_deref().unwrap_or_default())?;
        let edit = edit(at, base, row)?;
        let (Edit::Put { path, .. } | Edit::Remove { path }) = &edit;
        if !seen.insert(path.clone()) {
            return Err(Refusal::unprocessable(format!(
                "tree contains duplicate file {path}"
            )));
        }
        edits.push(edit);
    }
    let oid = at.git.edit_tree(base, &edits)?;
    Ok(Reply::created(&show(at, oid, at.git.tree(oid)?, false)?))
}

/// A tree, or the tree of a commit
fn base(at: &At<'_>, sha: &str) -> Result<Oid> {
    let invalid = || Refusal::unprocessable("base_tree is not a valid tree oid");
    if let Some(oid) = object(at, sha, Kind::Tree)? {
        return Ok(oid);
    }
    let commit = object(at, sha, Kind::Commit)?.ok_or_else(invalid)?;
    Ok(at.git.commit(commit)?.tree)
}

fn edit(at: &At<'_>, base: Oid, row: Row) -> Result<Edit> {
    let path = row.path.unwrap_or_default();
    let odd = path.is_empty()
        || path.split('/').any(|part| {
            part.is_empty() || part == "." || part == ".." || part.eq_ignore_ascii_case(".git")
        });
    if odd {
        let message = format!("tree.path contains a malformed path component: {path}");
        return Err(Refusal::unprocessable(message));
    }
    if matches!(row.sha, Sha::Null) && row.content.is_none() {
        return match at.git.entry(base, &path)? {
            Some(_) => Ok(Edit::Remove { path }),
            None => Err(Refusal::unprocessable("GitRPC::BadObjectState")),
        };
    }
    let mode = match row.mode.as_deref() {
        Some("100644") | None => Mode::File,
        Some("100755") => Mode::Executable,
        Some("040000") => Mode::Tree,
        Some("120000") => Mode::Symlink,
        Some("160000") => Mode::Submodule,
        Some(_) => {
            return Err(Refusal::unprocessable(format!(
                "tree.mode of {path} is not valid"
            )));
        }
    };
    let oid = match (row.sha, row.content) {
        (Sha::Of(_), Some(_)) => {
            return Err(Refusal::unprocessable(
                "Must supply either tree.sha or tree.content, not both.",
            ));
        }
        (_, Some(content)) => at.git.write(Kind::Blob, content.as_bytes())?,
        (Sha::Of(sha), None) => named(at, &sha, mode)?,
        (_, None) => {
            return Err(Refusal::unprocessable(
                "Must supply tree.sha or tree.content.",
            ));
        }
    };
    Ok(Edit::Put { path, mode, oid })
}

fn named(at: &At<'_>, sha: &str, mode: Mode) -> Result<Oid> {
    let wrong = || Refusal::unprocessable(format!("tree.sha {sha} is not a valid object"));
    match mode {
        // Its commit lies in another repository.
        Mode::Submodule => Oid::parse(sha).ok_or_else(wrong),
        Mode::Tree => object(at, sha, Kind::Tree)?.ok_or_else(wrong),
        _ => object(at, sha, Kind::Blob)?.ok_or_else(wrong),
    }
}

pub(in crate::github) fn get(at: &At<'_>, rev: &str) -> Result<Reply> {
    not_empty(at)?;
    let oid = if let Some(oid) = object(at, rev, Kind::Tree)? {
        oid
    } else {
        let commit = at.resolve(rev)?.ok_or_else(Refusal::not_found)?;
        at.git.commit(commit)?.tree
    };
    // Any value of it, also `0` and `false`, means the whole tree.
    let recursive = at.ask().param("recursive").is_some();
    let mut rows = Vec::new();
    if recursive {
        at.git.walk_tree(oid, "", &mut rows)?;
    } else {
        rows = at.git.tree(oid)?;
    }
    let truncated = rows.len() > MOST;
    rows.truncate(MOST);
    Ok(Reply::ok(&show(at, oid, rows, truncated)?))
}

fn show(at: &At<'_>, oid: Oid, rows: Vec<Entry>, truncated: bool) -> Result<serde_json::Value> {
    let mut sized = Vec::with_capacity(rows.len());
    for row in rows {
        let size = if row.mode.is_blob() {
            Some(at.git.stat(row.oid)?.1)
        } else {
            None
        };
        sized.push((row, size));
    }
    Ok(git::tree(at.urls(), &at.repo, oid, &sized, truncated))
}
