//! The page of a user's own connections

use axum::{http::StatusCode, response::Response};
use jiff::Timestamp;
use maud::{Markup, html};
use url::Url;

use super::{
    consent::{Known, can},
    day, plain,
};
use crate::http::{PageFrame, page};

/// A client that the user is connected to
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    pub(crate) client_id: String,
    /// Name that the client gave itself
    pub(crate) name: String,
    pub(crate) known: Known,
    pub(crate) since: Timestamp,
    pub(crate) last_used: Timestamp,
    /// Number of grants that are not revoked
    pub(crate) grants: usize,
}

#[derive(Debug)]
pub(crate) struct ConnectionsPage<'a> {
    pub(crate) login: &'a str,
    pub(crate) forge: &'a str,
    /// Page of the forge where its own grant can be revoked
    pub(crate) settings: &'a Url,
    pub(crate) must_reconnect: bool,
    /// Scopes of the forge that every connected app gets
    pub(crate) scopes: &'a [String],
    pub(crate) connections: &'a [Connection],
    pub(crate) token: &'a str,
}

impl ConnectionsPage<'_> {
    pub(crate) fn show(&self, frame: &PageFrame<'_>) -> Response {
        let body = html! {
            p.small {
                "Signed in as " strong { (self.login) } " at " (self.forge)
            }
            h1 { "Your connections" }
            @if self.must_reconnect {
                p.warn role="note" {
                    strong { (self.forge) " no longer accepts this sign-in. " }
                    "Your apps cannot work until you sign in again."
                }
                (self.form("sign-in", "main", "Sign in again"))
            }
            @if self.connections.is_empty() {
                p { "No app is connected to your account." }
            }
            @for one in self.connections {
                section.card {
                    @let name = plain(&one.name);
                    h2 { bdi { (name) } }
                    dl {
                        dt { "App" }
                        dd { (one.known.short()) }
                        dt { "Connected" }
                        dd {
                            (day(one.since))
                            @if one.grants > 1 { " (" (one.grants) " times)" }
                        }
                        dt { "Last used" }
                        dd { (day(one.last_used)) }
                        dt { "Can" }
                        dd { (can(self.scopes)) }
                        dt { "Id" }
                        dd { code { (one.client_id) } }
                    }
                    (self.disconnect(&one.client_id, &name))
                }
            }
            div.row {
                @if self.connections.len() > 1 {
                    (self.form("revoke-all", "", "Disconnect all"))
                }
                (self.form("sign-out", "", "Sign out of this page"))
            }
            h2 { "At " (self.forge) }
            p {
                "Disconnecting an app ends its access here at once. This service itself keeps its "
                "permission at " (self.forge) " until you remove it there, under "
                a href=(self.settings) rel="noreferrer" { "Settings → Applications" }
                "; that ends every app at once."
            }
        };
        page(frame, StatusCode::OK, "Your connections", &body)
    }

    /// The button of one client; its label names the client for screen readers
    fn disconnect(&self, client: &str, name: &str) -> Markup {
        html! {
            form method="post" action="/connections" {
                input type="hidden" name="token" value=(self.token);
                input type="hidden" name="client" value=(client);
                button type="submit" name="do" value="revoke" aria-label={ "Disconnect " (name) } {
                    "Disconnect"
                }
            }
        }
    }

    fn form(&self, what: &str, class: &str, label: &str) -> Markup {
        html! {
            form method="post" action="/connections" {
                input type="hidden" name="token" value=(self.token);
                button class=[(!class.is_empty()).then_some(class)] type="submit" name="do" value=(what) {
                    (label)
                }
            }
        }
    }
}

/// The page for a user who is not signed in
pub(crate) fn signed_out(frame: &PageFrame<'_>, forge: &str) -> Response {
    let body = html! {
        h1 { "Your connections" }
        p { "See which apps use your account at " (forge) ", and disconnect them." }
        form method="post" action="/connections" {
            button.main type="submit" name="do" value="sign-in" { "Sign in with " (forge) }
        }
    };
    page(frame, StatusCode::OK, "Your connections", &body)
}
