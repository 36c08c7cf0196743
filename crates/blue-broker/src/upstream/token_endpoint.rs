//! `POST /login/oauth/access_token` at the forge
//!
//! Written on our own client, not on a library's: the forge's errors are unusual, and every
//! request to it goes through the one place that knows proxies, certificates and limits.

use std::time::Duration;

use axum::http::{HeaderValue, Method, header};
use blue_core::{http::Request, secret::Secret};
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::{Tokens, UpstreamError};
use crate::app::App;

/// Longest that the forge may take
const PATIENCE: Duration = Duration::from_secs(20);
const MAX_ANSWER: u64 = 256 * 1024;
/// As Gitea and Forgejo have it, where an answer does not say
const LIFETIME: u64 = 3600;

#[derive(Deserialize)]
struct Given {
    access_token: String,
    refresh_token: String,
    expires_in: Option<u64>,
}

#[derive(Deserialize)]
struct Refused {
    error: String,
    #[serde(default)]
    error_description: String,
}

/// Turn the code that a browser brought back into tokens
pub(crate) async fn exchange(
    app: &App,
    code: &Secret,
    verifier: &Secret,
) -> Result<Tokens, UpstreamError> {
    let redirect = app.config.public_url.at("/oauth/callback");
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code.expose()),
        ("redirect_uri", &redirect),
        ("code_verifier", verifier.expose()),
    ];
    post(app, &fields).await
}

/// Turn a refresh token into new tokens; on many forges it is worth nothing afterwards
pub(crate) async fn refresh(app: &App, refresh: &Secret) -> Result<Tokens, UpstreamError> {
    let fields = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.expose()),
    ];
    post(app, &fields).await
}

async fn post(app: &App, fields: &[(&str, &str)]) -> Result<Tokens, UpstreamError> {
    let body = Serializer::new(String::new())
        .extend_pairs(fields)
        .append_pair("client_id", &app.config.client_id)
        .append_pair("client_secret", app.config.client_secret.expose())
        .finish();
    let url = app.config.forge.at("login/oauth/access_token");
    let mut request = Request::new(Method::POST, url);
    let value = HeaderValue::from_static;
    request.headers.insert(
        header::CONTENT_TYPE,
        value("application/x-www-form-urlencoded"),
    );
    request
        .headers
        .insert(header::ACCEPT, value("application/json"));
    request.body = Some(body.into());
    request.timeout = Some(PATIENCE);
    request.max_body = Some(MAX_ANSWER);
    let answer = app.http.send(request).await?;
    let status = answer.status.as_u16();
    if answer.status.is_success() {
        let given: Given =
            serde_json::from_slice(&answer.body).map_err(|_| UpstreamError::Unclear { status })?;
        let tokens = Tokens {
            access: Secret::new(given.access_token),
            refresh: Secret::new(given.refresh_token),
            expires_in: Duration::from_secs(given.expires_in.unwrap_or(LIFETIME)),
        };
        if tokens.access.is_empty() || tokens.refresh.is_empty() {
            return Err(UpstreamError::Unclear { status });
        }
        return Ok(tokens);
    }
    if !answer.status.is_client_error() {
        return Err(UpstreamError::Unclear { status });
    }
    let refused: Refused =
        serde_json::from_slice(&answer.body).map_err(|_| UpstreamError::Unclear { status })?;
    Err(UpstreamError::Refused {
        error: word(&refused.error),
        description: word(&refused.error_description),
    })
}

/// The forge's words, fit for a log line and a page
fn word(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}
