//! Commit statuses

use serde_json::{Value, json};

use super::{
    Outcome,
    fail::{self, Fail},
    reply::{Page, Reply},
    request::InRepo,
    wire::{self, View},
};
use crate::{
    git::Oid,
    ops::{self, commits, statuses},
    store::checks::Status,
};

pub(super) fn answer(cx: &InRepo<'_>, path: &[&str]) -> Outcome {
    match (cx.req.verb(), path) {
        ("POST", ["statuses", sha @ ..]) if !sha.is_empty() => create(cx, &sha.join("/")),
        ("GET", ["statuses", sha @ ..] | ["commits", sha @ .., "statuses"]) if !sha.is_empty() => {
            list(cx, &sha.join("/"))
        }
        ("GET", ["commits", sha @ .., "status"]) if !sha.is_empty() => combined(cx, &sha.join("/")),
        _ => Err(Fail::wrong_verb()),
    }
}

fn create(cx: &InRepo<'_>, spec: &str) -> Outcome {
    // Not stopped by an archived repository, as in Gitea.
    let user = cx.need_writer()?;
    let form = cx.req.form()?;
    let sha = commits::resolve(cx.app(), cx.repo(), spec).map_err(|_| {
        Fail::new(
            500,
            &format!("GetCommit[{spec}]: {}", fail::no_object(spec, "")),
        )
    })?;
    let report = statuses::Report {
        state: form.text("state")?,
        context: form.text("context")?,
        description: form.text("description")?,
        target_url: form.text("target_url")?,
    };
    let status = statuses::create(cx.app(), cx.repo(), Some(user), sha, &report)?;
    let number = statuses::list(cx.app(), cx.repo(), sha)?.len();
    Ok(Reply::created(&shown(cx, &status, number)?))
}

fn resolve(cx: &InRepo<'_>, spec: &str) -> Result<Oid, Fail> {
    commits::resolve(cx.app(), cx.repo(), spec)
        .map_err(|_| Fail::missing("", &[&fail::no_object(spec, "")]))
}

fn list(cx: &InRepo<'_>, spec: &str) -> Outcome {
    let sha = resolve(cx, spec)?;
    let mut all = numbered(cx, sha)?;
    // Newest second first; within a second in the order they came.
    all.sort_by_key(|(_, status)| (std::cmp::Reverse(status.created_at / 1000), status.id));
    if cx.req.query("sort") == Some("oldest") {
        all.sort_by_key(|(_, status)| status.id);
    }
    if let Some(state) = cx.req.query("state").filter(|state| !state.is_empty()) {
        all.retain(|(_, status)| status.state == state);
    }
    let page = Page::of(cx.req);
    let mut rows = Vec::new();
    for (number, status) in page.slice(&all) {
        rows.push(shown(cx, status, *number)?);
    }
    Ok(page.linked(cx.req, &rows.into(), all.len()))
}

fn combined(cx: &InRepo<'_>, spec: &str) -> Outcome {
    let sha = resolve(cx, spec)?;
    let latest = statuses::latest(cx.app(), cx.repo(), sha)?;
    let numbers = numbered(cx, sha)?;
    let page = Page::of(cx.req);
    let mut here = page.slice(&latest).to_vec();
    here.sort_by_key(|status| status.id);
    let mut rows = Vec::new();
    for status in &here {
        let number = numbers
            .iter()
            .find(|(_, other)| other.id == status.id)
            .map_or(0, |found| found.0);
        rows.push(shown(cx, status, number)?);
    }
    let forgejo_none = cx.app().is_forgejo() && rows.is_empty();
    let commit_url = format!("{}/commits/{sha}", cx.api_url());
    let value = json!({
        // Worked out from this page alone: a trap of the real thing.
        "state": if forgejo_none { "" } else { statuses::combined(&here) },
        "sha": if forgejo_none { String::new() } else { sha.to_string() },
        "total_count": rows.len(),
        "statuses": if rows.is_empty() { Value::Null } else { rows.into() },
        "repository": if forgejo_none { Value::Null } else { wire::repo(cx.app(), &cx.found, cx.access)? },
        "commit_url": if forgejo_none { String::new() } else { commit_url.clone() },
        "url": if forgejo_none { String::new() } else { format!("{commit_url}/status") },
    });
    if cx.app().is_forgejo() {
        return Ok(Reply::counted(&value, latest.len()));
    }
    Ok(page.linked(cx.req, &value, latest.len()))
}

/// Statuses with the number each has on its commit, oldest first
fn numbered(cx: &InRepo<'_>, sha: Oid) -> Result<Vec<(usize, Status)>, Fail> {
    let mut all = statuses::list(cx.app(), cx.repo(), sha)?;
    all.reverse();
    Ok(all
        .into_iter()
        .enumerate()
        .map(|(place, status)| (place + 1, status))
        .collect())
}

fn shown(cx: &InRepo<'_>, status: &Status, number: usize) -> Result<Value, Fail> {
    let creator = match status.creator_id {
        Some(id) => ops::users::by_id(cx.app(), id)?,
        None => None,
    };
    Ok(json!({
        "id": number,
        "status": status.state,
        "target_url": status.target_url,
        "description": status.description,
        "url": format!("{}/statuses/{}", cx.api_url(), status.sha),
        "context": status.context,
        "creator": creator.map(|user| wire::user(cx.app(), &user, View::Public)),
        "created_at": wire::time(status.created_at),
        "updated_at": wire::time(status.created_at),
    }))
}
