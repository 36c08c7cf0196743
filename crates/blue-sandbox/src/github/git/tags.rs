//! Annotated tags as objects; the ref is made apart

use serde::Deserialize;

use super::super::cx::At;
use super::super::refusal::{Refusal, Result};
use super::super::reply::Reply;
use super::super::view::git;
use super::{Person, not_empty, object};
use crate::git::Kind;
use crate::ops;

#[derive(Debug, Deserialize)]
struct Create {
    tag: String,
    message: String,
    object: String,
    #[serde(rename = "type")]
    kind: String,
    tagger: Option<Person>,
}

pub(in crate::github) fn create(at: &At<'_>) -> Result<Reply> {
    let who = at.writer()?;
    let body: Create = at.ask().body()?;
    not_empty(at)?;
    let kind = match body.kind.as_str() {
        "commit" => Kind::Commit,
        "tree" => Kind::Tree,
        "blob" => Kind::Blob,
        _ => return Err(Refusal::field("Tag", "type", "invalid")),
    };
    let missing = || Refusal::unprocessable(format!("{} is not a valid object", body.object));
    let target = object(at, &body.object, kind)?.ok_or_else(missing)?;
    if !crate::git::valid_branch_name(&body.tag) {
        return Err(Refusal::field("Tag", "tag", "invalid"));
    }
    let tagger = match &body.tagger {
        Some(person) => person.signature(at.app().now())?,
        None => ops::signature(at.app(), who),
    };
    let oid = at
        .git
        .write_tag(&body.tag, target, &tagger, &body.message)?;
    let made = at.git.tag_object(oid)?;
    Ok(Reply::created(&git::tag(at.urls(), &at.repo, oid, &made)))
}

pub(in crate::github) fn get(at: &At<'_>, sha: &str) -> Result<Reply> {
    let oid = object(at, sha, Kind::Tag)?.ok_or_else(Refusal::not_found)?;
    Ok(Reply::ok(&git::tag(
        at.urls(),
        &at.repo,
        oid,
        &at.git.tag_object(oid)?,
    )))
}
