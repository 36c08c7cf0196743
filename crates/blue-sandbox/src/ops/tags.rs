//! Tags, light and annotated

use std::sync::PoisonError;

use super::{Error, Result, What, branches, commits, signature};
use crate::{
    app::App,
    git::{Expect, Kind, Oid, valid_branch_name},
    store::{repos::Repo, users::User},
};

/// A tag as it stands
#[derive(Debug, Clone)]
pub(crate) struct Tag {
    pub(crate) name: String,
    /// The tag object, or the commit itself when the tag is light
    pub(crate) oid: Oid,
    pub(crate) commit: Oid,
    /// The tag's own words, or the commit's when the tag is light
    pub(crate) message: String,
}

/// Newest commit first, then by name
pub(crate) fn list(app: &App, repo: &Repo) -> Result<Vec<Tag>> {
    let git = app.git(repo.id);
    let mut tags = Vec::new();
    for (name, oid) in git.refs("refs/tags/")? {
        if let Some(tag) = read(app, repo, &name, oid)? {
            let when = git.commit(tag.commit)?.committer.seconds;
            tags.push((when, tag));
        }
    }
    tags.sort_by(|(when, tag), (other_when, other)| {
        other_when.cmp(when).then_with(|| other.name.cmp(&tag.name))
    });
    Ok(tags.into_iter().map(|(_, tag)| tag).collect())
}

pub(crate) fn get(app: &App, repo: &Repo, name: &str) -> Result<Tag> {
    let missing = || Error::NotFound(What::Tag(name.to_owned()));
    let oid = app.git(repo.id).tag(name)?.ok_or_else(missing)?;
    read(app, repo, name, oid)?.ok_or_else(missing)
}

fn read(app: &App, repo: &Repo, name: &str, oid: Oid) -> Result<Option<Tag>> {
    let git = app.git(repo.id);
    let Some(commit) = git.peel(oid)? else {
        return Ok(None);
    };
    let message = if git.stat(oid)?.0 == Kind::Tag {
        git.tag_object(oid)?.message
    } else {
        git.commit(commit)?.message
    };
    Ok(Some(Tag {
        name: name.to_owned(),
        oid,
        commit,
        message,
    }))
}

/// Make a tag; a message makes it annotated
pub(crate) fn create(
    app: &App,
    repo: &Repo,
    user: &User,
    name: &str,
    target: &str,
    message: &str,
) -> Result<Tag> {
    let target = if target.is_empty() {
        repo.default_branch.as_str()
    } else {
        target
    };
    let commit = commits::resolve(app, repo, target)?;
    if !valid_branch_name(name) {
        return Err(Error::BadName {
            name: name.to_owned(),
        });
    }
    let lock = app.repo_lock(repo.id);
    let _turn = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let git = app.git(repo.id);
    if git.tag(name)?.is_some() {
        return Err(Error::Exists(What::Tag(name.to_owned())));
    }
    let oid = if message.is_empty() {
        commit
    } else {
        git.write_tag(name, commit, &signature(app, user), message)?
    };
    git.update_ref(&format!("refs/tags/{name}"), Some(oid), Expect::Absent)
        .map_err(branches::clash)?;
    get(app, repo, name)
}

pub(crate) fn delete(app: &App, repo: &Repo, name: &str) -> Result<()> {
    let git = app.git(repo.id);
    let oid = git
        .tag(name)?
        .ok_or_else(|| Error::NotFound(What::Tag(name.to_owned())))?;
    Ok(git.update_ref(&format!("refs/tags/{name}"), None, Expect::At(oid))?)
}
