//! Do to a request what a rule says

use std::{io, panic, time::Duration};

use axum::{
    Json,
    body::{Body, Bytes},
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt as _, stream};
use http::{HeaderValue, StatusCode, header};
use http_body_util::BodyExt as _;
use serde_json::Value;

use super::rule::{Kind, Strike};

/// Long enough for what was written to leave before the connection is closed under it
const FLUSH: Duration = Duration::from_millis(20);

pub(super) async fn strike(strike: Strike, request: Request, next: Next) -> Response {
    let Strike { delay, kind } = strike;
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    match kind {
        Kind::Pass => next.run(request).await,
        Kind::Status {
            status,
            headers,
            body,
        } => {
            let mut response = match body {
                Value::String(text) => (status, text).into_response(),
                json => (status, Json(json)).into_response(),
            };
            response.headers_mut().extend(headers);
            response
        }
        // Unwinding ends the connection's own task and nothing else, and prints nothing; a
        // handler has no other way to leave a request without an answer.
        Kind::Drop => panic::resume_unwind(Box::new("connection dropped on request")),
        Kind::Truncate(bytes) => truncate(next.run(request).await, bytes).await,
    }
}

async fn truncate(response: Response, bytes: usize) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(whole) = body
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes)
    else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    parts
        .headers
        .insert(header::CONTENT_LENGTH, HeaderValue::from(whole.len()));
    parts.headers.remove(header::TRANSFER_ENCODING);
    if bytes >= whole.len() {
        return Response::from_parts(parts, Body::from(whole));
    }
    let start = stream::iter([Ok::<Bytes, io::Error>(whole.slice(..bytes))]);
    let cut = stream::once(async {
        tokio::time::sleep(FLUSH).await;
        Err(io::Error::other("body cut on request"))
    });
    Response::from_parts(parts, Body::from_stream(start.chain(cut)))
}
