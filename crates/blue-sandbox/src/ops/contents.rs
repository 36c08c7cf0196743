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
    match git.entry(tree, path)? {
        Some(entry) => Ok(entry),
        None => Err(missing(&git, tree, path)),
    }
}

/// Name the first part of a path that is not there
fn missing(git: &Git, tree: Oid, path: &str) -> Error {
    let mut ends = path
        .match_indices('/')
        .map(|(at, _)| at)
        .chain([path.len()]);
    let gone = ends.find(|&end| !matches!(git.entry(tree, &path[..end]), Ok(Some(_))));
    Error::NotFound(What::Path(path[..gone.unwrap_or(path.len())].to_owned()))
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
    /// Move a file; its content stays unless a new one replaces it
    Rename {
        from: String,
        replaces: bool,
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
    /// Say at the end of the message who committed it
    pub(crate) sign_off: bool,
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
    let mut message = format!("{}\n", change.message.trim());
    if change.sign_off {
        let (name, email) = (&committer.name, &committer.email);
        message = format!("{message}\nSigned-off-by: {name} <{email}>\n");
    }
    let commit = git.write_commit(&Commit {
        tree,
        parents: start.into_iter().collect(),
        author,
        committer,
        message,
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
    let mut new_paths = HashSet::new();
    let mut edits = Vec::new();
    for file in files {
        check_path(&file.path)?;
        let old = old_entry(git, tree, file)?;
        if !matches!(file.action, Action::Delete) {
            refuse_clash(git, tree, file)?;
        }
        let created = matches!(file.action, Action::Create);
        if created && !new_paths.insert(file.path.as_str()) {
            return Err(Error::SamePathTwice(file.path.clone()));
        }
        match &file.action {
            Action::Delete => {
                // A folder is left alone, as Gitea does.
                if old.is_some_and(|entry| entry.mode != Mode::Tree) {
                    edits.push(Edit::Remove {
                        path: file.path.clone(),
                    });
                }
                continue;
            }
            Action::Rename { from, .. } => edits.push(Edit::Remove { path: from.clone() }),
            Action::Create | Action::Update | Action::Upload => {}
        }
        let (mode, oid) = match (&file.action, &old) {
            (
                Action::Rename {
                    replaces: false, ..
                },
                Some(old),
            ) => (old.mode, old.oid),
            (_, old) => {
                let mode = match old.as_ref().map(|entry| entry.mode) {
                    Some(Mode::Executable) => Mode::Executable,
                    _ => Mode::File,
                };
                (mode, git.write(Kind::Blob, &file.content)?)
            }
        };
        edits.push(Edit::Put {
            path: file.path.clone(),
            mode,
            oid,
        });
    }
    Ok(edits)
}

/// What a change starts from, which must be there and be what the caller believes it is
fn old_entry(git: &Git, tree: Oid, file: &FileChange) -> Result<Option<Entry>> {
    let from = match &file.action {
        Action::Create => return Ok(None),
        Action::Rename { from, .. } => {
            check_path(from)?;
            from
        }
        Action::Update | Action::Upload | Action::Delete => &file.path,
    };
    let old = git.entry(tree, from)?;
    if old.is_none() && !matches!(file.action, Action::Upload) {
        return Err(missing(git, tree, from));
    }
    let expected = old.as_ref().map(|entry| entry.oid.to_string());
    match file.sha.as_deref().filter(|sha| !sha.is_empty()) {
        Some(given) if Some(given) != expected.as_deref() => Err(Error::StaleSha {
            given: given.to_owned(),
            expected: expected.unwrap_or_default(),
        }),
        _ => Ok(old),
    }
}

/// Each folder of the path must be one, and the file must not be one
fn refuse_clash(git: &Git, tree: Oid, file: &FileChange) -> Result<()> {
    let path = file.path.as_str();
    let words = |what: &str, goal: &str, at: &str| {
        let words =
            format!("{what} exists where you\u{2019}re trying to create {goal} [path: {at}]");
        Err(Error::Invalid(words))
    };
    for (end, _) in path.match_indices('/') {
        match git.entry(tree, &path[..end])?.map(|entry| entry.mode) {
            None => return Ok(()),
            Some(Mode::Tree) => {}
            Some(_) => return Err(Error::FileInTheWay(path[..end].to_owned())),
        }
    }
    match git.entry(tree, path)?.map(|entry| entry.mode) {
        None => Ok(()),
        Some(Mode::Symlink) => words("a symbolic link", "a subdirectory", path),
        Some(Mode::Tree) => words("a directory", "a file", path),
        Some(_) => match file.action {
            Action::Create | Action::Rename { .. } => {
                Err(Error::Exists(What::Path(path.to_owned())))
            }
            _ => Ok(()),
        },
    }
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
