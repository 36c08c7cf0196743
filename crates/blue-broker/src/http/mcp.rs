//! `/mcp`: authentication in front of the back end

use std::{net::SocketAddr, sync::Arc};

use axum::{
    body::Body,
    extract::State,
    http::{HeaderValue, Method, Request, StatusCode, header, uri::Authority},
    response::Response,
};
use serde_json::json;
use tracing::{Instrument as _, Span};
use url::Url;

use super::{
    bearer::{self, Pass, Refusal},
    json as answer,
};
use crate::{
    app::App,
    backend::{Caller, Refused},
    upstream,
};

/// Headers that a page of an allowed origin may send and read
const ALLOWED: &str = "authorization, content-type, accept, mcp-protocol-version, mcp-method, \
    mcp-name, mcp-session-id, last-event-id";
const EXPOSED: &str = "www-authenticate, mcp-session-id, mcp-protocol-version, x-request-id";

/// Admits requests with a valid bearer token and rejects all others, whatever the method
pub(super) async fn mcp(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let known = origin.as_ref().is_none_or(|origin| is_known(&app, origin));
    let mut response = if known && is_preflight(&request) {
        preflight()
    } else {
        enter(&app, known, request).await
    };
    if let Some(origin) = origin.filter(|_| known) {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let exposed = HeaderValue::from_static(EXPOSED);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
    let varies = HeaderValue::from_static("origin");
    response.headers_mut().append(header::VARY, varies);
    response
}

async fn enter(app: &Arc<App>, known: bool, mut request: Request<Body>) -> Response {
    let pass = match bearer::check(app, request.headers()).await {
        Ok(pass) => pass,
        Err(refusal) => return refused(app, &refusal),
    };
    if !known {
        return forbidden("pages of this `Origin` may not call this server");
    }
    if !is_our_host(app, &request) {
        return forbidden("this server does not go by the name in `Host`");
    }
    // The broker's own token and cookies must not reach the back end.
    for name in [header::AUTHORIZATION, header::COOKIE] {
        request.headers_mut().remove(name);
    }
    let caller = Caller {
        grant: pass.grant.clone(),
        user: pass.user.clone(),
        login: pass.login.clone(),
        forge: app.config.forge.url().clone(),
        forge_token: pass.forge_token.clone(),
        scopes: pass.scope.split(' ').map(str::to_owned).collect(),
        refused: refused_by_forge(app, &pass),
    };
    app.backend.answer(caller, request).await
}

/// Builds the callback for when the forge rejects the token of this call
fn refused_by_forge(app: &Arc<App>, pass: &Arc<Pass>) -> Refused {
    let (app, pass) = (Arc::clone(app), Arc::clone(pass));
    let span = Span::current();
    Refused::new(move || {
        // Evicted first, so that the next calls do not use the rejected token.
        app.passes.forget(std::slice::from_ref(&pass.grant));
        let (on, pass) = (Arc::clone(&app), Arc::clone(&pass));
        let work = async move { upstream::distrust(&on, &pass.user, pass.version).await };
        app.tasks.spawn(work.instrument(span.clone()));
    })
}

fn is_preflight(request: &Request<Body>) -> bool {
    let headers = request.headers();
    request.method() == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn preflight() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let value = HeaderValue::from_static;
    let headers = response.headers_mut();
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        value("GET, POST, DELETE"),
    );
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, value(ALLOWED));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, value("600"));
    response
}

fn is_known(app: &App, origin: &HeaderValue) -> bool {
    let origin = origin.as_bytes();
    let config = &app.config;
    origin == config.public_url.origin().as_bytes()
        || config
            .origins
            .iter()
            .any(|known| origin == known.as_bytes())
}

/// Whether the request names us: by the public name, or by the very socket, as a proxy on this
/// machine does that does not pass the name on
fn is_our_host(app: &App, request: &Request<Body>) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    // A target that names a host wins over the header (RFC 9112, 3.2.2).
    let target = request.uri().authority().map(Authority::as_str);
    let named = match (hosts.next(), hosts.next()) {
        (Some(_), Some(_)) => None,
        (one, _) => target.or_else(|| one?.to_str().ok()),
    };
    let Some(named) = named else {
        return false;
    };
    let public = &app.config.public_url;
    // A proxy may leave out the port; the name is what a foreign page cannot have.
    let whole = public.authority();
    let name = match whole.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => whole,
    };
    if [whole, name]
        .iter()
        .any(|name| named.eq_ignore_ascii_case(name))
    {
        return true;
    }
    // Parsed as a URL, because the default port of the scheme may be written out.
    let scheme = public.origin().split(':').next().unwrap_or_default();
    let Ok(asked) = Url::parse(&format!("{scheme}://{named}/")) else {
        return false;
    };
    if asked.origin().ascii_serialization() == public.origin() && asked.username().is_empty() {
        return asked.password().is_none() && asked.path() == "/" && asked.query().is_none();
    }
    let socket = app.config.listen;
    let of_this_machine = named
        .parse::<SocketAddr>()
        .is_ok_and(|asked| asked.ip().is_loopback() && asked.port() == socket.port())
        || named == format!("localhost:{}", socket.port());
    of_this_machine && (socket.ip().is_loopback() || socket.ip().is_unspecified())
}

fn forbidden(why: &str) -> Response {
    let body = json!({ "error": "forbidden", "error_description": why });
    answer(StatusCode::FORBIDDEN, &body)
}

/// The response to a request that is not admitted; it says where to get a token
fn refused(app: &App, refusal: &Refusal) -> Response {
    let (status, error, why) = match refusal {
        Refusal::None => (
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "a token is needed",
        ),
        Refusal::Invalid(why) => (StatusCode::UNAUTHORIZED, "invalid_token", *why),
        Refusal::Unavailable => (
            StatusCode::SERVICE_UNAVAILABLE,
            "temporarily_unavailable",
            "the forge does not answer",
        ),
        Refusal::Broken => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "server_error",
            "the broker could not do its work",
        ),
    };
    let body = json!({ "error": error, "error_description": why });
    let mut response = answer(status, &body);
    let headers = response.headers_mut();
    if status == StatusCode::UNAUTHORIZED {
        let metadata = app
            .config
            .public_url
            .at("/.well-known/oauth-protected-resource/mcp");
        // Quotes in `why` are ours to avoid; backticks are no trouble.
        let wrong = match refusal {
            Refusal::Invalid(why) => {
                format!("error=\"invalid_token\", error_description=\"{why}\", ")
            }
            _ => String::new(),
        };
        let challenge = format!("Bearer {wrong}resource_metadata=\"{metadata}\", scope=\"mcp\"");
        if let Ok(challenge) = HeaderValue::try_from(challenge) {
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
    }
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}
