//! The `Host` header, which HTTP/1.1 demands exactly once (RFC 9112, section 3.2)
//!
//! With two of them, a proxy and the server behind it may each take another one for the name that
//! was asked for.

use axum::{
    extract::Request,
    http::{StatusCode, Version, header},
    middleware::Next,
    response::Response,
};
use serde_json::json;

/// Refuse an HTTP/1.1 request without a `Host` header, or with several
pub(super) async fn exactly_one(request: Request, next: Next) -> Response {
    let hosts = request.headers().get_all(header::HOST).iter().count();
    if request.version() == Version::HTTP_11 && hosts != 1 {
        let why = json!({
            "error": "invalid_request",
            "error_description": "an HTTP/1.1 request has exactly one `Host` header",
        });
        return super::json(StatusCode::BAD_REQUEST, &why);
    }
    next.run(request).await
}
