//! From a request to its answer, with the headers every answer has

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderName, HeaderValue, StatusCode, header};
use ring::digest;

use super::ask::Ask;
use super::cx::Cx;
use super::door::Door;
use super::refusal::Refusal;
use super::reply::Reply;
use super::table;
use crate::app::App;
use crate::auth::{self, Caller, Scopes};

/// The largest body that is read: a blob of 100 MB in base64
const MOST: usize = 140 << 20;

pub(super) async fn serve(
    State(app): State<App>,
    Extension(door): Extension<Arc<Door>>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, MOST).await else {
        let refusal = Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "Request body is too large");
        return refusal.into_reply().into_response();
    };
    let ask = Ask::new(parts, body);
    app.blocking(move |app| answer(app, &door, &ask))
        .await
        .into_response()
}

fn answer(app: &App, door: &Door, ask: &Ask) -> Reply {
    let now = app.now().as_second();
    let Ok(caller) = auth::authenticate(app, &ask.headers, None) else {
        let refusal = Refusal::new(StatusCode::UNAUTHORIZED, "Bad credentials");
        let mut reply = refusal.into_reply();
        door.rates.take(0, now, 1).write(&mut reply.headers);
        dress(&mut reply, ask, None);
        return reply;
    };
    let who = caller.as_ref().map_or(0, |caller| caller.user.id);
    let cx = Cx::new(app, ask, caller, door);
    let mut reply = table::dispatch(&cx).unwrap_or_else(Refusal::into_reply);
    let unchanged = ask.reads() && reply.status == StatusCode::OK && tag(&mut reply, ask, who);
    if unchanged {
        reply.status = StatusCode::NOT_MODIFIED;
        reply.body.clear();
        reply.headers.remove(header::CONTENT_TYPE);
    }
    // What did not change costs nothing, and neither does asking what is left.
    let free = (unchanged && who != 0) || ask.path == "/rate_limit";
    door.rates
        .take(who, now, i64::from(!free))
        .write(&mut reply.headers);
    dress(&mut reply, ask, cx.caller());
    reply
}

/// Give the answer its `ETag`; tells whether the caller has this very answer already
fn tag(reply: &mut Reply, ask: &Ask, who: i64) -> bool {
    let mut context = digest::Context::new(&digest::SHA256);
    // Each caller has tags of their own.
    context.update(&who.to_le_bytes());
    context.update(&reply.body);
    let hash = URL_SAFE_NO_PAD.encode(&context.finish().as_ref()[..21]);
    if let Ok(value) = HeaderValue::from_str(&format!("W/\"{hash}\"")) {
        reply.headers.insert(header::ETAG, value);
    }
    reply.headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("private, max-age=60, s-maxage=60"),
    );
    ask.headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|given| given.trim() == "*" || given.contains(&hash))
}

fn dress(reply: &mut Reply, ask: &Ask, caller: Option<&Caller>) {
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            reply.headers.insert(HeaderName::from_static(name), value);
        }
    };
    set("x-github-media-type", ask.media().name());
    set("x-github-api-version-selected", "2022-11-28");
    set("vary", "Accept, Authorization, Cookie, X-GitHub-OTP");
    set("x-content-type-options", "nosniff");
    if let Some(caller) = caller {
        set("x-oauth-scopes", &scopes(caller.scopes.as_ref()));
        set("x-accepted-oauth-scopes", "");
    }
}

/// The caller's scopes in GitHub's words; those it has no word for are left out
fn scopes(held: Option<&Scopes>) -> String {
    let words = [
        ("write:admin", "site_admin"),
        ("write:organization", "admin:org"),
        ("write:repository", "delete_repo"),
        ("write:repository", "repo"),
        ("write:user", "user"),
    ];
    let mut told: Vec<&str> = words
        .iter()
        .filter(|(scope, _)| held.is_none_or(|held| held.allow(scope)))
        .map(|(_, word)| *word)
        .collect();
    if held.is_none_or(Scopes::allow_workflows) {
        told.push("workflow");
    }
    told.join(", ")
}
