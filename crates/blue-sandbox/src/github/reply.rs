//! An answer before it goes out

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::{Value, json};

pub(super) const JSON: &str = "application/json; charset=utf-8";

/// Status, headers and the whole body, so that it can be given an `ETag`
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Reply {
    pub(super) fn json(status: StatusCode, value: &Value) -> Self {
        Self::bytes(JSON, value.to_string().into_bytes()).with_status(status)
    }

    pub(super) fn ok(value: &Value) -> Self {
        Self::json(StatusCode::OK, value)
    }

    /// Made, and found again at `url` of the answer
    pub(super) fn created(value: &Value) -> Self {
        let made = Self::json(StatusCode::CREATED, value);
        match value["url"].as_str() {
            Some(url) => made.with(header::LOCATION, url),
            None => made,
        }
    }

    pub(super) fn no_content() -> Self {
        Self::empty(StatusCode::NO_CONTENT)
    }

    pub(super) fn empty(status: StatusCode) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: Vec::new(),
        }
    }

    pub(super) fn bytes(kind: &'static str, body: Vec<u8>) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        Self {
            status: StatusCode::OK,
            headers,
            body,
        }
    }

    /// Elsewhere, and the body says so too
    pub(super) fn moved(status: StatusCode, to: &str) -> Self {
        let message = if status == StatusCode::MOVED_PERMANENTLY {
            "Moved Permanently"
        } else {
            "Temporary Redirect"
        };
        let body = json!({"message": message, "url": to, "documentation_url": "https://docs.github.com/rest/guides/best-practices-for-using-the-rest-api#follow-redirects"});
        Self::json(status, &body).with(header::LOCATION, to)
    }

    pub(super) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// A value that cannot be a header is left out
    pub(super) fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    pub(super) fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}
