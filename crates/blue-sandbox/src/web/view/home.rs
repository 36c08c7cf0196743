//! The list of repositories, of everybody or of one owner

use maud::{Markup, html};

use crate::web::link::RepoLink;

#[derive(Debug, Clone)]
pub(in crate::web) struct RepoRow {
    pub owner: String,
    pub name: String,
    pub description: String,
    pub private: bool,
    pub archived: bool,
    pub updated: String,
}

/// A user or an organisation
#[derive(Debug, Clone)]
pub(in crate::web) struct Owner {
    pub login: String,
    pub full_name: String,
    pub is_org: bool,
    /// Logins of an organisation's members, or names of a user's organisations
    pub related: Vec<String>,
}

pub(in crate::web) fn home(repos: &[RepoRow]) -> Markup {
    html! {
        h1 { "Repositories" }
        (list(repos, "There is no repository you may see yet."))
    }
}

pub(in crate::web) fn owner(owner: &Owner, repos: &[RepoRow]) -> Markup {
    let related = if owner.is_org {
        "Members"
    } else {
        "Organisations"
    };
    html! {
        h1 {
            (owner.login)
            @if owner.is_org { " " span.pill { "organisation" } }
        }
        @if !owner.full_name.is_empty() { p.dim { (owner.full_name) } }
        @if !owner.related.is_empty() {
            p {
                (related) ": "
                @for (at, login) in owner.related.iter().enumerate() {
                    @if at > 0 { ", " }
                    a href={ "/" (login) } { (login) }
                }
            }
        }
        h2 { "Repositories" }
        (list(repos, "None you may see."))
    }
}

fn list(repos: &[RepoRow], none: &str) -> Markup {
    html! {
        @if repos.is_empty() { p.dim { (none) } } @else {
            div.box {
                ul.rows {
                    @for repo in repos {
                        li {
                            div.grow {
                                a href=(RepoLink::new(&repo.owner, &repo.name).home()) {
                                    (repo.owner) "/" b { (repo.name) }
                                }
                                @if repo.private { " " span.pill { "private" } }
                                @if repo.archived { " " span.pill { "archived" } }
                                @if !repo.description.is_empty() {
                                    div.dim { (repo.description) }
                                }
                            }
                            span.dim.right { (repo.updated) }
                        }
                    }
                }
            }
        }
    }
}
