//! Folders and files

use maud::{Markup, html};

use crate::web::link::{At, RepoLink};

/// Lines of a file shown on a page; the rest is in the raw file
const LINES: usize = 5_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::web) enum EntryKind {
    Folder,
    File,
    Link,
    Submodule,
}

#[derive(Debug, Clone)]
pub(in crate::web) struct EntryRow {
    pub name: String,
    pub kind: EntryKind,
    /// Title of the commit that last touched it
    pub last: String,
    pub sha: String,
}

/// A branch, tag or commit and a path in it
#[derive(Debug, Clone)]
pub(in crate::web) struct Place {
    pub link: RepoLink,
    pub repo: String,
    pub at: At,
    pub path: String,
}

#[derive(Debug, Clone)]
pub(in crate::web) struct LastCommit {
    pub sha: String,
    pub title: String,
    pub author: String,
    pub when: String,
}

#[derive(Debug, Clone)]
pub(in crate::web) enum Content {
    Text(String),
    Binary,
    TooLarge,
    /// Where a symbolic link leads
    Target(String),
    /// The commit a submodule stands at
    Submodule(String),
}

pub(in crate::web) fn empty_repo(clone_url: &str, branch: &str) -> Markup {
    html! {
        div.box {
            div.head { b { "This repository is empty" } }
            div.body {
                p { "Push something to it:" }
                pre.mono {
                    "git clone " (clone_url) "\n"
                    "git switch -c " (branch) "\n"
                    "git commit --allow-empty -m 'first'\n"
                    "git push -u origin " (branch)
                }
            }
        }
    }
}

pub(in crate::web) fn folder(
    place: &Place,
    clone_url: Option<&str>,
    last: Option<&LastCommit>,
    entries: &[EntryRow],
    readme: Option<(&str, &str)>,
) -> Markup {
    html! {
        (crumbs(place))
        @if let Some(url) = clone_url {
            p.dim { "Clone with " code { "git clone " (url) } }
        }
        div.box {
            @if let Some(last) = last { (last_commit(&place.link, last)) }
            ul.rows {
                @if !place.path.is_empty() {
                    li { a href=(place.link.source(&place.at, parent(&place.path))) { ".." } }
                }
                @for entry in entries {
                    li {
                        span.grow {
                            a href=(place.link.source(&place.at, &join(&place.path, &entry.name))) {
                                @if entry.kind == EntryKind::Folder { b { (entry.name) } }
                                @else { (entry.name) }
                            }
                            span.dim { (sign(entry.kind)) }
                        }
                        @if !entry.last.is_empty() {
                            a.dim href=(place.link.commit(&entry.sha)) { (entry.last) }
                        }
                    }
                }
                @if entries.is_empty() { li.dim { "Nothing in here" } }
            }
        }
        @if let Some((name, text)) = readme {
            div.box {
                div.head { b { (name) } }
                div.body { pre.text.mono { (text) } }
            }
        }
    }
}

pub(in crate::web) fn file(
    place: &Place,
    last: Option<&LastCommit>,
    size: u64,
    content: &Content,
) -> Markup {
    html! {
        (crumbs(place))
        div.box {
            @if let Some(last) = last { (last_commit(&place.link, last)) }
            div.head {
                span.dim { (bytes(size)) }
                span.grow {}
                @if !matches!(content, Content::Submodule(_)) {
                    a href=(place.link.raw(&place.at, &place.path)) { "Raw" }
                }
            }
            @match content {
                Content::Text(text) => (lines(text)),
                Content::Binary => div.body.dim { "A binary file; it is not shown." },
                Content::TooLarge => div.body.dim { "Too large to show." },
                Content::Target(target) => div.body { "Symbolic link to " code { (target) } },
                Content::Submodule(sha) => div.body { "Submodule at " code { (sha) } },
            }
        }
    }
}

fn lines(text: &str) -> Markup {
    let all = text.split_terminator('\n').count();
    html! {
        @if all == 0 { div.body.dim { "An empty file" } } @else {
            div.scroll {
                table.code {
                    @for (at, line) in text.split_terminator('\n').take(LINES).enumerate() {
                        tr id={ "L" (at + 1) } {
                            td.n { a href={ "#L" (at + 1) } { (at + 1) } }
                            td.l { (line.trim_end_matches('\r')) }
                        }
                    }
                }
            }
        }
        @if all > LINES { div.body.dim { (all - LINES) " more lines are in the raw file" } }
    }
}

fn crumbs(place: &Place) -> Markup {
    let kind = match place.at {
        At::Branch(_) => "branch",
        At::Tag(_) => "tag",
        At::Commit(_) => "commit",
    };
    let mut walked = String::new();
    let mut steps = Vec::new();
    for step in place.path.split('/').filter(|step| !step.is_empty()) {
        walked = join(&walked, step);
        steps.push((step, walked.clone()));
    }
    html! {
        div.bar {
            span.pill { (kind) " " (short(&place.at)) }
            span.grow {
                a href=(place.link.source(&place.at, "")) { (place.repo) }
                @for (step, path) in &steps {
                    " / "
                    @if *path == place.path { b { (step) } } @else {
                        a href=(place.link.source(&place.at, path)) { (step) }
                    }
                }
            }
            a href=(place.link.commits(&place.at)) { "History" }
        }
    }
}

fn last_commit(link: &RepoLink, last: &LastCommit) -> Markup {
    html! {
        div.head {
            b { (last.author) }
            a.grow href=(link.commit(&last.sha)) { (last.title) }
            code.dim { (last.sha.get(..10).unwrap_or(&last.sha)) }
            span.dim { (last.when) }
        }
    }
}

fn short(at: &At) -> &str {
    match at {
        At::Commit(sha) => sha.get(..10).unwrap_or(sha),
        at => at.name(),
    }
}

/// What tells a folder, link or submodule from a file
fn sign(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Folder => "/",
        EntryKind::File => "",
        EntryKind::Link => " → link",
        EntryKind::Submodule => " @ submodule",
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

fn bytes(size: u64) -> String {
    match size {
        0..1024 => format!("{size} bytes"),
        1024..1_048_576 => format!("{} KiB", size / 1024),
        _ => format!("{} MiB", size / 1_048_576),
    }
}
