//! Plain pages: whatever a link leads to can be looked at
//!
//! No script runs and nothing is loaded from elsewhere; all text is escaped by the templates.
//! Paths are Gitea's; GitHub's (`blob`, `tree`, `pull`) lead to the same pages.

pub(crate) mod layout;
mod link;
mod page;
mod patch;
mod place;
mod view;
mod visit;
mod when;

use axum::{
    Router,
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Redirect, Response},
    routing::get,
};
use http::{HeaderMap, StatusCode, Uri};

use self::{
    layout::{Viewer, failure},
    visit::{Trouble, Visit, Visitor},
};
use crate::{app::App, ops};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(home))
        .route("/explore/repos", get(home))
        .route("/avatars/{name}", get(page::avatar::show))
        .route("/{owner}", get(owner))
        .route("/{owner}/{repo}", get(repository))
        .route("/{owner}/{repo}/", get(repository))
        .route("/{owner}/{repo}/{*rest}", get(repository_page))
}

/// Any address that no door knows
pub(crate) async fn not_found(headers: HeaderMap) -> Response {
    layout::not_found(&Viewer::default(), &headers)
}

async fn home(State(app): State<App>, headers: HeaderMap) -> Response {
    answer(app, headers, page::home::home).await
}

async fn owner(State(app): State<App>, Path(owner): Path<String>, headers: HeaderMap) -> Response {
    answer(app, headers, move |visitor| {
        page::home::owner(visitor, &owner)
    })
    .await
}

async fn repository(
    State(app): State<App>,
    Path((owner, repo)): Path<(String, String)>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    answer(app, headers, move |visitor| {
        let visit = Visit::begin(visitor, &owner, &repo, &uri)?;
        page::code::front(&visit)
    })
    .await
}

async fn repository_page(
    State(app): State<App>,
    Path((owner, repo, rest)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    answer(app, headers, move |visitor| {
        let rest = rest.trim_end_matches('/');
        let parts: Vec<&str> = rest.split('/').collect();
        // Files may be fetched with a token; pages are for those who signed in.
        let visit = match parts.first() {
            Some(&("raw" | "media" | "archive")) => {
                Visit::begin_with_token(visitor, &owner, &repo, &uri)?
            }
            _ => Visit::begin(visitor, &owner, &repo, &uri)?,
        };
        let query = query.as_deref().unwrap_or_default();
        match parts.as_slice() {
            ["src", rest @ ..] => page::code::source(&visit, rest),
            ["blob" | "tree", rest @ ..] => page::code::anywhere(&visit, rest),
            ["raw" | "media", rest @ ..] => page::raw::show(&visit, rest),
            ["commit" | "commits", sha] if is_sha(sha) => page::commit::one(&visit, sha),
            ["commits", rest @ ..] => page::commit::list(&visit, rest, query),
            ["compare", rest @ ..] => page::compare::show(&visit, rest),
            ["branches"] => page::refs::branches(&visit),
            ["tags" | "releases"] => page::refs::tags(&visit),
            ["releases", "tag", name @ ..] => page::refs::tag(&visit, &name.join("/")),
            ["pulls" | "issues"] => page::pulls::list(&visit, query),
            ["pulls" | "pull" | "issues", number, ..] => page::pulls::one(&visit, number),
            ["actions"] => page::runs::list(&visit),
            ["actions", "runs", run, ..] => page::runs::one(&visit, run),
            ["runs", job] => page::runs::of_job(&visit, job),
            _ => Err(Trouble::NotFound),
        }
    })
    .await
}

/// A commit's name, whole or not, with or without `.diff`
fn is_sha(text: &str) -> bool {
    let name = text.split_once('.').map_or(text, |(name, _)| name);
    (4..=40).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Find out who looks, do the work, and turn trouble into a page
async fn answer(
    app: App,
    headers: HeaderMap,
    work: impl FnOnce(&Visitor<'_>) -> Result<Response, Trouble> + Send + 'static,
) -> Response {
    app.blocking(move |app| {
        let visitor = Visitor::recognise(app, headers);
        match work(&visitor) {
            Ok(response) => response,
            Err(Trouble::NotFound) => layout::not_found(&visitor.viewer(), visitor.headers()),
            Err(Trouble::Moved(to)) => Redirect::permanent(&to).into_response(),
            Err(Trouble::Refused) => crate::oauth::bad_credential(app),
            Err(Trouble::Broken(error)) => {
                tracing::error!(%error, "a page cannot be made");
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                failure(status, "the page cannot be made", &visitor.viewer())
            }
        }
    })
    .await
}

impl From<ops::Error> for Trouble {
    fn from(error: ops::Error) -> Self {
        match error {
            ops::Error::NotFound(_) | ops::Error::EmptyRepo => Self::NotFound,
            other => Self::Broken(Box::new(other)),
        }
    }
}
