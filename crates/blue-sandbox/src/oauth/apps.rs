//! `/api/v1/user/applications/oauth2`: applications, by API

use axum::{
    body::Bytes,
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Failure, json, rows, secret};
use crate::{
    app::App,
    auth::{self, hash_token},
    store::users::User,
};

/// Rows on a page when the caller does not say, and at most
const PAGE: (usize, usize) = (30, 50);

/// An answer that is not the one asked for
#[derive(Debug)]
struct Refusal(Box<Response>);

impl From<Response> for Refusal {
    fn from(response: Response) -> Self {
        Self(Box::new(response))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Body {
    name: String,
    confidential_client: bool,
    skip_secondary_authorization: bool,
    redirect_uris: Option<Vec<String>>,
}

pub(super) async fn create(
    State(app): State<App>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    run(app, Method::POST, query, headers, move |app, user, _| {
        let body = read(app, &body)?;
        let secret = secret("gto_");
        let client_id = uuid(app);
        let hash = hash_token(&secret);
        let settings = settings(&body, &hash);
        let made = app.store.write(|c| {
            let id = rows::insert_app(c, user.id, &client_id, &settings, app.now())?;
            rows::app_by_id(c, id)
        });
        let made = made.map_err(broken)?.ok_or_else(|| not_found(app))?;
        Ok(json(StatusCode::CREATED, &show_app(app, &made, &secret)))
    })
    .await
}

pub(super) async fn list(
    State(app): State<App>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    run(app, Method::GET, query, headers, |app, user, query| {
        let all = app
            .store
            .read(|c| rows::apps_of(c, user.id))
            .map_err(broken)?;
        let number = |name: &str| query.get(name).parse::<usize>().ok().filter(|n| *n > 0);
        let limit = number("limit").unwrap_or(PAGE.0).min(PAGE.1);
        let skip = (number("page").unwrap_or(1) - 1).saturating_mul(limit);
        let shown: Vec<Value> = all
            .iter()
            .skip(skip)
            .take(limit)
            .map(|one| show_app(app, one, ""))
            .collect();
        let mut response = json(StatusCode::OK, &shown.into());
        let headers = response.headers_mut();
        headers.insert("x-total-count", HeaderValue::from(all.len()));
        headers.insert(
            "access-control-expose-headers",
            HeaderValue::from_static("X-Total-Count"),
        );
        Ok(response)
    })
    .await
}

pub(super) async fn show(
    State(app): State<App>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    run(app, Method::GET, query, headers, move |app, user, _| {
        let found = own(app, user, &id)?;
        Ok(json(StatusCode::OK, &show_app(app, &found, "")))
    })
    .await
}

/// `PATCH`: set everything, and make a new secret
pub(super) async fn update(
    State(app): State<App>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    run(app, Method::PATCH, query, headers, move |app, user, _| {
        let body = read(app, &body)?;
        let before = own(app, user, &id)?;
        let secret = secret("gto_");
        let hash = hash_token(&secret);
        let settings = settings(&body, &hash);
        let after = app.store.write(|c| {
            rows::update_app(c, before.id, &settings)?;
            rows::app_by_id(c, before.id)
        });
        let after = after.map_err(broken)?.ok_or_else(|| not_found(app))?;
        Ok(json(StatusCode::OK, &show_app(app, &after, &secret)))
    })
    .await
}

pub(super) async fn delete(
    State(app): State<App>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    run(app, Method::DELETE, query, headers, move |app, user, _| {
        let found = own(app, user, &id)?;
        app.store
            .write(|c| rows::delete_app(c, user.id, found.id))
            .map_err(broken)?;
        Ok(StatusCode::NO_CONTENT.into_response())
    })
    .await
}

/// Find out who calls and whether the token may, then do it
async fn run(
    app: App,
    method: Method,
    query: Option<String>,
    headers: HeaderMap,
    work: impl FnOnce(&App, &User, &super::fields::Fields) -> Result<Response, Refusal> + Send + 'static,
) -> Response {
    app.blocking(move |app| {
        let caller = match auth::authenticate(app, &headers, query.as_deref()) {
            Ok(Some(caller)) => caller,
            Ok(None) => return refuse(app, StatusCode::UNAUTHORIZED, "token is required"),
            Err(auth::Refused) => {
                let words = if app.is_forgejo() {
                    "user does not exist [uid: 0, name: ]"
                } else {
                    "invalid username, password or token"
                };
                return refuse(app, StatusCode::UNAUTHORIZED, words);
            }
        };
        let wanted = if method == Method::GET {
            "read:user"
        } else {
            "write:user"
        };
        if let Some(scopes) = caller.scopes.filter(|scopes| !scopes.allow(wanted)) {
            let start = "token does not have at least one of required scope(s)";
            let words = if app.is_forgejo() {
                format!("{start}: [{wanted}]")
            } else {
                format!(
                    "{start}, required=[{wanted}], token scope={}",
                    scopes.text()
                )
            };
            return refuse(app, StatusCode::FORBIDDEN, &words);
        }
        let query = super::fields::Fields::from_query(query.as_deref());
        match work(app, &caller.user, &query) {
            Ok(response) => response,
            Err(refusal) => *refusal.0,
        }
    })
    .await
}

fn own(app: &App, user: &User, id: &str) -> Result<rows::App, Refusal> {
    let id: i64 = id.parse().map_err(|_| not_found(app))?;
    let found = app.store.read(|c| rows::app_by_id(c, id)).map_err(broken)?;
    found
        .filter(|found| found.user_id == user.id)
        .ok_or_else(|| not_found(app))
}

fn read(app: &App, body: &[u8]) -> Result<Body, Refusal> {
    let unprocessable =
        |words: &str| Refusal::from(refuse(app, StatusCode::UNPROCESSABLE_ENTITY, words));
    let body: Body =
        serde_json::from_slice(body).map_err(|error| unprocessable(&error.to_string()))?;
    if body.name.is_empty() {
        return Err(unprocessable("[Name]: Required"));
    }
    // An empty list will do: what is in it is not looked at.
    if body.redirect_uris.is_none() {
        return Err(unprocessable("[RedirectURIs]: Required"));
    }
    Ok(body)
}

fn settings<'a>(body: &'a Body, secret_hash: &'a str) -> rows::AppSettings<'a> {
    rows::AppSettings {
        name: &body.name,
        secret_hash,
        confidential: body.confidential_client,
        skip_secondary: body.skip_secondary_authorization,
        redirect_uris: body.redirect_uris.as_deref().unwrap_or_default(),
    }
}

fn show_app(app: &App, row: &rows::App, secret: &str) -> Value {
    let created = Timestamp::from_second(row.created_at / 1000).unwrap_or_default();
    let mut shown = json!({
        "id": row.id,
        "name": row.name,
        "client_id": row.client_id,
        "client_secret": secret,
        "confidential_client": row.confidential,
        "skip_secondary_authorization": row.skip_secondary,
        "redirect_uris": row.redirect_uris,
        "created": created.to_string(),
    });
    if app.is_forgejo()
        && let Some(object) = shown.as_object_mut()
    {
        object.remove("skip_secondary_authorization");
    }
    shown
}

/// A random UUID
fn uuid(app: &App) -> String {
    let hex = app.random_hex(16);
    format!(
        "{}-{}-4{}-8{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..]
    )
}

fn refuse(app: &App, status: StatusCode, message: &str) -> Response {
    json(
        status,
        &json!({"message": message, "url": format!("{}/api/swagger", app.root_url)}),
    )
}

fn not_found(app: &App) -> Refusal {
    let url = format!("{}/api/swagger", app.root_url);
    let (message, errors) = if app.is_forgejo() {
        ("The target couldn't be found.", json!([]))
    } else {
        ("not found", Value::Null)
    };
    let body = json!({"errors": errors, "message": message, "url": url});
    json(StatusCode::NOT_FOUND, &body).into()
}

fn broken(error: rusqlite::Error) -> Refusal {
    Failure::from(error).into_response().into()
}
