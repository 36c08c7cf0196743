//! An id for every request, in its log lines and in its response

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    extract::{ConnectInfo, Request, State},
    http::{HeaderName, HeaderValue, StatusCode},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use tokio::time::timeout;
use tracing::{Instrument as _, field::display};

use super::{
    caller::{self, CallerAddress},
    error_page,
};
use crate::app::App;

const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Timeout of a request with a small body; more than one request to the forge may take
const PATIENCE: Duration = Duration::from_mins(1);

/// Id of the request; handlers take it from its extensions
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

/// Log method, path and status; never a query, a header or a body, which may hold secrets
pub(super) async fn log(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let id = app.id();
    request.extensions_mut().insert(RequestId(id.clone()));
    let connection = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let from = connection.map(|ConnectInfo(connection)| {
        let trusted = &app.config.trusted_proxies;
        caller::address(trusted, connection.ip(), request.headers())
    });
    if let Some(from) = from {
        request.extensions_mut().insert(CallerAddress(from));
    }
    let from = from.map(display);
    let method = request.method().clone();
    let path = shown(request.uri().path());
    let page = path != "/mcp" && error_page::wants_page(request.headers());
    let span = tracing::info_span!("request", id = %id);
    let start = Instant::now();
    let run = next.run(request).instrument(span.clone());
    let mut answer = to_its_end(path, run).await;
    if page {
        answer = error_page::instead_of_bare(answer, &app, &RequestId(id.clone()));
    }
    let ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    span.in_scope(|| {
        let status = answer.status().as_u16();
        match path {
            // Monitoring polls these all the time.
            "/healthz" | "/readyz" => tracing::debug!(%method, path, status, ms, from, "answered"),
            _ => tracing::info!(%method, path, status, ms, from, "answered"),
        }
    });
    if let Ok(value) = HeaderValue::try_from(id) {
        answer.headers_mut().insert(HEADER, value);
    }
    answer
}

/// Runs a request to completion even if the client disconnects
///
/// A revocation is several steps (store, audit, cache) and must not stop half-way. A request that
/// exceeds the timeout is aborted, for example when its body never arrives. Calls of `/mcp` have no
/// timeout here, and are cancelled when their client disconnects.
async fn to_its_end(path: &str, run: impl Future<Output = Response> + Send + 'static) -> Response {
    if path == "/mcp" {
        return run.await;
    }
    match tokio::spawn(timeout(PATIENCE, run)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => StatusCode::REQUEST_TIMEOUT.into_response(),
        Err(error) => {
            let why = &error as &dyn std::error::Error;
            tracing::error!(error = why, "a request broke off");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// The path if it is a known one; any other is not logged, because it may contain a token
fn shown(path: &str) -> &'static str {
    const KNOWN: &[&str] = &[
        "/",
        "/healthz",
        "/readyz",
        "/mcp",
        "/authorize",
        "/token",
        "/register",
        "/revoke",
        "/connections",
        "/oauth/authorize",
        "/oauth/consent",
        "/oauth/callback",
        "/oauth/done",
        "/oauth/token",
        "/oauth/register",
        "/oauth/revoke",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/mcp",
    ];
    let known = KNOWN.iter().find(|known| **known == path);
    known.copied().unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_a_call_may_take_its_time() {
        let answer = to_its_end("/oauth/token", pending()).await;
        assert_eq!(answer.status(), StatusCode::REQUEST_TIMEOUT);
        let call = to_its_end("/mcp", pending());
        assert!(timeout(10 * PATIENCE, call).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn client_disconnect_cancels_only_mcp_calls() {
        for (path, comes_to_its_end) in [
            ("/oauth/revoke", true),
            ("/connections", true),
            ("/mcp", false),
        ] {
            let (go_on, gone_on) = oneshot::channel::<()>();
            let (done, end) = oneshot::channel();
            let work = async move {
                let _ = gone_on.await;
                let _ = done.send(());
                StatusCode::OK.into_response()
            };
            // The connection drops the future that it waits for.
            let waiting = timeout(Duration::from_secs(1), to_its_end(path, work));
            assert!(waiting.await.is_err());
            let _ = go_on.send(());
            assert_eq!(end.await.is_ok(), comes_to_its_end, "{path}");
        }
    }

    #[tokio::test]
    async fn a_request_that_breaks_is_answered() {
        let broken = async { panic!("as a test of panics") };
        let answer = to_its_end("/oauth/token", broken).await;
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
