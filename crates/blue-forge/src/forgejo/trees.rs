//! Directories by their git trees
//!
//! The listing of `contents` looks for the last commit of every row, which takes the servers
//! seconds for a hundred files and minutes for thousands. A tree is read at once.

use serde::Deserialize;

use super::{Forgejo, wire};
use crate::{
    Result,
    model::{Entry, EntryKind, RepoId, Sha},
};

/// Rows asked for at once; the servers give no more unless they are told to
const ROWS: u32 = 1000;
/// More than this is no directory
const PAGES: u32 = 200;

#[derive(Debug, Deserialize)]
struct WireTree {
    sha: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    tree: Vec<WireRow>,
    #[serde(default, deserialize_with = "wire::or_default")]
    truncated: bool,
}

#[derive(Debug, Deserialize)]
struct WireRow {
    path: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    mode: String,
    sha: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    size: u64,
}

impl Forgejo {
    /// What is in a directory; `None` where that must be found out another way: it may be a file,
    /// or not there, or the server or something before it does not take such a name
    pub(super) async fn tree_at(
        &self,
        repo: &RepoId,
        path: &str,
        commit: Option<&Sha>,
    ) -> Result<Option<Vec<Entry>>> {
        let mut name = format!("{}:{path}", commit.map_or("HEAD", Sha::as_str));
        let mut entries = Vec::new();
        for page in 1..=PAGES {
            let answer = self
                .repo_get(repo, &["git", "trees", &name])
                .query("per_page", ROWS)
                .query("page", page)
                .what(format!("`{path}` of `{repo}`"))
                .answer()
                .await?;
            if !answer.status.is_success() {
                return Ok(None);
            }
            let found: WireTree = answer.json()?;
            let more = found.truncated && !found.tree.is_empty();
            for row in found.tree {
                entries.push(self.row_of(path, row)?);
            }
            if !more {
                return Ok(Some(entries));
            }
            // The rest of the same tree, whatever is committed meanwhile.
            name = found.sha;
        }
        Ok(None)
    }

    fn row_of(&self, below: &str, row: WireRow) -> Result<Entry> {
        let kind = match row.mode.as_str() {
            "040000" => EntryKind::Dir,
            "120000" => EntryKind::Symlink,
            "160000" => EntryKind::Submodule,
            _ => EntryKind::File,
        };
        let path = if below.is_empty() {
            row.path.clone()
        } else {
            format!("{below}/{}", row.path)
        };
        Ok(Entry {
            kind,
            sha: wire::sha(self.rest.host(), &row.sha)?,
            name: row.path,
            path,
            size: row.size,
        })
    }
}
