//! The OAuth application at the forge: id, secret and redirect URI

use base64::{Engine as _, engine::general_purpose::STANDARD};
use blue_base::http::{HeaderName, HeaderValue, Http, Method, Request, Response};
use blue_broker::config::Config;
use url::{Url, form_urlencoded::Serializer};

use super::{Check, PATIENCE, says, send};

const NAME: &str = "Application";

/// Whether the forge knows the client id and its secret, and where it would send people back to
pub(super) async fn check(http: &Http, config: &Config, checks: &mut Vec<Check>) {
    match known(http, config).await {
        Ok(()) => {
            checks.push(Check::ok(NAME, "known to the forge"));
            checks.push(redirect_uri(http, config).await);
        }
        Err(wrong) => checks.push(wrong),
    }
}

/// The forge tells only applications about tokens
async fn known(http: &Http, config: &Config) -> Result<(), Check> {
    let pair = format!("{}:{}", config.client_id, config.client_secret.expose());
    let value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)));
    let mut value = value.map_err(|_| {
        let found = "no header can carry the secret";
        Check::failed(NAME, found, "read it anew")
    })?;
    value.set_sensitive(true);
    let url = config.forge.at("login/oauth/introspect");
    let mut request = post(url, "application/json", r#"{"token":"none"}"#.to_owned());
    let name = HeaderName::from_static("authorization");
    request.headers.insert(name, value);
    let answer = send(http, request)
        .await
        .map_err(|why| Check::failed(NAME, why, "see that the forge runs"))?;
    if says(&answer, "active") {
        return Ok(());
    }
    let status = answer.status.as_u16();
    // A page is no answer, whatever its status.
    if answer.status.is_server_error() || answer.status.is_success() {
        let found = format!("the forge could not say (status {status})");
        return Err(Check::failed(NAME, found, "see that the forge runs"));
    }
    // Forgejo 7 asks a user for introspection, and not an application: its token endpoint judges
    // the secret before the code.
    if takes_secret(http, config).await {
        return Ok(());
    }
    Err(Check::failed(
        NAME,
        format!("the forge does not take the client id and secret (status {status})"),
        "set `client_id` and `client_secret_file` of the application, or run `blue broker setup`",
    ))
}

/// Whether the token endpoint objects to something else than the client id and its secret
async fn takes_secret(http: &Http, config: &Config) -> bool {
    let Ok(answer) = with_unknown_code(http, config).await else {
        return false;
    };
    let said: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    matches!(
        said["error_description"].as_str(),
        Some("client is not authorized" | "unexpected redirect URI")
    )
}

async fn redirect_uri(http: &Http, config: &Config) -> Check {
    let redirect = config.public_url.at("/oauth/callback");
    judge(&redirect, with_unknown_code(http, config).await)
}

/// Exchanges a code that was never issued: the forge looks at the client and its secret first, then
/// at the redirect URI, then at the code
async fn with_unknown_code(http: &Http, config: &Config) -> Result<Response, String> {
    let redirect = config.public_url.at("/oauth/callback");
    let body = Serializer::new(String::new())
        .append_pair("grant_type", "authorization_code")
        .append_pair("client_id", &config.client_id)
        .append_pair("client_secret", config.client_secret.expose())
        .append_pair("redirect_uri", &redirect)
        .append_pair("code", "blue-broker-doctor")
        .finish();
    let url = config.forge.at("login/oauth/access_token");
    let request = post(url, "application/x-www-form-urlencoded", body);
    send(http, request).await
}

fn judge(redirect: &str, answer: Result<Response, String>) -> Check {
    const NAME: &str = "Redirect URI";
    let advice = format!("see by hand that the application has the redirect URI {redirect}");
    let answer = match answer {
        Ok(answer) => answer,
        Err(why) => return Check::warning(NAME, format!("cannot tell: {why}"), advice),
    };
    let said: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    match said["error_description"].as_str() {
        Some("client is not authorized") => Check::ok(NAME, format!("{redirect} is registered")),
        Some("unexpected redirect URI") => Check::failed(
            NAME,
            format!("the application is not registered for {redirect}"),
            "give the application at the forge that redirect URI, or correct `public_url`",
        ),
        _ => Check::warning(
            NAME,
            format!(
                "cannot tell: the forge answers with status {}",
                answer.status.as_u16()
            ),
            advice,
        ),
    }
}

fn post(url: Url, kind: &'static str, body: String) -> Request {
    let mut request = Request::new(Method::POST, url);
    request.timeout = Some(PATIENCE);
    request.max_body = Some(256 * 1024);
    let name = HeaderName::from_static;
    let value = HeaderValue::from_static;
    request.headers.insert(name("content-type"), value(kind));
    request
        .headers
        .insert(name("accept"), value("application/json"));
    request.body = Some(body.into());
    request
}
