//! Who may clone, fetch and push

use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};

use super::Service;
use crate::{
    app::App,
    auth::{self, Caller, How},
    ops::{
        self,
        access::{self, Access},
        repos::Found,
    },
};

/// The answer to a request that is not let in
#[derive(Debug)]
pub(super) struct Refusal(Box<Response>);

impl Refusal {
    pub(super) fn answer(self) -> Response {
        *self.0
    }
}

impl From<Response> for Refusal {
    fn from(response: Response) -> Self {
        Self(Box::new(response))
    }
}

/// A request that was let in
#[derive(Debug)]
pub(super) struct Passed {
    pub found: Found,
    pub caller: Option<Caller>,
    pub access: Access,
}

/// Let a request in, or say what the forge says instead
///
/// Whether someone may write is not decided here: a push is refused ref by ref, in words the
/// git client shows.
pub(super) fn pass(
    app: &App,
    headers: &HeaderMap,
    uri: &Uri,
    owner: &str,
    name: &str,
    service: Service,
) -> Result<Passed, Refusal> {
    let plain = name.strip_suffix(".git").unwrap_or(name);
    let Ok(owner) = ops::users::find(app, owner) else {
        return Err(text(StatusCode::NOT_FOUND, "Not found.\n"));
    };
    let caller = auth::authenticate(app, headers, uri.query())
        .map_err(|auth::Refused| Refusal::from(crate::oauth::bad_credential(app)))?;
    let found = ops::repos::find(app, &owner.login, plain).ok();
    if let Some(found) = found.as_ref().filter(|found| found.renamed) {
        return Err(moved(uri, found));
    }
    let pushes = service == Service::ReceivePack;
    if pushes
        && found
            .as_ref()
            .is_some_and(|found| found.repo.archived_at.is_some())
    {
        let words = "This repo is archived. You can view files and clone it, but cannot push or \
                     open issues/pull-requests.";
        return Err(text(StatusCode::FORBIDDEN, words));
    }
    let open = !pushes && found.as_ref().is_some_and(|found| !found.repo.private);
    if !open {
        check_caller(headers, caller.as_ref(), pushes)?;
    }
    let Some(found) = found else {
        return Err(match (pushes, owner.is_org) {
            (false, _) => text(StatusCode::NOT_FOUND, "Repository not found"),
            (true, false) => text(
                StatusCode::FORBIDDEN,
                "Push to create is not enabled for users.",
            ),
            (true, true) => text(
                StatusCode::FORBIDDEN,
                "Push to create is not enabled for organizations.",
            ),
        });
    };
    let access = access::of(app, &found.repo, caller.as_ref()).map_err(|error| {
        tracing::error!(%error, "cannot tell who may use a repository");
        text(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error\n")
    })?;
    if access < Access::Read {
        return Err(text(StatusCode::NOT_FOUND, "Repository not found"));
    }
    Ok(Passed {
        found,
        caller,
        access,
    })
}

fn check_caller(headers: &HeaderMap, caller: Option<&Caller>, pushes: bool) -> Result<(), Refusal> {
    let Some(caller) = caller else {
        // Credential helpers know both forges by this name.
        let mut response = text(StatusCode::UNAUTHORIZED, "Unauthorized\n");
        response.0.headers_mut().insert(
            header::WWW_AUTHENTICATE,
            HeaderValue::from_static("Basic realm=\"Gitea\""),
        );
        return Err(response);
    };
    // The scopes of a personal token count only when it comes as a password: so it is on Gitea.
    let basic = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.to_ascii_lowercase().starts_with("basic "));
    let wanted = if pushes {
        "write:repository"
    } else {
        "read:repository"
    };
    let limited = caller
        .scopes
        .as_ref()
        .is_some_and(|scopes| !scopes.allow(wanted));
    if basic && caller.how == How::Token && limited {
        return Err(text(StatusCode::FORBIDDEN, "Forbidden\n"));
    }
    Ok(())
}

/// Git follows this for a fetch, and asks again under the new name for a push
fn moved(uri: &Uri, found: &Found) -> Refusal {
    let rest: String = uri.path().splitn(4, '/').skip(3).collect();
    let query = uri
        .query()
        .map(|query| format!("?{query}"))
        .unwrap_or_default();
    let location = format!("/{}/{}/{rest}{query}", found.owner.login, found.repo.name);
    match HeaderValue::from_str(&location) {
        Ok(location) => {
            let headers = [(header::LOCATION, location)];
            (StatusCode::MOVED_PERMANENTLY, headers)
                .into_response()
                .into()
        }
        Err(_) => text(StatusCode::BAD_REQUEST, "Bad Request\n"),
    }
}

fn text(status: StatusCode, words: &'static str) -> Refusal {
    (status, words).into_response().into()
}
