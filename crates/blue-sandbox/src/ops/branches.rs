//! Branches

use std::sync::PoisonError;

use super::{Error, Result, What, protection, push};
use crate::{
    app::App,
    git::{self, Expect, Oid, valid_branch_name},
    store::{
        repos::{self, Repo},
        users::User,
    },
};

/// All branches by name, with the commit each points to
pub(crate) fn list(app: &App, repo: &Repo) -> Result<Vec<(String, Oid)>> {
    Ok(app.git(repo.id).refs("refs/heads/")?)
}

pub(crate) fn get(app: &App, repo: &Repo, name: &str) -> Result<Oid> {
    let found = app.git(repo.id).branch(name)?;
    found.ok_or_else(|| Error::NotFound(What::Branch(name.to_owned())))
}

/// Make a branch at a commit
pub(crate) fn create(app: &App, repo: &Repo, user: &User, name: &str, at: Oid) -> Result<()> {
    if !valid_branch_name(name) || name.len() > 100 {
        return Err(Error::BadName {
            name: name.to_owned(),
        });
    }
    if let Some(rule) = protection::of_branch(app, repo, name)?
        && !app
            .store
            .read(|c| protection::may_push(c, repo, &rule.rule, user))?
    {
        return Err(Error::PushForbidden(user.login.clone()));
    }
    let lock = app.repo_lock(repo.id);
    let _turn = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let git = app.git(repo.id);
    if git.branch(name)?.is_some() {
        return Err(Error::Exists(What::Branch(name.to_owned())));
    }
    git.update_ref(&format!("refs/heads/{name}"), Some(at), Expect::Absent)
        .map_err(clash)?;
    push::after(
        app,
        repo,
        user,
        &[push::RefChange::branch(name, None, Some(at))],
    )
}

/// Delete a branch; open pull requests from it are closed
pub(crate) fn delete(app: &App, repo: &Repo, user: &User, name: &str) -> Result<()> {
    let lock = app.repo_lock(repo.id);
    let _turn = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let at = get(app, repo, name)?;
    if repo.default_branch == name {
        return Err(Error::DefaultBranch);
    }
    if protection::of_branch(app, repo, name)?.is_some() {
        return Err(Error::ProtectedBranch);
    }
    app.git(repo.id)
        .update_ref(&format!("refs/heads/{name}"), None, Expect::At(at))?;
    push::after(
        app,
        repo,
        user,
        &[push::RefChange::branch(name, Some(at), None)],
    )
}

/// Move a branch, if it is where the caller thinks
pub(crate) fn update(
    app: &App,
    repo: &Repo,
    user: &User,
    name: &str,
    to: Oid,
    expect: Option<Oid>,
    force: bool,
) -> Result<()> {
    let lock = app.repo_lock(repo.id);
    let _turn = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let from = get(app, repo, name)?;
    if expect.is_some_and(|expected| expected != from) {
        return Err(Error::BranchMoved);
    }
    let git = app.git(repo.id);
    let forward = git.is_ancestor(from, to)?;
    if !forward && !force {
        return Err(Error::BranchMoved);
    }
    if let Some(rule) = protection::of_branch(app, repo, name)? {
        let allowed = app.store.read(|c| {
            if forward {
                protection::may_push(c, repo, &rule.rule, user)
            } else {
                protection::may_force_push(c, repo, &rule.rule, user)
            }
        })?;
        if !allowed {
            return Err(Error::PushForbidden(user.login.clone()));
        }
    }
    git.update_ref(&format!("refs/heads/{name}"), Some(to), Expect::At(from))
        .map_err(clash)?;
    push::after(
        app,
        repo,
        user,
        &[push::RefChange::branch(name, Some(from), Some(to))],
    )
}

/// Give a branch another name; pull requests follow it
pub(crate) fn rename(app: &App, repo: &Repo, user: &User, from: &str, to: &str) -> Result<()> {
    if !valid_branch_name(to) {
        return Err(Error::BadName {
            name: to.to_owned(),
        });
    }
    let lock = app.repo_lock(repo.id);
    let _turn = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let at = get(app, repo, from)?;
    let git = app.git(repo.id);
    if git.branch(to)?.is_some() {
        return Err(Error::Exists(What::Branch(to.to_owned())));
    }
    git.update_ref(&format!("refs/heads/{to}"), Some(at), Expect::Absent)
        .map_err(clash)?;
    app.store.write(|tx| {
        tx.execute(
            "UPDATE pulls SET head_branch = ?3 WHERE head_repo_id = ?1 AND head_branch = ?2 AND state = 'open'",
            rusqlite::params![repo.id, from, to],
        )?;
        tx.execute(
            "UPDATE pulls SET base_branch = ?3 WHERE repo_id = ?1 AND base_branch = ?2 AND state = 'open'",
            rusqlite::params![repo.id, from, to],
        )?;
        if repo.default_branch == from {
            let renamed = Repo { default_branch: to.to_owned(), ..repo.clone() };
            repos::save(tx, &renamed, app.now())?;
            git.set_head(to)?;
        }
        Ok::<_, Error>(())
    })?;
    git.update_ref(&format!("refs/heads/{from}"), None, Expect::At(at))?;
    push::after(app, repo, user, &[])
}

/// Tell a clash of names from other failures of a ref
pub(super) fn clash(error: git::Error) -> Error {
    match error {
        git::Error::Lock { .. } => Error::RefClash(error.to_string()),
        git::Error::Moved { .. } => Error::BranchMoved,
        other => other.into(),
    }
}
