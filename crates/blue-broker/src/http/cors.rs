//! Pages of other origins may read the metadata and call the endpoints that take no cookie

use axum::{
    extract::Request,
    http::{HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

/// Paths whose responses do not depend on cookies
const OPEN: &[&str] = &[
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/mcp",
    "/register",
    "/oauth/register",
    "/token",
    "/oauth/token",
    "/revoke",
    "/oauth/revoke",
];

/// Answer preflights of the open paths, and let pages of every origin read their responses
pub(super) async fn cors(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if !OPEN.contains(&path) {
        return next.run(request).await;
    }
    let methods = if path.starts_with("/.well-known/") {
        "GET, HEAD, OPTIONS"
    } else {
        "POST, OPTIONS"
    };
    let preflight = request.method() == Method::OPTIONS;
    let mut answer = if preflight {
        StatusCode::NO_CONTENT.into_response()
    } else {
        next.run(request).await
    };
    let value = HeaderValue::from_static;
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, value("*"));
    if preflight {
        headers.insert(header::ALLOW, value(methods));
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, value(methods));
        headers.insert(
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            value("Authorization, Content-Type, Accept, MCP-Protocol-Version"),
        );
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, value("7200"));
    } else {
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            value("WWW-Authenticate, Retry-After, X-Request-Id"),
        );
    }
    answer
}
