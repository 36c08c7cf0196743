//! The head every page of a repository has

use maud::{Markup, html};

use crate::web::link::RepoLink;

/// What the head of a repository's pages shows
#[derive(Debug, Clone)]
pub(in crate::web) struct RepoHead {
    pub owner: String,
    pub name: String,
    pub private: bool,
    pub archived: bool,
    pub description: String,
    pub open_pulls: usize,
}

/// The row of links under the name
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::web) enum Tab {
    Code,
    Commits,
    Branches,
    Tags,
    Pulls,
    Runs,
}

impl RepoHead {
    pub(in crate::web) fn link(&self) -> RepoLink {
        RepoLink::new(&self.owner, &self.name)
    }

    pub(in crate::web) fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    pub(in crate::web) fn show(&self, on: Tab) -> Markup {
        let link = self.link();
        let tabs = [
            (Tab::Code, "Code", link.home()),
            (Tab::Commits, "Commits", link.page("commits")),
            (Tab::Branches, "Branches", link.page("branches")),
            (Tab::Tags, "Tags", link.page("tags")),
            (Tab::Pulls, "Pull requests", link.page("pulls")),
            (Tab::Runs, "Runs", link.page("actions")),
        ];
        html! {
            h1 {
                a href={ "/" (self.owner) } { (self.owner) }
                " / "
                a href=(link.home()) { (self.name) }
                @if self.private { " " span.pill { "private" } }
                @if self.archived { " " span.pill { "archived" } }
            }
            @if !self.description.is_empty() { div.dim { (self.description) } }
            nav.tabs aria-label="Repository" {
                @for (tab, title, address) in tabs {
                    a.on[tab == on] aria-current=[(tab == on).then_some("page")] href=(address) {
                        (title)
                        @if tab == Tab::Pulls && self.open_pulls > 0 {
                            " " span.pill { (self.open_pulls) }
                        }
                    }
                }
            }
        }
    }
}
