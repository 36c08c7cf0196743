//! `/login/oauth/userinfo`: who a token stands for

use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rusqlite::Connection;
use serde_json::{Value, json};

use super::{Failure, bad_credential, json, text};
use crate::{
    app::App,
    auth,
    store::users::{self, User},
};

pub(super) async fn show(
    State(app): State<App>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    app.blocking(move |app| {
        let basic = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.to_ascii_lowercase().starts_with("basic "));
        let caller = match auth::authenticate(app, &headers, query.as_deref()) {
            Ok(caller) => caller.filter(|_| !basic),
            Err(auth::Refused) => return bad_credential(app),
        };
        let Some(caller) = caller else {
            let mut response = text(StatusCode::UNAUTHORIZED, "no valid authorization");
            let realm = if app.is_forgejo() { "" } else { "Gitea OAuth2" };
            let realm = HeaderValue::from_str(&format!("Bearer realm=\"{realm}\""));
            if let Ok(realm) = realm {
                response
                    .headers_mut()
                    .insert(header::WWW_AUTHENTICATE, realm);
            }
            return response;
        };
        match facts(app, &caller.user) {
            Ok(facts) => json(StatusCode::OK, &facts),
            Err(error) => axum::response::IntoResponse::into_response(Failure::from(error)),
        }
    })
    .await
}

fn facts(app: &App, user: &User) -> rusqlite::Result<Value> {
    let groups = app.store.read(|c| groups(c, user))?;
    let mut facts = json!({
        "sub": user.id.to_string(),
        "name": display_name(user),
        "preferred_username": user.login,
        "email": user.email,
        "picture": picture(app, user),
    });
    // Forgejo leaves an empty list out, Gitea says null.
    if !groups.is_empty() {
        facts["groups"] = groups.into();
    } else if !app.is_forgejo() {
        facts["groups"] = Value::Null;
    }
    Ok(facts)
}

pub(super) fn display_name(user: &User) -> String {
    if user.full_name.is_empty() {
        user.login.clone()
    } else {
        user.full_name.clone()
    }
}

pub(super) fn picture(app: &App, user: &User) -> String {
    crate::gitea::avatar(app, user)
}

/// Organisations and their teams, as `org` and `org:team`
pub(super) fn groups(c: &Connection, user: &User) -> rusqlite::Result<Vec<String>> {
    let mut groups = Vec::new();
    for org in users::orgs_of(c, user.id)? {
        let owns = users::role(c, org.id, user.id)?.as_deref() == Some("owner");
        groups.push(org.login.clone());
        if owns {
            groups.push(format!("{}:owners", org.login));
        }
    }
    Ok(groups)
}
