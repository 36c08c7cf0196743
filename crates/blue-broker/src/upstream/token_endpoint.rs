//! `POST /login/oauth/access_token` at the forge
//!
//! Written on our own client, not on a library's: the forge's errors are unusual, and every
//! request to it goes through the one place that knows proxies, certificates and limits.

use std::time::Duration;

use axum::http::{HeaderValue, Method, header};
use blue_base::{http::Request, secret::Secret};
use serde::Deserialize;
use serde_json::Value;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::{Tokens, UpstreamError};
use crate::app::App;

/// Timeout of a request to the forge
const PATIENCE: Duration = Duration::from_secs(20);
const MAX_ANSWER: u64 = 256 * 1024;
/// Lifetime of a token where a response does not say; the default of Gitea and Forgejo
const LIFETIME: Duration = Duration::from_hours(1);
/// Characters of the forge's error message that are logged
const LONGEST_WORDS: usize = 200;

#[derive(Deserialize)]
struct Given {
    access_token: String,
    refresh_token: Option<String>,
    #[serde(default)]
    expires_in: Value,
}

#[derive(Deserialize)]
struct Refused {
    error: String,
    #[serde(default)]
    error_description: String,
}

/// Exchange the code that a browser brought back for tokens
pub(crate) async fn exchange(
    app: &App,
    code: &Secret,
    verifier: &Secret,
) -> Result<Tokens, UpstreamError> {
    let redirect = app.config.public_url.at("/oauth/callback");
    let plain = [
        ("grant_type", "authorization_code"),
        ("redirect_uri", &redirect),
    ];
    post(app, &plain, &[("code", code), ("code_verifier", verifier)]).await
}

/// Exchange a refresh token for new tokens; on many forges it is invalid afterwards
pub(crate) async fn refresh(app: &App, refresh: &Secret) -> Result<Tokens, UpstreamError> {
    let plain = [("grant_type", "refresh_token")];
    post(app, &plain, &[("refresh_token", refresh)]).await
}

async fn post(
    app: &App,
    plain: &[(&str, &str)],
    secret: &[(&str, &Secret)],
) -> Result<Tokens, UpstreamError> {
    let own = [("client_secret", &app.config.client_secret)];
    let secret: Vec<(&str, &str)> = own
        .iter()
        .chain(secret)
        .map(|(name, value)| (*name, value.expose()))
        .collect();
    let body = Serializer::new(String::new())
        .extend_pairs(plain)
        .append_pair("client_id", &app.config.client_id)
        .extend_pairs(&secret)
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
    let unclear = || UpstreamError::Unclear {
        asked: "for tokens",
        status: answer.status.as_u16(),
    };
    if answer.status.is_success() {
        let given: Given = serde_json::from_slice(&answer.body).map_err(|_| unclear())?;
        // If there is no new refresh token, the old one stays valid (RFC 6749, 6).
        let known = secret.iter().find(|(name, _)| *name == "refresh_token");
        let refresh = given.refresh_token.filter(|token| !token.is_empty());
        let refresh = refresh.or_else(|| known.map(|(_, token)| (*token).to_owned()));
        let access = Secret::new(given.access_token);
        if access.is_empty() {
            return Err(unclear());
        }
        return Ok(Tokens {
            access,
            refresh: Secret::new(refresh.ok_or_else(unclear)?),
            expires_in: lifetime(&given.expires_in),
        });
    }
    if !answer.status.is_client_error() {
        return Err(unclear());
    }
    let refused: Refused = serde_json::from_slice(&answer.body).map_err(|_| unclear())?;
    let sent: Vec<&str> = secret.iter().map(|(_, value)| *value).collect();
    Err(UpstreamError::Refused {
        error: words(&refused.error, &sent),
        description: words(&refused.error_description, &sent),
    })
}

/// How long a token lives, in whatever form it is written
///
/// A value that makes no sense is no reason to discard tokens: there may be no others.
fn lifetime(said: &Value) -> Duration {
    let seconds = match said {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.unwrap_or(LIFETIME)
}

/// The forge's error message, fit for a log line; empty where it repeats a secret that was sent
fn words(text: &str, sent: &[&str]) -> String {
    let repeats = |secret: &&str| {
        let encoded: String = byte_serialize(secret.as_bytes()).collect();
        text.contains(*secret) || text.contains(&encoded)
    };
    if sent.iter().any(repeats) {
        return "(its words hold a secret)".to_owned();
    }
    let shown = text.chars().filter(|c| !c.is_control());
    shown.take(LONGEST_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lifetime_is_read_however_it_is_written() {
        let seconds = |said: Value| lifetime(&said).as_secs();
        assert_eq!(seconds(json!(60)), 60);
        assert_eq!(seconds(json!(60.5)), 60);
        assert_eq!(seconds(json!("60")), 60);
        assert_eq!(seconds(json!(0)), 0);
        assert_eq!(seconds(json!(1_u64 << 63)), 1 << 63);
        for nonsense in [
            json!(null),
            json!(-1),
            json!(1e300),
            json!("soon"),
            json!([]),
        ] {
            assert_eq!(lifetime(&nonsense), LIFETIME, "{nonsense}");
        }
    }

    #[test]
    fn words_of_the_forge_hold_no_secret() {
        let sent = ["gto_a+b", "eyJ0.x"];
        assert_eq!(
            words("token was already\n used", &sent),
            "token was already used"
        );
        for text in ["bad token eyJ0.x!", "client_secret=gto_a%2Bb&x", "gto_a+b"] {
            assert_eq!(words(text, &sent), "(its words hold a secret)", "{text}");
        }
        // Where the whole is looked at, and not the part that is shown.
        let late = format!("{} eyJ0.x", "x".repeat(195));
        assert!(!words(&late, &sent).contains("eyJ0"));
        assert_eq!(words(&"x".repeat(500), &sent).len(), LONGEST_WORDS);
    }
}
