//! `GET /oauth/callback`: the forge sends the browser back
//!
//! The state is accepted once, and only from the browser in which the user consented. A URL that
//! was issued to another browser is rejected, and no request is sent to the forge for it.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, Uri},
    response::Response,
};
use blue_base::secret::Secret;
use jiff::Timestamp;
use serde_json::json;
use tokio::time::timeout;
use tracing::Instrument as _;

use super::{
    browser,
    done::{self, Problem},
    form::Params,
    trouble::{Trouble, see_other},
};
use crate::{
    app::App,
    audit::Fields,
    http::{RequestId, connections},
    store::{AuditEvent, Authorization, Code, Stage, UserState},
    token::TokenHash,
    upstream::{self, ForgeAccount, Reach, SignIn, Tokens, UpstreamError},
};

/// Lifetime of a code in seconds
const CODE_LIFE: i64 = 60;
/// How long a browser waits before it is shown a page that says so
const SOON: Duration = Duration::from_secs(10);

pub(crate) async fn callback(
    State(app): State<Arc<App>>,
    Extension(request): Extension<RequestId>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    match take(&app, &request, &uri, &headers).await {
        Ok(answer) => answer,
        Err(trouble) => trouble.show(&app, &request),
    }
}

async fn take(
    app: &Arc<App>,
    request: &RequestId,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Response, Trouble> {
    let params = Params::query(uri)?;
    let state = TokenHash::of(params.get("state").ok_or(Trouble::Gone)?);
    let found = app.store.authorization_by_state(&state, app.now()).await?;
    let found = found.ok_or(Trouble::Gone)?;
    browser::bound(app, headers, &found).ok_or(Trouble::OtherBrowser)?;
    let done = format!("/oauth/done?tx={}", found.id);
    if found.stage != Stage::Approved {
        return Ok(see_other(&done, None));
    }
    let Some(returned) = app.store.came_back(found, app.now()).await? else {
        return Ok(see_other(&done, None));
    };
    let code = match (params.get("error"), params.get("code")) {
        (None, Some(code)) => Ok(Secret::new(code)),
        (Some("access_denied"), _) => Err(Problem::Refused),
        _ => Err(Problem::Forge),
    };
    // Runs to completion even if the browser disconnects: the forge's code is used up, and the
    // exchange may have invalidated the user's older tokens.
    let work = finish(Arc::clone(app), request.clone(), returned, code);
    match soon(app.tasks.spawn(work.in_current_span())).await {
        // The page there waits for the result and leads on.
        None | Some(Ok(Ok(()))) => Ok(see_other(&done, None)),
        Some(Ok(Err(trouble))) => Err(trouble),
        Some(Err(error)) => {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a sign-in broke off"
            );
            Ok(see_other(&done, None))
        }
    }
}

/// The result of the work, if it arrives in time: a slow forge may take four requests
async fn soon<T>(work: impl Future<Output = T>) -> Option<T> {
    timeout(SOON, work).await.ok()
}

/// Exchange the forge's code and issue ours, or record why not
async fn finish(
    app: Arc<App>,
    request: RequestId,
    returned: Authorization,
    code: Result<Secret, Problem>,
) -> Result<(), Trouble> {
    let signed_in = match code {
        Ok(code) => sign_in(&app, &returned, &code).await,
        Err(problem) => Err(problem),
    };
    let (user, login) = match signed_in {
        Ok(known) => known,
        Err(problem) => {
            let fields = Fields {
                client: returned.ask.client_id.as_deref(),
                request: Some(&request.0),
                ..Fields::default()
            };
            if problem == Problem::Refused {
                app.audit(AuditEvent::Denied, fields).await;
            }
            app.store.failed(returned, problem.name()).await?;
            return Ok(());
        }
    };
    let Some(client) = returned.ask.client_id.clone() else {
        // The session first: the next page relies on it being open.
        connections::open(&app, &returned.id, &user).await?;
        app.store.granted(returned, &user).await?;
        // The page needs to know the user's identity, and no tokens of the forge.
        app.store.erase_unless_connected(&user, app.now()).await?;
        return Ok(());
    };
    let now = app.now();
    let ask = &returned.ask;
    let code = Code {
        client_id: client.clone(),
        user: user.clone(),
        redirect_uri: ask.redirect_uri.clone(),
        challenge: ask.challenge.clone(),
        resource: ask.resource.clone(),
        scope: ask.scope.clone(),
        expires_at: now + jiff::SignedDuration::from_secs(CODE_LIFE),
    };
    // The code first: the next page checks whether it is there.
    let hash = done::code(&app, &returned.id).hash();
    app.store.put_code(&hash, &code, now).await?;
    if app.store.granted(returned, &user).await?.is_none() {
        return Ok(());
    }
    app.store.client_used(&client, now).await?;
    let fields = Fields {
        client: Some(&client),
        user: Some(&user),
        request: Some(&request.0),
        // The login is recorded, because the event outlives the user's row.
        detail: json!({ "login": login }),
        ..Fields::default()
    };
    app.audit(AuditEvent::Consented, fields).await;
    Ok(())
}

/// Identify the user by id and login, and store their forge tokens
async fn sign_in(
    app: &App,
    returned: &Authorization,
    code: &Secret,
) -> Result<(String, String), Problem> {
    let verifier = upstream::verifier(app, &returned.id);
    let since = app.now();
    let tokens = upstream::exchange(app, code, &verifier)
        .await
        .map_err(|error| forge_failed(&error))?;
    let account = upstream::account(app, &tokens.access)
        .await
        .map_err(|error| forge_failed(&error))?;
    let granted = match upstream::granted_scope(app, &tokens.access).await {
        Ok(granted) => granted,
        Err(error) => {
            keep_for_others(app, &account, None, tokens, since).await?;
            return Err(forge_failed(&error));
        }
    };
    let reach = match upstream::reach(app, &tokens.access, &account, &granted).await {
        Ok(reach) => reach,
        Err(error) => {
            keep_for_others(app, &account, Some(&granted), tokens, since).await?;
            return Err(forge_failed(&error));
        }
    };
    match reach {
        Reach::AsAsked => {
            let new = SignIn {
                account: &account,
                scope: &granted,
                tokens,
                since,
            };
            Ok((kept(app, new).await?, account.login))
        }
        Reach::Differs => {
            tracing::warn!(
                granted,
                "the forge keeps to an older grant with other scopes"
            );
            keep_for_others(app, &account, Some(&granted), tokens, since).await?;
            Err(Problem::OtherScope)
        }
        Reach::Everything => {
            tracing::error!("the forge gave more than was asked for");
            Err(Problem::TooMuch)
        }
    }
}

async fn kept(app: &App, new: SignIn<'_>) -> Result<String, Problem> {
    upstream::sign_in(app, new)
        .await
        .map_err(|error| internal(&error))
}

/// Gives the tokens of a sign-in that failed to the user's older connections
///
/// On forges that rotate refresh tokens, the exchange has invalidated the tokens of those
/// connections. A forge has one grant per user and application, so the new tokens reach as far as
/// the older ones if its scope is still the same. Where the scope could not be read (`None`), it
/// is taken for unchanged: a forge keeps the scope of a grant that exists.
async fn keep_for_others(
    app: &App,
    account: &ForgeAccount,
    scope: Option<&str>,
    tokens: Tokens,
    since: Timestamp,
) -> Result<(), Problem> {
    let forge = app.config.forge.url().as_str();
    let known = app.store.user_at_forge(forge, &account.id).await;
    let Some(user) = known.map_err(|error| internal(&error))? else {
        return Ok(());
    };
    let connected = match user.state {
        UserState::Connected => true,
        // A refresh that ran at the same time was refused because of this exchange.
        UserState::Reconnect => user.updated_at >= since,
        UserState::Disconnected => false,
    };
    let Some(held) = user.scope.filter(|_| connected) else {
        return Ok(());
    };
    if scope.is_none_or(|scope| upstream::same_scope(&held, scope)) {
        let new = SignIn {
            account,
            scope: &held,
            tokens,
            since,
        };
        kept(app, new).await?;
    }
    Ok(())
}

fn internal(error: &(dyn std::error::Error + 'static)) -> Problem {
    tracing::error!(error, "a sign-in was not kept");
    Problem::Internal
}

fn forge_failed(error: &UpstreamError) -> Problem {
    error.log(None, "a sign-in at the forge failed");
    if error.is_misconfiguration() {
        Problem::Configuration
    } else {
        Problem::Forge
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_slow_forge_leads_to_a_page_that_says_so() {
        assert_eq!(soon(pending::<()>()).await, None);
        assert_eq!(soon(ready(1)).await, Some(1));
    }
}
