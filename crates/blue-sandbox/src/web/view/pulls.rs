//! Pull requests

use maud::{Markup, html};

use crate::web::{
    link::{At, RepoLink},
    patch::FilePatch,
    view::{
        commit::{self, CommitRow, StatusRow},
        diff,
    },
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::web) enum State {
    Open,
    Draft,
    Closed,
    Merged,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Draft => "draft",
            Self::Closed => "closed",
            Self::Merged => "merged",
        }
    }
}

#[derive(Debug, Clone)]
pub(in crate::web) struct PullRow {
    pub number: i64,
    pub title: String,
    pub state: State,
    pub author: String,
    pub head: String,
    pub base: String,
    pub created: String,
}

/// Whether it could be merged, and why not
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::web) enum Readiness {
    Ready,
    Checking,
    Blocked(String),
    /// Closed or merged: nothing to say, or what became of it
    Over(Option<String>),
}

#[derive(Debug, Clone)]
pub(in crate::web) struct ReviewRow {
    pub author: String,
    pub state: String,
    pub body: String,
    pub when: String,
}

#[derive(Debug, Clone)]
pub(in crate::web) struct PullView {
    pub row: PullRow,
    /// The head is in this repository, so that its branch can be linked
    pub head_here: bool,
    pub body: String,
    pub readiness: Readiness,
    pub checks: Vec<StatusRow>,
    pub reviews: Vec<ReviewRow>,
    pub commits: Vec<CommitRow>,
}

pub(in crate::web) fn list(link: &RepoLink, pulls: &[PullRow], shown: &str) -> Markup {
    html! {
        div.bar {
            @for state in ["open", "closed", "all"] {
                @if state == shown { b { (state) } } @else {
                    a href={ (link.page("pulls")) "?state=" (state) } { (state) }
                }
            }
        }
        div.box {
            ul.rows {
                @for pull in pulls {
                    li {
                        span.pill.solid.(pull.state.name()) { (pull.state.name()) }
                        div.grow {
                            a href={ (link.page("pulls")) "/" (pull.number) } { (pull.title) }
                            div.dim {
                                "#" (pull.number) " by " (pull.author) " · " (pull.created)
                            }
                        }
                        span.dim.mono { (pull.base) " ← " (pull.head) }
                    }
                }
                @if pulls.is_empty() { li.dim { "No pull requests" } }
            }
        }
    }
}

pub(in crate::web) fn one(link: &RepoLink, pull: &PullView, files: &[FilePatch]) -> Markup {
    let row = &pull.row;
    html! {
        h1 { (row.title) " " span.dim { "#" (row.number) } }
        div.bar {
            span.pill.solid.(row.state.name()) { (row.state.name()) }
            span.grow {
                a href={ "/" (row.author) } { (row.author) }
                " wants to merge "
                @if pull.head_here {
                    a.mono href=(link.source(&At::Branch(row.head.clone()), "")) { (row.head) }
                } @else { code { (row.head) } }
                " into "
                a.mono href=(link.source(&At::Branch(row.base.clone()), "")) { (row.base) }
            }
            span.dim { (row.created) }
        }
        (readiness(&pull.readiness))
        @if !pull.body.is_empty() {
            div.box { div.body { pre.text { (pull.body) } } }
        }
        (commit::statuses(&pull.checks))
        @if !pull.reviews.is_empty() {
            div.box {
                div.head { b { "Reviews" } }
                ul.rows {
                    @for review in &pull.reviews {
                        li {
                            b class=(review_class(&review.state)) { (review_words(&review.state)) }
                            div.grow {
                                a href={ "/" (review.author) } { (review.author) }
                                @if !review.body.is_empty() { pre.text { (review.body) } }
                            }
                            span.dim { (review.when) }
                        }
                    }
                }
            }
        }
        h2 { "Commits" }
        (commit::rows(link, &pull.commits))
        h2 { "Changes" }
        (diff::show(files))
    }
}

fn readiness(readiness: &Readiness) -> Markup {
    html! {
        @match readiness {
            Readiness::Ready => p.note.ok { "Can be merged." },
            Readiness::Checking => p.note.wait { "Being checked for conflicts." },
            Readiness::Blocked(why) => p.note.bad { "Cannot be merged: " (why) },
            Readiness::Over(Some(what)) => p.note { (what) },
            Readiness::Over(None) => {},
        }
    }
}

fn review_class(state: &str) -> &'static str {
    match state.split(' ').next().unwrap_or_default() {
        "APPROVED" => "ok",
        "REQUEST_CHANGES" | "CHANGES_REQUESTED" => "bad",
        _ => "dim",
    }
}

fn review_words(state: &str) -> String {
    let (state, rest) = state.split_once(' ').unwrap_or((state, ""));
    let words = match state {
        "APPROVED" => "approved",
        "REQUEST_CHANGES" | "CHANGES_REQUESTED" => "changes requested",
        "COMMENT" => "commented",
        "REQUEST_REVIEW" => "asked to review",
        other => other,
    };
    format!("{words} {rest}")
}
