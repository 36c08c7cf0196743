//! The one list of what the door answers
//!
//! Paths are matched on their encoded segments, so that a name with a slash may come as `a/b` or
//! as `a%2Fb` and a branch called `x/protection` can still be told from the protection of `x`.

use http::{Method, StatusCode};

use super::ask::decode;
use super::cx::{At, Cx};
use super::refusal::{Refusal, Result};
use super::reply::Reply;
use super::{
    actions, branches, checks, collaborators, commits, contents, git, meta, protection, pulls,
    repos, reviews, statuses, users,
};
use crate::ops::access::{self, Access};
use crate::ops::{self, repos::Found};

const GET: &str = "GET";
const POST: &str = "POST";
const PUT: &str = "PUT";
const PATCH: &str = "PATCH";
const DELETE: &str = "DELETE";

pub(super) fn dispatch(cx: &Cx<'_>) -> Result<Reply> {
    let path = cx.ask.path.trim_matches('/');
    let segments: Vec<&str> = path.split('/').collect();
    match (verb(cx), segments.as_slice()) {
        (GET, [""]) => Ok(meta::root(cx)),
        (GET, ["meta"]) => Ok(meta::meta(cx)),
        (GET, ["zen"]) => Ok(meta::zen()),
        (GET, ["rate_limit"]) => Ok(meta::rate_limit(cx)),
        (GET, ["user"]) => users::own(cx),
        (GET, ["user", "repos"]) => repos::own_list(cx),
        (POST, ["user", "repos"]) => repos::create_own(cx),
        (GET, ["users", login]) => users::get(cx, &decode(login)),
        (GET, ["orgs", login]) => users::organization(cx, &decode(login)),
        (GET, ["users" | "orgs", login, "repos"]) => repos::list_of(cx, &decode(login)),
        (POST, ["orgs", login, "repos"]) => repos::create_in_org(cx, &decode(login)),
        (_, ["_logs", ticket]) => actions::log(cx, ticket),
        (_, ["repos", owner, name, rest @ ..]) => {
            let found = ops::repos::find(cx.app, &decode(owner), &decode(name))?;
            at(cx, found, rest)
        }
        (_, ["repositories", id, rest @ ..]) => {
            let id = id.parse().map_err(|_| Refusal::not_found())?;
            let found = ops::repos::by_id(cx.app, id)?.ok_or_else(Refusal::not_found)?;
            at(cx, found, rest)
        }
        _ => Err(Refusal::not_found()),
    }
}

/// HEAD is answered as GET; the server leaves the body out
fn verb<'a>(cx: &'a Cx<'_>) -> &'a str {
    if cx.ask.method == Method::HEAD {
        return GET;
    }
    cx.ask.method.as_str()
}

fn at(cx: &Cx<'_>, found: Found, rest: &[&str]) -> Result<Reply> {
    let access = access::of(cx.app, &found.repo, cx.caller())?;
    if access < Access::Read {
        return Err(Refusal::not_found());
    }
    let hidden = found.repo.private
        && cx
            .caller()
            .and_then(|caller| caller.scopes.as_ref())
            .is_some_and(|scopes| scopes.text().contains("public-only"));
    if hidden {
        return Err(Refusal::not_found());
    }
    cx.need_scope("repository")?;
    if found.renamed {
        return Ok(moved(cx, &found, rest));
    }
    let git = cx.app.git(found.repo.id);
    let at = At {
        cx,
        repo: cx.show_found(found)?,
        access,
        git,
    };
    route(&at, verb(cx), rest)
}

/// A renamed repository is found under its id; a write keeps its method
fn moved(cx: &Cx<'_>, found: &Found, rest: &[&str]) -> Reply {
    let mut to = format!("{}/repositories/{}", cx.urls.api, found.repo.id);
    for segment in rest {
        to.push('/');
        to.push_str(segment);
    }
    if let Some((_, query)) = cx.ask.path_and_query().split_once('?') {
        to.push('?');
        to.push_str(query);
    }
    let status = if cx.ask.reads() {
        StatusCode::MOVED_PERMANENTLY
    } else {
        StatusCode::TEMPORARY_REDIRECT
    };
    Reply::moved(status, &to)
}

fn name(segments: &[&str]) -> String {
    decode(&segments.join("/"))
}

fn number(segment: &str) -> Result<i64> {
    segment.parse().map_err(|_| Refusal::not_found())
}

fn route(at: &At<'_>, verb: &str, rest: &[&str]) -> Result<Reply> {
    match (verb, rest) {
        (GET, []) => repos::get(at),
        (PATCH, []) => repos::update(at),
        (DELETE, []) => repos::delete(at),
        (GET, ["collaborators"]) => collaborators::list(at),
        (GET, ["collaborators", login]) => collaborators::check(at, &decode(login)),
        (PUT, ["collaborators", login]) => collaborators::add(at, &decode(login)),
        (DELETE, ["collaborators", login]) => collaborators::remove(at, &decode(login)),
        (GET, ["collaborators", login, "permission"]) => {
            collaborators::permission(at, &decode(login))
        }
        (GET, ["branches"]) => branches::list(at),
        (GET, ["branches", branch @ .., "protection"]) if !branch.is_empty() => {
            protection::get(at, &name(branch))
        }
        (PUT, ["branches", branch @ .., "protection"]) if !branch.is_empty() => {
            protection::put(at, &name(branch))
        }
        (DELETE, ["branches", branch @ .., "protection"]) if !branch.is_empty() => {
            protection::delete(at, &name(branch))
        }
        (GET, ["branches", branch @ ..]) => branches::get(at, &name(branch)),
        (GET, ["rules", "branches", branch @ ..]) => protection::rules(at, &name(branch)),
        (GET, ["rulesets", id]) => protection::ruleset(at, id),
        (GET, ["tags"]) => branches::tags(at),
        (_, ["git", rest @ ..]) => git_data(at, verb, rest),
        (_, ["commits" | "statuses" | "check-runs", ..]) => commit(at, verb, rest),
        (GET, ["compare", basehead @ ..]) => commits::compare(at, &basehead.join("/")),
        (GET, ["contents", path @ ..]) => contents::get(at, &name(path)),
        (PUT, ["contents", path @ ..]) => contents::put(at, &name(path)),
        (DELETE, ["contents", path @ ..]) => contents::delete(at, &name(path)),
        (GET, ["readme"]) => contents::get(at, "README.md"),
        (_, ["pulls", rest @ ..]) => pull(at, verb, rest),
        (GET, ["actions", "runs"]) => actions::runs(at),
        (GET, ["actions", "runs", id]) => actions::run(at, number(id)?),
        (GET, ["actions", "runs", id, "jobs"]) => actions::jobs(at, number(id)?),
        (GET, ["actions", "jobs", id]) => actions::job(at, number(id)?),
        (GET, ["actions", "jobs", id, "logs"]) => actions::logs(at, number(id)?),
        _ => Err(Refusal::not_found()),
    }
}

fn git_data(at: &At<'_>, verb: &str, rest: &[&str]) -> Result<Reply> {
    match (verb, rest) {
        (GET, ["ref" | "refs", whole @ ..]) if !whole.is_empty() => {
            git::refs::get(at, &name(whole))
        }
        (GET, ["refs"]) => git::refs::matching(at, ""),
        (GET, ["matching-refs", prefix @ ..]) => git::refs::matching(at, &name(prefix)),
        (POST, ["refs"]) => git::refs::create(at),
        (PATCH, ["refs", whole @ ..]) => git::refs::update(at, &name(whole)),
        (DELETE, ["refs", whole @ ..]) => git::refs::delete(at, &name(whole)),
        (POST, ["blobs"]) => git::blobs::create(at),
        (GET, ["blobs", sha]) => git::blobs::get(at, sha),
        (POST, ["trees"]) => git::trees::create(at),
        (GET, ["trees", rev @ ..]) => git::trees::get(at, &name(rev)),
        (POST, ["commits"]) => git::commits::create(at),
        (GET, ["commits", sha]) => git::commits::get(at, sha),
        (POST, ["tags"]) => git::tags::create(at),
        (GET, ["tags", sha]) => git::tags::get(at, sha),
        _ => Err(Refusal::not_found()),
    }
}

fn commit(at: &At<'_>, verb: &str, rest: &[&str]) -> Result<Reply> {
    match (verb, rest) {
        (GET, ["commits"]) => commits::list(at),
        (GET, ["commits", rev @ .., "status"]) if !rev.is_empty() => {
            statuses::combined(at, &name(rev))
        }
        (GET, ["commits", rev @ .., "statuses"] | ["statuses", rev @ ..]) if !rev.is_empty() => {
            statuses::list(at, &name(rev))
        }
        (GET, ["commits", rev @ .., "check-runs"]) if !rev.is_empty() => {
            checks::list(at, &name(rev))
        }
        (GET, ["commits", rev @ .., "pulls"]) if !rev.is_empty() => {
            pulls::of_commit(at, &name(rev))
        }
        (GET, ["commits", rev @ ..]) => commits::get(at, &name(rev)),
        (POST, ["statuses", sha @ ..]) => statuses::create(at, &name(sha)),
        (GET, ["check-runs", id]) => checks::get(at, number(id)?),
        _ => Err(Refusal::not_found()),
    }
}

fn pull(at: &At<'_>, verb: &str, rest: &[&str]) -> Result<Reply> {
    if !at.repo.row.settings.has_pull_requests {
        return Err(Refusal::not_found());
    }
    match (verb, rest) {
        (GET, []) => pulls::list(at),
        (POST, []) => pulls::create(at),
        (GET, [n]) => pulls::get(at, number(n)?),
        (PATCH, [n]) => pulls::update(at, number(n)?),
        (PUT, [n, "update-branch"]) => pulls::update_branch(at, number(n)?),
        (GET, [n, "merge"]) => pulls::is_merged(at, number(n)?),
        (PUT, [n, "merge"]) => pulls::merge(at, number(n)?),
        (GET, [n, "files"]) => pulls::files(at, number(n)?),
        (GET, [n, "commits"]) => pulls::commits(at, number(n)?),
        (GET, [n, "reviews"]) => reviews::list(at, number(n)?),
        (POST, [n, "reviews"]) => reviews::create(at, number(n)?),
        (GET, [n, "reviews", id]) => reviews::get(at, number(n)?, number(id)?),
        _ => Err(Refusal::not_found()),
    }
}
