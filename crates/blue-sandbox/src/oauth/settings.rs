//! `/user/settings/applications`: what the user granted, and taking it back

use axum::{
    body::Bytes,
    extract::{Path, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, StatusCode, header};
use jiff::Timestamp;
use serde_json::json;

use super::{
    Failure,
    fields::Fields,
    guard, json, login,
    pages::{self, AppRow, GrantRow},
    rows, see_other,
    session::Session,
    text,
};
use crate::{
    app::App,
    web::layout::{Viewer, Width, page, send},
};

const HERE: &str = "/user/settings/applications";

pub(super) async fn show(State(app): State<App>, headers: HeaderMap) -> Response {
    app.blocking(move |app| {
        let session = Session::find(app, &headers);
        let Some((session, user)) = session.and_then(|mut session| {
            let user = session.user.take()?;
            Some((session, user))
        }) else {
            return login::first(app, HERE);
        };
        let found = app.store.read(|c| {
            let mut grants = Vec::new();
            for grant in rows::grants_of(c, user.id)? {
                let client = rows::app_by_id(c, grant.app_id)?;
                grants.extend(client.map(|client| GrantRow {
                    app_id: client.id,
                    grant_id: grant.id,
                    app: client.name,
                    scope: grant.scope,
                    since: day(grant.created_at),
                }));
            }
            Ok::<_, Failure>((grants, rows::apps_of(c, user.id)?))
        });
        let (grants, apps) = match found {
            Ok(found) => found,
            Err(failure) => return failure.into_response(),
        };
        let apps: Vec<AppRow> = apps
            .into_iter()
            .map(|app| AppRow {
                name: app.name,
                client_id: app.client_id,
                redirect_uris: app.redirect_uris,
            })
            .collect();
        let csrf = app.is_forgejo().then_some(session.data.csrf.as_str());
        let content = pages::applications(&grants, &apps, csrf);
        let viewer = Viewer(Some(user.login));
        send(
            StatusCode::OK,
            page("Applications", &viewer, Width::Full, &content),
        )
    })
    .await
}

/// `POST …/oauth2/{app}/revoke/{grant}`
///
/// Scripts get where to go next as JSON, as on the real forge; a browser that posts the plain form
/// is sent there.
pub(super) async fn revoke(
    State(app): State<App>,
    Path((_, grant)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    app.blocking(move |app| {
        let session = Session::find(app, &headers);
        let fields = Fields::from_form(&body);
        if let Err((status, words)) = guard::check(app, &headers, session.as_ref(), &fields) {
            return text(status, words);
        }
        let Some(user) = session.and_then(|session| session.user) else {
            return login::first(app, HERE);
        };
        // A grant that is gone already is as good as one that goes now.
        if let Ok(grant) = grant.parse()
            && let Err(error) = app.store.write(|c| rows::delete_grant(c, user.id, grant))
        {
            return Failure::from(error).into_response();
        }
        if wants_page(&headers) {
            return see_other(HERE);
        }
        json(StatusCode::OK, &json!({"redirect": HERE}))
    })
    .await
}

fn wants_page(headers: &HeaderMap) -> bool {
    headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.contains("text/html"))
}

fn day(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .map_or_else(|_| String::new(), |at| at.strftime("%F").to_string())
}
