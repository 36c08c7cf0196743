//! The consent page

use axum::{http::StatusCode, response::Response};
use maud::{Markup, html};

use super::plain;
use crate::http::{PageFrame, page};

/// Contents of the consent page
#[derive(Debug)]
pub(crate) struct ConsentPage<'a> {
    /// Name that the client gave itself
    pub(crate) client: &'a str,
    pub(crate) known: Known,
    pub(crate) target: Target,
    pub(crate) forge: &'a str,
    pub(crate) scopes: &'a [String],
    pub(crate) id: &'a str,
    pub(crate) token: &'a str,
}

/// How far the identity of a client is verified
#[derive(Debug, Clone)]
pub(crate) enum Known {
    /// It registered itself: nothing about it was verified
    Nothing,
    /// Its metadata document was read from this host
    Domain(String),
    /// An admin configured it
    ByAdmin,
}

impl Known {
    /// What a list of connections says
    pub(super) fn short(&self) -> Markup {
        match self {
            Self::Nothing => html! { "Not verified" },
            Self::Domain(host) => html! { "Verified: it belongs to " strong.host { (host) } },
            Self::ByAdmin => html! { "Set up by the people who run this service" },
        }
    }
}

/// Where the browser is sent after the sign-in
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Site(String),
    /// Host and port of a loopback address
    Loopback(String),
    /// Scheme and host of an installed app's links
    App(String),
}

impl ConsentPage<'_> {
    pub(crate) fn show(&self, frame: &PageFrame<'_>) -> Response {
        let client = plain(self.client);
        let body = html! {
            h1 { "Let " bdi.name { (client) } " use your account at " (self.forge) "?" }
            dl {
                dt { "App" }
                dd { (self.known()) }
                dt { "You are sent back to" }
                dd { (self.target()) }
                dt { "The app will be able to" }
                dd { (can(self.scopes)) }
            }
            @if let Some(warning) = self.warning() {
                p.warn role="note" {
                    strong { "Only go on if you just started this yourself. " }
                    (warning)
                }
            }
            (self.form())
            p.small {
                "After you approve, you sign in at " (self.forge) ". The app never sees your "
                "password, nor the tokens of " (self.forge) ". You can end this at any time on "
                a href="/connections" { "your connections" } "."
            }
        };
        let title = format!("Let {client} use {}?", self.forge);
        page(frame, StatusCode::OK, &title, &body)
    }

    /// The form, whose controls appear a second after the page
    ///
    /// Against double-click-jacking: another site opens this page under the pointer between the
    /// two clicks of a double click, or between two key presses. The style sheet hides whatever is
    /// `.late` for the first second, so that it takes neither clicks nor focus. Nothing moves, so
    /// the delay is the same with reduced motion; a browser that runs no animations shows
    /// everything at once. For an unverified client the box must be ticked besides, elsewhere on
    /// the page: the browser demands that, the server does not.
    fn form(&self) -> Markup {
        html! {
            form method="post" action="/oauth/consent" {
                input type="hidden" name="tx" value=(self.id);
                input type="hidden" name="token" value=(self.token);
                @if matches!(self.known, Known::Nothing) {
                    label.check.late {
                        input type="checkbox" required autocomplete="off";
                        "I started this sign-in"
                    }
                }
                div.buttons {
                    span.slot {
                        button.main.late type="submit" name="answer" value="approve" { "Approve" }
                    }
                    span.slot {
                        button.late type="submit" name="answer" value="deny" formnovalidate { "Deny" }
                    }
                }
            }
        }
    }

    /// Why the user should look twice; none where the app is verified and is a web site
    fn warning(&self) -> Option<Markup> {
        let unverified = matches!(self.known, Known::Nothing);
        match &self.target {
            Target::Site(host) if unverified => Some(html! {
                "Nothing about this app was verified: anyone can give an app this name. If you do "
                "not know " strong.host { (host) } ", choose Deny."
            }),
            Target::Site(_) => None,
            Target::Loopback(_) | Target::App(_) if unverified => Some(html! {
                "Nothing about this app was verified: any program on this computer could have "
                "asked, under any name."
            }),
            Target::Loopback(_) | Target::App(_) => Some(html! {
                "Any program on this computer could have asked, under the name of this app."
            }),
        }
    }

    fn known(&self) -> Markup {
        match &self.known {
            Known::Nothing => html! {
                strong { "Not verified." } " The name is what the app calls itself."
            },
            Known::Domain(host) => html! {
                "Verified: it belongs to " strong.host { (host) } ". "
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

/// Scopes of the forge, described for users
pub(super) fn can(scopes: &[String]) -> Markup {
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
