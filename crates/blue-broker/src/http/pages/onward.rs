//! Pages that lead on to somewhere else, or say that there is nowhere to go

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use maud::{Markup, html};
use url::Url;

use crate::http::{PageFrame, page_with_head};

/// A page that goes on by itself
///
/// Not a redirect: as the answer to a form it would be blocked by the page's own policy for other
/// ports, `[::1]` and private schemes. The link is for browsers that want a click before they
/// start another program; it is far above where the button was, so that a second click does not
/// hit it.
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

/// The forge's answer is being worked on, perhaps by another request of the same browser
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

/// Something to read, and nothing to do any more
pub(crate) fn end(
    frame: &PageFrame<'_>,
    status: StatusCode,
    title: &str,
    text: &Markup,
) -> Response {
    let body = html! { h1 { (title) } (text) };
    secret(page_with_head(frame, status, title, &html! {}, &body))
}

/// Not even our own address may get out: it names the authorization
fn secret(mut answer: Response) -> Response {
    let none = HeaderValue::from_static("no-referrer");
    answer.headers_mut().insert(header::REFERRER_POLICY, none);
    answer
}
