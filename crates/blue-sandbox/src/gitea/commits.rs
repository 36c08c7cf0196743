//! Commits and comparisons

use serde_json::{Value, json};

use super::{
    Outcome,
    fail::Fail,
    reply::{Page, Reply},
    request::{InRepo, Req},
    wire::{self, Parts},
};
use crate::{
    config::Flavor,
    git::{Commit, Oid},
    ops::{self, commits},
};

pub(super) fn answer(cx: &InRepo<'_>, path: &[&str]) -> Outcome {
    if cx.req.verb() != "GET" {
        return Err(Fail::wrong_verb());
    }
    match path {
        ["commits"] => list(cx),
        ["compare", ..] if cx.app().flavor == Flavor::Forgejo7 => Err(Fail::no_route()),
        ["compare", rest @ ..] if !rest.is_empty() => compare(cx, &rest.join("/")),
        ["commits", _, "pull"] => Err(Fail::not_found()),
        _ => Err(Fail::no_route()),
    }
}

/// Which parts of a commit the caller asks for; all unless switched off
fn parts(req: &Req) -> Parts {
    Parts {
        stat: req.query_flag("stat", true),
        verification: req.query_flag("verification", true),
        files: req.query_flag("files", true),
    }
}

fn list(cx: &InRepo<'_>) -> Outcome {
    let (app, repo) = (cx.app(), cx.repo());
    if ops::repos::is_empty(app, repo)? {
        return Err(ops::Error::EmptyRepo.into());
    }
    let spec = cx
        .req
        .query("sha")
        .filter(|sha| !sha.is_empty())
        .unwrap_or(&repo.default_branch);
    let from = commits::resolve(app, repo, spec).map_err(|_| Fail::json(404, Value::Null))?;
    let path = cx.req.query("path").filter(|path| !path.is_empty());
    let mut all = commits::log(app, repo, from, path)?;
    if path.is_some() && all.is_empty() {
        return Err(Fail::missing("FileCommitsCount", &[]));
    }
    if let Some(not) = cx.req.query("not").filter(|not| !not.is_empty()) {
        let not = commits::resolve(app, repo, not).map_err(|_| Fail::not_found())?;
        let hidden = app.git(repo.id).ancestors(not)?;
        all.retain(|(oid, _)| !hidden.contains(oid));
    }
    paged(cx, &all)
}

/// One page of commits with Gitea's own paging headers
fn paged(cx: &InRepo<'_>, all: &[(Oid, Commit)]) -> Outcome {
    let page = Page::of(cx.req);
    let mut rows = Vec::new();
    for (oid, commit) in page.slice(all) {
        rows.push(wire::commit(cx, *oid, commit, parts(cx.req))?);
    }
    let reply = page.linked(cx.req, &rows.into(), all.len());
    let exposed = if page.links(cx.req, all.len()).is_some() {
        "Link, "
    } else {
        ""
    };
    Ok(numbered(reply, page, all.len())
        .with("x-total", &all.len().to_string())
        .with(
            "access-control-expose-headers",
            &format!("{exposed}X-Total-Count, X-Page, X-PerPage, X-Total, X-PageCount, X-HasMore"),
        ))
}

/// The headers lists of commits and files have besides the count
pub(super) fn numbered(reply: Reply, page: Page, total: usize) -> Reply {
    let pages = page.pages(total);
    reply
        .with("x-page", &page.number.to_string())
        .with("x-perpage", &page.rows.to_string())
        .with("x-pagecount", &pages.to_string())
        .with(
            "x-hasmore",
            if page.number < pages { "true" } else { "false" },
        )
}

pub(super) fn one(cx: &InRepo<'_>, spec: &str) -> Outcome {
    let (app, repo) = (cx.app(), cx.repo());
    let (name, kind) = match spec.rsplit_once('.') {
        Some((name, kind @ ("diff" | "patch"))) => (name, kind),
        _ => (spec, ""),
    };
    let missing = || Fail::missing(&format!("commit doesn't exist: {name}"), &[]);
    let oid = commits::resolve(app, repo, name).map_err(|_| missing())?;
    let commit = commits::get(app, repo, oid)?;
    let parent = commit.parents.first().copied().unwrap_or(Oid::EMPTY_TREE);
    match kind {
        "diff" => Ok(Reply::text(app.git(repo.id).patch(parent, oid)?)),
        "patch" => Ok(Reply::text(app.git(repo.id).format_patch(parent, oid)?)),
        _ => Ok(Reply::ok(&wire::commit(cx, oid, &commit, parts(cx.req))?)),
    }
}

fn compare(cx: &InRepo<'_>, spec: &str) -> Outcome {
    if spec.contains(['^', '~']) {
        return Err(Fail::new(
            400,
            "Unsupported comparison syntax: ref with suffix",
        ));
    }
    let (base, head) = spec
        .split_once("...")
        .or_else(|| spec.split_once(".."))
        .unwrap_or((cx.repo().default_branch.as_str(), spec));
    // A side that is left out is the default branch.
    let or_default = |name| match name {
        "" => cx.repo().default_branch.as_str(),
        name => name,
    };
    let (base, head) = (or_default(base), or_default(head));
    let missing = |_| Fail::not_found();
    let (other, branch) = super::pulls::head_of(cx, head)?;
    let borrowed = if other.id == cx.repo().id {
        None
    } else {
        Some(commits::borrow(cx.app(), cx.repo(), &other, branch).map_err(missing)?)
    };
    let head = borrowed.map_or_else(|| branch.to_owned(), |tip| tip.to_string());
    let found = commits::compare(cx.app(), cx.repo(), base, &head).map_err(missing)?;
    let mut rows = Vec::new();
    for (oid, commit) in &found.commits {
        rows.push(wire::commit(cx, *oid, commit, parts(cx.req))?);
    }
    Ok(Reply::ok(
        &json!({"total_commits": rows.len(), "commits": rows}),
    ))
}
