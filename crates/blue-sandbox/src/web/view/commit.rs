//! Commits, one and many

use maud::{Markup, html};

use crate::web::{link::RepoLink, patch::FilePatch, view::diff};

#[derive(Debug, Clone)]
pub(in crate::web) struct CommitRow {
    pub sha: String,
    pub title: String,
    pub author: String,
    pub when: String,
}

#[derive(Debug, Clone)]
pub(in crate::web) struct CommitView {
    pub sha: String,
    pub message: String,
    pub author: String,
    pub author_email: String,
    pub when: String,
    pub parents: Vec<String>,
    pub statuses: Vec<StatusRow>,
}

#[derive(Debug, Clone)]
pub(in crate::web) struct StatusRow {
    pub context: String,
    pub state: String,
    pub description: String,
    pub url: Option<String>,
}

pub(in crate::web) fn one(link: &RepoLink, commit: &CommitView, files: &[FilePatch]) -> Markup {
    let (title, rest) = commit
        .message
        .split_once('\n')
        .unwrap_or((&commit.message, ""));
    html! {
        div.box {
            div.head { b { (title) } }
            div.body {
                @if !rest.trim().is_empty() { pre.text { (rest.trim()) } p {} }
                div {
                    b { (commit.author) } " "
                    span.dim { "<" (commit.author_email) "> · " (commit.when) }
                }
                div.mono { (commit.sha) }
                @for parent in &commit.parents {
                    div.dim {
                        "parent "
                        a.mono href=(link.commit(parent)) { (parent.get(..10).unwrap_or(parent)) }
                    }
                }
                div { a href=(link.source(&crate::web::link::At::Commit(commit.sha.clone()), "")) {
                    "Browse the files of this commit"
                } }
            }
        }
        (statuses(&commit.statuses))
        (diff::show(files))
    }
}

pub(in crate::web) fn list(link: &RepoLink, commits: &[CommitRow], older: Option<&str>) -> Markup {
    html! {
        (rows(link, commits))
        @if let Some(older) = older { p { a href=(older) { "Older commits" } } }
    }
}

pub(in crate::web) fn rows(link: &RepoLink, commits: &[CommitRow]) -> Markup {
    html! {
        div.box {
            ul.rows {
                @for commit in commits {
                    li {
                        div.grow {
                            a href=(link.commit(&commit.sha)) { (commit.title) }
                            div.dim { (commit.author) " · " (commit.when) }
                        }
                        a.mono.dim href=(link.commit(&commit.sha)) {
                            (commit.sha.get(..10).unwrap_or(&commit.sha))
                        }
                    }
                }
                @if commits.is_empty() { li.dim { "No commits" } }
            }
        }
    }
}

/// The checks of a commit; nothing when there are none
pub(in crate::web) fn statuses(rows: &[StatusRow]) -> Markup {
    html! {
        @if !rows.is_empty() {
            div.box {
                div.head { b { "Checks" } }
                ul.rows {
                    @for row in rows {
                        li {
                            b class=(class(&row.state)) { (row.state) }
                            span.grow {
                                @match &row.url {
                                    Some(url) => a href=(url) rel="noreferrer" { (row.context) },
                                    None => (row.context),
                                }
                                @if !row.description.is_empty() {
                                    " " span.dim { (row.description) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The colour of a state or conclusion
pub(in crate::web) fn class(state: &str) -> &'static str {
    match state {
        "success" | "skipped" | "neutral" => "ok",
        "failure" | "error" | "cancelled" | "timed_out" | "warning" => "bad",
        _ => "wait",
    }
}
