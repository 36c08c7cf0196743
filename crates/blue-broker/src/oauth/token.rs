//! `POST /oauth/token`: exchanges codes and refresh tokens for tokens

use std::{sync::Arc, time::Duration};

use axum::{
    Extension,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde_json::json;

use super::{client_auth, error::OAuthError, form::Params, refresh, resource, revoke};
use crate::{
    app::App,
    audit::{self, Fields},
    http::{self, RequestId},
    store::{AuditEvent, Client, CodeUse, Grant, NewPair},
    token::{Kind, Token, TokenHash},
};

/// A token request of an authenticated client
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) app: &'a Arc<App>,
    pub(super) client: Client,
    pub(super) params: Params,
    pub(super) request: &'a str,
}

/// Answer a token request
pub(crate) async fn token(
    State(app): State<Arc<App>>,
    Extension(RequestId(request)): Extension<RequestId>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    match issue(&app, &request, &headers, body).await {
        Ok(issued) => issued.into_response(),
        Err(error) => error.into_response(),
    }
}

async fn issue(
    app: &Arc<App>,
    request: &str,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Issued, OAuthError> {
    let params = Params::form(headers, &body?)?;
    let kind = required(&params, "grant_type")?.to_owned();
    let client = client_auth::client(app, headers, &params).await?;
    // Checked before a code or token is used up.
    if resource::accept(app, params.get("resource")).is_none() {
        return Err(OAuthError::invalid_target());
    }
    let asked = Asked {
        app,
        client,
        params,
        request,
    };
    match kind.as_str() {
        "authorization_code" => code(&asked).await,
        "refresh_token" => refresh::refresh(&asked).await,
        _ => Err(OAuthError::unsupported_grant_type()),
    }
}

/// Exchange a code for a grant with its first tokens
async fn code(asked: &Asked<'_>) -> Result<Issued, OAuthError> {
    let Asked {
        app,
        client,
        params,
        request,
    } = asked;
    let bad = || OAuthError::invalid_grant("the code is not valid for this request");
    let given = required(params, "code")?;
    let redirect = required(params, "redirect_uri")?;
    let verifier = required(params, "code_verifier")?;
    let hash = Token::parse(Kind::Code, given).ok_or_else(bad)?.hash();
    let code = app.store.code(&hash).await?.ok_or_else(bad)?;
    if code.client_id != client.id
        || code.redirect_uri != redirect
        || !proves(verifier, &code.challenge)
        || code.resource != app.config.public_url.resource()
    {
        return Err(bad());
    }
    let now = app.now();
    let grant = Grant {
        id: app.id(),
        user: code.user,
        client_id: code.client_id,
        scope: code.scope,
        resource: code.resource,
        created_at: now,
        last_used_at: now,
    };
    let issued = Issued::new(app, &grant.scope);
    let pair = issued.pair(app, now);
    let mut about = Fields {
        client: Some(&client.id),
        user: Some(&grant.user),
        grant: Some(&grant.id),
        request: Some(request),
        ..Fields::default()
    };
    let event = app.event(AuditEvent::Issued, about.clone());
    let used = app.store.use_code(&hash, &grant, &pair, &event, now).await;
    match used? {
        CodeUse::Issued { displaced } => {
            audit::tell(&event);
            revoke::displaced(app, &displaced, request).await;
            Ok(issued)
        }
        CodeUse::Replayed { grant } => {
            revoke::ended(app, std::slice::from_ref(&grant));
            about.grant = Some(&grant);
            about.detail = json!({ "what": "code" });
            app.audit(AuditEvent::Replayed, about).await;
            Err(bad())
        }
        CodeUse::Gone => Err(bad()),
    }
}

/// Whether a verifier is what the challenge was made from, with S256
fn proves(verifier: &str, challenge: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if !(43..=128).contains(&verifier.len()) || !verifier.bytes().all(plain) {
        return false;
    }
    let hash = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
    // Compared by hash, in constant time.
    TokenHash::of(&hash).matches(&TokenHash::of(challenge))
}

pub(super) fn required<'a>(params: &'a Params, name: &str) -> Result<&'a str, OAuthError> {
    params
        .get(name)
        .ok_or_else(|| OAuthError::invalid_request(format!("`{name}` is missing")))
}

/// How much longer an access token is valid than its client is told
///
/// Clients refresh by their own clock, which starts when the response arrives. A token that is sent
/// in its last moment would be rejected on arrival, and some clients then ask their user to sign in
/// again.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// Tokens that are about to be sent to a client
#[derive(Debug)]
pub(super) struct Issued {
    access: Token,
    refresh: Token,
    expires_in: Duration,
    scope: String,
}

impl Issued {
    pub(super) fn new(app: &App, scope: &str) -> Self {
        Self {
            access: Token::new(Kind::Access, &*app.rng),
            refresh: Token::new(Kind::Refresh, &*app.rng),
            expires_in: app.config.access_ttl,
            scope: scope.to_owned(),
        }
    }

    /// The part of the tokens that is stored
    pub(super) fn pair(&self, app: &App, now: Timestamp) -> NewPair {
        let after = |time: Duration| now.checked_add(time).unwrap_or(Timestamp::MAX);
        NewPair {
            id: app.id(),
            access: self.access.hash(),
            refresh: self.refresh.hash(),
            access_expires_at: after(self.expires_in + ON_ITS_WAY),
            refresh_expires_at: after(app.config.refresh_ttl),
        }
    }
}

impl IntoResponse for Issued {
    fn into_response(self) -> Response {
        let body = json!({
            "access_token": self.access.expose(),
            "token_type": "Bearer",
            "expires_in": self.expires_in.as_secs(),
            "refresh_token": self.refresh.expose(),
            "scope": self.scope,
        });
        let mut answer = http::json(StatusCode::OK, &body);
        let no_cache = HeaderValue::from_static("no-cache");
        answer.headers_mut().insert(header::PRAGMA, no_cache);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_proves_its_own_challenge_only() {
        // The example of RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        assert!(proves(verifier, challenge));
        assert!(!proves(
            verifier,
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cN"
        ));
        // The method `plain` is not supported.
        assert!(!proves(challenge, challenge));
        for bad in ["", "short", &"a".repeat(129), &format!("{verifier} ")] {
            assert!(!proves(bad, challenge), "{bad}");
        }
    }
}
