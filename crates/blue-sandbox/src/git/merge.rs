//! Merges, computed by git without a work tree

use super::{Commit, Error, Oid, Repo, Result};

/// What a three-way merge gave
#[derive(Debug, Clone)]
pub(crate) enum Merged {
    Tree(Oid),
    /// The branches conflict; git's own words
    Conflict {
        words: String,
    },
}

impl Repo {
    /// Merge two commits over their common ancestors
    pub(crate) fn merge_trees(&self, ours: Oid, theirs: Oid) -> Result<Merged> {
        let (ours, theirs) = (ours.to_string(), theirs.to_string());
        let args = [
            "merge-tree",
            "--write-tree",
            "-z",
            "--name-only",
            "--allow-unrelated-histories",
        ];
        let args: Vec<&str> = args
            .into_iter()
            .chain([ours.as_str(), theirs.as_str()])
            .collect();
        let output = self.git_any(&args)?;
        let text = output.text();
        let mut fields = text.split('\0');
        let tree = fields.next().and_then(|hex| Oid::parse(hex.trim()));
        match (output.code, tree) {
            (0, Some(tree)) => Ok(Merged::Tree(tree)),
            (1, Some(_)) => {
                // The files come first, up to an empty field.
                fields
                    .by_ref()
                    .take_while(|field| !field.is_empty())
                    .for_each(drop);
                // What follows: a count, that many paths, a kind and a message, again and again.
                let words: String = fields.filter(|field| field.ends_with('\n')).collect();
                Ok(Merged::Conflict { words })
            }
            _ => Err(Error::Command {
                command: "merge-tree".to_owned(),
                stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            }),
        }
    }

    /// Fetch refs and their objects from a repository beside this one
    pub(crate) fn take_from(&self, other: &Self, refspecs: &[&str]) -> Result<()> {
        let path = other.path().to_string_lossy().into_owned();
        let mut args = vec![
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            path.as_str(),
        ];
        args.extend(refspecs);
        self.git(&args).map(drop)
    }

    /// The tree of `onto` with the change one commit made
    pub(crate) fn pick(&self, onto: Oid, picked: Oid) -> Result<Merged> {
        let commit = self.commit(picked)?;
        let Some(parent) = commit.parents.first() else {
            return self.merge_trees(onto, picked);
        };
        // A helper commit with the tree of `onto` over the picked commit's parent makes that parent
        // the merge base, which is what a cherry-pick is.
        let base = self.commit(onto)?;
        let helper = Commit {
            tree: base.tree,
            parents: vec![*parent],
            author: base.author.clone(),
            committer: base.committer,
            message: "merge helper".to_owned(),
            gpgsig: None,
        };
        let helper = self.write_commit(&helper)?;
        self.merge_trees(helper, picked)
    }
}
