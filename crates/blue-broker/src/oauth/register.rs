//! `POST /oauth/register`: dynamic client registration (RFC 7591)
//!
//! Clients register again and again, so an identical registration of a public client returns the
//! existing row; the loopback port, which differs each time, is ignored. A client with a secret is
//! always new, because a caller must not get the secret of another client.

use std::{collections::BTreeSet, sync::Arc};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use serde_json::{Map, Value, json};
use url::Url;

use super::{
    claims::{ClaimError, Claims},
    redirect,
};
use crate::{
    app::App,
    audit::Fields,
    http::{self, RequestId},
    limits,
    store::{AuditEvent, AuthMethod, Client, ClientKind, StoreError},
    token::{Kind, Token, TokenHash},
};

/// Largest registration
const LARGEST: usize = 16 * 1024;
/// Characters of a host that are recorded
const LONGEST_HOST: usize = 100;
/// Hosts of redirect URIs that are recorded with the event
const HOSTS_PER_EVENT: usize = 5;

pub(crate) async fn register(State(app): State<Arc<App>>, request: Request) -> Response {
    match answer(&app, request).await {
        Ok(body) => http::json(StatusCode::CREATED, &body),
        Err(refusal) => refusal.show(),
    }
}

/// Why a registration is not accepted
#[derive(Debug)]
enum Refusal {
    Closed,
    Redirect(String),
    Metadata(String),
    TooMany(limits::TooMany),
    Store(StoreError),
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<ClaimError> for Refusal {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::Redirect(why) => Self::Redirect(why),
            ClaimError::Metadata(why) => Self::Metadata(why),
        }
    }
}

impl Refusal {
    fn show(self) -> Response {
        let say = |status, error: &str, why: &str| {
            http::json(status, &json!({ "error": error, "error_description": why }))
        };
        match self {
            Self::Closed => say(
                StatusCode::FORBIDDEN,
                "access_denied",
                "clients may not register themselves here",
            ),
            Self::Redirect(why) => say(StatusCode::BAD_REQUEST, "invalid_redirect_uri", &why),
            Self::Metadata(why) => say(StatusCode::BAD_REQUEST, "invalid_client_metadata", &why),
            Self::TooMany(wait) => {
                let mut answer = say(
                    StatusCode::TOO_MANY_REQUESTS,
                    "temporarily_unavailable",
                    &wait.to_string(),
                );
                let seconds = HeaderValue::from(wait.0);
                answer.headers_mut().insert(header::RETRY_AFTER, seconds);
                answer
            }
            Self::Store(error) => {
                let why = &error as &dyn std::error::Error;
                tracing::error!(error = why, "the database failed");
                say(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "server_error",
                    "the broker could not do its work",
                )
            }
        }
    }
}

async fn answer(app: &App, request: Request) -> Result<Value, Refusal> {
    if !app.config.registration {
        return Err(Refusal::Closed);
    }
    let from = http::counted(request.extensions());
    let id = request.extensions().get::<RequestId>().cloned();
    let said = body(request).await?;
    let claims = Claims::read(&app.config, &said)?;
    let method = match claims.auth_method.as_deref() {
        // The default of RFC 7591 is a secret, but clients that leave the method out never send
        // one.
        None => AuthMethod::None,
        Some(name) => AuthMethod::parse(name).ok_or_else(|| {
            Refusal::Metadata(
                "`token_endpoint_auth_method` must be `none`, `client_secret_post` or \
                 `client_secret_basic`"
                    .to_owned(),
            )
        })?,
    };
    let fingerprint = (method == AuthMethod::None).then(|| fingerprint(&claims));
    if let Some(fingerprint) = &fingerprint
        && let Some(known) = app.store.client_by_fingerprint(fingerprint).await?
    {
        app.store.client_seen(&known.id, app.now()).await?;
        return Ok(written(&known, &claims, &said, None));
    }
    app.limits
        .registrations
        .take(from.as_ref(), app.now())
        .map_err(Refusal::TooMany)?;
    let secret = match method {
        AuthMethod::None => None,
        AuthMethod::Post | AuthMethod::Basic => Some(Token::new(Kind::ClientSecret, &*app.rng)),
    };
    let keyed = |secret: &Token| app.store.keyed(&secret.hash());
    let client = Client {
        id: format!("bbc_{}", app.id()),
        kind: ClientKind::Dynamic,
        name: claims.shown_name(),
        redirect_uris: claims.redirect_uris.clone(),
        auth_method: method,
        secret: secret.as_ref().map(keyed).transpose()?,
        // Links and the like are returned and compared, but not stored: nothing reads them later.
        metadata: json!({}),
        fingerprint,
        created_at: app.now(),
        last_used_at: None,
    };
    if !app.store.put_client(&client).await? {
        // A concurrent request registered the same client between our read and our write.
        let first = match &client.fingerprint {
            Some(fingerprint) => app.store.client_by_fingerprint(fingerprint).await?,
            None => None,
        };
        let first = first.ok_or_else(|| StoreError::Corrupt("a fingerprint".to_owned()))?;
        return Ok(written(&first, &claims, &said, None));
    }
    let about = Fields {
        client: Some(&client.id),
        request: id.as_ref().map(|RequestId(id)| id.as_str()),
        detail: json!({ "name": client.name, "redirect_hosts": hosts(&client.redirect_uris) }),
        ..Fields::default()
    };
    app.audit(AuditEvent::Registered, about).await;
    Ok(written(&client, &claims, &said, secret.as_ref()))
}

/// Hosts of the redirect URIs: enough to recognize a client by, and small, because events are kept
/// for long
fn hosts(uris: &[String]) -> BTreeSet<String> {
    let host = |uri: &String| {
        let url = Url::parse(uri).ok()?;
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.unwrap_or(url.scheme());
        Some(host.chars().take(LONGEST_HOST).collect())
    };
    uris.iter().filter_map(host).take(HOSTS_PER_EVENT).collect()
}

async fn body(request: Request) -> Result<Map<String, Value>, Refusal> {
    let bad = |why: &str| Refusal::Metadata(why.to_owned());
    if !is_json(request.headers()) {
        return Err(bad("the body must be `application/json`"));
    }
    let bytes = axum::body::to_bytes(request.into_body(), LARGEST).await;
    let bytes = bytes.map_err(|_| bad("the body is larger than 16 KiB or broke off"))?;
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(said)) => Ok(said),
        _ => Err(bad("the body must be a JSON object")),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|value| value.to_str().ok()).unwrap_or("");
    let kind = kind.split(';').next().unwrap_or("").trim();
    kind.eq_ignore_ascii_case("application/json")
}

/// Hash that is equal for identical registrations
fn fingerprint(claims: &Claims) -> TokenHash {
    let uris = claims.redirect_uris.iter();
    let mut uris: Vec<String> = uris.map(|uri| redirect::without_free_port(uri)).collect();
    uris.sort();
    uris.dedup();
    let whole = json!([claims.name, uris, claims.metadata]);
    TokenHash::of(&whole.to_string())
}

/// The registration response; it has no `null` members
fn written(
    client: &Client,
    claims: &Claims,
    said: &Map<String, Value>,
    secret: Option<&Token>,
) -> Value {
    let mut body = claims.metadata.clone();
    let mut put = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
    put("client_id", client.id.as_str().into());
    let since = client.created_at.as_second();
    put("client_id_issued_at", since.into());
    put("client_name", client.name.as_str().into());
    put("redirect_uris", json!(claims.redirect_uris));
    put(
        "grant_types",
        json!(["authorization_code", "refresh_token"]),
    );
    put("response_types", json!(["code"]));
    put(
        "token_endpoint_auth_method",
        client.auth_method.name().into(),
    );
    put("scope", scope(said).into());
    if let Some(secret) = secret {
        put("client_secret", secret.expose().into());
        put("client_secret_expires_at", 0.into());
    }
    Value::Object(body)
}

/// The requested scopes that exist
fn scope(said: &Map<String, Value>) -> &'static str {
    let asked = said.get("scope").and_then(Value::as_str).unwrap_or("");
    if asked
        .split_whitespace()
        .any(|word| word == "offline_access")
    {
        "mcp offline_access"
    } else {
        "mcp"
    }
}
