//! `GET /login/oauth/authorize`

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, StatusCode, Uri};

use super::{
    Failure,
    fields::Fields,
    login,
    pages::{self, ConsentView},
    redirect, rows, scope, secret, see_other,
    session::Session,
};
use crate::{
    app::App,
    auth::hash_token,
    config::Flavor,
    store::users,
    web::layout::{Viewer, Width, page, send},
};

/// How long a code is good, in seconds
const CODE_LIFE: i64 = 600;

pub(super) async fn show(State(app): State<App>, uri: Uri, headers: HeaderMap) -> Response {
    app.blocking(move |app| {
        let here = uri.path_and_query().map_or("/", |here| here.as_str());
        let session = Session::find(app, &headers).filter(|session| session.user.is_some());
        let Some(session) = session else {
            return login::first(app, here);
        };
        match answer(app, session, &Fields::from_query(uri.query())) {
            Ok(response) => response,
            Err(failure) => failure.into_response(),
        }
    })
    .await
}

fn answer(app: &App, mut session: Session, fields: &Fields) -> Result<Response, Failure> {
    let Some(user) = session.user.clone() else {
        return Err(Failure);
    };
    let (uri, state) = (fields.get("redirect_uri"), fields.get("state"));
    let Some(client) = app
        .store
        .read(|c| rows::app_by_client(c, fields.get("client_id")))?
    else {
        return Ok(refuse(
            &user.login,
            "unauthorized_client",
            "Client ID not registered",
        ));
    };
    if !redirect::is_registered(&client.redirect_uris, client.confidential, uri) {
        return Ok(refuse(
            &user.login,
            "invalid_request",
            "Unregistered Redirect URI",
        ));
    }
    let back = |error: &str, description: &str| Ok(send_back(uri, state, error, description));
    if fields.get("response_type") != "code" {
        return back(
            "unsupported_response_type",
            "Only code response type is supported.",
        );
    }
    let method = fields.get("code_challenge_method");
    match method {
        "S256" | "plain" => {}
        "" if client.confidential => {}
        "" => return back("invalid_request", "PKCE is required for public clients"),
        _ => return back("invalid_request", "unsupported code challenge method"),
    }
    let challenge = fields.get("code_challenge");
    let nonce = fields.get("nonce");
    let grant = app.store.read(|c| rows::grant_for(c, client.id, user.id))?;
    if let Some(grant) = grant.filter(|_| client.confidential || client.skip_secondary) {
        return Ok(send_code(
            app,
            grant.id,
            nonce,
            (method, challenge),
            uri,
            state,
        )?);
    }
    session.data.client_id.clone_from(&client.client_id);
    uri.clone_into(&mut session.data.redirect_uri);
    state.clone_into(&mut session.data.state);
    method.clone_into(&mut session.data.method);
    challenge.clone_into(&mut session.data.challenge);
    session.save(app)?;
    let owner = app.store.read(|c| users::by_id(c, client.user_id))?;
    let asked = fields.get("scope");
    let view = ConsentView {
        app: &client.name,
        owner: owner.as_ref().map_or("", |owner| &owner.login),
        user: &user.login,
        limited: scope::limits(app.flavor, asked).is_some(),
        client_id: &client.client_id,
        state,
        scope: asked,
        nonce,
        redirect_uri: uri,
        csrf: matches!(app.flavor, Flavor::Forgejo | Flavor::Forgejo7)
            .then_some(session.data.csrf.as_str()),
    };
    let viewer = Viewer(Some(user.login.clone()));
    let markup = page("Authorize", &viewer, Width::Narrow, &pages::consent(&view));
    Ok(send(StatusCode::OK, markup))
}

/// Make a code for a grant and go back to the application with it
pub(super) fn send_code(
    app: &App,
    grant_id: i64,
    nonce: &str,
    (method, challenge): (&str, &str),
    uri: &str,
    state: &str,
) -> rusqlite::Result<Response> {
    let code = secret("gta_");
    let row = rows::Code {
        grant_id,
        method: method.to_owned(),
        challenge: challenge.to_owned(),
        valid_until: app.now().as_second() + CODE_LIFE,
    };
    app.store.write(|c| {
        if !nonce.is_empty() {
            rows::set_nonce(c, grant_id, nonce)?;
        }
        rows::insert_code(c, &hash_token(&code), &row)
    })?;
    let mut pairs = vec![("code", code.as_str())];
    if !state.is_empty() {
        pairs.push(("state", state));
    }
    Ok(go(uri, &pairs))
}

/// Go back to the application with an error
pub(super) fn send_back(uri: &str, state: &str, error: &str, description: &str) -> Response {
    go(
        uri,
        &[
            ("error", error),
            ("error_description", description),
            ("state", state),
        ],
    )
}

fn go(uri: &str, pairs: &[(&str, &str)]) -> Response {
    match redirect::with_query(uri, pairs) {
        Some(location) => see_other(&location),
        None => Failure.into_response(),
    }
}

/// A page instead of a redirect: the address to go back to is not to be trusted
fn refuse(login: &str, error: &str, description: &str) -> Response {
    let viewer = Viewer(Some(login.to_owned()));
    let content = pages::refused(error, description);
    let markup = page("Authorization failed", &viewer, Width::Narrow, &content);
    send(StatusCode::BAD_REQUEST, markup)
}
