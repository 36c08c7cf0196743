//! Pages that lead on to another address, and final pages

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use maud::{Markup, html};
use url::Url;

use crate::http::{PageFrame, page_with_head};

/// A page that goes on to another address by itself
///
/// Not a redirect: as the response to a form, a redirect to other ports, `[::1]` and private
/// schemes would be blocked by the page's own policy. The link is for browsers that want a click
/// before they start another program; it is far above where the button was, so that a second click
/// does not hit it.
#[derive(Debug)]
pub(crate) struct Onward<'a> {
    pub(crate) title: &'a str,
    pub(crate) to: &'a Url,
    pub(crate) link: &'a str,
    pub(crate) note: &'a str,
}

impl Onward<'_> {
    pub(crate) fn show(&self, frame: &PageFrame<'_>) -> Response {
        let head = html! { meta http-equiv="refresh" content={ "0;url=" (self.to) }; };
        let body = html! {
            h1 { (self.title) }
            p { (self.note) }
            p { a.main href=(self.to) rel="noreferrer" { (self.link) } }
        };
        secret(page_with_head(
            frame,
            StatusCode::OK,
            self.title,
            &head,
            &body,
        ))
    }
}

/// The forge's response is still being processed, perhaps by another request of the same browser
pub(crate) fn wait(frame: &PageFrame<'_>) -> Response {
    let head = html! { meta http-equiv="refresh" content="2"; };
    let body = html! {
        h1 { "Finishing your sign-in…" }
        p { "If nothing happens within a minute, close this page and start again in your app." }
    };
    secret(page_with_head(
        frame,
        StatusCode::OK,
        "Finishing your sign-in",
        &head,
        &body,
    ))
}

/// A final page, with nothing left to do
pub(crate) fn end(
    frame: &PageFrame<'_>,
    status: StatusCode,
    title: &str,
    text: &Markup,
) -> Response {
    let body = html! { h1 { (title) } (text) };
    secret(page_with_head(frame, status, title, &html! {}, &body))
}

/// Suppresses the referrer, because our own URL names the authorization
fn secret(mut answer: Response) -> Response {
    let none = HeaderValue::from_static("no-referrer");
    answer.headers_mut().insert(header::REFERRER_POLICY, none);
    answer
}
