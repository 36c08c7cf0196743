//! Commits, one and many

use axum::response::{IntoResponse as _, Response};
use http::header;
use url::form_urlencoded;

use crate::{
    git::{Commit, Oid},
    ops,
    web::{
        link::At,
        patch::{self, FilePatch},
        place,
        view::{
            commit::{self as view, CommitRow, CommitView, StatusRow},
            repo::Tab,
        },
        visit::{Trouble, Visit},
        when,
    },
};

/// Commits on one page
const PAGE: usize = 50;

/// `commit/{sha}`, also with `.diff` or `.patch`
pub(in crate::web) fn one(visit: &Visit<'_>, name: &str) -> Result<Response, Trouble> {
    let (name, form) = name.split_once('.').unwrap_or((name, ""));
    let oid = place::sha(visit, name)?.ok_or(Trouble::NotFound)?;
    let commit = visit.git().commit(oid)?;
    let parent = commit.parents.first().copied().unwrap_or(Oid::EMPTY_TREE);
    match form {
        "diff" => return Ok(text(visit.git().patch(parent, oid)?)),
        "patch" => return Ok(text(visit.git().format_patch(parent, oid)?)),
        _ => {}
    }
    let shown = CommitView {
        sha: oid.to_string(),
        message: commit.message.clone(),
        author: commit.author.name.clone(),
        author_email: commit.author.email.clone(),
        when: when::seconds(commit.author.seconds),
        parents: commit.parents.iter().map(ToString::to_string).collect(),
        statuses: statuses(visit, oid)?,
    };
    let files = changes(visit, parent, oid)?;
    let content = view::one(&visit.head.link(), &shown, &files);
    Ok(visit.show(Tab::Commits, commit.title(), &content))
}

/// `commits`, `commits/branch/…` and so on
pub(in crate::web) fn list(
    visit: &Visit<'_>,
    parts: &[&str],
    query: &str,
) -> Result<Response, Trouble> {
    let link = visit.head.link();
    let spot = match parts {
        [] => {
            let branch = &visit.repo().default_branch;
            let Some(commit) = visit.git().branch(branch)? else {
                return Ok(visit.show(Tab::Commits, "Commits", &view::list(&link, &[], None)));
            };
            place::Spot {
                at: At::Branch(branch.clone()),
                commit,
                path: String::new(),
            }
        }
        ["branch" | "tag" | "commit", _, ..] => place::named(visit, parts)?,
        _ => place::unnamed(visit, parts)?,
    };
    let number = form_urlencoded::parse(query.as_bytes())
        .find(|(name, _)| name == "page")
        .and_then(|(_, value)| value.parse::<usize>().ok())
        .unwrap_or(1)
        .max(1);
    let path = Some(spot.path.as_str()).filter(|path| !path.is_empty());
    let all = ops::commits::log(visit.app, visit.repo(), spot.commit, path)?;
    let skip = (number - 1).saturating_mul(PAGE);
    let rows = rows(all.iter().skip(skip).take(PAGE));
    let more = all.len() > skip.saturating_add(PAGE);
    let older = more.then(|| format!("{}?page={}", link.commits(&spot.at), number + 1));
    Ok(visit.show(
        Tab::Commits,
        "Commits",
        &view::list(&link, &rows, older.as_deref()),
    ))
}

pub(super) fn rows<'c>(commits: impl Iterator<Item = &'c (Oid, Commit)>) -> Vec<CommitRow> {
    commits
        .map(|(oid, commit)| CommitRow {
            sha: oid.to_string(),
            title: commit.title().to_owned(),
            author: commit.author.name.clone(),
            when: when::seconds(commit.committer.seconds),
        })
        .collect()
}

pub(super) fn statuses(visit: &Visit<'_>, oid: Oid) -> Result<Vec<StatusRow>, Trouble> {
    let statuses = ops::statuses::latest(visit.app, visit.repo(), oid)?;
    Ok(statuses
        .into_iter()
        .map(|status| StatusRow {
            url: safe(&status.target_url),
            context: status.context,
            state: status.state,
            description: status.description,
        })
        .collect())
}

/// An address a page may link to: of this forge, or of the web
fn safe(url: &str) -> Option<String> {
    let web = ["http://", "https://", "/"]
        .iter()
        .any(|start| url.starts_with(start));
    (web && !url.starts_with("//")).then(|| url.to_owned())
}

/// What lies between two points, ready to show
pub(super) fn changes(visit: &Visit<'_>, from: Oid, to: Oid) -> Result<Vec<FilePatch>, Trouble> {
    // Without the bytes of binary files, and with names as people write them.
    let (from, to) = (from.to_string(), to.to_string());
    let plain = [
        "-c",
        "core.quotePath=false",
        "diff-tree",
        "-p",
        "-r",
        "-M",
        &from,
        &to,
    ];
    Ok(patch::parse(&visit.git().git(&plain)?.text()))
}

/// Send a diff as it is
pub(super) fn text(body: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, body).into_response()
}
