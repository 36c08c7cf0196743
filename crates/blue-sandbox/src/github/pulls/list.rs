//! Lists of pull requests

use super::super::commits::find;
use super::super::cx::At;
use super::super::refusal::{Refusal, Result};
use super::super::reply::Reply;
use super::simple;
use crate::ops;
use crate::store::pulls::{Pull, State};

pub(in crate::github) fn list(at: &At<'_>) -> Result<Reply> {
    let mut all = ops::pulls::list(at.app(), &at.repo.row)?;
    let ask = at.ask();
    match ask.param("state").unwrap_or("open") {
        "open" => all.retain(|pull| pull.state == State::Open),
        "closed" => all.retain(|pull| pull.state != State::Open),
        "all" => {}
        _ => return Err(Refusal::field("PullRequest", "state", "invalid")),
    }
    if let Some(base) = ask.param("base") {
        all.retain(|pull| pull.base_branch == base);
    }
    // A head without its owner is no filter at all.
    if let Some((owner, branch)) = ask.param("head").and_then(|head| head.split_once(':')) {
        let mut kept = Vec::new();
        for pull in all {
            if pull.head_branch == branch
                && owner_of_head(at, &pull)?.is_some_and(|login| login.eq_ignore_ascii_case(owner))
            {
                kept.push(pull);
            }
        }
        all = kept;
    }
    let by = ask.param("sort").unwrap_or("created");
    match by {
        "updated" => all.sort_by_key(|pull| pull.updated_at),
        _ => all.sort_by_key(|pull| pull.number),
    }
    let down = match ask.param("direction") {
        Some(direction) => direction == "desc",
        None => by == "created",
    };
    if down {
        all.reverse();
    }
    at.cx.list(ask.page().cut(all), |pull| simple(at, &pull))
}

fn owner_of_head(at: &At<'_>, pull: &Pull) -> Result<Option<String>> {
    let Some(id) = pull.head_repo_id else {
        return Ok(None);
    };
    if id == at.id() {
        return Ok(Some(at.repo.owner.login.clone()));
    }
    Ok(at.cx.show(id)?.map(|head| head.owner.login.clone()))
}

/// Those that a commit came in by, or is waiting in
pub(in crate::github) fn of_commit(at: &At<'_>, rev: &str) -> Result<Reply> {
    let oid = find(at, rev)?;
    let mut found = Vec::new();
    for pull in ops::pulls::list(at.app(), &at.repo.row)? {
        let here = pull.head_sha == oid
            || pull.merge_sha == Some(oid)
            || ops::pulls::commits(at.app(), &pull)?
                .iter()
                .any(|(own, _)| *own == oid);
        if here {
            found.push(pull);
        }
    }
    at.cx
        .list(at.ask().page().cut(found), |pull| simple(at, &pull))
}
