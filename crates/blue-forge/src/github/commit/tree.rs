//! Trees: what is at a path now, and writing a new one

use std::collections::{BTreeSet, HashMap};

use base64::{Engine, engine::general_purpose::STANDARD};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use super::plan::{Plan, Source};
use crate::{
    Result,
    github::{GitHub, contents::too_many_entries, wire},
    model::{Entry, EntryKind, RepoId, Sha},
};

/// Text up to this size goes into the request for the tree itself: each blob is a request more,
/// and GitHub allows few that create something
const INLINE: usize = 256 * 1024;
/// Mode of what lies in another repository
const SUBMODULE: &str = "160000";
/// Requests at once for directories
const AT_ONCE: usize = 4;

#[derive(Debug, Deserialize)]
pub(in crate::github) struct WireTree {
    #[serde(default)]
    pub(in crate::github) truncated: bool,
    pub(in crate::github) tree: Vec<TreeEntry>,
}

#[derive(Debug, Clone, Deserialize)]
pub(in crate::github) struct TreeEntry {
    path: String,
    pub(super) mode: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    sha: wire::Oid,
    #[serde(default)]
    size: u64,
}

impl TreeEntry {
    pub(super) fn sha(&self) -> &Sha {
        &self.sha.0
    }

    pub(in crate::github) fn into_entry(self, dir: &str) -> Entry {
        let kind = match (self.kind.as_str(), self.mode.as_str()) {
            ("tree", _) => EntryKind::Dir,
            ("commit", _) => EntryKind::Submodule,
            (_, "120000") => EntryKind::Symlink,
            _ => EntryKind::File,
        };
        let path = if dir.is_empty() {
            self.path.clone()
        } else {
            format!("{dir}/{}", self.path)
        };
        Entry {
            name: self.path,
            path,
            kind,
            sha: self.sha.0,
            size: self.size,
        }
    }
}

/// What is at each path of interest and above it
pub(super) type Present = HashMap<String, TreeEntry>;

#[derive(Debug, Serialize)]
struct NewTree<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    base_tree: Option<&'a str>,
    tree: Vec<NewEntry<'a>>,
}

#[derive(Debug, Serialize)]
struct NewEntry<'a> {
    path: &'a str,
    mode: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(flatten)]
    what: NewWhat<'a>,
}

/// Either the content or the id of a blob; no id deletes
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum NewWhat<'a> {
    Content(&'a str),
    Sha(Option<Sha>),
}

#[derive(Debug, Serialize)]
struct NewBlob {
    content: String,
    encoding: &'static str,
}

impl GitHub {
    /// Look at the directories on the way to each path, level by level
    pub(super) async fn entries_at(
        &self,
        repo: &RepoId,
        root: &Sha,
        paths: &[&str],
    ) -> Result<Present> {
        let mut present = Present::new();
        let mut level: Vec<(String, Sha)> = vec![(String::new(), root.clone())];
        while !level.is_empty() {
            let trees: Vec<(String, WireTree)> = stream::iter(level)
                .map(|(dir, sha)| async move {
                    let tree: WireTree = self
                        .get(repo, &["git", "trees", sha.as_str()])
                        .send()
                        .await?
                        .json()?;
                    if tree.truncated {
                        return Err(too_many_entries(&dir));
                    }
                    Ok((dir, tree))
                })
                .buffered(AT_ONCE)
                .try_collect()
                .await?;
            level = Vec::new();
            for (dir, tree) in trees {
                let wanted = children(&dir, paths);
                for entry in tree.tree {
                    let path = format!("{dir}{}", entry.path);
                    let Some(deeper) = wanted.get(&path) else {
                        continue;
                    };
                    if *deeper && entry.kind == "tree" {
                        level.push((format!("{path}/"), entry.sha.0.clone()));
                    }
                    present.insert(path, entry);
                }
            }
        }
        Ok(present)
    }

    pub(super) async fn write_tree(
        &self,
        repo: &RepoId,
        plan: &Plan,
        base: Option<&Sha>,
    ) -> Result<Sha> {
        let mut tree = Vec::new();
        for step in plan.steps() {
            let what = match &step.source {
                Source::Gone => NewWhat::Sha(None),
                Source::Blob(sha) => NewWhat::Sha(Some(sha.clone())),
                Source::Bytes(bytes) => match inline(bytes) {
                    Some(text) => NewWhat::Content(text),
                    None => NewWhat::Sha(Some(self.write_blob(repo, bytes).await?)),
                },
            };
            tree.push(NewEntry {
                path: &step.path,
                mode: &step.mode,
                kind: if step.mode == SUBMODULE {
                    "commit"
                } else {
                    "blob"
                },
                what,
            });
        }
        let body = NewTree {
            base_tree: base.map(Sha::as_str),
            tree,
        };
        let answer = self
            .post(repo, &["git", "trees"])
            .json(&body)
            .answer()
            .await?;
        let paths: Vec<&str> = plan.steps().iter().map(|step| step.path.as_str()).collect();
        let made = self.written_files(repo, answer, &paths).await?;
        Ok(made.json::<wire::Pointer>()?.sha.0)
    }

    async fn write_blob(&self, repo: &RepoId, bytes: &[u8]) -> Result<Sha> {
        let body = NewBlob {
            content: STANDARD.encode(bytes),
            encoding: "base64",
        };
        let answer = self
            .post(repo, &["git", "blobs"])
            .json(&body)
            .answer()
            .await?;
        let made = self.written(repo, answer).await?;
        Ok(made.json::<wire::Pointer>()?.sha.0)
    }
}

fn inline(bytes: &[u8]) -> Option<&str> {
    if bytes.len() > INLINE || bytes.contains(&0) {
        return None;
    }
    std::str::from_utf8(bytes).ok()
}

/// The entries of a directory that lie on the way to a path, and whether the path goes deeper
fn children(dir: &str, paths: &[&str]) -> HashMap<String, bool> {
    let mut wanted = HashMap::new();
    let unique: BTreeSet<&str> = paths.iter().copied().collect();
    for path in unique {
        let Some(rest) = path.strip_prefix(dir) else {
            continue;
        };
        let (name, deeper) = match rest.split_once('/') {
            Some((name, _)) => (name, true),
            None => (rest, false),
        };
        *wanted.entry(format!("{dir}{name}")).or_default() |= deeper;
    }
    wanted
}
