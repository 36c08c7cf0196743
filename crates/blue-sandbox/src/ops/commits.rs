//! Commits: resolve, list, compare, and who touched a file last

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
};

use super::{Error, Result, What};
use crate::{
    app::App,
    git::{Commit, Diff, Expect, Oid},
    store::repos::Repo,
};

/// A branch, tag, full or abbreviated name
pub(crate) fn resolve(app: &App, repo: &Repo, spec: &str) -> Result<Oid> {
    let found = app.git(repo.id).resolve_loosely(spec)?;
    found.ok_or_else(|| Error::NotFound(What::Ref(spec.to_owned())))
}

/// The tip of a branch of a related repository; its commits can then be found here too
pub(crate) fn borrow(app: &App, repo: &Repo, other: &Repo, branch: &str) -> Result<Oid> {
    let tip = app.git(other.id).branch(branch)?;
    let tip = tip.ok_or_else(|| Error::NotFound(What::Branch(branch.to_owned())))?;
    if other.id != repo.id {
        let lock = app.repo_lock(repo.id);
        let _turn = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let git = app.git(repo.id);
        let incoming = format!("+refs/heads/{branch}:refs/sandbox/incoming");
        git.take_from(&app.git(other.id), &[&incoming])?;
        git.update_ref("refs/sandbox/incoming", None, Expect::Anything)?;
    }
    Ok(tip)
}

pub(crate) fn get(app: &App, repo: &Repo, oid: Oid) -> Result<Commit> {
    Ok(app.git(repo.id).commit(oid)?)
}

/// Seconds since 1970 at which a commit was made
pub(crate) fn time(app: &App, repo: &Repo, oid: Oid) -> Result<i64> {
    app.cache
        .commit_time(oid, || Ok(app.git(repo.id).commit(oid)?.committer.seconds))
}

/// Newest first; with a path only those that changed it
pub(crate) fn log(
    app: &App,
    repo: &Repo,
    from: Oid,
    path: Option<&str>,
) -> Result<Vec<(Oid, Commit)>> {
    let git = app.git(repo.id);
    Ok(match path {
        Some(path) => git.log_path(from, path)?,
        None => git.log(from, None)?,
    })
}

/// What a commit changed against its first parent
pub(crate) fn diff(app: &App, repo: &Repo, oid: Oid, commit: &Commit) -> Result<Arc<Diff>> {
    let parent = commit.parents.first().copied().unwrap_or(Oid::EMPTY_TREE);
    between(app, repo, parent, oid)
}

pub(crate) fn between(app: &App, repo: &Repo, from: Oid, to: Oid) -> Result<Arc<Diff>> {
    app.cache.diff((repo.id, from, to), || {
        Ok(app.git(repo.id).diff(from, to)?)
    })
}

/// Two points side by side
#[derive(Debug, Clone)]
pub(crate) struct Comparison {
    pub(crate) base: Oid,
    pub(crate) head: Oid,
    pub(crate) merge_base: Option<Oid>,
    /// Commits only the head has, newest first
    pub(crate) commits: Vec<(Oid, Commit)>,
    pub(crate) behind: usize,
}

pub(crate) fn compare(app: &App, repo: &Repo, base: &str, head: &str) -> Result<Comparison> {
    let (base, head) = (resolve(app, repo, base)?, resolve(app, repo, head)?);
    let git = app.git(repo.id);
    Ok(Comparison {
        base,
        head,
        merge_base: git.merge_base(base, head)?,
        commits: git.log(head, Some(base))?,
        behind: git.ahead_behind(base, head)?.0,
    })
}

/// For entries of a folder, the commit that made each what it is
pub(crate) fn last(
    app: &App,
    repo: &Repo,
    at: Oid,
    dir: &str,
    names: &[String],
) -> Result<HashMap<String, (Oid, Commit)>> {
    let git = app.git(repo.id);
    let path = |name: &str| {
        if dir.is_empty() {
            name.to_owned()
        } else {
            format!("{dir}/{name}")
        }
    };
    let mut out = HashMap::new();
    let mut unknown = Vec::new();
    for name in names {
        match app.cache.last_commit(&(repo.id, at, path(name))) {
            Some(oid) => {
                out.insert(name.clone(), (oid, git.commit(oid)?));
            }
            None => unknown.push(name.clone()),
        }
    }
    if unknown.is_empty() {
        return Ok(out);
    }
    for (name, (oid, commit)) in git.last_commits(at, dir, &unknown)? {
        app.cache.put_last_commit((repo.id, at, path(&name)), oid);
        out.insert(name, (oid, commit));
    }
    Ok(out)
}
