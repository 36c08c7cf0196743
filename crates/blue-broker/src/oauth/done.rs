//! `GET /oauth/done`: the state of an authorization, and the way on from there

use std::sync::Arc;

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::Response,
};
use maud::html;
use url::Url;

use super::{
    authorize::{answer_to, safe, upstream_state},
    consent,
    form::Params,
    trouble::{Trouble, see_other},
};
use crate::{
    app::App,
    crypto::Purpose,
    http::{
        PageFrame, RequestId, connections,
        pages::onward::{self, Onward},
    },
    store::{Authorization, Stage},
    token::{Kind, Token},
    upstream,
};

/// Why an authorization failed after the consent
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    /// The user refused at the forge
    Refused,
    /// An older grant at the forge holds other scopes
    OtherScope,
    /// The forge gave more than was asked for
    TooMuch,
    Forge,
    /// The forge rejects the broker's own client id or secret
    Configuration,
    Internal,
}

impl Problem {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::OtherScope => "other_scope",
            Self::TooMuch => "too_much",
            Self::Forge => "forge",
            Self::Configuration => "configuration",
            Self::Internal => "internal",
        }
    }

    fn parse(name: &str) -> Self {
        let all = [
            Self::Refused,
            Self::OtherScope,
            Self::TooMuch,
            Self::Forge,
            Self::Configuration,
        ];
        let found = all.into_iter().find(|problem| problem.name() == name);
        found.unwrap_or(Self::Internal)
    }
}

/// The code of an authorization; derived each time, never stored
pub(super) fn code(app: &App, authorization: &str) -> Token {
    Token::of(Kind::Code, app.keys.derived(Purpose::Code, authorization))
}

pub(crate) async fn done(
    State(app): State<Arc<App>>,
    Extension(request): Extension<RequestId>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    match show(&app, &request, &uri, &headers).await {
        Ok(answer) => answer,
        Err(trouble) => trouble.show(&app, &request),
    }
}

async fn show(
    app: &App,
    request: &RequestId,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Response, Trouble> {
    let params = Params::query(uri)?;
    let (found, _) = consent::of_browser(app, params.get("tx"), headers).await?;
    let frame = &PageFrame::new(app, request);
    Ok(match &found.stage {
        Stage::Asked => see_other(&format!("/oauth/consent?tx={}", found.id), None),
        Stage::Approved => {
            let state = upstream_state(app, &found.id);
            let page = Onward {
                title: "On to the sign-in",
                to: &upstream::authorize_url(app, &found.id, &state),
                link: &format!("Sign in at {}", app.config.forge_name),
                note: "If nothing happens, follow the link.",
            };
            page.show(frame)
        }
        Stage::Returned => onward::wait(frame),
        Stage::Granted { .. } if found.ask.client_id.is_none() => {
            connections::enter(app, &found.id)
        }
        Stage::Granted { user } => {
            let code = code(app, &found.id);
            // A used code must not reach the client again: its replay would count as theft.
            if !app.store.code_is_open(&code.hash(), app.now()).await? {
                return Ok(finished(frame));
            }
            let to = back(app, &found, &[("code", code.expose())])?;
            let who = app.store.user(user).await?.ok_or(Trouble::Gone)?;
            let page = Onward {
                title: "You are signed in",
                to: &to,
                link: "Go back to your app",
                note: &format!(
                    "At {} you are {}. If your app does not go on by itself, follow the link. \
                     You can close this page afterwards.",
                    app.config.forge_name, who.login
                ),
            };
            page.show(frame)
        }
        Stage::Denied => denied(app, frame, &found)?,
        Stage::Failed { problem } => match Problem::parse(problem) {
            Problem::Refused => denied(app, frame, &found)?,
            problem => failed(app, frame, &found, problem)?,
        },
    })
}

/// The redirect to the client with this response
fn back(app: &App, found: &Authorization, pairs: &[(&str, &str)]) -> Result<Url, Trouble> {
    let to = safe(app, &found.ask.redirect_uri).ok_or(Trouble::BadRedirect)?;
    let state = found.ask.client_state.as_deref();
    Ok(answer_to(app, to, pairs, state))
}

fn finished(frame: &PageFrame<'_>) -> Response {
    let text = html! {
        p { "Your app has been told, or took too long to ask. You can close this page." }
        p { "If the app does not work, start again there." }
    };
    onward::end(frame, StatusCode::OK, "This sign-in is finished", &text)
}

fn denied(app: &App, frame: &PageFrame<'_>, found: &Authorization) -> Result<Response, Trouble> {
    if found.ask.client_id.is_none() {
        return Ok(see_other("/connections", None));
    }
    let words = "the person said no";
    let pairs = [("error", "access_denied"), ("error_description", words)];
    let page = Onward {
        title: "Access was denied",
        to: &back(app, found, &pairs)?,
        link: "Go back to your app",
        note: "The app got no access to your account. You can close this page.",
    };
    Ok(page.show(frame))
}

/// A page without a redirect: the user has to read what to do first
fn failed(
    app: &App,
    frame: &PageFrame<'_>,
    found: &Authorization,
    problem: Problem,
) -> Result<Response, Trouble> {
    let forge = &app.config.forge_name;
    let settings = upstream::settings_url(app);
    let (status, title, text) = match problem {
        Problem::OtherScope => (
            StatusCode::CONFLICT,
            "An older permission is in the way",
            html! {
                p {
                    "You once gave this service a permission at " (forge) " that differs from what "
                    "it asks for now, and " (forge) " keeps to the old one."
                }
                ol {
                    li {
                        "Open " a href=(settings) rel="noreferrer" { "Settings → Applications" }
                        " at " (forge) " and revoke this service there."
                    }
                    li { "Start again in your app." }
                }
            },
        ),
        Problem::TooMuch => (
            StatusCode::CONFLICT,
            "The forge gave more than was asked for",
            html! {
                p {
                    (forge) " gave access to your whole account, although only a part was asked "
                    "for. The access was thrown away."
                }
                p {
                    "Revoke this service at " (forge) " under "
                    a href=(settings) rel="noreferrer" { "Settings → Applications" }
                    ", and tell whoever runs it."
                }
            },
        ),
        Problem::Refused | Problem::Forge => (
            StatusCode::BAD_GATEWAY,
            "The sign-in did not work",
            html! {
                p { (forge) " did not confirm who you are. It may be down, or took too long." }
                p { "Start again in your app in a moment." }
            },
        ),
        Problem::Configuration => (
            StatusCode::SERVICE_UNAVAILABLE,
            "This service is not set up correctly",
            html! {
                p { (forge) " does not accept the settings of this service, so signing in does not work." }
                p { "Tell the people who run this service. Your account was not changed." }
            },
        ),
        Problem::Internal => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "Something went wrong here",
            html! { p { "Start again in your app. Your account was not changed." } },
        ),
    };
    let link = if found.ask.client_id.is_some() {
        let pairs = [("error", "server_error"), ("error_description", title)];
        let to = back(app, found, &pairs)?;
        html! { p { a href=(to) rel="noreferrer" { "Go back to your app without access" } } }
    } else {
        html! { p { a href="/connections" { "Try again" } } }
    };
    let text = html! { (text) (link) };
    Ok(onward::end(frame, status, title, &text))
}
