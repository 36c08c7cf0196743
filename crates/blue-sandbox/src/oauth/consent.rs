//! `POST /login/oauth/grant`: the user's yes or no

use axum::{
    body::Bytes,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, StatusCode};

use super::{
    Failure,
    authorize::{send_back, send_code},
    fields::Fields,
    guard, login, rows,
    session::Session,
    text,
};
use crate::app::App;

pub(super) async fn submit(State(app): State<App>, headers: HeaderMap, body: Bytes) -> Response {
    app.blocking(move |app| {
        let fields = Fields::from_form(&body);
        let session = Session::find(app, &headers);
        if let Err((status, words)) = guard::check(app, &headers, session.as_ref(), &fields) {
            return text(status, words);
        }
        let Some(session) = session.filter(|session| session.user.is_some()) else {
            return login::first(app, "/login/oauth/grant");
        };
        match answer(app, &session, &fields) {
            Ok(response) => response,
            Err(failure) => failure.into_response(),
        }
    })
    .await
}

fn answer(app: &App, session: &Session, fields: &Fields) -> Result<Response, Failure> {
    let Some(user) = &session.user else {
        return Err(Failure);
    };
    let shown = &session.data;
    let (uri, state) = (fields.get("redirect_uri"), fields.get("state"));
    let same = shown.client_id == fields.get("client_id")
        && shown.state == state
        && shown.redirect_uri == uri;
    if !same || shown.client_id.is_empty() {
        return Ok(text(StatusCode::BAD_REQUEST, "Bad Request\n"));
    }
    if fields.get("granted") != "true" {
        return Ok(send_back(
            uri,
            state,
            "access_denied",
            "the request is denied",
        ));
    }
    // The scope is taken from the form, not from the page that was shown: Gitea does so too.
    let scope = fields.get("scope");
    let client = app
        .store
        .read(|c| rows::app_by_client(c, &shown.client_id))?;
    let Some(client) = client else {
        return Err(Failure);
    };
    let grant = app.store.write(|c| {
        if let Some(grant) = rows::grant_for(c, client.id, user.id)? {
            return Ok((grant.scope == scope).then_some(grant.id));
        }
        rows::insert_grant(c, client.id, user.id, scope, app.now()).map(Some)
    })?;
    let Some(grant) = grant else {
        return Ok(send_back(
            uri,
            state,
            "server_error",
            "a grant exists with different scope",
        ));
    };
    let proof = (shown.method.as_str(), shown.challenge.as_str());
    Ok(send_code(
        app,
        grant,
        fields.get("nonce"),
        proof,
        uri,
        state,
    )?)
}
