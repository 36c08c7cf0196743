//! `/connections`: users see and revoke what they granted

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Extension,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Uri, request::Parts},
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use super::{
    PageFrame, RequestId,
    pages::{
        connections::{Connection, ConnectionsPage, signed_out},
        consent::Known,
    },
};
use crate::{
    app::App,
    crypto::Purpose,
    limits::CountedAs,
    oauth::{
        authorize, browser, consent,
        form::Params,
        revoke,
        trouble::{Trouble, see_other},
    },
    store::{Ask, Grant, PageSession, Revoked, StoreError, UserState},
    token::{Kind, Token, TokenHash},
    upstream,
};

const COOKIE: &str = "connections";
/// Seconds until the session of the page expires
const LIFE: u32 = 1800;
const WHY: &str = "revoked by the person";

/// Session cookie of the page; derived from the authorization, never stored
fn session(app: &App, authorization: &str) -> Token {
    let bytes = app.keys.derived(Purpose::PageSession, authorization);
    Token::of(Kind::PageSession, bytes)
}

/// Open a session: always with a new cookie, whatever the browser had before
pub(crate) async fn open(app: &App, authorization: &str, user: &str) -> Result<(), StoreError> {
    let token = session(app, authorization);
    let session = PageSession {
        user: user.to_owned(),
        form: TokenHash::of(&form_tokens(app, &token)[0]),
        expires_at: app.now() + Duration::from_secs(LIFE.into()),
    };
    let now = app.now();
    app.store.open_page(&token.hash(), &session, now).await
}

/// Redirect to the page with the cookie of this sign-in; a session that was closed meanwhile stays
/// closed
pub(crate) fn enter(app: &App, authorization: &str) -> Response {
    let token = session(app, authorization);
    let cookie = browser::set_cookie(&app.config.public_url, COOKIE, token.expose(), LIFE);
    see_other("/connections", Some(cookie))
}

/// Tokens that the forms of the page may carry: one for each master key, the active one first
fn form_tokens(app: &App, session: &Token) -> Vec<String> {
    let each = app.keys.derived_by_each(Purpose::Form, session.expose());
    each.iter().map(|b| URL_SAFE_NO_PAD.encode(b)).collect()
}

/// Returns the session that the request's cookie belongs to
async fn visitor(app: &App, headers: &HeaderMap) -> Result<Option<(Token, PageSession)>, Trouble> {
    let name = browser::cookie_name(&app.config.public_url, COOKIE);
    let cookie = browser::cookie(headers, &name);
    let Some(token) = cookie.and_then(|cookie| Token::parse(Kind::PageSession, cookie)) else {
        return Ok(None);
    };
    let session = app.store.page_session(&token.hash(), app.now()).await?;
    Ok(session.map(|session| (token, session)))
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Extension(request): Extension<RequestId>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    // The cookie and the forms are bound to one spelling of the host.
    if let Some(elsewhere) = authorize::other_spelling(&app, &headers, &uri) {
        return elsewhere;
    }
    match list(&app, &request, &headers).await {
        Ok(answer) => answer,
        Err(trouble) => trouble.show(&app, &request),
    }
}

async fn list(app: &App, request: &RequestId, headers: &HeaderMap) -> Result<Response, Trouble> {
    let frame = PageFrame::new(app, request);
    let visitor = visitor(app, headers).await?;
    let user = match &visitor {
        Some((_, session)) => app.store.user(&session.user).await?,
        None => None,
    };
    let (Some((token, session)), Some(user)) = (visitor, user) else {
        return Ok(signed_out(&frame, &app.config.forge_name));
    };
    let connections = connections(app, &user.id).await?;
    // The form token of the key that the session was opened with, which need not be active any
    // more.
    let tokens = form_tokens(app, &token);
    let is_own = |token: &&String| TokenHash::of(token).matches(&session.form);
    let own = tokens.iter().find(is_own);
    let page = ConnectionsPage {
        login: &user.login,
        forge: &app.config.forge_name,
        settings: &upstream::settings_url(app),
        must_reconnect: user.state == UserState::Reconnect,
        scopes: app.config.forge_scopes.names(),
        connections: &connections,
        token: own.map_or("", String::as_str),
    };
    Ok(page.show(&frame))
}

/// One entry per client, not per grant: to a user, a client that was connected three times is one
async fn connections(app: &App, user: &str) -> Result<Vec<Connection>, Trouble> {
    let mut by_client: BTreeMap<String, Vec<Grant>> = BTreeMap::new();
    for grant in app.store.grants_of(user).await? {
        by_client
            .entry(grant.client_id.clone())
            .or_default()
            .push(grant);
    }
    let mut all = Vec::new();
    for (client_id, grants) in by_client {
        let client = app.store.client(&client_id).await?;
        let since = grants.iter().map(|grant| grant.created_at).min();
        let last_used = grants.iter().map(|grant| grant.last_used_at).max();
        let (Some(since), Some(last_used)) = (since, last_used) else {
            continue;
        };
        all.push(Connection {
            known: client.as_ref().map_or(Known::Nothing, consent::known),
            name: client.map_or_else(String::new, |client| client.name),
            client_id,
            since,
            last_used,
            grants: grants.len(),
        });
    }
    all.sort_by_key(|one| std::cmp::Reverse(one.last_used));
    Ok(all)
}

pub(super) async fn act(
    State(app): State<Arc<App>>,
    Extension(request): Extension<RequestId>,
    parts: Parts,
    body: Bytes,
) -> Response {
    match change(&app, &request, &parts, &body).await {
        Ok(answer) => answer,
        Err(trouble) => trouble.show(&app, &request),
    }
}

async fn change(
    app: &App,
    request: &RequestId,
    parts: &Parts,
    body: &[u8],
) -> Result<Response, Trouble> {
    let headers = &parts.headers;
    if !browser::is_own_page(app, headers) {
        return Err(Trouble::Forged);
    }
    let params = Params::form(headers, body)?;
    let what = params.get("do").unwrap_or_default();
    if what == "sign-in" {
        let from = super::counted(&parts.extensions);
        return sign_in(app, from.as_ref()).await;
    }
    let Some((token, session)) = visitor(app, headers).await? else {
        // The session was closed meanwhile: the page says so.
        return Ok(see_other("/connections", None));
    };
    let sent = TokenHash::of(params.get("token").unwrap_or_default());
    if !sent.matches(&session.form) {
        return Err(Trouble::Forged);
    }
    let user = session.user.as_str();
    match (what, params.get("client")) {
        ("revoke", Some(client)) => {
            let what = Revoked::Connection { user, client };
            revoke::end(app, what, WHY, &request.0).await?;
        }
        ("revoke-all", _) => {
            revoke::end(app, Revoked::User(user), WHY, &request.0).await?;
        }
        ("sign-out", _) => {
            app.store.close_page(&token.hash()).await?;
            let gone = browser::set_cookie(&app.config.public_url, COOKIE, "", 0);
            return Ok(see_other("/connections", Some(gone)));
        }
        _ => {
            return Err(Trouble::BadRequest(
                "there is nothing to do in it".to_owned(),
            ));
        }
    }
    Ok(see_other("/connections", None))
}

/// Redirect to the forge, to sign in for this page alone
async fn sign_in(app: &App, from: Option<&CountedAs>) -> Result<Response, Trouble> {
    let ask = Ask {
        client_id: None,
        redirect_uri: "/connections".to_owned(),
        client_state: None,
        scope: String::new(),
        resource: String::new(),
        challenge: String::new(),
    };
    app.limits.authorizations.take(from, app.now())?;
    let (new, secret) = authorize::fresh(app, ask);
    app.store.begin(&new, app.now()).await?;
    let to = format!("/oauth/done?tx={}", new.id);
    let cookie = browser::bind(app, &new.id, &secret);
    consent::approve(app, new).await?;
    Ok(see_other(&to, Some(cookie)))
}
