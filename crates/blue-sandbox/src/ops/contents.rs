//! Files: read a path, change one or many in a single commit

use std::{collections::HashSet, sync::PoisonError};

use super::{Error, Result, What, branches, protection, push, refuse_archived, signature};
use crate::{
    app::App,
    git::{
        Commit, Edit, Entry, Expect, Kind, Mode, Oid, Repo as Git, Signature, valid_branch_name,
    },
    store::{repos::Repo, users::User},
};

/// The commit a read is about; an empty name is the default branch
pub(crate) fn commit_of(app: &App, repo: &Repo, name: &str) -> Result<Oid> {
    let name = if name.is_empty() {
        repo.default_branch.as_str()
    } else {
        name
    };
    let found = app.git(repo.id).resolve(name)?;
    found.ok_or_else(|| Error::NotFound(What::Ref(name.to_owned())))
}

/// What lies at a path
pub(crate) fn entry(app: &App, repo: &Repo, commit: Oid, path: &str) -> Result<Entry> {
    let git = app.git(repo.id);
    let tree = git.commit(commit)?.tree;
    git.entry(tree, path)?
        .ok_or_else(|| Error::NotFound(What::Path(path.to_owned())))
}

/// What to do with one file
#[derive(Debug, Clone)]
pub(crate) enum Action {
    Create,
    /// With a sha the file must be that; without, it must exist
    Update,
    /// Make it or replace it
    Upload,
    Delete,
    Rename {
        from: String,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct FileChange {
    pub(crate) action: Action,
    pub(crate) path: String,
    pub(crate) content: Vec<u8>,
    pub(crate) sha: Option<String>,
}

/// A change of one or many files, made whole or not at all
#[derive(Debug, Clone)]
pub(crate) struct Change<'a> {
    /// Empty is the default branch
    pub(crate) branch: &'a str,
    /// Make this branch from it
    pub(crate) new_branch: Option<&'a str>,
    pub(crate) force_new_branch: bool,
    pub(crate) message: &'a str,
    pub(crate) author: Option<Signature>,
    pub(crate) committer: Option<Signature>,
    pub(crate) files: Vec<FileChange>,
}

/// The commit a change made, and the branch it is on
#[derive(Debug, Clone)]
pub(crate) struct Done {
    pub(crate) commit: Oid,
    pub(crate) branch: String,
}

pub(crate) fn change(app: &App, repo: &Repo, user: &User, change: &Change<'_>) -> Result<Done> {
    refuse_archived(repo)?;
    let lock = app.repo_lock(repo.id);
    let _turn = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let git = app.git(repo.id);
    let from = if change.branch.is_empty() {
        repo.default_branch.as_str()
    } else {
        change.branch
    };
    let to = change
        .new_branch
        .filter(|name| !name.is_empty())
        .unwrap_or(from);
    let start = git.branch(from)?;
    if start.is_none() && !git.refs("refs/heads/")?.is_empty() {
        return Err(Error::NotFound(What::Branch(from.to_owned())));
    }
    if !valid_branch_name(to) {
        return Err(Error::BadName {
            name: to.to_owned(),
        });
    }
    let old = git.branch(to)?;
    if to != from && old.is_some() && !change.force_new_branch {
        return Err(Error::Exists(What::Branch(to.to_owned())));
    }
    let paths: Vec<&str> = change.files.iter().map(|file| file.path.as_str()).collect();
    protection::check_commit(app, repo, to, user, &paths)?;
    let base = match start {
        Some(oid) => git.commit(oid)?.tree,
        None => Oid::EMPTY_TREE,
    };
    let edits = edits(&git, base, &change.files)?;
    let tree = git.edit_tree(base, &edits)?;
    let own = signature(app, user);
    let author = change
        .author
        .clone()
        .or_else(|| change.committer.clone())
        .unwrap_or_else(|| own.clone());
    let committer = change
        .committer
        .clone()
        .or_else(|| change.author.clone())
        .unwrap_or(own);
    let commit = git.write_commit(&Commit {
        tree,
        parents: start.into_iter().collect(),
        author,
        committer,
        message: change.message.to_owned(),
        gpgsig: None,
    })?;
    let expect = old.map_or(Expect::Absent, Expect::At);
    git.update_ref(&format!("refs/heads/{to}"), Some(commit), expect)
        .map_err(branches::clash)?;
    push::after(
        app,
        repo,
        user,
        &[push::RefChange::branch(to, old, Some(commit))],
    )?;
    Ok(Done {
        commit,
        branch: to.to_owned(),
    })
}

fn edits(git: &Git, tree: Oid, files: &[FileChange]) -> Result<Vec<Edit>> {
    let mut seen = HashSet::new();
    let mut edits = Vec::new();
    for file in files {
        check_path(&file.path)?;
        if !seen.insert(file.path.as_str()) {
            return Err(Error::SamePathTwice(file.path.clone()));
        }
        let there = git.entry(tree, &file.path)?;
        match (&file.action, &there) {
            (Action::Create, Some(_)) => {
                return Err(Error::Exists(What::Path(file.path.clone())));
            }
            (Action::Update | Action::Delete, None) => {
                return Err(Error::NotFound(What::Path(file.path.clone())));
            }
            _ => {}
        }
        if let (Some(given), Some(entry)) =
            (file.sha.as_deref().filter(|sha| !sha.is_empty()), &there)
            && given != entry.oid.to_string()
        {
            return Err(Error::StaleSha {
                given: given.to_owned(),
                expected: entry.oid.to_string(),
            });
        }
        match &file.action {
            Action::Delete => {
                // A folder is left alone, as Gitea does.
                if there.is_some_and(|entry| entry.mode != Mode::Tree) {
                    edits.push(Edit::Remove {
                        path: file.path.clone(),
                    });
                }
            }
            Action::Rename { from } => {
                check_path(from)?;
                let missing = || Error::NotFound(What::Path(from.clone()));
                let source = git.entry(tree, from)?.ok_or_else(missing)?;
                if there.is_some() {
                    return Err(Error::Exists(What::Path(file.path.clone())));
                }
                edits.push(Edit::Remove { path: from.clone() });
                edits.push(Edit::Put {
                    path: file.path.clone(),
                    mode: source.mode,
                    oid: source.oid,
                });
            }
            Action::Create | Action::Update | Action::Upload => {
                refuse_folder_clash(git, tree, &file.path)?;
                if there.as_ref().is_some_and(|entry| entry.mode == Mode::Tree) {
                    return Err(Error::Exists(What::Path(file.path.clone())));
                }
                let oid = git.write(Kind::Blob, &file.content)?;
                let mode = match there.map(|entry| entry.mode) {
                    Some(Mode::Executable) => Mode::Executable,
                    _ => Mode::File,
                };
                edits.push(Edit::Put {
                    path: file.path.clone(),
                    mode,
                    oid,
                });
            }
        }
    }
    Ok(edits)
}

/// A folder of the path must not be a file
fn refuse_folder_clash(git: &Git, tree: Oid, path: &str) -> Result<()> {
    let mut parent = path;
    while let Some((above, _)) = parent.rsplit_once('/') {
        if git
            .entry(tree, above)?
            .is_some_and(|entry| entry.mode != Mode::Tree)
        {
            return Err(Error::FileInTheWay(above.to_owned()));
        }
        parent = above;
    }
    Ok(())
}

fn check_path(path: &str) -> Result<()> {
    let bad = |part: &str| {
        part.is_empty() || part == "." || part == ".." || part.eq_ignore_ascii_case(".git")
    };
    if path.is_empty() || path.split('/').any(bad) || path.contains('\0') {
        return Err(Error::BadPath(path.to_owned()));
    }
    Ok(())
}
