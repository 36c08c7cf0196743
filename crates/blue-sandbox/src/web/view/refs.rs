//! Branches and tags

use maud::{Markup, html};

use crate::web::link::{At, RepoLink};

#[derive(Debug, Clone)]
pub(in crate::web) struct BranchRow {
    pub name: String,
    pub sha: String,
    pub title: String,
    pub default: bool,
    pub protected: bool,
}

#[derive(Debug, Clone)]
pub(in crate::web) struct TagRow {
    pub name: String,
    pub sha: String,
    pub message: String,
}

pub(in crate::web) fn branches(link: &RepoLink, branches: &[BranchRow]) -> Markup {
    html! {
        div.box {
            ul.rows {
                @for branch in branches {
                    li {
                        span.grow {
                            a href=(link.source(&At::Branch(branch.name.clone()), "")) {
                                (branch.name)
                            }
                            @if branch.default { " " span.pill { "default" } }
                            @if branch.protected { " " span.pill { "protected" } }
                        }
                        a.dim href=(link.commit(&branch.sha)) { (branch.title) }
                        code.dim { (branch.sha.get(..10).unwrap_or(&branch.sha)) }
                    }
                }
                @if branches.is_empty() { li.dim { "No branches" } }
            }
        }
    }
}

pub(in crate::web) fn tags(link: &RepoLink, tags: &[TagRow]) -> Markup {
    html! {
        div.box {
            ul.rows {
                @for tag in tags {
                    li {
                        span.grow {
                            a href=(link.source(&At::Tag(tag.name.clone()), "")) { (tag.name) }
                            @if !tag.message.is_empty() { " " span.dim { (tag.message) } }
                        }
                        a.mono.dim href=(link.commit(&tag.sha)) {
                            (tag.sha.get(..10).unwrap_or(&tag.sha))
                        }
                    }
                }
                @if tags.is_empty() { li.dim { "No tags" } }
            }
        }
    }
}
