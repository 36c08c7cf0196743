//! The frame every page has, and the headers it goes out with

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use ring::digest;

const STYLE: &str = include_str!("style.css");

/// Nothing is loaded and nothing runs: the one style sheet is named by its hash
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let hash = STANDARD.encode(digest::digest(&digest::SHA256, STYLE.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; frame-ancestors 'none'"
    );
    HeaderValue::from_str(&policy).expect("a policy of plain characters")
});

/// Who looks, as far as a page shows it
#[derive(Debug, Clone, Default)]
pub(crate) struct Viewer(pub(crate) Option<String>);

/// How wide the content is
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    Full,
    Narrow,
}

/// Put content into the frame
pub(crate) fn page(title: &str, viewer: &Viewer, width: Width, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header.top {
                    a.brand href="/" { "Sandbox forge" }
                    span.grow {}
                    @match &viewer.0 {
                        Some(login) => {
                            a href={ "/" (login) } { (login) }
                            a href="/user/settings/applications" { "Applications" }
                        }
                        None => a href="/user/login" { "Sign in" },
                    }
                }
                main.narrow[width == Width::Narrow] { (content) }
                footer { "A small forge for trying things out. Nothing here is meant to last." }
            }
        }
    }
}

/// Send a page
pub(crate) fn send(status: StatusCode, page: Markup) -> Response {
    let mut response = (
        status,
        [
            (
                header::CONTENT_TYPE,
                HeaderValue::from_static("text/html; charset=utf-8"),
            ),
            (header::CONTENT_SECURITY_POLICY, POLICY.clone()),
            (
                header::X_CONTENT_TYPE_OPTIONS,
                HeaderValue::from_static("nosniff"),
            ),
            (
                header::X_FRAME_OPTIONS,
                HeaderValue::from_static("SAMEORIGIN"),
            ),
            (
                header::REFERRER_POLICY,
                HeaderValue::from_static("same-origin"),
            ),
        ],
        page.into_string(),
    )
        .into_response();
    response.headers_mut().insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("max-age=0, private, must-revalidate, no-transform"),
    );
    response
}

/// What is not there, or not for these eyes: a page for a browser, a line for a program
pub(crate) fn not_found(viewer: &Viewer, headers: &HeaderMap) -> Response {
    let browser = headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"));
    if !browser {
        return (StatusCode::NOT_FOUND, "Not found.\n").into_response();
    }
    let content = html! {
        h1 { "Not found" }
        p.dim { "There is no such page, or you may not see it." }
        p { a href="/" { "All repositories" } }
    };
    send(
        StatusCode::NOT_FOUND,
        page("Not found", viewer, Width::Full, &content),
    )
}

/// A page that says what went wrong
pub(crate) fn failure(status: StatusCode, message: &str, viewer: &Viewer) -> Response {
    let content = html! {
        h1 { (status.canonical_reason().unwrap_or("Error")) }
        p.note.bad { (message) }
    };
    send(status, page("Error", viewer, Width::Full, &content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_nothing_is_loaded() {
        let viewer = Viewer(Some("<script>".to_owned()));
        let text = page("</title><b>", &viewer, Width::Full, &html! { "x" }).into_string();
        assert!(!text.contains("<script>"));
        assert!(text.contains("&lt;/title&gt;&lt;b&gt;"));
        for foreign in ["src=", "@import", "url("] {
            assert!(!text.contains(foreign), "{foreign}");
        }
    }

    #[test]
    fn the_policy_names_the_style_sheet_that_is_sent() {
        let program = not_found(&Viewer::default(), &HeaderMap::new());
        assert!(
            !program
                .headers()
                .contains_key(header::CONTENT_SECURITY_POLICY)
        );
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/html,*/*"));
        let response = not_found(&Viewer::default(), &headers);
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        let policy = response.headers()[header::CONTENT_SECURITY_POLICY]
            .to_str()
            .unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"));
    }
}
