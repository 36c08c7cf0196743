//! Find the branch, tag or commit at the start of an address, and the path after it

use super::{
    link::At,
    visit::{Trouble, Visit},
};
use crate::git::Oid;

/// A point in history and a path there
#[derive(Debug)]
pub(super) struct Spot {
    pub at: At,
    pub commit: Oid,
    pub path: String,
}

/// `branch/…`, `tag/…` or `commit/…`
pub(super) fn named(visit: &Visit<'_>, parts: &[&str]) -> Result<Spot, Trouble> {
    let found = match parts {
        ["branch", rest @ ..] => branch(visit, rest)?,
        ["tag", rest @ ..] => tag(visit, rest)?,
        ["commit", rest @ ..] => commit(visit, rest)?,
        _ => None,
    };
    found.ok_or(Trouble::NotFound)
}

/// A branch, tag or commit that does not say which it is
pub(super) fn unnamed(visit: &Visit<'_>, parts: &[&str]) -> Result<Spot, Trouble> {
    if let Some(spot) = branch(visit, parts)? {
        return Ok(spot);
    }
    if let Some(spot) = tag(visit, parts)? {
        return Ok(spot);
    }
    commit(visit, parts)?.ok_or(Trouble::NotFound)
}

fn branch(visit: &Visit<'_>, parts: &[&str]) -> Result<Option<Spot>, Trouble> {
    // A branch is never a folder of another, so the first that exists is the one.
    for (name, path) in splits(parts) {
        if let Some(commit) = visit.git().branch(&name)? {
            return Ok(Some(Spot {
                at: At::Branch(name),
                commit,
                path,
            }));
        }
    }
    Ok(None)
}

fn tag(visit: &Visit<'_>, parts: &[&str]) -> Result<Option<Spot>, Trouble> {
    let git = visit.git();
    for (name, path) in splits(parts) {
        if let Some(oid) = git.tag(&name)?
            && let Some(commit) = git.peel(oid)?
        {
            return Ok(Some(Spot {
                at: At::Tag(name),
                commit,
                path,
            }));
        }
    }
    Ok(None)
}

fn commit(visit: &Visit<'_>, parts: &[&str]) -> Result<Option<Spot>, Trouble> {
    let Some((name, path)) = parts.split_first() else {
        return Ok(None);
    };
    Ok(sha(visit, name)?.map(|commit| Spot {
        at: At::Commit(commit.to_string()),
        commit,
        path: path.join("/"),
    }))
}

/// A commit by its name or the start of it
pub(super) fn sha(visit: &Visit<'_>, name: &str) -> Result<Option<Oid>, Trouble> {
    let hex = name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !hex {
        return Ok(None);
    }
    let git = visit.git();
    let Some(oid) = git.resolve_loosely(name)? else {
        return Ok(None);
    };
    Ok(git.commit(oid).is_ok().then_some(oid))
}

fn splits(parts: &[&str]) -> impl Iterator<Item = (String, String)> {
    (1..=parts.len()).map(|at| (parts[..at].join("/"), parts[at..].join("/")))
}
