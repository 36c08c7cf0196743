//! `/oauth/consent`: the user is asked, every time, before anything is sent to the forge

use std::sync::Arc;

use axum::{
    Extension,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use maud::html;
use url::Url;

use super::{
    authorize::{lifetime, upstream_state},
    browser, clients,
    form::Params,
    redirect,
    trouble::{Trouble, see_other},
};
use crate::{
    app::App,
    audit::Fields,
    crypto::Purpose,
    http::{
        PageFrame, RequestId,
        pages::{
            consent::{ConsentPage, Known, Target},
            onward,
        },
    },
    store::{AuditEvent, Authorization, Client, ClientKind, Stage},
    token::TokenHash,
};

/// The token that a form of this authorization carries
pub(super) fn form_token(app: &App, authorization: &str) -> String {
    let bytes = app.keys.derived(Purpose::Form, authorization);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The authorization that the request names, if it was begun in this browser, and the secret that
/// the browser presented
pub(super) async fn of_browser<'a>(
    app: &App,
    id: Option<&str>,
    headers: &'a HeaderMap,
) -> Result<(Authorization, &'a str), Trouble> {
    let found = app
        .store
        .authorization(id.ok_or(Trouble::Gone)?, app.now())
        .await?
        .ok_or(Trouble::Gone)?;
    let secret = browser::bound(app, headers, &found).ok_or(Trouble::OtherBrowser)?;
    Ok((found, secret))
}

/// Show the consent page
pub(crate) async fn ask(
    State(app): State<Arc<App>>,
    Extension(request): Extension<RequestId>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    match show(&app, &request, &uri, &headers).await {
        Ok(answer) => answer,
        Err(trouble) => trouble.show(&app, &request),
    }
}

async fn show(
    app: &App,
    request: &RequestId,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Response, Trouble> {
    let frame = PageFrame::new(app, request);
    let params = Params::query(uri)?;
    let (found, _) = of_browser(app, params.get("tx"), headers).await?;
    let Some(client) = &found.ask.client_id else {
        return Err(Trouble::Gone);
    };
    if found.stage != Stage::Asked {
        return Ok(answered(&frame, &found));
    }
    let client = app
        .store
        .client(client)
        .await?
        .ok_or(Trouble::UnknownClient)?;
    let page = ConsentPage {
        client: &client.name,
        known: known(&client),
        target: target(&found.ask.redirect_uri).ok_or(Trouble::BadRedirect)?,
        forge: &app.config.forge_name,
        scopes: app.config.forge_scopes.names(),
        id: &found.id,
        token: &form_token(app, &found.id),
    };
    Ok(page.show(&frame))
}

/// The page for a user who went back to a consent page that they answered already
fn answered(frame: &PageFrame<'_>, found: &Authorization) -> Response {
    let text = html! {
        p { "You have answered this already." }
        p {
            a href={ "/oauth/done?tx=" (found.id) } { "Go on from there" }
            ", or start again in your app."
        }
    };
    onward::end(frame, StatusCode::OK, "Already answered", &text)
}

/// Returns how far the identity of a client is verified
pub(crate) fn known(client: &Client) -> Known {
    match client.kind {
        ClientKind::Static => Known::ByAdmin,
        _ => clients::verified_host(client).map_or(Known::Nothing, Known::Domain),
    }
}

fn target(uri: &str) -> Option<Target> {
    let url = Url::parse(uri).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        // An app with a private scheme is shown with the host that follows the scheme.
        let host = url.host_str().unwrap_or_default();
        return Some(Target::App(format!("{}://{host}", url.scheme())));
    }
    let host = url.host_str()?;
    let host = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    Some(if redirect::is_loopback(uri) {
        Target::Loopback(host)
    } else {
        Target::Site(host)
    })
}

/// Take the decision; a second one changes nothing and gets the same response
pub(crate) async fn answer(
    State(app): State<Arc<App>>,
    Extension(request): Extension<RequestId>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match decide(&app, &request, &headers, &body).await {
        Ok(answer) => answer,
        Err(trouble) => trouble.show(&app, &request),
    }
}

async fn decide(
    app: &App,
    request: &RequestId,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Response, Trouble> {
    if !browser::is_own_page(app, headers) {
        return Err(Trouble::Forged);
    }
    let params = Params::form(headers, body)?;
    let (found, secret) = of_browser(app, params.get("tx"), headers).await?;
    let token = TokenHash::of(params.get("token").unwrap_or_default());
    if !token.matches(&found.form) || found.ask.client_id.is_none() {
        return Err(Trouble::Forged);
    }
    let id = found.id.clone();
    match params.get("answer") {
        Some("approve") => {
            if found.stage == Stage::Asked {
                approve(app, found).await?;
            }
        }
        Some("deny") => deny(app, request, found).await?,
        _ => return Err(Trouble::BadRequest("there is no answer in it".to_owned())),
    }
    let to = format!("/oauth/done?tx={id}");
    Ok(see_other(&to, Some(browser::rebind(app, &id, secret))))
}

/// Record the consent and begin the sign-in at the forge, with a new time limit
pub(crate) async fn approve(app: &App, mut asked: Authorization) -> Result<(), Trouble> {
    let state = TokenHash::of(&upstream_state(app, &asked.id));
    asked.expires_at = app.now() + lifetime();
    app.store.approve(asked, &state, app.now()).await?;
    Ok(())
}

async fn deny(app: &App, request: &RequestId, open: Authorization) -> Result<(), Trouble> {
    if let Some(denied) = app.store.deny(open, app.now()).await? {
        let fields = Fields {
            client: denied.ask.client_id.as_deref(),
            request: Some(&request.0),
            ..Fields::default()
        };
        app.audit(AuditEvent::Denied, fields).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_consent_page_names_the_target_as_it_is() {
        let site = |host: &str| Some(Target::Site(host.to_owned()));
        let local = |host: &str| Some(Target::Loopback(host.to_owned()));
        for (uri, shown) in [
            ("https://claude.ai/api/cb", site("claude.ai")),
            ("https://a.example:8443/cb", site("a.example:8443")),
            (
                "https://localhost.evil.example/",
                site("localhost.evil.example"),
            ),
            ("https://xn--80ak6aa92e.com/", site("xn--80ak6aa92e.com")),
            ("http://127.0.0.1:1234/cb", local("127.0.0.1:1234")),
            ("http://[::1]:1234/cb", local("[::1]:1234")),
            ("http://localhost/cb", local("localhost")),
            (
                "cursor://anysphere/cb",
                Some(Target::App("cursor://anysphere".to_owned())),
            ),
            ("nonsense", None),
        ] {
            assert_eq!(target(uri), shown, "{uri}");
        }
    }
}
