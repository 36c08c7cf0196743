//! The route table, and what holds for every answer

mod bearer;
mod caller;
pub(crate) mod connections;
mod cors;
mod error_page;
mod health;
mod mcp;
pub(crate) mod pages;
mod request;
mod serve;

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::{HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{any, get, post},
};

#[cfg(test)]
pub(crate) use bearer::check as check_bearer;
pub(crate) use bearer::{Passes, REMEMBERED};
pub(crate) use caller::counted;
pub(crate) use error_page::{ErrorPage, page, page_with_head};
pub(crate) use health::Seen;
pub(crate) use request::RequestId;
pub use serve::{HEAD, serve};

use crate::{
    app::App,
    oauth::{authorize, callback, consent, discovery, done, register, revoke, token},
};

/// Largest body of a request that is no MCP call
const BODY_LIMIT: usize = 64 * 1024;

/// Every path there is
pub(crate) fn router(app: &Arc<App>) -> Router {
    Router::new()
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
        .layer(middleware::from_fn(headers))
        .layer(middleware::from_fn_with_state(
            Arc::clone(app),
            request::log,
        ))
        .with_state(Arc::clone(app))
}

/// A quick 404 in JSON: clients probe well-known addresses and must not take a page for an answer
async fn nothing_here() -> Response {
    json(
        StatusCode::NOT_FOUND,
        &serde_json::json!({ "error": "not_found" }),
    )
}

/// An answer in JSON that nobody may keep
pub(crate) fn json(status: StatusCode, body: &serde_json::Value) -> Response {
    let no_store = (header::CACHE_CONTROL, "no-store");
    let kind = (header::CONTENT_TYPE, "application/json");
    (status, [no_store, kind], body.to_string()).into_response()
}

/// Headers that every answer has
async fn headers(request: axum::extract::Request, next: Next) -> Response {
    let mut answer = next.run(request).await;
    let headers = answer.headers_mut();
    let value = HeaderValue::from_static;
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, value("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, value("DENY"));
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        let closed = value("default-src 'none'; frame-ancestors 'none'; base-uri 'none'");
        headers.insert(header::CONTENT_SECURITY_POLICY, closed);
    }
    if !headers.contains_key(header::REFERRER_POLICY) {
        headers.insert(header::REFERRER_POLICY, value("no-referrer"));
    }
    // What says nothing of it, as the answer to a call, is for the one who asked.
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, value("no-store"));
    }
    answer
}
