//! The five ways to merge, computed with git and without a work tree

use super::{Error, MergeError, Result};
use crate::{
    git::{Commit, Merged, Oid, Repo, Signature},
    store::pulls::Pull,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Merge,
    Rebase,
    RebaseMerge,
    Squash,
    FastForwardOnly,
}

impl Style {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "merge" => Some(Self::Merge),
            "rebase" => Some(Self::Rebase),
            "rebase-merge" => Some(Self::RebaseMerge),
            "squash" => Some(Self::Squash),
            "fast-forward-only" => Some(Self::FastForwardOnly),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Rebase => "rebase",
            Self::RebaseMerge => "rebase-merge",
            Self::Squash => "squash",
            Self::FastForwardOnly => "fast-forward-only",
        }
    }
}

/// Who signs and what the commit says
#[derive(Debug, Clone)]
pub(crate) struct Words {
    pub(crate) author: Signature,
    pub(crate) committer: Signature,
    /// Empty for a rebase that keeps its messages
    pub(crate) message: String,
}

/// Write the commits of a merge and name the new tip of the base
pub(crate) fn compute(
    git: &Repo,
    style: Style,
    base: Oid,
    pull: &Pull,
    words: &Words,
) -> Result<Oid> {
    let head = pull.head_sha;
    let commit = |tree, parents, author: &Signature| Commit {
        tree,
        parents,
        author: author.clone(),
        committer: words.committer.clone(),
        message: words.message.clone(),
        gpgsig: None,
    };
    Ok(match style {
        Style::Merge => {
            let tree = tree(git, style, base, head)?;
            git.write_commit(&commit(tree, vec![base, head], &words.committer))?
        }
        Style::Squash => {
            let tree = tree(git, style, base, head)?;
            git.write_commit(&commit(tree, vec![base], &words.author))?
        }
        Style::Rebase => {
            let tip = rebase(git, base, head, &words.committer)?;
            if words.message.is_empty() || tip == base {
                return Ok(tip);
            }
            let last = git.commit(tip)?;
            let amended = Commit {
                message: words.message.clone(),
                committer: words.committer.clone(),
                ..last
            };
            git.write_commit(&amended)?
        }
        Style::RebaseMerge => {
            let tip = rebase(git, base, head, &words.committer)?;
            let tree = git.commit(tip)?.tree;
            git.write_commit(&commit(tree, vec![base, tip], &words.committer))?
        }
        Style::FastForwardOnly => {
            if !git.is_ancestor(base, head)? {
                let words = "fatal: Not possible to fast-forward, aborting.";
                return Err(MergeError::NotFastForward {
                    words: words.to_owned(),
                }
                .into());
            }
            head
        }
    })
}

/// Put the commits of a head on top of a base, dropping merges and what is there already
pub(crate) fn rebase(git: &Repo, base: Oid, head: Oid, committer: &Signature) -> Result<Oid> {
    if git.is_ancestor(base, head)? {
        return Ok(head);
    }
    let mut tip = base;
    let mut commits = git.log(head, Some(base))?;
    commits.reverse();
    for (oid, commit) in commits {
        if commit.parents.len() > 1 {
            continue;
        }
        let tree = match git.pick(tip, oid)? {
            Merged::Tree(tree) => tree,
            Merged::Conflict { words } => {
                return Err(conflict(Style::Rebase.name(), &words));
            }
        };
        if tree == git.commit(tip)?.tree {
            continue;
        }
        let picked = Commit {
            tree,
            parents: vec![tip],
            committer: committer.clone(),
            gpgsig: None,
            ..commit
        };
        tip = git.write_commit(&picked)?;
    }
    Ok(tip)
}

fn tree(git: &Repo, style: Style, base: Oid, head: Oid) -> Result<Oid> {
    match git.merge_trees(base, head)? {
        Merged::Tree(tree) => Ok(tree),
        Merged::Conflict { words } => Err(conflict(style.name(), &words)),
    }
}

pub(super) fn conflict(style: &str, words: &str) -> Error {
    let end = "Automatic merge failed; fix conflicts and then commit the result.\n";
    MergeError::Conflict {
        style: style.to_owned(),
        words: format!("{words}{end}"),
    }
    .into()
}
