//! Files and folders of a commit

use serde_json::{Value, json};

use super::super::url::{Urls, path, segment};
use super::repo::Shown;
use crate::git::{Mode, Oid};

/// A thing in a tree and where it was found
#[derive(Debug, Clone)]
pub(in crate::github) struct Found {
    pub(in crate::github) path: String,
    pub(in crate::github) mode: Mode,
    pub(in crate::github) oid: Oid,
    pub(in crate::github) size: u64,
}

impl Found {
    pub(in crate::github) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// The fields every kind has; `rev` is what the caller asked for, or the default branch
pub(in crate::github) fn entry(urls: &Urls, repo: &Shown, rev: &str, found: &Found) -> Value {
    let (api, web) = (repo.api(urls), repo.web(urls));
    let at = path(&found.path);
    let own = format!("{api}/contents/{at}?ref={}", segment(rev));
    let tree = found.mode == Mode::Tree;
    let folder = if tree { "trees" } else { "blobs" };
    let (git, html, download) = if found.mode == Mode::Submodule {
        (Value::Null, Value::Null, Value::Null)
    } else {
        let page = if tree { "tree" } else { "blob" };
        let download = if tree {
            Value::Null
        } else {
            format!("{web}/raw/{}/{at}", path(rev)).into()
        };
        (
            format!("{api}/git/{folder}/{}", found.oid).into(),
            format!("{web}/{page}/{}/{at}", path(rev)).into(),
            download,
        )
    };
    json!({
        "name": found.name(),
        "path": found.path,
        "sha": found.oid.to_string(),
        "size": found.size,
        "url": own,
        "html_url": html,
        "git_url": git,
        "download_url": download,
        "type": kind(found.mode),
        "_links": {"self": own, "git": git, "html": html},
    })
}

/// As one row of a folder: a submodule calls itself a file there, as it always has
pub(in crate::github) fn row(urls: &Urls, repo: &Shown, rev: &str, found: &Found) -> Value {
    let mut shown = entry(urls, repo, rev, found);
    if found.mode == Mode::Submodule {
        shown["type"] = "file".into();
    }
    shown
}

fn kind(mode: Mode) -> &'static str {
    match mode {
        Mode::Tree => "dir",
        Mode::Symlink => "symlink",
        Mode::Submodule => "submodule",
        Mode::File | Mode::Executable => "file",
    }
}
