//! Pull requests

use serde_json::{Value, json};

use super::{
    Outcome, commits as commit_pages,
    fail::Fail,
    merge,
    reply::{Page, Reply},
    request::InRepo,
    reviews,
    wire::{self, Parts},
};
use crate::{
    config::Flavor,
    git::ChangeKind,
    ops::{
        self, MergeError, What,
        access::{self, Access},
        pulls,
        repos::Found,
    },
    store::{
        pulls::{Pull, State},
        repos::Repo,
        users::User,
    },
};

/// Longest title, in columns of a screen
const MOST_TITLE: usize = 255;

pub(super) fn answer(cx: &InRepo<'_>, path: &[&str]) -> Outcome {
    let sees = access::sees_pulls(cx.app(), cx.repo(), cx.req.caller.as_ref())?;
    let has = cx.repo().settings.has_pull_requests && !cx.repo().settings.mirror;
    if !has || !sees || ops::repos::is_empty(cx.app(), cx.repo())? {
        return Err(Fail::not_found());
    }
    let verb = cx.req.verb();
    match (verb, path) {
        ("GET", ["pulls"]) => return list(cx),
        ("POST", ["pulls"]) => return create(cx),
        (_, ["pulls"]) => return Err(Fail::wrong_verb()),
        ("GET", ["pulls", "pinned"]) => return Ok(Reply::ok(&json!([]))),
        _ => {}
    }
    let number = path[1].parse::<i64>().ok();
    match (verb, number, &path[2..]) {
        ("GET", Some(number), []) => {
            let mut pull = pulls::get(cx.app(), cx.repo(), number)?;
            Ok(Reply::ok(&wire::pull(cx, &mut pull)?))
        }
        ("PATCH", Some(number), []) => edit(cx, number),
        ("GET", Some(number), ["files"]) => files(cx, number),
        ("GET", Some(number), ["commits"]) => commits(cx, number),
        (_, Some(number), ["merge"]) => merge::answer(cx, number),
        ("POST", Some(number), ["update"]) => merge::update(cx, number),
        (_, Some(number), ["reviews", rest @ ..]) => reviews::answer(cx, number, rest),
        (_, Some(number), ["requested_reviewers"]) => reviews::request(cx, number),
        ("GET", None, []) => text(cx, path[1]),
        ("GET", _, head) if !head.is_empty() => by_branches(cx, &path[1..]),
        (_, Some(_), [] | ["files" | "commits" | "update"]) => Err(Fail::wrong_verb()),
        _ => Err(Fail::no_route()),
    }
}

fn list(cx: &InRepo<'_>) -> Outcome {
    let mut all = pulls::list(cx.app(), cx.repo())?;
    // No state, or one that is not one of these, means open and closed alike.
    match cx.req.query("state") {
        Some("open") => all.retain(|pull| pull.state == State::Open),
        Some("closed") => all.retain(|pull| pull.state != State::Open),
        _ => {}
    }
    if let Some(base) = cx.req.query("base_branch").filter(|base| !base.is_empty())
        && !cx.app().is_forgejo()
    {
        all.retain(|pull| pull.base_branch == base);
    }
    if let Some(poster) = cx.req.query("poster").filter(|poster| !poster.is_empty()) {
        let user = ops::users::find(cx.app(), poster).map_err(|_| {
            Fail::new(
                400,
                &format!("user does not exist [uid: 0, name: {poster}]"),
            )
        })?;
        all.retain(|pull| pull.poster_id == user.id);
    }
    match cx.req.query("sort") {
        Some("oldest") => all.reverse(),
        Some("recentupdate") => all.sort_by_key(|pull| std::cmp::Reverse(pull.updated_at)),
        Some("leastupdate") => all.sort_by_key(|pull| pull.updated_at),
        _ => {}
    }
    let page = Page::of(cx.req);
    let mut rows = Vec::new();
    for pull in page.slice(&all) {
        rows.push(wire::listed_pull(cx, &mut pull.clone())?);
    }
    Ok(page.linked(cx.req, &rows.into(), all.len()))
}

fn create(cx: &InRepo<'_>) -> Outcome {
    let user = cx.user()?;
    cx.need_unarchived()?;
    let form = cx.req.form()?;
    let (app, repo) = (cx.app(), cx.repo());
    // Gitea checks the words before the branches.
    let head = form.required("head", "Head")?;
    let base = form.required("base", "Base")?;
    let title = form.required("title", "Title")?;
    let title = &cut(title);
    if head == base {
        return Err(ops::Error::SameBranch.into());
    }
    let (head_repo, head) = head_of(cx, head)?;
    if app.git(repo.id).branch(base)?.is_none() {
        return Err(Fail::not_found());
    }
    refuse_unknown_assignee(cx, &form)?;
    let new = pulls::New {
        title,
        body: form.text("body")?,
        head_repo: &head_repo,
        head,
        base,
        maintainer_edit: form
            .opt_flag("allow_maintainer_edit")?
            .unwrap_or(repo.settings.default_allow_maintainer_edit && !app.is_forgejo()),
    };
    let mut pull = pulls::create(app, repo, user, &new).map_err(|error| match error {
        ops::Error::NotFound(What::Branch(name))
            if app.flavor == Flavor::Forgejo && name == head => Fail::new(
            500,
            &format!("exit status 128: exit status 128 - fatal: ambiguous argument 'refs/heads/{name}': bad revision"),
        ),
        ops::Error::NotFound(What::Branch(_)) => Fail::not_found(),
        other => other.into(),
    })?;
    if let Some(names) = form.opt_texts("reviewers")? {
        let people = names
            .iter()
            .map(|login| ops::users::find(app, login))
            .collect::<Result<Vec<User>, _>>()
            .map_err(|_| Fail::not_found())?;
        ops::reviews::request(app, repo, &pull, &people)?;
    }
    Ok(Reply::created(&wire::pull(cx, &mut pull)?))
}

/// `branch`, `owner:branch` or `owner/repo:branch`
pub(super) fn head_of<'a>(cx: &InRepo<'_>, head: &'a str) -> Result<(Repo, &'a str), Fail> {
    let Some((place, branch)) = head.split_once(':') else {
        return Ok((cx.repo().clone(), head));
    };
    let found: Found = match place.split_once('/') {
        Some((owner, name)) => {
            ops::repos::find(cx.app(), owner, name).map_err(|_| Fail::not_found())?
        }
        None if place.eq_ignore_ascii_case(&cx.found.owner.login) => cx.found.clone(),
        None => fork_of(cx, place)?,
    };
    if access::of(cx.app(), &found.repo, cx.req.caller.as_ref())? < Access::Read {
        return Err(Fail::not_found());
    }
    Ok((found.repo, branch))
}

/// A title as long as one may be
fn cut(title: &str) -> String {
    let width = |c: char| if c.is_ascii() { 1 } else { 2 };
    if title.len() <= MOST_TITLE || title.chars().map(width).sum::<usize>() <= MOST_TITLE {
        return title.to_owned();
    }
    let mut used = 3;
    let fits = |c: &char| {
        used += width(*c);
        used <= MOST_TITLE
    };
    let mut start: String = title.chars().take_while(fits).collect();
    start.push('…');
    start
}

/// The fork someone has of this repository
fn fork_of(cx: &InRepo<'_>, owner: &str) -> Result<Found, Fail> {
    let owner = ops::users::find(cx.app(), owner).map_err(|_| Fail::not_found())?;
    let forks = cx
        .app()
        .store
        .read(|c| crate::store::repos::forks(c, cx.repo().id))
        .map_err(ops::Error::from)?;
    let fork = forks.into_iter().find(|fork| fork.owner_id == owner.id);
    let fork = fork.ok_or_else(|| {
        Fail::new(
            400,
            &format!(
                "the user {} does not have a fork of the base repository",
                owner.login
            ),
        )
    })?;
    Ok(Found {
        repo: fork,
        owner,
        renamed: false,
    })
}

fn refuse_unknown_assignee(cx: &InRepo<'_>, form: &super::body::Form) -> Result<(), Fail> {
    let mut names = form.opt_texts("assignees")?.unwrap_or_default();
    names.extend(form.opt_text("assignee")?.map(str::to_owned));
    for name in names.iter().filter(|name| !name.is_empty()) {
        ops::users::find(cx.app(), name).map_err(|_| {
            Fail::invalid(&format!(
                "Assignee does not exist: [name: user does not exist [uid: 0, name: {name}]]"
            ))
        })?;
    }
    Ok(())
}

fn edit(cx: &InRepo<'_>, number: i64) -> Outcome {
    // Not stopped by an archived repository, as in Gitea.
    let user = cx.user()?;
    let form = cx.req.form()?;
    let pull = pulls::get(cx.app(), cx.repo(), number)?;
    if pull.poster_id != user.id && cx.access < Access::Write {
        return Err(Fail::empty(403));
    }
    let open = match form.opt_text("state")? {
        None => None,
        Some("open") => Some(true),
        Some("closed") => Some(false),
        Some(other) => {
            return Err(Fail::new(412, &format!("unknown state: {other}")));
        }
    };
    if open.is_some() && pull.state == State::Merged {
        return Err(Fail::new(
            412,
            "cannot change state of this pull request, it was already merged",
        ));
    }
    refuse_unknown_assignee(cx, &form)?;
    let base = form.opt_text("base")?.filter(|base| !base.is_empty());
    let title = form.opt_text("title")?.map(cut);
    let edit = pulls::Edit {
        title: title.as_deref().filter(|title| !title.is_empty()),
        body: form.opt_text("body")?,
        open,
        base,
        maintainer_edit: form.opt_flag("allow_maintainer_edit")?,
    };
    let mut pull =
        pulls::edit(cx.app(), cx.repo(), number, &edit).map_err(|error| match error {
            ops::Error::NotFound(What::Branch(name)) => {
                Fail::new(404, &format!("new base '{name}' not exist"))
            }
            ops::Error::Merge(MergeError::AlreadyMerged) => Fail::new(
                412,
                "cannot change state of this pull request, it was already merged",
            ),
            other => other.into(),
        })?;
    Ok(Reply::created(&wire::pull(cx, &mut pull)?))
}

/// The oldest pull request between two branches, open or not
fn by_branches(cx: &InRepo<'_>, rest: &[&str]) -> Outcome {
    let all = pulls::list(cx.app(), cx.repo())?;
    // Both names may hold slashes, so every split is tried.
    for at in 1..rest.len() {
        let (base, head) = (rest[..at].join("/"), rest[at..].join("/"));
        // A fork that does not exist is simply not a match.
        let Ok((from, head)) = head_of(cx, &head) else {
            continue;
        };
        let same = |pull: &&Pull| {
            pull.base_branch == base
                && pull.head_branch == head
                && pull.head_repo_id == Some(from.id)
        };
        if let Some(pull) = all.iter().rev().find(same) {
            return Ok(Reply::ok(&wire::pull(cx, &mut pull.clone())?));
        }
    }
    Err(Fail::not_found())
}

fn files(cx: &InRepo<'_>, number: i64) -> Outcome {
    let pull = pulls::get(cx.app(), cx.repo(), number)?;
    let diff = pulls::diff(cx.app(), &pull)?;
    let page = Page::of(cx.req);
    let row = |file: &crate::git::Change| {
        let path = wire::path_url(&file.path);
        let sha = if file.kind == ChangeKind::Deleted {
            pull.merge_base
        } else {
            pull.head_sha
        };
        let mut row = json!({
            "filename": file.path,
            "status": match file.kind {
                ChangeKind::Added => "added",
                ChangeKind::Deleted => "deleted",
                ChangeKind::Renamed => "renamed",
                ChangeKind::Modified => "changed",
            },
            "additions": file.additions,
            "deletions": file.deletions,
            "changes": file.additions + file.deletions,
            "html_url": format!("{}/src/commit/{sha}/{path}", cx.web_url()),
            "contents_url": format!("{}/contents/{path}?ref={sha}", cx.api_url()),
            "raw_url": format!("{}/raw/commit/{sha}/{path}", cx.web_url()),
        });
        if let Some(old) = &file.old_path {
            row["previous_filename"] = old.as_str().into();
        }
        row
    };
    let rows: Value = page.slice(&diff.files).iter().map(row).collect();
    Ok(listed(cx, page, &rows, diff.files.len()))
}

fn commits(cx: &InRepo<'_>, number: i64) -> Outcome {
    let pull = pulls::get(cx.app(), cx.repo(), number)?;
    let all = pulls::commits(cx.app(), &pull)?;
    let page = Page::of(cx.req);
    let parts = Parts {
        stat: true,
        verification: cx.req.query_flag("verification", true),
        files: cx.req.query_flag("files", true),
    };
    let mut rows = Vec::new();
    for (oid, commit) in page.slice(&all) {
        rows.push(wire::commit(cx, *oid, commit, parts)?);
    }
    Ok(listed(cx, page, &rows.into(), all.len()))
}

fn listed(cx: &InRepo<'_>, page: Page, rows: &Value, total: usize) -> Reply {
    let exposed = if page.links(cx.req, total).is_some() {
        "Link, "
    } else {
        ""
    };
    commit_pages::numbered(page.linked(cx.req, rows, total), page, total).with(
        "access-control-expose-headers",
        &format!("{exposed}X-Total-Count, X-Page, X-PerPage, X-PageCount, X-HasMore"),
    )
}

/// `7.diff` or `7.patch`
fn text(cx: &InRepo<'_>, name: &str) -> Outcome {
    let (number, kind) = name.rsplit_once('.').unwrap_or((name, ""));
    let number = number.parse().map_err(|_| Fail::not_found())?;
    if !matches!(kind, "diff" | "patch") {
        return Err(Fail::no_route());
    }
    let pull = pulls::get(cx.app(), cx.repo(), number)?;
    let git = cx.app().git(cx.repo().id);
    Ok(Reply::text(if kind == "patch" {
        git.format_patch(pull.merge_base, pull.head_sha)?
    } else {
        git.patch(pull.merge_base, pull.head_sha)?
    }))
}
