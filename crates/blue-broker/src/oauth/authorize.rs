//! `GET /oauth/authorize`: a client sends the user's browser here
//!
//! Everything is checked before anything is shown. The request can be repeated from anywhere, and
//! each time it begins an authorization of its own: one client fetches the URL itself before it
//! opens a browser with it.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, Uri, header, request::Parts},
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use url::{Host, Url};

use super::{
    browser, clients, consent,
    form::Params,
    redirect, resource,
    trouble::{self, Trouble},
};
use crate::{
    app::App,
    crypto::Purpose,
    http::{self, RequestId},
    rng,
    store::{Ask, Authorization, Client, Stage},
    token::TokenHash,
};

/// The only scope of the broker
pub(crate) const SCOPE: &str = "mcp";
/// Longest accepted `state`; no client sends a tenth of it
const LONGEST_STATE: usize = 8 * 1024;
/// An error for the client: a code of RFC 6749, and a description for its log
type Refusal = (&'static str, &'static str);

pub(crate) async fn authorize(
    State(app): State<Arc<App>>,
    Extension(request): Extension<RequestId>,
    parts: Parts,
) -> Response {
    if let Some(elsewhere) = other_spelling(&app, &parts.headers, &parts.uri) {
        return elsewhere;
    }
    match begin(&app, &parts).await {
        Ok(answer) => answer,
        Err(trouble) => trouble.show(&app, &request),
    }
}

async fn begin(app: &App, request: &Parts) -> Result<Response, Trouble> {
    let (params, twice) = Params::query_once(&request.uri)?;
    let client_id = params.get("client_id").ok_or(Trouble::UnknownClient)?;
    let client = clients::find(app, client_id)
        .await?
        .ok_or(Trouble::UnknownClient)?;
    let back = params.get("redirect_uri").ok_or(Trouble::BadRedirect)?;
    let back = target(app, &client, back).ok_or(Trouble::BadRedirect)?;
    let state = params.get("state");
    if state.is_some_and(|state| state.len() > LONGEST_STATE) || twice.iter().any(|n| n == "state")
    {
        return Err(Trouble::BadRequest(
            "the parameter `state` is too long, or comes more than once".to_owned(),
        ));
    }
    // From here on errors can be reported to the client by redirect.
    let checked = if twice.is_empty() {
        check(app, &params)
    } else {
        Err(("invalid_request", "a parameter comes more than once"))
    };
    let resource = match checked {
        Ok(resource) => resource,
        Err((error, words)) => {
            let pairs = [("error", error), ("error_description", words)];
            let to = answer_to(app, back, &pairs, state);
            return Ok(trouble::see_other(to.as_str(), None));
        }
    };
    let ask = Ask {
        client_id: Some(client.id),
        redirect_uri: params.get("redirect_uri").unwrap_or_default().to_owned(),
        client_state: state.map(str::to_owned),
        scope: SCOPE.to_owned(),
        resource,
        challenge: params.get("code_challenge").unwrap_or_default().to_owned(),
    };
    let from = http::counted(&request.extensions);
    app.limits.authorizations.take(from.as_ref(), app.now())?;
    let (new, secret) = fresh(app, ask);
    app.store.begin(&new, app.now()).await?;
    let cookie = browser::bind(app, &new.id, &secret);
    let to = format!("/oauth/consent?tx={}", new.id);
    Ok(trouble::see_other(&to, Some(cookie)))
}

/// A new authorization and the secret of its browser
pub(crate) fn fresh(app: &App, ask: Ask) -> (Authorization, String) {
    let id = app.keys.named(&app.id());
    let secret = URL_SAFE_NO_PAD.encode(rng::bytes::<32>(&*app.rng));
    let new = Authorization {
        browser: TokenHash::of(&secret),
        form: TokenHash::of(&consent::form_token(app, &id)),
        id,
        ask,
        stage: Stage::Asked,
        expires_at: app.now() + lifetime(),
    };
    (new, secret)
}

/// How long an authorization lives, before the answer and again after it
pub(crate) fn lifetime() -> Duration {
    Duration::from_secs(browser::MINUTES_TEN.into())
}

/// Checks everything besides client and redirect URI; returns the resource
fn check(app: &App, params: &Params) -> Result<String, Refusal> {
    match params.get("response_type") {
        Some("code") => {}
        Some(_) => {
            return Err(("unsupported_response_type", "only `code` is supported"));
        }
        None => return Err(("invalid_request", "`response_type` is missing")),
    }
    if params
        .get("response_mode")
        .is_some_and(|mode| mode != "query")
    {
        return Err((
            "invalid_request",
            "only the response mode `query` is supported",
        ));
    }
    let challenge = params.get("code_challenge").ok_or((
        "invalid_request",
        "`code_challenge` is missing: PKCE is required",
    ))?;
    if params.get("code_challenge_method") != Some("S256") {
        return Err(("invalid_request", "`code_challenge_method` must be `S256`"));
    }
    let hash = URL_SAFE_NO_PAD.decode(challenge);
    if !hash.is_ok_and(|hash| hash.len() == 32) {
        return Err((
            "invalid_request",
            "`code_challenge` is not a SHA-256 in base64url",
        ));
    }
    if params.get("request").is_some() || params.get("request_uri").is_some() {
        return Err(("request_not_supported", "request objects are not supported"));
    }
    let prompts = params.get("prompt").unwrap_or_default();
    if prompts.split(' ').any(|prompt| prompt == "none") {
        return Err(("consent_required", "people are asked every time"));
    }
    resource::accept(app, params.get("resource"))
        .ok_or(("invalid_target", "`resource` is not this server"))
}

/// The redirect URI as a URL; `None` for a scheme that a browser executes, even if an admin
/// registered it
fn target(app: &App, client: &Client, uri: &str) -> Option<Url> {
    if !redirect::allowed(client, uri) {
        return None;
    }
    safe(app, uri)
}

/// Parses a URL that a browser may be redirected to
pub(super) fn safe(app: &App, uri: &str) -> Option<Url> {
    let url = Url::parse(uri).ok()?;
    let scheme = url.scheme();
    let private = app.config.private_schemes.iter().any(|own| own == scheme);
    // The port of a loopback URI is free, so it may lead to the broker only now.
    let good =
        private || (matches!(scheme, "http" | "https") && !app.config.public_url.leads_here(&url));
    good.then_some(url)
}

/// A response to the client, with its state and our issuer (RFC 9207)
pub(super) fn answer_to(
    app: &App,
    mut to: Url,
    pairs: &[(&str, &str)],
    state: Option<&str>,
) -> Url {
    to.set_fragment(None);
    to.query_pairs_mut()
        .extend_pairs(pairs)
        .extend_pairs(state.map(|state| ("state", state)))
        .append_pair("iss", app.config.public_url.origin());
    to
}

/// Redirects to the host name that the forge sends browsers back to, because `localhost`,
/// `127.0.0.1` and `[::1]` do not share cookies
///
/// Only among loopback names and on the same port. Anywhere else a proxy may have changed the
/// header, and the redirect could loop.
pub(crate) fn other_spelling(app: &App, headers: &HeaderMap, uri: &Uri) -> Option<Response> {
    let own = &app.config.public_url;
    let host = headers.get(header::HOST)?.to_str().ok()?;
    if !own.is_loopback() || host == own.authority() {
        return None;
    }
    let asked = Url::parse(&format!("http://{host}")).ok()?;
    let is_local = match asked.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
    };
    let ours = Url::parse(own.origin()).ok()?;
    let same_port = asked.port_or_known_default() == ours.port_or_known_default();
    let same_host = asked.host() == ours.host();
    (is_local && same_port && !same_host).then(|| {
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        trouble::see_other(&own.at(path), None)
    })
}

/// State towards the forge
///
/// It is derived, so one authorization always has the same one. It is unknown to every party before
/// the user consents, because only then it is sent out and accepted.
pub(crate) fn upstream_state(app: &App, authorization: &str) -> String {
    let bytes = app.keys.derived(Purpose::UpstreamState, authorization);
    URL_SAFE_NO_PAD.encode(bytes)
}
