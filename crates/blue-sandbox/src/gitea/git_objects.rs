//! Git's own objects: `/git/…`

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{
    Outcome, commits as commit_pages,
    fail::{self, Fail},
    reply::Reply,
    request::InRepo,
    wire,
};
use crate::{
    git::{Entry, Kind, Mode, Oid},
    ops::commits,
};

const TREE_ROWS: usize = 1000;
const MOST_INLINE: usize = 10 << 20;

pub(super) fn answer(cx: &InRepo<'_>, path: &[&str]) -> Outcome {
    if cx.req.verb() != "GET" {
        return Err(match path {
            ["git", "trees" | "blobs" | "refs" | "commits" | "tags", ..] => Fail::wrong_verb(),
            _ => Fail::no_route(),
        });
    }
    match path {
        ["git", "trees", rest @ ..] if !rest.is_empty() => tree(cx, &rest.join("/")),
        ["git", "blobs", sha] => blob(cx, sha),
        ["git", "refs", rest @ ..] => refs(cx, &rest.join("/")),
        ["git", "commits", sha] => commit_pages::one(cx, sha),
        ["git", "tags", sha] => tag(cx, sha),
        _ => Err(Fail::no_route()),
    }
}

fn tree(cx: &InRepo<'_>, spec: &str) -> Outcome {
    let git = cx.app().git(cx.repo().id);
    let missing = || Fail::new(400, &format!("sha not found [{spec}]"));
    // The answer names what was asked for: the commit, or the tree itself.
    let (named, root) = if let Some((rev, path)) = spec.split_once(':') {
        let commit = commits::resolve(cx.app(), cx.repo(), rev).map_err(|_| missing())?;
        let mut at = git.commit(commit)?.tree;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let below = git.tree(at)?.into_iter().find(|entry| entry.name == name);
            let below = below.filter(|entry| entry.mode == Mode::Tree);
            at = below.ok_or_else(missing)?.oid;
        }
        (at, at)
    } else if let Ok(commit) = commits::resolve(cx.app(), cx.repo(), spec) {
        (commit, git.commit(commit)?.tree)
    } else {
        let oid = Oid::parse(spec).ok_or_else(missing)?;
        match git.stat(oid) {
            Ok((Kind::Tree, _)) => (oid, oid),
            _ => return Err(missing()),
        }
    };
    let mut entries = Vec::new();
    if cx.req.query_flag("recursive", false) {
        git.walk_tree(root, "", &mut entries)?;
    } else {
        entries = git.tree(root)?;
    }
    let positive = |name: &str| {
        cx.req
            .query_number(name)
            .and_then(|n| usize::try_from(n).ok())
            .filter(|n| *n > 0)
    };
    let rows = positive("per_page")
        .or_else(|| positive("limit"))
        .unwrap_or(TREE_ROWS)
        .min(TREE_ROWS);
    let page = positive("page").unwrap_or(1);
    let start = (page - 1).saturating_mul(rows).min(entries.len());
    let end = (start + rows).min(entries.len());
    let mut shown = Vec::new();
    for entry in &entries[start..end] {
        shown.push(row(cx, entry)?);
    }
    let value = json!({
        "sha": named,
        "url": format!("{}/git/trees/{named}", cx.api_url()),
        "tree": shown,
        "truncated": end < entries.len(),
        "page": page,
        "total_count": entries.len(),
    });
    Ok(Reply::counted(&value, entries.len()))
}

fn row(cx: &InRepo<'_>, entry: &Entry) -> Result<Value, Fail> {
    let (kind, place) = match entry.mode {
        Mode::Tree => ("tree", "trees"),
        Mode::Submodule => ("commit", "commits"),
        _ => ("blob", "blobs"),
    };
    let size = if entry.mode.is_blob() {
        cx.app().git(cx.repo().id).stat(entry.oid)?.1
    } else {
        0
    };
    let url = match entry.mode {
        Mode::Submodule => String::new(),
        _ => format!("{}/git/{place}/{}", cx.api_url(), entry.oid),
    };
    Ok(json!({
        "path": entry.name,
        "mode": entry.mode.text(),
        "type": kind,
        "size": size,
        "sha": entry.oid,
        "url": url,
    }))
}

fn blob(cx: &InRepo<'_>, sha: &str) -> Outcome {
    let git = cx.app().git(cx.repo().id);
    let missing = || Fail::new(400, &fail::no_object(sha, ""));
    let oid = Oid::parse(sha).ok_or_else(missing)?;
    let data = git.read_kind(oid, Kind::Blob).map_err(|_| missing())?;
    let inline = data.len() <= MOST_INLINE;
    Ok(Reply::ok(&json!({
        "content": inline.then(|| BASE64_STANDARD.encode(&data)),
        "encoding": inline.then_some("base64"),
        "url": format!("{}/git/blobs/{oid}", cx.api_url()),
        "sha": oid,
        "size": data.len(),
    })))
}

fn refs(cx: &InRepo<'_>, filter: &str) -> Outcome {
    let git = cx.app().git(cx.repo().id);
    let mut rows = Vec::new();
    for (short, oid) in git.refs("refs/")? {
        if short.starts_with("sandbox/") || !short.starts_with(filter) {
            continue;
        }
        let kind = git.stat(oid)?.0.name();
        let place = if kind == "tag" { "tags" } else { "commits" };
        rows.push(json!({
            "ref": format!("refs/{short}"),
            "url": format!("{}/git/refs/{}", cx.api_url(), wire::path_url(&short)),
            "object": {"type": kind, "sha": oid, "url": format!("{}/git/{place}/{oid}", cx.api_url())},
        }));
    }
    if rows.is_empty() {
        return Err(Fail::not_found());
    }
    Ok(Reply::ok(&rows.into()))
}

fn tag(cx: &InRepo<'_>, sha: &str) -> Outcome {
    let git = cx.app().git(cx.repo().id);
    let missing = || Fail::new(400, &fail::no_object(sha, ""));
    let oid = Oid::parse(sha).ok_or_else(missing)?;
    let tag = git.tag_object(oid).map_err(|_| missing())?;
    let commit = git.peel(oid)?.ok_or_else(Fail::not_found)?;
    let who = tag.tagger;
    Ok(Reply::ok(&json!({
        "tag": tag.name,
        "sha": oid,
        "url": format!("{}/git/tags/{oid}", cx.api_url()),
        "message": tag.message,
        "tagger": who.map(|who| json!({"name": who.name, "email": who.email, "date": who.date()})),
        "object": {
            "type": tag.kind,
            "url": format!("{}/git/commits/{}", cx.api_url(), tag.target),
            "sha": tag.target,
        },
        "verification": wire::verification(&commits::get(cx.app(), cx.repo(), commit)?),
    })))
}
