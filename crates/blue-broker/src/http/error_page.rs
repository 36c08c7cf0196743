//! Pages for people, and the page that says what went wrong

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::rng::{self, Rng};

const STYLE: &str = include_str!("style.css");

/// A whole page: no scripts, one style, not to be framed or kept
///
/// Forms may only post to ourselves. `Referrer-Policy` is `same-origin`, because with
/// `no-referrer` a browser sends `Origin: null` with our own forms.
pub(crate) fn page(rng: &dyn Rng, status: StatusCode, title: &str, body: &Markup) -> Response {
    page_with_head(rng, status, title, &html! {}, body)
}

/// The same with something more in its head
pub(crate) fn page_with_head(
    rng: &dyn Rng,
    status: StatusCode,
    title: &str,
    head: &Markup,
    body: &Markup,
) -> Response {
    let nonce = rng::id(rng);
    let html = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                (head)
                title { (title) }
                style nonce=(nonce) { (PreEscaped(STYLE)) }
            }
            body { main { (body) } }
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

/// What went wrong, in words for the person in front of the browser
#[derive(Debug, Clone)]
pub(crate) struct ErrorPage<'a> {
    pub(crate) status: StatusCode,
    pub(crate) title: &'a str,
    pub(crate) what: &'a str,
    /// What they can do about it
    pub(crate) advice: &'a str,
    pub(crate) request_id: &'a str,
}

impl ErrorPage<'_> {
    pub(crate) fn show(&self, rng: &dyn Rng) -> Response {
        let body = html! {
            h1 { (self.title) }
            p { (self.what) }
            p { (self.advice) }
            p.small { "Request " code { (self.request_id) } }
        };
        page(rng, self.status, self.title, &body)
    }
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
            request_id: "r",
        };
        let answer = page.show(&SystemRng::default());
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
