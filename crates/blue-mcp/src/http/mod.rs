//! Streamable HTTP: one address for clients of both eras, and no sessions

mod body;
mod guard;
mod running;

use std::{convert::Infallible, fmt, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, HttpBody as _},
    extract::Request,
    response::Response,
    routing::any,
};
use blue_base::load::{Busy, UserLoad};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use rmcp::{
    ErrorData, ServerHandler,
    model::{ClientJsonRpcMessage, ClientNotification, ErrorCode, JsonRpcMessage},
    transport::streamable_http_server::{
        SessionManager, StreamableHttpServerConfig, StreamableHttpService,
        session::never::NeverSessionManager,
    },
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub use guard::Guard;
use running::Register;
pub use running::Running;

use body::BodyError;

use super::{
    VERSIONS,
    wire::{self, Incoming, Refusal},
};

/// Where the one address is
pub const PATH: &str = "/mcp";
const VERSION: &str = "mcp-protocol-version";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const MODERN: &str = "2026-07-28";
/// Methods of the older revisions alone
const REMOVED: &[&str] = &[
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
];
/// When a request that was refused for its number may come again
const RETRY_AFTER_SECS: &str = "2";
/// How long a message may take to arrive
const PATIENCE: Duration = Duration::from_mins(1);

type Bytes = axum::body::Bytes;

/// Answers at [`PATH`]; `stop` ends what is still being answered
pub fn router<S>(server: S, guard: Guard, stop: CancellationToken) -> Router
where
    S: ServerHandler + Clone,
{
    let none = Arc::new(NeverSessionManager::default());
    build(server, guard, none, false, stop)
}

/// Like [`router`], optionally with sessions for clients that begin with `initialize`
pub fn build<S, M>(
    server: S,
    guard: Guard,
    sessions: Arc<M>,
    keep_sessions: bool,
    stop: CancellationToken,
) -> Router
where
    S: ServerHandler + Clone,
    M: SessionManager,
{
    let door = Arc::new(McpEndpoint::with_sessions(
        server,
        guard,
        sessions,
        keep_sessions,
        stop,
    ));
    let answer = move |request: Request| {
        let door = Arc::clone(&door);
        async move { door.answer(request).await }
    };
    Router::new()
        .route(PATH, any(answer))
        .fallback(|| async { (StatusCode::NOT_FOUND, format!("MCP is served at {PATH}\n")) })
}

/// Answers every request that it is given, wherever that was sent to
pub struct McpEndpoint<S, M = NeverSessionManager> {
    guard: Guard,
    /// Calls of older clients, which say it when they no longer want an answer
    running: Register,
    stop: CancellationToken,
    inner: StreamableHttpService<S, M>,
}

impl<S, M> fmt::Debug for McpEndpoint<S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpEndpoint")
            .field("guard", &self.guard)
            .finish_non_exhaustive()
    }
}

impl<S: ServerHandler + Clone> McpEndpoint<S> {
    pub fn new(server: S, guard: Guard, stop: CancellationToken) -> Self {
        let none = Arc::new(NeverSessionManager::default());
        Self::with_sessions(server, guard, none, false, stop)
    }
}

impl<S: ServerHandler + Clone, M: SessionManager> McpEndpoint<S, M> {
    fn with_sessions(
        server: S,
        guard: Guard,
        sessions: Arc<M>,
        keep_sessions: bool,
        stop: CancellationToken,
    ) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(keep_sessions)
            .with_json_response(true)
            .with_max_request_body_bytes(super::MAX_MESSAGE)
            .with_cancellation_token(stop.clone())
            // The guard has looked at them already, and at more than names.
            .disable_allowed_hosts()
            .disable_allowed_origins();
        Self {
            guard,
            running: Register::default(),
            stop,
            inner: StreamableHttpService::new(move || Ok(server.clone()), sessions, config),
        }
    }
}

impl<S: ServerHandler, M: SessionManager> McpEndpoint<S, M> {
    pub async fn answer(&self, request: Request) -> Response {
        let (mut parts, body) = request.into_parts();
        if let Err(refusal) = self.guard.check(&parts) {
            return refusal.into();
        }
        say_plainly(&mut parts.headers);
        // The library's own answer to what is no message at all: 405, 406, 415.
        if parts.method != Method::POST || !is_json(&parts.headers) {
            parts.headers.remove(header::CONTENT_TYPE);
            return self.pass_on(parts, Bytes::new()).await;
        }
        let user = parts.extensions.get::<UserLoad>().cloned();
        let open = match user.as_ref().map(UserLoad::request).transpose() {
            Ok(open) => open,
            Err(busy) => return too_many(busy),
        };
        let read = body::read(body, user.as_ref());
        let message = match tokio::time::timeout(PATIENCE, read).await {
            Ok(Ok(message)) => message,
            Ok(Err(error)) => return unread(&error),
            Err(_) => return respond(StatusCode::REQUEST_TIMEOUT, Body::empty()),
        };
        let parsed = body::parse(&message.bytes, user.as_ref(), &mut parts).await;
        let answer = match parsed {
            Err(busy) => return too_many(busy),
            Ok(Err(error)) => refuse(StatusCode::BAD_REQUEST, &error),
            Ok(Ok(Incoming::One(value))) => {
                let bytes = message.bytes.clone();
                let bytes = match bytes.strip_prefix(wire::BOM) {
                    Some(bare) => bytes.slice_ref(bare),
                    None => bytes,
                };
                self.one(parts, value, bytes).await
            }
            Ok(Ok(Incoming::Batch(items))) => self.batch(parts, items).await,
        };
        keep_with(answer, (open, message))
    }

    async fn one(&self, mut parts: Parts, value: Value, body: Bytes) -> Response {
        let modern = is_modern(&parts.headers, &value);
        let not_served = not_served(&parts.headers, &value);
        let message = match wire::message(value) {
            Ok(message) => message,
            Err(error) => return refuse(StatusCode::BAD_REQUEST, &error),
        };
        let id = match &message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        if let Some(name) = twice(&parts.headers) {
            return refuse(StatusCode::BAD_REQUEST, &wire::twice(id, name));
        }
        if let (Some(_), Some((status, error))) = (&id, not_served) {
            return refuse(status, &Refusal::new(id, error));
        }
        if !modern {
            self.watch(&mut parts, &message);
        }
        self.pass_on(parts, body).await
    }

    /// Keep track of what an older client may call off, or call it off
    fn watch(&self, parts: &mut Parts, message: &ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => {
                let running = self.running.enter(parts, &request.id);
                parts.extensions.insert(running);
            }
            JsonRpcMessage::Notification(told) => {
                if let ClientNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.running.cancel(parts, id);
                }
            }
            _ => {}
        }
    }

    /// Several messages at once, as the oldest revision has them
    async fn batch(&self, parts: Parts, items: Vec<Value>) -> Response {
        let version = parts.headers.get(VERSION);
        let allowed = version.is_none_or(|version| version == "2025-03-26");
        if let Err(error) = wire::check_batch(&items, allowed) {
            return refuse(StatusCode::BAD_REQUEST, &error);
        }
        let answers = items.into_iter().map(|item| self.batched(&parts, item));
        let answers: Vec<Value> = futures_util::future::join_all(answers)
            .await
            .into_iter()
            .flatten()
            .collect();
        if answers.is_empty() {
            return respond(StatusCode::ACCEPTED, Body::empty());
        }
        answer_json(StatusCode::OK, &Value::Array(answers))
    }

    async fn batched(&self, parts: &Parts, mut item: Value) -> Option<Value> {
        if wire::method(&item) == Some("initialize") {
            let id = serde_json::from_value(item["id"].take()).ok();
            let error = wire::invalid(id, "`initialize` cannot be part of a batch");
            return Some(error.json());
        }
        // One answer for all has no room for how far each has come.
        if let Some(Value::Object(meta)) = item.pointer_mut("/params/_meta") {
            meta.remove("progressToken");
        }
        if let Err(error) = wire::message(item.clone()) {
            // What only tells something has no answer, whatever is wrong with it.
            return (!wire::is_notification(&item)).then(|| error.json());
        }
        let body = Bytes::from(item.to_string());
        let answer = self.one(parts.clone(), item, body).await;
        let body = answer.into_body().collect().await.ok()?.to_bytes();
        serde_json::from_slice(&body).ok()
    }

    async fn pass_on(&self, parts: Parts, body: Bytes) -> Response {
        let request = http::Request::from_parts(parts, Full::new(body));
        let response: http::Response<BoxBody<Bytes, Infallible>> = self.inner.handle(request).await;
        if self.stop.is_cancelled() && response.status().is_server_error() {
            let text = "the server stops; what was asked for may have been done\n";
            return respond(StatusCode::SERVICE_UNAVAILABLE, Body::from(text));
        }
        response.map(Body::new)
    }
}

/// Which era a message belongs to, by the message and not by what clients put beside it
fn is_modern(headers: &HeaderMap, message: &Value) -> bool {
    let said = message.pointer(wire::VERSION).is_some();
    let header = headers.get(VERSION).and_then(|v| v.to_str().ok());
    said || header.is_some_and(|version| version >= MODERN)
        || wire::method(message) == Some("server/discover")
}

fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind == JSON)
}

/// Write what kinds are sent and taken in the one way that the library reads
fn say_plainly(headers: &mut HeaderMap) {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if essence(kind).eq_ignore_ascii_case(JSON) {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    }
    let accept = headers.get_all(header::ACCEPT);
    let ranges: Vec<&str> = accept
        .iter()
        .filter_map(|accept| accept.to_str().ok())
        .flat_map(|accept| accept.split(','))
        .map(essence)
        .collect();
    let takes = |kind: &str| {
        let family = kind.split('/').next().unwrap_or(kind);
        ranges.iter().any(|range| {
            *range == "*/*"
                || range.eq_ignore_ascii_case(kind)
                || range.eq_ignore_ascii_case(&format!("{family}/*"))
        })
    };
    if !headers.contains_key(header::ACCEPT) || takes(JSON) && takes(EVENTS) {
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(header::ACCEPT, both);
    }
}

/// A kind without its parameters
fn essence(kind: &str) -> &str {
    kind.split(';').next().unwrap_or(kind).trim()
}

/// A header that may come once, and came again: who looks at the first and who looks at the last
/// would not see the same request
fn twice(headers: &HeaderMap) -> Option<&str> {
    headers
        .keys()
        .map(HeaderName::as_str)
        .find(|name| name.starts_with("mcp-") && headers.get_all(*name).iter().count() > 1)
}

/// What the library would answer less clearly: a revision that is not served, whatever headers it
/// may want, and a method that the newest one has no more, whatever it wanted when it was there
fn not_served(headers: &HeaderMap, message: &Value) -> Option<(StatusCode, ErrorData)> {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    // Where the two differ, that is what is wrong.
    let version = message.pointer(wire::VERSION)?.as_str()?;
    if header(VERSION) != Some(version) {
        return None;
    }
    if !VERSIONS.iter().any(|served| served.as_str() == version) {
        let data = json!({"requested": version, "supported": VERSIONS});
        let code = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
        let error = ErrorData::new(code, "this revision is not served", Some(data));
        return Some((StatusCode::BAD_REQUEST, error));
    }
    let method = wire::method(message)?;
    let gone = REMOVED.contains(&method) && header("mcp-method") == Some(method);
    gone.then(|| {
        let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None);
        (StatusCode::NOT_FOUND, error)
    })
}

/// Keeps something until the answer is sent, or given up
pub fn keep_with(answer: Response, kept: impl Send + 'static) -> Response {
    // A whole answer is sent whatever becomes of the rest, and is not counted any more.
    if answer.body().size_hint().exact().is_some() {
        return answer;
    }
    answer.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _ = &kept;
            frame
        }))
    })
}

/// The answer to a body that cannot be read to its end
fn unread(error: &BodyError) -> Response {
    match error {
        BodyError::Busy(busy) => too_many(*busy),
        BodyError::TooLarge => {
            let message = format!("a message has more than {} bytes", super::MAX_MESSAGE);
            refuse(StatusCode::PAYLOAD_TOO_LARGE, &wire::invalid(None, message))
        }
        BodyError::Broken => {
            let error = wire::invalid(None, "the message ends before its end");
            refuse(StatusCode::BAD_REQUEST, &error)
        }
    }
}

/// The answer to a request that is not looked at, since its user has too much open
fn too_many(busy: Busy) -> Response {
    let error = ErrorData::internal_error(format!("{busy}; send it again in a moment"), None);
    let mut response = refuse(StatusCode::TOO_MANY_REQUESTS, &Refusal::new(None, error));
    let seconds = HeaderValue::from_static(RETRY_AFTER_SECS);
    response.headers_mut().insert(header::RETRY_AFTER, seconds);
    response
}

fn refuse(status: StatusCode, error: &Refusal) -> Response {
    answer_json(status, &error.json())
}

fn answer_json(status: StatusCode, value: &Value) -> Response {
    let mut response = respond(status, Body::from(value.to_string()));
    let kind = HeaderValue::from_static(JSON);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn respond(status: StatusCode, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}
