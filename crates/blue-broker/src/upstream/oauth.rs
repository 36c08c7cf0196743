//! Requests to the forge around a sign-in: authorization URL, account, granted scope

use std::{collections::BTreeSet, time::Duration};

use axum::http::{HeaderValue, Method, header};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use blue_base::{
    http::{HttpError, Request, Response},
    secret::Secret,
    text::clean_line,
};
use ring::digest::{SHA256, digest};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;
use tokio::time::{Instant, sleep};
use url::Url;

use super::{ForgeAccount, UpstreamError};
use crate::{app::App, crypto::Purpose};

const PATIENCE: Duration = Duration::from_secs(20);
/// Pauses before a failed read is repeated
const READ_RETRY_PAUSES: [Duration; 3] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_millis(900),
];
/// No read is repeated that failed later than this after its first try
const READ_RETRY_LIMIT: Duration = Duration::from_secs(15);
const MAX_ANSWER: u64 = 256 * 1024;
/// Longest id or login; no forge has one of half that length
const LONGEST_NAME: usize = 255;

/// The redirect URI that the forge sends browsers back to
pub(crate) fn callback(app: &App) -> String {
    app.config.public_url.at("/oauth/callback")
}

/// The PKCE verifier of an authorization; derived each time, never stored
pub(crate) fn verifier(app: &App, authorization: &str) -> Secret {
    let bytes = app.keys.derived(Purpose::UpstreamVerifier, authorization);
    Secret::new(URL_SAFE_NO_PAD.encode(bytes))
}

/// The page of the forge where a user signs in
pub(crate) fn authorize_url(app: &App, authorization: &str, state: &str) -> Url {
    let verifier = verifier(app, authorization);
    let challenge = digest(&SHA256, verifier.expose().as_bytes());
    let mut url = app.config.forge.at("login/oauth/authorize");
    url.query_pairs_mut()
        .append_pair("client_id", &app.config.client_id)
        .append_pair("redirect_uri", &callback(app))
        .append_pair("response_type", "code")
        .append_pair("scope", &app.config.forge_scopes.joined())
        .append_pair("state", state)
        .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(challenge))
        .append_pair("code_challenge_method", "S256");
    url
}

/// The page of the forge where users revoke grants; forges have no API for it
pub(crate) fn settings_url(app: &App) -> Url {
    app.config.forge.at("user/settings/applications")
}

/// The account that a token belongs to
pub(crate) async fn account(app: &App, access: &Secret) -> Result<ForgeAccount, UpstreamError> {
    #[derive(Deserialize)]
    struct Info {
        sub: String,
        preferred_username: String,
    }
    let asked = "who somebody is";
    let answer = get(app, "login/oauth/userinfo", access).await?;
    let info: Info = read(&answer, asked)?;
    if !is_name(&info.sub) || !is_name(&info.preferred_username) {
        return Err(unclear(&answer, asked));
    }
    Ok(ForgeAccount {
        id: info.sub,
        login: info.preferred_username,
    })
}

/// Whether the text can be shown and compared unchanged
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST_NAME && clean_line(text) == text
}

/// How far the rights of a token reach
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    AsAsked,
    /// The user granted other scopes before, and the forge keeps to them
    Differs,
    /// It has rights that none of its scopes names
    Everything,
}

/// Finds out whether a token with the scope `granted` reaches as far as was asked, and no further
///
/// What the forge says of the grant is not enough: it repeats the words of the request even where
/// it did not understand them and gave everything. So something that must be closed is tried.
pub(crate) async fn reach(
    app: &App,
    access: &Secret,
    account: &ForgeAccount,
    granted: &str,
) -> Result<Reach, UpstreamError> {
    if !same_scope(granted, &app.config.forge_scopes.joined()) {
        return Ok(Reach::Differs);
    }
    let outside = app.config.forge_scopes.outside();
    for path in outside.filter_map(|area| closed_path(area, &account.login)) {
        let answer = get(app, &path, access).await?;
        match answer.status.as_u16() {
            200..300 => return Ok(Reach::Everything),
            403 => return Ok(Reach::AsAsked),
            // This forge does not have that endpoint, so it tells nothing.
            400 | 404 | 405 | 410 | 422 => {}
            _ => return Err(unclear(&answer, "for what a token must not open")),
        }
    }
    // All scopes were requested, so no endpoint is closed.
    Ok(Reach::AsAsked)
}

/// Whether two scopes say the same, whatever their order
pub(crate) fn same_scope(one: &str, other: &str) -> bool {
    words(one) == words(other)
}

/// Returns the scope that the forge says the grant of a token has
pub(crate) async fn granted_scope(app: &App, access: &Secret) -> Result<String, UpstreamError> {
    #[derive(Deserialize)]
    struct Grant {
        active: bool,
        #[serde(default)]
        scope: String,
    }
    let mut request = request(app, Method::POST, "login/oauth/introspect");
    let pair = format!(
        "{}:{}",
        app.config.client_id,
        app.config.client_secret.expose()
    );
    authorize(&mut request, "Basic", &STANDARD.encode(pair))?;
    // In a form, the forge would take the token for the caller's own credential.
    request.headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    let body = json!({ "token": access.expose() }).to_string();
    request.body = Some(body.into());
    let answer = send_read(app, &request).await?;
    let asked = "what was granted";
    let grant: Grant = read(&answer, asked)?;
    if !grant.active {
        return Err(unclear(&answer, asked));
    }
    Ok(grant.scope)
}

fn words(scope: &str) -> BTreeSet<&str> {
    scope
        .split([' ', ','])
        .filter(|word| !word.is_empty())
        .collect()
}

/// A path of an area that every user may read with the right scope
fn closed_path(area: &str, login: &str) -> Option<String> {
    Some(match area {
        "notification" => "api/v1/notifications?limit=1".to_owned(),
        "package" => format!("api/v1/packages/{login}?limit=1"),
        "organization" => "api/v1/user/orgs?limit=1".to_owned(),
        "issue" => "api/v1/repos/issues/search?limit=1".to_owned(),
        "repository" => "api/v1/user/repos?limit=1".to_owned(),
        "misc" => "api/v1/gitignore/templates".to_owned(),
        _ => return None,
    })
}

async fn get(app: &App, path: &str, access: &Secret) -> Result<Response, UpstreamError> {
    let mut request = request(app, Method::GET, path);
    authorize(&mut request, "Bearer", access.expose())?;
    send_read(app, &request).await
}

/// Sends a request that changes nothing at the forge, and repeats it where that may help
///
/// These reads follow the exchange of a code, which cannot be repeated. A forge that rotates
/// refresh tokens has by then invalidated the user's older ones, so that one failed read would
/// sign out all of the user's connections.
async fn send_read(app: &App, request: &Request) -> Result<Response, UpstreamError> {
    let first_try = Instant::now();
    let mut pauses = READ_RETRY_PAUSES.into_iter();
    loop {
        let outcome = app.http.send(request.clone()).await;
        let may_pass = match &outcome {
            Ok(answer) => answer.status.is_server_error(),
            Err(error) => matches!(
                error,
                HttpError::Unreachable { .. }
                    | HttpError::Timeout { .. }
                    | HttpError::Broken { .. }
                    | HttpError::RateLimited { .. }
            ),
        };
        match pauses.next() {
            Some(pause) if may_pass && first_try.elapsed() < READ_RETRY_LIMIT => {
                tracing::debug!(
                    path = request.url.path(),
                    "a read from the forge is repeated"
                );
                sleep(pause).await;
            }
            _ => return Ok(outcome?),
        }
    }
}

fn request(app: &App, method: Method, path: &str) -> Request {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut url = app.config.forge.at(path);
    url.set_query((!query.is_empty()).then_some(query));
    let mut request = Request::new(method, url);
    request.timeout = Some(PATIENCE);
    request.max_body = Some(MAX_ANSWER);
    request
}

/// The forge's own address is https or this machine, and no redirect is followed
fn authorize(request: &mut Request, scheme: &str, value: &str) -> Result<(), UpstreamError> {
    let value = HeaderValue::try_from(format!("{scheme} {value}"));
    let asked = "for a token that can be sent";
    let mut value = value.map_err(|_| UpstreamError::Unclear { asked, status: 0 })?;
    value.set_sensitive(true);
    request.headers.insert(header::AUTHORIZATION, value);
    Ok(())
}

fn read<T: DeserializeOwned>(answer: &Response, asked: &'static str) -> Result<T, UpstreamError> {
    if !answer.status.is_success() {
        return Err(unclear(answer, asked));
    }
    serde_json::from_slice(&answer.body).map_err(|_| unclear(answer, asked))
}

fn unclear(answer: &Response, asked: &'static str) -> UpstreamError {
    let status = answer.status.as_u16();
    UpstreamError::Unclear { asked, status }
}
