//! `POST /login/oauth/introspect`

use axum::{
    body::Bytes,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::json;

use super::{
    Failure, bad_credential, discovery,
    fields::{Fields, is_json},
    json, live, rows, text,
    token::basic,
};
use crate::{
    app::App,
    auth::{self, hash_token},
    config::Flavor,
    store::users,
};

pub(super) async fn answer(State(app): State<App>, headers: HeaderMap, body: Bytes) -> Response {
    app.blocking(move |app| {
        let fields = Fields::from_body(&headers, &body);
        // The auth layer takes a form field of this name for the caller's own credential, so a
        // dead token in a form never gets as far as being called inactive.
        let token = fields.get("token");
        // Forgejo 7 asks for a user, not for an application: the token alone opens the door.
        if app.flavor == Flavor::Forgejo7 {
            return match auth::bearer(app, token).filter(|_| !is_json(&headers)) {
                Some(_) => told(app, token).unwrap_or_else(Failure::into_response),
                None => bad_credential(app),
            };
        }
        if !is_json(&headers) && !token.is_empty() && auth::bearer(app, token).is_none() {
            return bad_credential(app);
        }
        inspect(app, &headers, token).unwrap_or_else(Failure::into_response)
    })
    .await
}

fn inspect(app: &App, headers: &HeaderMap, token: &str) -> Result<Response, Failure> {
    let credentials = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| basic(value.to_str().ok()?));
    let good = match credentials {
        Some((id, secret)) => app
            .store
            .read(|c| rows::app_by_client(c, &id))?
            .is_some_and(|client| hash_token(&secret) == client.secret_hash),
        None => false,
    };
    if !good {
        let mut response = text(StatusCode::UNAUTHORIZED, "no valid authorization");
        response.headers_mut().insert(
            header::WWW_AUTHENTICATE,
            HeaderValue::from_static(if app.is_forgejo() {
                "Basic realm=\"\""
            } else {
                "Basic realm=\"Gitea OAuth2\""
            }),
        );
        return Ok(response);
    }
    told(app, token)
}

/// What is known of a token, for every caller
fn told(app: &App, token: &str) -> Result<Response, Failure> {
    let inactive = json!({"active": false});
    let Some(claims) = live(app, token) else {
        return Ok(json(StatusCode::OK, &inactive));
    };
    let found = app.store.read(|c| {
        let Some(grant) = rows::grant_by_id(c, claims.gnt)? else {
            return Ok(None);
        };
        let client = rows::app_by_id(c, grant.app_id)?;
        let user = users::by_id(c, grant.user_id)?;
        Ok::<_, rusqlite::Error>(client.zip(user).map(|(client, user)| (grant, client, user)))
    })?;
    let Some((grant, client, user)) = found else {
        return Ok(json(StatusCode::OK, &inactive));
    };
    let mut answer = json!({"active": true});
    if !grant.scope.is_empty() {
        answer["scope"] = grant.scope.into();
    }
    answer["username"] = user.login.into();
    answer["iss"] = discovery::issuer(app).into();
    answer["sub"] = user.id.to_string().into();
    answer["aud"] = json!([client.client_id]);
    Ok(json(StatusCode::OK, &answer))
}
