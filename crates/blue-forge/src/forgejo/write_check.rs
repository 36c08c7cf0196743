//! What can be refused of a commit without asking the server

use std::collections::HashSet;

use super::{branches::good_name, contents::checked_path};
use crate::{
    ForgeError, Result,
    model::{CommitOpts, FileChange, file_in_the_way},
};
use blue_base::text::clean_line;

pub(super) fn nothing_given() -> ForgeError {
    ForgeError::Invalid {
        message: "a commit needs at least one file".to_owned(),
        status: None,
    }
}

/// Whether a commit makes sense at all
pub(super) fn check(opts: &CommitOpts) -> Result<()> {
    // The servers name a rule of theirs, and neither the branch nor what is wrong with it; or they
    // make a branch that git then mistakes for an option, or for the head.
    if !good_name(&opts.branch) {
        return Err(ForgeError::Invalid {
            message: format!("`{}` is not a branch name", clean_line(&opts.branch)),
            status: None,
        });
    }
    if opts.changes.is_empty() {
        return Err(nothing_given());
    }
    let mut seen = HashSet::new();
    for change in &opts.changes {
        let paths: Vec<&str> = match change {
            FileChange::Write { path, .. } | FileChange::Delete { path, .. } => vec![path],
            FileChange::Rename { from, to, .. } => vec![from, to],
        };
        for path in paths {
            if checked_path(path)?.is_empty() {
                return Err(ForgeError::Invalid {
                    message: "the root of the repository is a directory, not a file".to_owned(),
                    status: None,
                });
            }
            if !seen.insert(path) {
                return Err(ForgeError::Invalid {
                    message: format!("`{path}` is named twice in one commit"),
                    status: None,
                });
            }
        }
    }
    match file_in_the_way(&opts.changes) {
        Some((file, below)) => Err(ForgeError::file_and_directory(file, below)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Expect;

    fn opts(changes: Vec<FileChange>) -> CommitOpts {
        CommitOpts {
            branch: "main".to_owned(),
            base: None,
            message: "m".to_owned(),
            changes,
            expected_head: None,
        }
    }

    fn put(path: &str) -> FileChange {
        FileChange::Write {
            path: path.to_owned(),
            content: vec![],
            expect: Expect::Any,
        }
    }

    #[test]
    fn commits_that_make_no_sense() {
        assert!(check(&opts(vec![put("a"), put("b/c")])).is_ok());
        assert!(check(&opts(vec![])).is_err());
        assert!(check(&opts(vec![put("a"), put("a")])).is_err());
        for (one, other) in [("a", "a/b/c"), ("a/b/c", "a"), ("x/a", "x/a/b")] {
            let error = check(&opts(vec![put(one), put("ab"), put(other)])).unwrap_err();
            assert!(error.to_string().contains("cannot be both"), "{error}");
        }
        let gone = FileChange::Delete {
            path: "a".to_owned(),
            expect: Expect::Any,
        };
        assert!(check(&opts(vec![gone, put("a/b")])).is_ok());
        for bad in ["", "/a", "../a", "a//b", ".git/config"] {
            assert!(check(&opts(vec![put(bad)])).is_err(), "{bad}");
        }
        for bad in ["HEAD", "-x", "@", "a..b"] {
            let opts = CommitOpts {
                branch: bad.to_owned(),
                ..opts(vec![put("a")])
            };
            assert!(check(&opts).is_err(), "{bad}");
        }
        let rename = FileChange::Rename {
            from: "a".to_owned(),
            to: "a".to_owned(),
            content: None,
            expect: Expect::Any,
        };
        assert!(check(&opts(vec![rename])).is_err());
    }
}
