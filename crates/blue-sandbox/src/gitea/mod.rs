//! The Gitea door, `/api/v1`
//!
//! Requests are taken apart by hand rather than by a router: names may hold slashes, raw or encoded,
//! and Gitea tells an unknown address from a wrong verb.

mod actions;
mod body;
mod branches;
mod collaborators;
mod commits;
mod contents;
mod drive;
mod fail;
mod files;
mod forgejo_runs;
mod git_objects;
mod issues;
mod merge;
mod mirrors;
mod misc;
mod orgs;
mod protections;
mod pulls;
mod reply;
mod repos;
mod request;
mod reviews;
mod statuses;
mod tags;
mod teams;
mod timeline;
mod users;
mod wire;

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    response::Response,
    routing::{any, get},
};
use http::{Method, StatusCode};

pub(crate) use self::wire::avatar;
use self::{
    fail::Fail,
    reply::Reply,
    request::{InRepo, Req},
};
use crate::{
    app::App,
    auth,
    ops::{self, access::Access},
};

/// Largest request: a file of some 70 MB in base64
const MAX_BODY: usize = 100 << 20;

type Outcome = Result<Reply, Fail>;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1", any(door))
        .route("/api/v1/{*rest}", any(door))
        .route("/api/sandbox/v1/{*rest}", any(door))
        .route("/api/forgejo/v1/version", get(misc::forgejo_version))
        .route("/api/healthz", get(misc::healthz))
}

async fn door(State(app): State<App>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY).await else {
        return plain(StatusCode::PAYLOAD_TOO_LARGE, "request body too large\n");
    };
    app.blocking(move |app| {
        let mut req = Req::new(app.clone(), parts, body);
        match answer(&mut req) {
            Ok(reply) => reply.into_response(),
            Err(fail) => {
                let caller = req.caller.as_ref();
                let admin = caller.is_some_and(|caller| caller.user.is_admin);
                fail.seen_by(app, admin).into_response(app)
            }
        }
    })
    .await
}

fn answer(req: &mut Req) -> Outcome {
    req.caller = match auth::authenticate(&req.app, &req.headers, req.raw_query.as_deref()) {
        Ok(caller) => caller,
        Err(auth::Refused) => return Err(fail::bad_credentials(&req.app)),
    };
    // Gitea has no HEAD on its API.
    if req.method == Method::HEAD {
        return Err(Fail::wrong_verb());
    }
    let path = req.path.clone();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    if req.is_drive {
        return drive::answer(req, &path);
    }
    match path.as_slice() {
        ["repos", "search"] if req.verb() == "GET" => repos::search(req),
        ["repos", "migrate"] if req.verb() == "POST" => mirrors::migrate(req),
        ["repos", "search" | "migrate"] => Err(Fail::wrong_verb()),
        ["repos", owner, name, rest @ ..] => in_repo(req, owner, name, rest),
        ["user" | "users" | "admin", ..] => users::answer(req, &path),
        ["orgs" | "org", ..] => orgs::answer(req, &path),
        ["teams", id, rest @ ..] => teams::answer(req, id, rest),
        _ => misc::answer(req, &path),
    }
}

/// Find the repository, then the part of the door that is about it
fn in_repo(req: &Req, owner: &str, name: &str, rest: &[&str]) -> Outcome {
    let area = match rest.first() {
        Some(&("issues" | "labels" | "milestones")) => "issue",
        _ => "repository",
    };
    req.need_scope(&[area])?;
    let found = ops::repos::find(&req.app, owner, name).map_err(|_| Fail::not_found())?;
    let access = ops::access::of(&req.app, &found.repo, req.caller.as_ref())?;
    if access == Access::None {
        return Err(Fail::not_found());
    }
    if found.renamed {
        return Ok(Reply::moved(req, &found));
    }
    let cx = InRepo { req, found, access };
    match rest {
        []
        | [
            "forks" | "topics" | "languages" | "hooks" | "releases" | "labels" | "milestones",
            ..,
        ] => repos::answer(&cx, rest),
        ["collaborators", ..] => collaborators::answer(&cx, rest),
        ["branches", ..] => branches::answer(&cx, rest),
        ["branch_protections", ..] => protections::answer(&cx, rest),
        ["contents", ..] => contents::answer(&cx, rest),
        ["raw" | "media" | "archive", ..] => files::answer(&cx, rest),
        ["git", ..] => git_objects::answer(&cx, rest),
        ["commits", .., "status" | "statuses"] | ["statuses", ..] => statuses::answer(&cx, rest),
        ["commits" | "compare", ..] => commits::answer(&cx, rest),
        ["tags", ..] => tags::answer(&cx, rest),
        ["pulls", ..] => pulls::answer(&cx, rest),
        ["issues", ..] => issues::answer(&cx, rest),
        ["actions", ..] => actions::answer(&cx, rest),
        _ => Err(Fail::no_route()),
    }
}

fn plain(status: StatusCode, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response
}
