//! Faults on request: make chosen requests go wrong
//!
//! Only there when the sandbox was started with faults on; otherwise the route is a 404. It
//! needs no token, since only the one who started the sandbox so can reach it.
//!
//! ```text
//! POST   /-/sandbox/faults        add a rule, 201 with the rule and its `id`
//! GET    /-/sandbox/faults        the rules still in force, each with how often it `hits`
//! DELETE /-/sandbox/faults        remove all, 204
//! DELETE /-/sandbox/faults/{id}   remove one, 204
//! ```
//!
//! A rule is one JSON object:
//!
//! | key | meaning |
//! |---|---|
//! | `path` | which paths: `*` is any run of characters (slashes too), `?` is any one; required |
//! | `method` | only this method; any when left out |
//! | `count` | how many requests it strikes, then it is gone; for ever when left out |
//! | `skip` | how many matching requests to let through first |
//! | `delay_ms` | wait so long first; alone, or with one of the others |
//! | `status` | answer this status without asking the forge |
//! | `body` | what a `status` answers, a string or any JSON; `{"message":"…"}` when left out |
//! | `headers` | what a `status` sends along, for instance `{"Retry-After":"2"}` |
//! | `drop` | `true`: close the connection without an answer |
//! | `truncate` | send the true answer's `Content-Length`, and only so many bytes of it |
//!
//! The first rule that matches a request is the one that strikes. `path` is matched against the
//! path as it was sent, percent-encoding and all, without the query.

mod rule;
mod strike;

use std::sync::{Mutex, PoisonError};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, Request, State},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{delete, post},
};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use rule::{Rule, Strike};

use crate::{app::App, web};

/// Where rules are ordered; never struck itself
const ADMIN: &str = "/-/sandbox/faults";

/// The faults that were ordered and not yet used up
#[derive(Debug)]
pub(crate) struct Faults {
    allowed: bool,
    rules: Mutex<Rules>,
}

#[derive(Debug, Default)]
struct Rules {
    last_id: u64,
    active: Vec<Rule>,
}

impl Faults {
    pub(crate) fn new(allowed: bool) -> Self {
        Self {
            allowed,
            rules: Mutex::default(),
        }
    }

    /// Count this request against the first rule that matches it
    fn next(&self, method: &str, path: &str) -> Option<Strike> {
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let at = rules
            .active
            .iter_mut()
            .position(|rule| rule.strikes(method, path))?;
        let strike = rules.active[at].strike.clone();
        if rules.active[at].is_spent() {
            rules.active.remove(at);
        }
        Some(strike)
    }
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route(ADMIN, post(add).get(list).delete(clear))
        .route("/-/sandbox/faults/{id}", delete(remove))
}

/// Put the faults in front of every door
pub(crate) fn wrap(router: Router<App>, app: &App) -> Router<App> {
    if !app.faults.allowed {
        return router;
    }
    router.layer(middleware::from_fn_with_state(app.clone(), layer))
}

async fn layer(State(app): State<App>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if path.starts_with(ADMIN) {
        return next.run(request).await;
    }
    match app.faults.next(request.method().as_str(), path) {
        Some(strike) => strike::strike(strike, request, next).await,
        None => next.run(request).await,
    }
}

async fn add(State(app): State<App>, headers: HeaderMap, body: Bytes) -> Response {
    if !app.faults.allowed {
        return web::not_found(headers).await;
    }
    if headers
        .get("sec-fetch-site")
        .is_some_and(|site| site == "cross-site")
    {
        return refuse(StatusCode::FORBIDDEN, "cross-origin request");
    }
    let mut rule = match Rule::parse(&body) {
        Ok(rule) => rule,
        Err(message) => return refuse(StatusCode::UNPROCESSABLE_ENTITY, &message),
    };
    let mut rules = app
        .faults
        .rules
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    rules.last_id += 1;
    rule.id = rules.last_id;
    let shown = rule.show();
    rules.active.push(rule);
    (StatusCode::CREATED, Json(shown)).into_response()
}

async fn list(State(app): State<App>, headers: HeaderMap) -> Response {
    if !app.faults.allowed {
        return web::not_found(headers).await;
    }
    let rules = app
        .faults
        .rules
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    Json(rules.active.iter().map(Rule::show).collect::<Value>()).into_response()
}

async fn clear(State(app): State<App>, headers: HeaderMap) -> Response {
    if !app.faults.allowed {
        return web::not_found(headers).await;
    }
    app.faults
        .rules
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .active
        .clear();
    StatusCode::NO_CONTENT.into_response()
}

async fn remove(State(app): State<App>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    if !app.faults.allowed {
        return web::not_found(headers).await;
    }
    let mut rules = app
        .faults
        .rules
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let before = rules.active.len();
    rules.active.retain(|rule| rule.id.to_string() != id);
    if rules.active.len() == before {
        return refuse(StatusCode::NOT_FOUND, &format!("no fault rule `{id}`"));
    }
    StatusCode::NO_CONTENT.into_response()
}

fn refuse(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "message": message }))).into_response()
}
