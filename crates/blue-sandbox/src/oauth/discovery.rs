//! What an OpenID client can find out by itself

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use serde_json::json;

use super::key;
use crate::{app::App, config::Flavor};

/// `GET /.well-known/openid-configuration`
pub(super) async fn configuration(State(app): State<App>) -> Response {
    let root = &app.root_url;
    let body = json!({
        "issuer": issuer(&app),
        "authorization_endpoint": format!("{root}/login/oauth/authorize"),
        "token_endpoint": format!("{root}/login/oauth/access_token"),
        "jwks_uri": format!("{root}/login/oauth/keys"),
        "userinfo_endpoint": format!("{root}/login/oauth/userinfo"),
        "introspection_endpoint": format!("{root}/login/oauth/introspect"),
        "response_types_supported": ["code", "id_token"],
        "id_token_signing_alg_values_supported": ["ES256"],
        "subject_types_supported": ["public"],
        "scopes_supported": ["openid", "profile", "email", "groups"],
        "claims_supported": [
            "aud", "exp", "iat", "iss", "sub", "name", "preferred_username", "profile", "picture",
            "website", "locale", "updated_at", "email", "email_verified", "groups",
        ],
        "code_challenge_methods_supported": ["plain", "S256"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
    });
    axum::Json(body).into_response()
}

/// `GET /login/oauth/keys`
pub(super) async fn keys(State(app): State<App>) -> Response {
    app.blocking(|app| match key(app) {
        Ok(key) => axum::Json(json!({"keys": [key.jwk()]})).into_response(),
        Err(failure) => failure.into_response(),
    })
    .await
}

/// Forgejo's issuer ends with a slash, Gitea's does not
pub(super) fn issuer(app: &App) -> String {
    let slash = if matches!(app.flavor, Flavor::Forgejo | Flavor::Forgejo7) {
        "/"
    } else {
        ""
    };
    format!("{}{slash}", app.root_url)
}
