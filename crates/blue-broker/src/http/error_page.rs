//! Pages for people, and the page that says what went wrong

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::RequestId;
use crate::{
    app::App,
    rng::{self, Rng},
};

const STYLE: &str = include_str!("style.css");

/// What every page shows besides its own text
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageFrame<'a> {
    rng: &'a dyn Rng,
    /// Host and port of the public URL
    host: &'a str,
    request_id: &'a str,
}

impl<'a> PageFrame<'a> {
    pub(crate) fn new(app: &'a App, RequestId(request_id): &'a RequestId) -> Self {
        Self {
            rng: &*app.rng,
            host: app.config.public_url.authority(),
            request_id,
        }
    }
}

/// A whole page: no scripts, one style, not to be framed or kept
///
/// Forms may only post to ourselves. `Referrer-Policy` is `same-origin`, because with
/// `no-referrer` a browser sends `Origin: null` with our own forms.
pub(crate) fn page(
    frame: &PageFrame<'_>,
    status: StatusCode,
    title: &str,
    body: &Markup,
) -> Response {
    page_with_head(frame, status, title, &html! {}, body)
}

/// Like [`page`], with more elements in its head; an error status adds the id of the request
pub(crate) fn page_with_head(
    frame: &PageFrame<'_>,
    status: StatusCode,
    title: &str,
    head: &Markup,
    body: &Markup,
) -> Response {
    let nonce = rng::id(frame.rng);
    let failed = status.is_client_error() || status.is_server_error();
    let html = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                (head)
                title { (title) " · Blue" }
                style nonce=(nonce) { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    p.service { strong { "Blue" } " at " (frame.host) }
                    (body)
                    @if failed {
                        p.small { "Request " code { (frame.request_id) } }
                    }
                }
            }
        }
    };
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::CONTENT_SECURITY_POLICY, &policy),
    ];
    (status, headers, html.into_string()).into_response()
}

/// An error, explained to the user in front of the browser
#[derive(Debug, Clone)]
pub(crate) struct ErrorPage<'a> {
    pub(crate) status: StatusCode,
    pub(crate) title: &'a str,
    pub(crate) what: &'a str,
    /// What the user can do about it
    pub(crate) advice: &'a str,
}

impl ErrorPage<'_> {
    pub(crate) fn show(&self, frame: &PageFrame<'_>) -> Response {
        let body = html! {
            h1 { (self.title) }
            p { (self.what) }
            p { (self.advice) }
        };
        page(frame, self.status, self.title, &body)
    }
}

/// Whether a request comes from a browser that shows a page
pub(super) fn wants_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter();
    accepted
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains("text/html"))
}

/// Replaces an error that has only a status, or plain text, by a page
///
/// Such errors come from below the handlers: an unknown path, a wrong method, a body that is too
/// large, a timeout.
pub(super) fn instead_of_bare(answer: Response, app: &App, request: &RequestId) -> Response {
    let status = answer.status();
    let kind = answer.headers().get(header::CONTENT_TYPE);
    let is_plain = kind.is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
    if !is_plain || !(status.is_client_error() || status.is_server_error()) {
        return answer;
    }
    let (title, what, advice) = match status {
        StatusCode::NOT_FOUND => (
            "There is no such page",
            "The address is wrong, or something is missing at its end.",
            "Go back to your app and start again there.",
        ),
        StatusCode::REQUEST_TIMEOUT => (
            "This took too long",
            "The request was not finished in time.",
            "Try again in a moment.",
        ),
        _ if status.is_server_error() => (
            "Something went wrong here",
            "The service could not do its work.",
            "Try again in a moment.",
        ),
        _ => (
            "This request makes no sense",
            "The address or form is wrong.",
            "Go back to your app and start again there.",
        ),
    };
    let page = ErrorPage {
        status,
        title,
        what,
        advice,
    };
    let mut page = page.show(&PageFrame::new(app, request));
    super::add_standard_headers(app, &mut page);
    for name in [header::ALLOW, header::RETRY_AFTER, header::CONNECTION] {
        if let Some(value) = answer.headers().get(&name) {
            page.headers_mut().insert(name, value.clone());
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SystemRng;

    #[tokio::test]
    async fn words_of_others_are_text() {
        let page = ErrorPage {
            status: StatusCode::BAD_REQUEST,
            title: "<b>bold</b>",
            what: "<script>alert(1)</script>",
            advice: "a \"quote\"",
        };
        let frame = PageFrame {
            rng: &SystemRng::default(),
            host: "broker.example.org",
            request_id: "r-1",
        };
        let answer = page.show(&frame);
        assert_eq!(answer.status(), 400);
        let policy = answer.headers()[header::CONTENT_SECURITY_POLICY]
            .to_str()
            .unwrap()
            .to_owned();
        let body = axum::body::to_bytes(answer.into_body(), 1 << 20)
            .await
            .unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(!body.contains("<script") && !body.contains("<b>"), "{body}");
        assert!(body.contains("broker.example.org") && body.contains("<code>r-1</code>"));
        let nonce = policy
            .split("'nonce-")
            .nth(1)
            .unwrap()
            .split('\'')
            .next()
            .unwrap();
        assert!(
            body.contains(&format!("<style nonce=\"{nonce}\">")),
            "{body}"
        );
    }
}
