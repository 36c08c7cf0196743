//! The page that asks

use axum::{http::StatusCode, response::Response};
use maud::{Markup, html};

use super::plain;
use crate::{http::page, rng::Rng};

/// What the person must know before they answer
#[derive(Debug)]
pub(crate) struct ConsentPage<'a> {
    /// As the client calls itself
    pub(crate) client: &'a str,
    pub(crate) known: Known,
    pub(crate) target: Target,
    pub(crate) forge: &'a str,
    pub(crate) scopes: &'a [String],
    pub(crate) id: &'a str,
    pub(crate) token: &'a str,
}

/// What is known of a client besides its own words
#[derive(Debug, Clone)]
pub(crate) enum Known {
    Nothing,
    /// Its description was read from there
    Domain(String),
    /// An admin wrote it down
    ByAdmin,
}

/// Who gets the answer
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Site(String),
    /// Host and port on the person's own machine
    Loopback(String),
    /// Scheme and host of an installed app's links
    App(String),
}

impl ConsentPage<'_> {
    pub(crate) fn show(&self, rng: &dyn Rng) -> Response {
        let client = plain(self.client);
        let body = html! {
            p.small { "Sign-in for " (self.forge) }
            h1 { "Let " bdi.name { (client) } " use your account at " (self.forge) "?" }
            dl {
                dt { "App" }
                dd { (self.known()) }
                dt { "Answer goes to" }
                dd { (self.target()) }
                dt { "It will be able to" }
                dd { (can(self.scopes)) }
            }
            @if !matches!(self.target, Target::Site(_)) {
                p.warn role="note" {
                    strong { "Only go on if you just started this yourself. " }
                    "Any program on this computer could have asked, under any name."
                }
            }
            form method="post" action="/oauth/consent" {
                input type="hidden" name="tx" value=(self.id);
                input type="hidden" name="token" value=(self.token);
                div.buttons {
                    button.main type="submit" name="answer" value="approve" { "Approve" }
                    button type="submit" name="answer" value="deny" { "Deny" }
                }
            }
            p.small {
                "After you approve, you sign in at " (self.forge) ". The app never sees your "
                "password, nor the tokens of " (self.forge) ". You can end this at any time on "
                a href="/connections" { "your connections" } "."
            }
        };
        let title = format!("Let {client} use {}?", self.forge);
        page(rng, StatusCode::OK, &title, &body)
    }

    fn known(&self) -> Markup {
        match &self.known {
            Known::Nothing => html! {
                "Not verified. The name is what the app calls itself."
            },
            Known::Domain(host) => html! {
                "Described by " strong.host { (host) } ", which was checked. "
                "The name is what the app calls itself."
            },
            Known::ByAdmin => html! { "Set up by the people who run this service." },
        }
    }

    fn target(&self) -> Markup {
        match &self.target {
            Target::Site(host) => html! { strong.host { (host) } },
            Target::Loopback(host) => html! {
                strong.host { (host) } " — a program on this computer"
            },
            Target::App(link) => html! {
                strong.host { (link) } " — an app that is installed on this computer"
            },
        }
    }
}

/// Scopes of the forge in words
fn can(scopes: &[String]) -> Markup {
    let area = |verb: &str| -> Vec<&str> {
        let named = scopes.iter().filter_map(|scope| scope.strip_prefix(verb));
        named.map(thing).collect()
    };
    let (write, read) = (area("write:"), area("read:"));
    html! {
        ul {
            @if !write.is_empty() { li { "read and change " (write.join(", ")) } }
            @if !read.is_empty() { li { "read " (read.join(", ")) } }
            @if scopes.iter().any(|scope| scope == "public-only") {
                li { "only what is public" }
            }
        }
    }
}

fn thing(area: &str) -> &str {
    match area {
        "repository" => "your repositories, their files and pull requests",
        "issue" => "issues",
        "user" => "your profile and account settings",
        "organization" => "your organizations",
        "notification" => "your notifications",
        "package" => "packages",
        "misc" => "what the forge offers to all",
        "admin" => "everything that an administrator can",
        "activitypub" => "federation",
        other => other,
    }
}
