//! The OAuth provider: applications, consent, tokens
//!
//! Made after Gitea 1.26.0, and Forgejo 11 under that flavour, with their faults: a token answers
//! to its grant alone, the scope of a grant never changes, and an unknown scope opens everything.
//! One file per endpoint.

mod apps;
mod authorize;
mod consent;
mod discovery;
mod fields;
mod guard;
mod introspect;
mod jwt;
mod login;
mod pages;
mod pkce;
mod redirect;
mod rows;
mod scope;
mod session;
mod settings;
mod token;
mod userinfo;

use std::sync::OnceLock;

use axum::{
    Router,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use http::{HeaderValue, StatusCode, header};
use ring::rand::{SecureRandom as _, SystemRandom};

pub(crate) use self::session::Session;
use crate::app::App;

/// The key that signs tokens; read from the store, or made, at its first use
#[derive(Debug, Default)]
pub(crate) struct Key(OnceLock<jwt::SigningKey>);

/// Whom an access token stands for
#[derive(Debug, Clone)]
pub(crate) struct Granted {
    pub(crate) user_id: i64,
    /// Scopes that limit it; `None` is everything
    pub(crate) scopes: Option<String>,
}

/// Look at an access token of this provider
pub(crate) fn authenticate(app: &App, token: &str) -> Option<Granted> {
    let claims: jwt::Claims = live(app, token)?;
    if claims.tt != jwt::ACCESS {
        return None;
    }
    let grant = app
        .store
        .read(|c| rows::grant_by_id(c, claims.gnt))
        .ok()??;
    Some(Granted {
        user_id: grant.user_id,
        scopes: scope::limits(app.flavor, &grant.scope),
    })
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/user/login", get(login::form).post(login::submit))
        .route("/user/logout", get(login::leave).post(login::leave))
        .route("/login/oauth/authorize", get(authorize::show))
        .route("/login/oauth/grant", post(consent::submit))
        .route("/login/oauth/access_token", post(token::issue))
        .route("/login/oauth/introspect", post(introspect::answer))
        .route(
            "/login/oauth/userinfo",
            get(userinfo::show).post(userinfo::show),
        )
        .route("/login/oauth/keys", get(discovery::keys))
        .route(
            "/.well-known/openid-configuration",
            get(discovery::configuration),
        )
        .route("/user/settings/applications", get(settings::show))
        .route(
            "/user/settings/applications/oauth2/{app}/revoke/{grant}",
            post(settings::revoke),
        )
        .route(
            "/api/v1/user/applications/oauth2",
            get(apps::list).post(apps::create),
        )
        .route(
            "/api/v1/user/applications/oauth2/{id}",
            get(apps::show).patch(apps::update).delete(apps::delete),
        )
}

/// The claims of a token that this sandbox signed and that has not run out
fn live(app: &App, token: &str) -> Option<jwt::Claims> {
    // Other credentials are tried here as well; only a signed one has three parts.
    if token.split('.').count() != 3 {
        return None;
    }
    let claims: jwt::Claims = key(app).ok()?.verify(token)?;
    (claims.exp > app.now().as_second()).then_some(claims)
}

fn key(app: &App) -> Result<&jwt::SigningKey, Failure> {
    if let Some(key) = app.oauth_key.0.get() {
        return Ok(key);
    }
    let bytes = app
        .store
        .write(|c| rows::key(c, jwt::SigningKey::generate))?;
    let key = jwt::SigningKey::load(&bytes).ok_or(Failure)?;
    Ok(app.oauth_key.0.get_or_init(|| key))
}

/// Letters and digits as the forge's own secrets have them: a prefix and 32 bytes in base 32
fn secret(prefix: &str) -> String {
    const DIGITS: &[u8] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut raw = [0; 32];
    SystemRandom::new()
        .fill(&mut raw)
        .expect("the system has random bytes");
    let mut text = prefix.to_owned();
    let (mut bits, mut held) = (0_u32, 0);
    for byte in raw {
        bits = bits << 8 | u32::from(byte);
        held += 8;
        while held >= 5 {
            held -= 5;
            text.push(char::from(DIGITS[(bits >> held & 31) as usize]));
        }
    }
    text.push(char::from(DIGITS[(bits << (5 - held) & 31) as usize]));
    text
}

/// Something below broke; the cause is in the log
#[derive(Debug)]
struct Failure;

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        tracing::error!(%error, "the OAuth provider cannot use its store");
        Self
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error\n").into_response()
    }
}

const CACHE: HeaderValue =
    HeaderValue::from_static("max-age=0, private, must-revalidate, no-transform");

/// Answer with text, the way the forge refuses outside its API
fn text(status: StatusCode, words: &'static str) -> Response {
    (status, [(header::CACHE_CONTROL, CACHE)], words).into_response()
}

fn json(status: StatusCode, body: &serde_json::Value) -> Response {
    let kind = HeaderValue::from_static("application/json;charset=utf-8");
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, CACHE)];
    (status, headers, body.to_string()).into_response()
}

fn see_other(location: &str) -> Response {
    match HeaderValue::from_str(location) {
        Ok(location) => {
            let headers = [(header::LOCATION, location), (header::CACHE_CONTROL, CACHE)];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        Err(_) => text(StatusCode::BAD_REQUEST, "Bad Request\n"),
    }
}

/// What the auth layer says to a credential that is not good
pub(crate) fn bad_credential(app: &App) -> Response {
    let words = if app.is_forgejo() {
        "Credentials are incorrect or have expired. Retry your command or see \
         https://codeberg.org/forgejo/forgejo/issues/2809 for more information\n"
    } else {
        "Failed to authenticate user\n"
    };
    text(StatusCode::UNAUTHORIZED, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_look_like_the_forges_own() {
        let one = secret("gto_");
        assert_eq!(one.len(), 4 + 52);
        assert!(
            one[4..]
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'))
        );
        assert_ne!(one, secret("gto_"));
    }
}
