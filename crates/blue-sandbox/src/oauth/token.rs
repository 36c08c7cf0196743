//! `POST /login/oauth/access_token`

use axum::{
    body::Bytes,
    extract::State,
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rusqlite::Connection;
use serde_json::{Map, Value, json};

use super::{
    Failure, bad_credential,
    fields::Fields,
    json,
    jwt::{ACCESS, Claims, REFRESH},
    key, live, pkce, redirect, rows, scope,
};
use crate::{
    app::App,
    auth::{self, hash_token},
    store::users::{self, User},
};

/// Seconds an access token lives
const ACCESS_LIFE: i64 = 3600;
/// Seconds a refresh token lives: 730 hours
const REFRESH_LIFE: i64 = 730 * 3600;

/// Why no token is given: the code and the words of RFC 6749
#[derive(Debug)]
enum Refusal {
    Because(&'static str, String),
    Broken(Failure),
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Broken(error.into())
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Broken(failure)
    }
}

fn because<T>(code: &'static str, words: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Because(code, words.into()))
}

pub(super) async fn issue(State(app): State<App>, headers: HeaderMap, body: Bytes) -> Response {
    app.blocking(move |app| {
        // The auth layer looks at a token first, even where none is wanted.
        if let Some(token) = headers.get(header::AUTHORIZATION).and_then(sent_token)
            && auth::bearer(app, token).is_none()
        {
            return bad_credential(app);
        }
        match answer(app, &headers, &body) {
            Ok(tokens) => json(StatusCode::OK, &tokens),
            Err(Refusal::Because(error, words)) => {
                let body = json!({"error": error, "error_description": words});
                json(StatusCode::BAD_REQUEST, &body)
            }
            Err(Refusal::Broken(failure)) => failure.into_response(),
        }
    })
    .await
}

fn answer(app: &App, headers: &HeaderMap, body: &[u8]) -> Result<Value, Refusal> {
    let fields = Fields::from_body(headers, body);
    let (id, secret) = client_of(headers, &fields)?;
    // Made here if need be: below, a transaction is open, and there is only one writer.
    key(app)?;
    match fields.get("grant_type") {
        "authorization_code" => exchange(app, &fields, &id, &secret),
        "refresh_token" => refresh(app, &fields, &id, &secret),
        _ => because(
            "unsupported_grant_type",
            "Only refresh_token or authorization_code grant type is supported",
        ),
    }
}

/// The client's name and secret, from the body or the header
fn client_of(headers: &HeaderMap, fields: &Fields) -> Result<(String, String), Refusal> {
    let (id, secret) = (fields.get("client_id"), fields.get("client_secret"));
    let given = (id.to_owned(), secret.to_owned());
    if !id.is_empty() && !secret.is_empty() {
        return Ok(given);
    }
    let Some(header) = headers.get(header::AUTHORIZATION) else {
        return Ok(given);
    };
    let Some((name, password)) = header.to_str().ok().and_then(basic) else {
        return because("invalid_request", "cannot parse basic auth header");
    };
    for (field, value, other) in [
        ("client_id", id, &name),
        ("client_secret", secret, &password),
    ] {
        if !value.is_empty() && value != other {
            let words = format!("{field} in request body inconsistent with Authorization header");
            return because("invalid_request", words);
        }
    }
    Ok((name, password))
}

fn sent_token(header: &HeaderValue) -> Option<&str> {
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    ["bearer", "token"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
        .then_some(token)
}

/// Name and password of a Basic header
pub(super) fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (name, password) = text.split_once(':')?;
    Some((name.to_owned(), password.to_owned()))
}

/// Find the client and check its secret; `code` is what a wrong secret is called
fn client(
    app: &App,
    id: &str,
    secret: &str,
    quoted: &str,
    code: &'static str,
) -> Result<rows::App, Refusal> {
    let Some(client) = app.store.read(|c| rows::app_by_client(c, id))? else {
        return because(
            "invalid_client",
            format!("cannot load client with client id: {quoted}"),
        );
    };
    if client.confidential && hash_token(secret) != client.secret_hash {
        let words = if secret.is_empty() {
            "invalid empty client secret"
        } else {
            "invalid client secret"
        };
        return because(code, words);
    }
    Ok(client)
}

fn exchange(app: &App, fields: &Fields, id: &str, secret: &str) -> Result<Value, Refusal> {
    let client = client(app, id, secret, &format!("'{id}'"), "unauthorized_client")?;
    let uri = fields.get("redirect_uri");
    if !uri.is_empty() && !redirect::is_registered(&client.redirect_uris, client.confidential, uri)
    {
        return because("unauthorized_client", "unexpected redirect URI");
    }
    let hash = hash_token(fields.get("code"));
    let Some(code) = app.store.read(|c| rows::code(c, &hash))? else {
        return because("unauthorized_client", "client is not authorized");
    };
    if code.valid_until <= app.now().as_second() {
        app.store.write(|c| rows::delete_code(c, &hash))?;
        return because("invalid_grant", "authorization code expired");
    }
    // A wrong try does not use the code up.
    if !pkce::answers(&code.method, &code.challenge, fields.get("code_verifier")) {
        return because("unauthorized_client", "failed PKCE code challenge");
    }
    app.store.write(|c| {
        let grant = rows::grant_by_id(c, code.grant_id)?;
        let Some(grant) = grant.filter(|grant| grant.app_id == client.id) else {
            return because("invalid_grant", "invalid grant");
        };
        if !rows::delete_code(c, &hash)? {
            return because("unauthorized_client", "client is not authorized");
        }
        tokens(app, c, grant)
    })
}

fn refresh(app: &App, fields: &Fields, id: &str, secret: &str) -> Result<Value, Refusal> {
    client(app, id, secret, &format!("{id:?}"), "invalid_client")?;
    let Some(claims) = live(app, fields.get("refresh_token")) else {
        return because("unauthorized_client", "unable to parse refresh token");
    };
    // Whether it was an access token, or another client's, is not looked at: neither does Gitea.
    app.store.write(|c| {
        let Some(grant) = rows::grant_by_id(c, claims.gnt)? else {
            return because("invalid_grant", "grant does not exist");
        };
        if app.rotate_refresh && claims.cnt != Some(grant.counter) {
            return because("unauthorized_client", "token was already used");
        }
        tokens(app, c, grant)
    })
}

/// A new pair of tokens
fn tokens(app: &App, c: &Connection, mut grant: rows::Grant) -> Result<Value, Refusal> {
    if app.rotate_refresh {
        grant.counter = rows::count_up(c, grant.id)?;
    }
    let key = key(app)?;
    let now = app.now().as_second();
    let claims = |tt, life, cnt| Claims {
        gnt: grant.id,
        tt,
        cnt,
        exp: now + life,
        iat: now,
    };
    let counter = app.rotate_refresh.then_some(grant.counter);
    let mut answer = json!({
        "access_token": key.sign(&claims(ACCESS, ACCESS_LIFE, None)),
        "token_type": "bearer",
        "expires_in": ACCESS_LIFE,
        "refresh_token": key.sign(&claims(REFRESH, REFRESH_LIFE, counter)),
    });
    if scope::names(&grant.scope, "openid") {
        let client = rows::app_by_id(c, grant.app_id)?;
        let user = users::by_id(c, grant.user_id)?;
        let (Some(client), Some(user)) = (client, user) else {
            return because("invalid_request", "cannot find user");
        };
        let claims = identity(app, c, &client, &user, &grant, now)?;
        answer["id_token"] = key.sign(&claims).into();
    }
    Ok(answer)
}

/// The claims of an OpenID token
fn identity(
    app: &App,
    c: &Connection,
    client: &rows::App,
    user: &User,
    grant: &rows::Grant,
    now: i64,
) -> rusqlite::Result<Value> {
    let mut claims = Map::new();
    claims.insert("iss".into(), super::discovery::issuer(app).into());
    claims.insert("sub".into(), user.id.to_string().into());
    claims.insert("aud".into(), json!([client.client_id]));
    claims.insert("exp".into(), (now + ACCESS_LIFE).into());
    claims.insert("iat".into(), now.into());
    if !grant.nonce.is_empty() {
        claims.insert("nonce".into(), grant.nonce.clone().into());
    }
    if scope::names(&grant.scope, "profile") {
        claims.insert("name".into(), super::userinfo::display_name(user).into());
        claims.insert("preferred_username".into(), user.login.clone().into());
        claims.insert(
            "profile".into(),
            format!("{}/{}", app.root_url, user.login).into(),
        );
        claims.insert("picture".into(), super::userinfo::picture(app, user).into());
        claims.insert("locale".into(), "en-US".into());
        claims.insert("updated_at".into(), (user.created_at / 1000).into());
    }
    if scope::names(&grant.scope, "email") {
        claims.insert("email".into(), user.email.clone().into());
        claims.insert("email_verified".into(), user.is_active.into());
    }
    if scope::names(&grant.scope, "groups") {
        claims.insert("groups".into(), super::userinfo::groups(c, user)?.into());
    }
    Ok(claims.into())
}
