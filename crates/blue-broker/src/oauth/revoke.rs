//! Revocation of grants: `POST /oauth/revoke` (RFC 7009), and the steps after every revocation

use std::sync::Arc;

use axum::{
    Extension,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{client_auth, error::OAuthError, form::Params, token::required};
use crate::{
    app::App,
    audit::Fields,
    backend::Ended,
    http::{self, RequestId},
    store::{AuditEvent, EndedGrant, Revoked, StoreError, TOO_MANY},
    token::{Kind, Token},
};

/// Answer a client that revokes its token
pub(crate) async fn revoke(
    State(app): State<Arc<App>>,
    Extension(RequestId(request)): Extension<RequestId>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    match end_token(&app, &request, &headers, body).await {
        Ok(()) => http::json(StatusCode::OK, &json!({})),
        Err(error) => error.into_response(),
    }
}

/// Either token revokes both, and all others of the same grant
async fn end_token(
    app: &App,
    request: &str,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<(), OAuthError> {
    let params = Params::form(headers, &body?)?;
    let client = client_auth::client(app, headers, &params).await?;
    let given = required(&params, "token")?;
    let token = Token::parse(Kind::Access, given).or_else(|| Token::parse(Kind::Refresh, given));
    // An invalid token needs no revocation.
    let Some(token) = token else {
        return Ok(());
    };
    let Some((grant, owner)) = app.store.token_owner(&token.hash()).await? else {
        return Ok(());
    };
    if owner != client.id {
        return Err(OAuthError::invalid_grant(
            "the token was given to another client",
        ));
    }
    let what = Revoked::Grant(&grant);
    end(app, what, "revoked by the client", request).await?;
    Ok(())
}

/// Revoke grants, and stop calls in progress for them; returns how many there were
///
/// When this returns, no broker on the same database accepts their tokens.
pub(crate) async fn end(
    app: &App,
    what: Revoked<'_>,
    why: &str,
    request: &str,
) -> Result<usize, StoreError> {
    let grants = app.store.revoke(what, why, app.now()).await?;
    tell(app, &grants, why, request).await;
    // Other replicas may have a token in their cache.
    if app.store.is_shared() && !grants.is_empty() {
        tokio::time::sleep(http::REMEMBERED).await;
    }
    Ok(grants.len())
}

/// Follow up on grants that were revoked because their user gave the client too many
pub(super) async fn displaced(app: &App, grants: &[EndedGrant], request: &str) {
    if !grants.is_empty() {
        tell(app, grants, TOO_MANY, request).await;
    }
}

async fn tell(app: &App, grants: &[EndedGrant], why: &str, request: &str) {
    let ids: Vec<String> = grants.iter().map(|grant| grant.id.clone()).collect();
    ended(app, &ids);
    for grant in grants {
        let about = Fields {
            client: Some(&grant.client_id),
            user: Some(&grant.user),
            grant: Some(&grant.id),
            request: Some(request),
            detail: json!({ "why": why }),
        };
        app.audit(AuditEvent::Revoked, about).await;
    }
}

/// Evict revoked grants from the cache, and tell the back end
pub(crate) fn ended(app: &App, grants: &[String]) {
    app.passes.forget(grants);
    for grant in grants {
        app.backend.ended(&Ended::Grant(grant.clone()));
    }
}
