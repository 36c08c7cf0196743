//! The route table, and what holds for every answer

mod bearer;
mod caller;
mod connection_limits;
pub(crate) mod connections;
mod cors;
mod error_page;
mod health;
mod home;
mod host;
mod mcp;
pub(crate) mod pages;
mod request;
mod serve;

use std::sync::Arc;

use axum::{
    Router,
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{any, get, post},
};

#[cfg(test)]
pub(crate) use bearer::check as check_bearer;
pub(crate) use bearer::{Passes, REMEMBERED};
pub(crate) use caller::counted;
pub(crate) use connection_limits::ConnectionLimits;
pub(crate) use error_page::{ErrorPage, PageFrame, page, page_with_head};
pub(crate) use health::Seen;
pub(crate) use request::RequestId;
pub(crate) use serve::serve_within;
pub use serve::{HEAD, serve};

use crate::{
    app::App,
    oauth::{authorize, callback, consent, discovery, done, register, revoke, token},
};

/// Largest body of a request that is no MCP call
const BODY_LIMIT: usize = 64 * 1024;

/// HSTS: browsers use https alone for a year
const HTTPS_ONLY: &str = "max-age=31536000";

/// Every path there is
pub(crate) fn router(app: &Arc<App>) -> Router {
    Router::new()
        .route("/", get(home::home).fallback(nothing_here))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/mcp", any(mcp::mcp))
        .route("/oauth/authorize", get(authorize::authorize))
        .route("/authorize", get(authorize::authorize))
        .route("/oauth/consent", get(consent::ask).post(consent::answer))
        .route("/oauth/callback", get(callback::callback))
        .route("/oauth/done", get(done::done))
        .route(
            "/connections",
            get(connections::show).post(connections::act),
        )
        .route("/oauth/token", post(token::token))
        .route("/token", post(token::token))
        .route("/oauth/revoke", post(revoke::revoke))
        .route("/revoke", post(revoke::revoke))
        .route("/oauth/register", post(register::register))
        .route("/register", post(register::register))
        .route(
            "/.well-known/oauth-protected-resource",
            get(discovery::resource),
        )
        .route(
            "/.well-known/oauth-protected-resource/mcp",
            get(discovery::resource),
        )
        .route(
            "/.well-known/oauth-authorization-server",
            get(discovery::server),
        )
        .route(
            "/.well-known/oauth-authorization-server/mcp",
            get(discovery::server),
        )
        .fallback(nothing_here)
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(middleware::from_fn(cors::cors))
        .layer(middleware::from_fn(host::exactly_one))
        .layer(middleware::from_fn_with_state(Arc::clone(app), headers))
        .layer(middleware::from_fn_with_state(
            Arc::clone(app),
            request::log,
        ))
        .with_state(Arc::clone(app))
}

/// A small 404 in JSON: clients probe well-known URLs and must not take a page for a document
///
/// A browser gets a page, which a layer above makes from the bare status.
async fn nothing_here(uri: Uri, headers: HeaderMap) -> Response {
    if error_page::wants_page(&headers) && !uri.path().contains("/.well-known/") {
        return StatusCode::NOT_FOUND.into_response();
    }
    json(
        StatusCode::NOT_FOUND,
        &serde_json::json!({ "error": "not_found" }),
    )
}

/// A JSON response that must not be cached
pub(crate) fn json(status: StatusCode, body: &serde_json::Value) -> Response {
    let no_store = (header::CACHE_CONTROL, "no-store");
    let kind = (header::CONTENT_TYPE, "application/json");
    (status, [no_store, kind], body.to_string()).into_response()
}

/// Adds the headers that every response has
async fn headers(
    State(app): State<Arc<App>>,
    request: axum::extract::Request,
    next: Next,
) -> Response {
    let mut answer = next.run(request).await;
    add_standard_headers(&app, &mut answer);
    answer
}

fn add_standard_headers(app: &App, answer: &mut Response) {
    let headers = answer.headers_mut();
    let value = HeaderValue::from_static;
    if app.config.public_url.is_https() {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, value(HTTPS_ONLY));
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, value("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, value("DENY"));
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        let closed = value("default-src 'none'; frame-ancestors 'none'; base-uri 'none'");
        headers.insert(header::CONTENT_SECURITY_POLICY, closed);
    }
    if !headers.contains_key(header::REFERRER_POLICY) {
        headers.insert(header::REFERRER_POLICY, value("no-referrer"));
    }
    // By default a response is meant for its caller alone, as that of an MCP call.
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, value("no-store"));
    }
}
