//! The page at the root

use axum::{http::StatusCode, response::Response};
use maud::html;
use url::Url;

use crate::http::{PageFrame, page};

#[derive(Debug)]
pub(crate) struct HomePage<'a> {
    pub(crate) forge: &'a str,
    pub(crate) forge_url: &'a Url,
    /// Where MCP clients connect
    pub(crate) endpoint: &'a str,
}

impl HomePage<'_> {
    pub(crate) fn show(&self, frame: &PageFrame<'_>) -> Response {
        let body = html! {
            h1 { "Blue connects AI apps to " (self.forge) }
            p {
                "With it, an app such as Claude, Codex or Cursor works with your repositories at "
                a href=(self.forge_url) rel="noreferrer" { (self.forge) }
                ", with your rights and only after you approve."
            }
            h2 { "Connect an app" }
            p { "Add a remote MCP server with this address in your app:" }
            p { code { (self.endpoint) } }
            p { "The app then opens this site, where you approve it and sign in." }
            h2 { "Your connections" }
            p {
                "See which apps use your account, and disconnect them, on "
                a href="/connections" { "your connections" } "."
            }
        };
        let title = format!("AI apps at {}", self.forge);
        page(frame, StatusCode::OK, &title, &body)
    }
}
