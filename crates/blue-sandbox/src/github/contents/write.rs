//! Write or delete one file in a commit of its own

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::cx::At;
use super::super::git::{Person, blobs};
use super::super::refusal::{Refusal, Result};
use super::super::reply::Reply;
use super::super::view::content::{self, Found};
use super::super::view::git;
use crate::git::Signature;
use crate::ops;
use crate::ops::contents::{self, Action, Change, Done, FileChange};

#[derive(Debug, Deserialize)]
struct Put {
    message: String,
    content: String,
    sha: Option<String>,
    branch: Option<String>,
    author: Option<Person>,
    committer: Option<Person>,
}

pub(in crate::github) fn put(at: &At<'_>, path: &str) -> Result<Reply> {
    at.writer()?;
    at.cx.may_write(path)?;
    let body: Put = at.ask().body()?;
    let branch = body
        .branch
        .as_deref()
        .unwrap_or(&at.repo.row.default_branch);
    let (there, sha) = (is_there(at, branch, path)?, body.sha.as_deref());
    let sha = sha.filter(|sha| !sha.is_empty());
    let action = match (there, sha) {
        (true, None) => return Err(no_sha()),
        (false, Some(sha)) => return Err(stale(path, sha)),
        (true, Some(_)) => Action::Update,
        (false, None) => Action::Create,
    };
    let file = FileChange {
        action,
        path: path.to_owned(),
        content: blobs::decode(&body.content)?,
        sha: sha.map(str::to_owned),
    };
    let people = (body.author, body.committer);
    let verb = if there { "update" } else { "create" };
    let done = change(at, branch, &body.message, people, file, verb)?;
    let entry = contents::entry(at.app(), &at.repo.row, done.commit, path)?;
    let found = Found {
        path: path.to_owned(),
        size: at.git.stat(entry.oid)?.1,
        mode: entry.mode,
        oid: entry.oid,
    };
    let shown = content::entry(at.urls(), &at.repo, branch, &found);
    let status = if there {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    Ok(Reply::json(status, &answer(at, &done, &shown)?))
}

fn answer(at: &At<'_>, done: &Done, content: &Value) -> Result<Value> {
    let commit = at.git.commit(done.commit)?;
    let commit = git::commit(at.urls(), &at.repo, done.commit, &commit);
    Ok(json!({"content": content, "commit": commit}))
}

fn is_there(at: &At<'_>, branch: &str, path: &str) -> Result<bool> {
    let Some(oid) = at.git.branch(branch)? else {
        return Ok(false);
    };
    let tree = at.git.commit(oid)?.tree;
    Ok(at.git.entry(tree, path)?.is_some())
}

fn no_sha() -> Refusal {
    Refusal::unprocessable("Invalid request.\n\n\"sha\" wasn't supplied.")
}

fn stale(path: &str, sha: &str) -> Refusal {
    Refusal::conflict(format!("{path} does not match {sha}"))
}

fn change(
    at: &At<'_>,
    branch: &str,
    message: &str,
    people: (Option<Person>, Option<Person>),
    file: FileChange,
    verb: &str,
) -> Result<Done> {
    let who = at.writer()?;
    let now = at.app().now();
    let sign = |person: Option<Person>| -> Result<Option<Signature>> {
        person.map(|person| person.signature(now)).transpose()
    };
    let (author, committer) = (sign(people.0)?, sign(people.1)?);
    let path = file.path.clone();
    let change = Change {
        sign_off: false,
        branch,
        new_branch: None,
        force_new_branch: false,
        message,
        author,
        committer,
        files: vec![file],
    };
    contents::change(at.app(), &at.repo.row, who, &change)
        .map_err(|error| refused(error, &path, verb))
}

fn refused(error: ops::Error, path: &str, verb: &str) -> Refusal {
    match error {
        ops::Error::NotFound(ops::What::Branch(name)) => {
            Refusal::new(StatusCode::NOT_FOUND, format!("Branch {name} not found"))
        }
        ops::Error::StaleSha { given, .. } => stale(path, &given),
        ops::Error::PushForbidden(_) => {
            Refusal::rule("Changes must be made through a pull request.")
                .with_status(StatusCode::CONFLICT)
        }
        ops::Error::ProtectedPath(path) => {
            Refusal::rule(&format!("Changes to {path} are restricted."))
                .with_status(StatusCode::CONFLICT)
        }
        ops::Error::BranchMoved | ops::Error::RefClash(_) => {
            Refusal::conflict(format!("Could not {verb} file: {error}"))
        }
        // Someone was faster since the look at the branch.
        ops::Error::Exists(_) => no_sha(),
        ops::Error::BadPath(_) | ops::Error::FileInTheWay(_) => {
            Refusal::unprocessable("path contains a malformed path component")
        }
        other => other.into(),
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Delete {
    message: Option<String>,
    sha: Option<String>,
    branch: Option<String>,
    author: Option<Person>,
    committer: Option<Person>,
}

/// Deletes a file; takes its fields from the query too, for clients that send no body with DELETE
pub(in crate::github) fn delete(at: &At<'_>, path: &str) -> Result<Reply> {
    at.writer()?;
    let body: Delete = at.ask().body()?;
    let or_query = |given: Option<String>, name: &str| {
        given.or_else(|| at.ask().param(name).map(str::to_owned))
    };
    let branch = or_query(body.branch, "branch");
    let branch = branch.as_deref().unwrap_or(&at.repo.row.default_branch);
    let sha = or_query(body.sha, "sha").filter(|sha| !sha.is_empty());
    let sha = sha.ok_or_else(no_sha)?;
    let message = or_query(body.message, "message").ok_or_else(|| {
        Refusal::unprocessable("Invalid request.\n\n\"message\" wasn't supplied.")
    })?;
    if at.is_empty()? {
        return Err(Refusal::not_found());
    }
    let file = FileChange {
        action: Action::Delete,
        path: path.to_owned(),
        content: Vec::new(),
        sha: Some(sha),
    };
    let people = (body.author, body.committer);
    let done = change(at, branch, &message, people, file, "delete")?;
    Ok(Reply::ok(&answer(at, &done, &Value::Null)?))
}
