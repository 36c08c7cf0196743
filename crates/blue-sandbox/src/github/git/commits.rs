//! Commits as objects

use serde::Deserialize;

use super::super::cx::At;
use super::super::refusal::{Refusal, Result};
use super::super::reply::Reply;
use super::super::view::git;
use super::{Person, not_empty, object};
use crate::git::{Commit, Kind, Oid};
use crate::ops;

#[derive(Debug, Deserialize)]
struct Create {
    message: String,
    tree: String,
    #[serde(default)]
    parents: Vec<String>,
    author: Option<Person>,
    committer: Option<Person>,
}

pub(in crate::github) fn create(at: &At<'_>) -> Result<Reply> {
    let who = at.writer()?;
    let body: Create = at.ask().body()?;
    not_empty(at)?;
    let no_tree = || Refusal::unprocessable("Tree SHA does not exist");
    let tree = object(at, &body.tree, Kind::Tree)?.ok_or_else(no_tree)?;
    let parents: Vec<Oid> = body
        .parents
        .iter()
        .map(|sha| {
            object(at, sha, Kind::Commit)?.ok_or_else(|| {
                Refusal::unprocessable("Parent SHA does not exist or is not a commit object")
            })
        })
        .collect::<Result<_>>()?;
    let now = at.app().now();
    let author = match &body.author {
        Some(person) => person.signature(now)?,
        None => ops::signature(at.app(), who),
    };
    let committer = match &body.committer {
        Some(person) => person.signature(now)?,
        None => author.clone(),
    };
    let commit = Commit {
        tree,
        parents,
        author,
        committer,
        message: body.message,
        gpgsig: None,
    };
    let oid = at.git.write_commit(&commit)?;
    let made = at.git.commit(oid)?;
    Ok(Reply::created(&git::commit(
        at.urls(),
        &at.repo,
        oid,
        &made,
    )))
}

pub(in crate::github) fn get(at: &At<'_>, sha: &str) -> Result<Reply> {
    not_empty(at)?;
    let oid = object(at, sha, Kind::Commit)?.ok_or_else(Refusal::not_found)?;
    Ok(Reply::ok(&git::commit(
        at.urls(),
        &at.repo,
        oid,
        &at.git.commit(oid)?,
    )))
}
