//! A refresh token becomes new tokens
//!
//! Refresh tokens are single-use. A used token is accepted again for 60 s, because responses get
//! lost, unless a token it produced was refreshed; after that only while none of those was used at
//! all; they are then revoked. Any other reuse counts as theft and revokes the grant.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use super::{
    error::OAuthError,
    revoke,
    token::{Asked, Issued, required},
};
use crate::{
    audit::{self, Fields},
    store::{AuditEvent, Refresh, RefreshRules, UserState},
    token::{Kind, Token},
};

const RULES: RefreshRules = RefreshRules {
    grace: Duration::from_mins(1),
    most: 120,
    window: Duration::from_mins(10),
};

pub(super) async fn refresh(asked: &Asked<'_>) -> Result<Issued, OAuthError> {
    let Asked {
        app,
        client,
        params,
        request,
    } = asked;
    let bad = || OAuthError::invalid_grant("the refresh token is not valid for this request");
    let given = required(params, "refresh_token")?;
    let hash = Token::parse(Kind::Refresh, given).ok_or_else(bad)?.hash();
    let of = app.store.refresh_token(&hash).await?.ok_or_else(bad)?;
    if of.client_id != client.id || of.resource != app.config.public_url.resource() {
        return Err(bad());
    }
    // Otherwise the client would get new tokens, a 401 for them, and refresh again in an endless
    // loop.
    let user = app.store.user(&of.user).await?;
    if user.is_none_or(|user| user.state != UserState::Connected) {
        return Err(OAuthError::invalid_grant(
            "the person has to sign in with the forge again",
        ));
    }
    // A `scope` parameter is ignored (clients send `offline_access`); the grant's own applies.
    let issued = Issued::new(app, &of.scope);
    let now = app.now();
    let pair = issued.pair(app, now);
    let about = Fields {
        client: Some(&client.id),
        user: Some(&of.user),
        grant: Some(&of.grant),
        request: Some(request),
        ..Fields::default()
    };
    let event = app.event(AuditEvent::Refreshed, about.clone());
    let outcome = app.store.refresh(&hash, &of, &pair, &RULES, &event, now);
    match outcome.await? {
        Refresh::Issued => {
            audit::tell(&event);
            Ok(issued)
        }
        Refresh::Limited => Err(OAuthError::too_many(left_of_window(now))),
        Refresh::Gone => Err(bad()),
        Refresh::Replayed => {
            revoke::ended(app, std::slice::from_ref(&of.grant));
            let about = Fields {
                detail: json!({ "what": "refresh token" }),
                ..about
            };
            app.audit(AuditEvent::Replayed, about).await;
            Err(bad())
        }
    }
}

/// Seconds until the window of the refresh limit ends
fn left_of_window(now: Timestamp) -> u64 {
    let window = RULES.window.as_secs();
    let now = u64::try_from(now.as_second()).unwrap_or(0);
    window - now % window
}
