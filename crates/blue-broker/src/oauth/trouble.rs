//! Error pages of the sign-in

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};

use super::{cimd::MetadataError, clients::ClientError, form::FormError};
use crate::{
    app::App,
    http::{ErrorPage, PageFrame, RequestId},
    limits::TooMany,
    store::StoreError,
};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("the client is not known")]
    UnknownClient,
    #[error(transparent)]
    Metadata(MetadataError),
    #[error("the redirect URI is not the client's")]
    BadRedirect,
    #[error("{0}")]
    BadRequest(String),
    #[error(transparent)]
    TooMany(#[from] TooMany),
    #[error("the authorization is over")]
    Gone,
    #[error("the authorization belongs to another browser")]
    OtherBrowser,
    #[error("the form was not sent by a page of ours")]
    Forged,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<FormError> for Trouble {
    fn from(error: FormError) -> Self {
        Self::BadRequest(error.to_string())
    }
}

impl From<ClientError> for Trouble {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Store(error) => Self::Store(error),
            ClientError::Metadata(error) => Self::Metadata(error),
        }
    }
}

const AGAIN: &str = "Go back to your app and start again there.";

impl Trouble {
    pub(crate) fn show(&self, app: &App, request: &RequestId) -> Response {
        let (status, title, what, advice) = self.explain();
        let page = ErrorPage {
            status,
            title,
            what: &what,
            advice,
        };
        page.show(&PageFrame::new(app, request))
    }

    /// Returns the status of the page, its title, what happened, and what to do about it
    pub(super) fn explain(&self) -> (StatusCode, &'static str, String, &'static str) {
        let bad = StatusCode::BAD_REQUEST;
        match self {
            Self::UnknownClient => (
                bad,
                "This app is not known here",
                "The address that brought you here names an app that is not registered, or no longer.".to_owned(),
                "Start again in your app. If it does not register itself anew, remove the connection there and add it again.",
            ),
            Self::Metadata(error) => (
                match error {
                    MetadataError::Busy | MetadataError::Unreachable => {
                        StatusCode::SERVICE_UNAVAILABLE
                    }
                    _ => bad,
                },
                "This app could not be checked",
                format!("What the app says about itself could not be used: {error}."),
                match error {
                    MetadataError::Busy | MetadataError::Unreachable => "Try again later.",
                    MetadataError::Host(_) => "Ask the people who run this service.",
                    _ => "Tell the people who make the app. Nothing was sent to it.",
                },
            ),
            Self::TooMany(_) => (
                StatusCode::TOO_MANY_REQUESTS,
                "Too many sign-ins at once",
                "More people, or programs, want to sign in than this service takes.".to_owned(),
                "Try again in a minute.",
            ),
            Self::BadRedirect => (
                bad,
                "This app asks for the wrong address",
                "You would be sent to an address that the app did not register. Nothing was sent there.".to_owned(),
                "Do not go on if somebody sent you a link. Otherwise remove the connection in your app and add it again.",
            ),
            Self::BadRequest(why) => (
                bad,
                "This request makes no sense",
                format!("The address or form is wrong: {why}."),
                AGAIN,
            ),
            Self::Gone => (
                bad,
                "This sign-in is over",
                "It was finished already, or took longer than ten minutes.".to_owned(),
                AGAIN,
            ),
            Self::OtherBrowser => (
                StatusCode::FORBIDDEN,
                "This sign-in belongs to another browser",
                "It was started in another browser or profile, or cookies are blocked. Nothing was done.".to_owned(),
                "If somebody sent you this link, close the page. Otherwise allow cookies for this site and start again in your app.",
            ),
            Self::Forged => (
                StatusCode::FORBIDDEN,
                "This was not sent from our page",
                "Your browser says that the form came from another site. Nothing was done.".to_owned(),
                AGAIN,
            ),
            Self::Store(error) => {
                tracing::error!(error = error as &dyn std::error::Error, "the database failed");
                (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "Something went wrong here",
                    "The service could not do its work.".to_owned(),
                    "Try again in a moment.",
                )
            }
        }
    }
}

/// A redirect by GET that must not be cached
pub(crate) fn see_other(to: &str, cookie: Option<HeaderValue>) -> Response {
    let no_store = (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let mut answer = (StatusCode::SEE_OTHER, [no_store]).into_response();
    let headers = answer.headers_mut();
    match HeaderValue::try_from(to) {
        Ok(to) => {
            headers.insert(header::LOCATION, to);
        }
        Err(_) => *answer.status_mut() = StatusCode::BAD_REQUEST,
    }
    if let Some(cookie) = cookie {
        answer.headers_mut().append(header::SET_COOKIE, cookie);
    }
    answer
}
