//! Git smart HTTP: clone, fetch and push with the real git on both ends
//!
//! Bytes pass through `git upload-pack` and `git receive-pack` as they come, a few chunks at a
//! time. Before a push, the list of refs at the head of the request is read, and a push that a
//! rule forbids is refused by git itself, through a hook that was told what to say.

mod body;
mod gate;
mod hooks;
mod pkt;
mod process;

use std::{
    io,
    path::{Path as FilePath, PathBuf},
};

use axum::{
    Router,
    body::Body,
    extract::{Path, Request, State},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use url::form_urlencoded;

use self::{
    gate::{Passed, Refusal},
    hooks::Orders,
    pkt::Command,
    process::{WhenLeft, command, talk},
};
use crate::{
    app::App,
    git::Oid,
    ops::{access::Access, agit, protection, push, push::RefChange, repos::Found},
    store::users::User,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Service {
    UploadPack,
    ReceivePack,
}

impl Service {
    fn name(self) -> &'static str {
        match self {
            Self::UploadPack => "upload-pack",
            Self::ReceivePack => "receive-pack",
        }
    }
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/{owner}/{repo}/info/refs", get(advertise))
        .route("/{owner}/{repo}/git-upload-pack", post(upload_pack))
        .route("/{owner}/{repo}/git-receive-pack", post(receive_pack))
}

type Names = Path<(String, String)>;

/// What refs there are, and what this git can do
async fn advertise(
    State(app): State<App>,
    Path((owner, name)): Names,
    request: Request,
) -> Response {
    let query = request.uri().query().unwrap_or_default().as_bytes();
    let wanted = form_urlencoded::parse(query).find(|(name, _)| name == "service");
    let service = match wanted.as_ref().map(|(_, service)| service.as_ref()) {
        Some("git-upload-pack") => Service::UploadPack,
        Some("git-receive-pack") => Service::ReceivePack,
        _ => return StatusCode::BAD_REQUEST.into_response(),
    };
    let (parts, _) = request.into_parts();
    let protocol = protocol(&parts.headers);
    let passed = app
        .blocking(move |app| gate::pass(app, &parts.headers, &parts.uri, &owner, &name, service))
        .await;
    let passed = match passed {
        Ok(passed) => passed,
        Err(refusal) => return refusal.answer(),
    };
    let mut git = command(&app.repo_path(passed.found.repo.id), protocol.as_deref());
    git.args([service.name(), "--stateless-rpc", "--advertise-refs", "."]);
    let child = match git.spawn() {
        Ok(child) => child,
        Err(error) => return broken(&error),
    };
    let (body, work) = talk(
        child,
        Vec::new(),
        Box::new(tokio::io::empty()),
        WhenLeft::Stop,
        async {},
    );
    app.tasks.spawn(work);
    let line = format!("# service=git-{}\n", service.name());
    let head = format!("{:04x}{line}0000", line.len() + 4);
    let whole = stream::iter([Ok(head.into())]).chain(body.into_data_stream());
    answer(service, "advertisement", Body::from_stream(whole))
}

async fn upload_pack(
    State(app): State<App>,
    Path((owner, name)): Names,
    request: Request,
) -> Response {
    let service = Service::UploadPack;
    let (headers, body, passed) = match enter(&app, owner, name, service, request).await {
        Ok(entered) => entered,
        Err(refusal) => return refusal.answer(),
    };
    let mut git = command(
        &app.repo_path(passed.found.repo.id),
        protocol(&headers).as_deref(),
    );
    git.args([service.name(), "--stateless-rpc", "."]);
    let child = match git.spawn() {
        Ok(child) => child,
        Err(error) => return broken(&error),
    };
    let request = body::reader(&headers, body);
    let (body, work) = talk(child, Vec::new(), request, WhenLeft::Stop, async {});
    app.tasks.spawn(work);
    answer(service, "result", body)
}

async fn receive_pack(
    State(app): State<App>,
    Path((owner, name)): Names,
    request: Request,
) -> Response {
    let service = Service::ReceivePack;
    let (headers, body, passed) = match enter(&app, owner, name, service, request).await {
        Ok(entered) => entered,
        Err(refusal) => return refusal.answer(),
    };
    let Passed {
        found,
        caller,
        access,
    } = passed;
    let Some(user) = caller.map(|caller| caller.user) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let mut request = body::reader(&headers, body);
    let (commands, head) = match pkt::read_commands(&mut request).await {
        Ok(read) => read,
        Err(error) => {
            tracing::debug!(%error, "a push that cannot be read");
            return StatusCode::BAD_REQUEST.into_response();
        }
    };
    let judged = {
        let (found, user, commands) = (found.clone(), user.clone(), commands.clone());
        app.blocking(move |app| judge(app, &found, &user, access, &commands))
            .await
    };
    let (orders, hooks) = match judged {
        Ok(judged) => judged,
        Err(error) => return broken(&error),
    };
    let mut git = command(&app.repo_path(found.repo.id), protocol(&headers).as_deref());
    // A push without a rule to keep needs no hook, and runs in half the time.
    let hooks = hooks.as_deref().unwrap_or(FilePath::new("/dev/null"));
    git.arg("-c")
        .arg(format!("core.hooksPath={}", hooks.display()));
    git.envs(orders.env())
        .args([service.name(), "--stateless-rpc", "."]);
    let child = match git.spawn() {
        Ok(child) => child,
        Err(error) => return broken(&error),
    };
    let tell = tell(app.clone(), found, user, commands);
    let (body, work) = talk(child, head, request, WhenLeft::Finish, tell);
    app.tasks.spawn(work);
    answer(service, "result", body)
}

/// Let a request in and check that it is one
async fn enter(
    app: &App,
    owner: String,
    name: String,
    service: Service,
    request: Request,
) -> Result<(HeaderMap, Body, Passed), Refusal> {
    let (parts, body) = request.into_parts();
    let wanted = format!("application/x-git-{}-request", service.name());
    let headers = parts.headers.clone();
    let passed = app
        .blocking(move |app| gate::pass(app, &parts.headers, &parts.uri, &owner, &name, service))
        .await?;
    if headers
        .get(header::CONTENT_TYPE)
        .is_none_or(|kind| kind != wanted.as_str())
    {
        return Err(StatusCode::BAD_REQUEST.into_response().into());
    }
    Ok((headers, body, passed))
}

/// Decide what the hooks shall say to a push
fn judge(
    app: &App,
    found: &Found,
    user: &User,
    access: Access,
    commands: &[Command],
) -> io::Result<(Orders, Option<PathBuf>)> {
    let mut orders = Orders::default();
    let for_review = |command: &Command| command.name.starts_with(agit::PREFIX);
    // Who may only read may still ask for a merge.
    if access < Access::Write && !commands.iter().all(for_review) {
        orders.refusal = Some("User permission denied for writing.".to_owned());
    }
    for command in commands
        .iter()
        .filter(|command| !is_internal(&command.name))
    {
        let change = change(command);
        let refusal = push::refuse(app, &found.repo, user, &change).map_err(io::Error::other)?;
        orders.refusal = orders.refusal.or(refusal);
        let moves = change.old.is_some() && change.new.is_some();
        let forced = || push::refuse_forced(app, &found.repo, user, &change);
        if moves && forced().map_err(io::Error::other)?.is_some() {
            orders.forward_only.push(command.name.clone());
        }
        if moves && let Some(patterns) = guarded(app, found, &command.name)? {
            orders.guarded.push((command.name.clone(), patterns));
        }
    }
    let plain = orders == Orders::default();
    let needed = !plain || commands.iter().any(|command| is_internal(&command.name));
    let hooks = needed.then(|| hooks::folder(&app.dir)).transpose()?;
    Ok((orders, hooks))
}

/// The patterns of files that a push to this branch must leave as they are
fn guarded(app: &App, found: &Found, name: &str) -> io::Result<Option<String>> {
    let Some(branch) = name.strip_prefix("refs/heads/") else {
        return Ok(None);
    };
    let rule = protection::of_branch(app, &found.repo, branch).map_err(io::Error::other)?;
    let patterns = rule.map(|rule| rule.rule.protected_file_patterns);
    Ok(patterns.filter(|patterns| !patterns.trim().is_empty()))
}

/// Refs the forge keeps itself; a hook declines each by name
fn is_internal(name: &str) -> bool {
    name.starts_with("refs/pull/") || name.starts_with("refs/sandbox/")
}

/// Tell the forge what a push changed
async fn tell(app: App, found: Found, user: User, commands: Vec<Command>) {
    app.blocking(move |app| {
        let git = app.git(found.repo.id);
        let changes: Vec<RefChange> = commands
            .iter()
            .map(change)
            .filter(|change| git.ref_oid(&change.name).is_ok_and(|now| now == change.new))
            .collect();
        if changes.is_empty() {
            return;
        }
        if let Err(error) = push::received(app, &found.repo, &user, &changes) {
            tracing::error!(%error, repo = found.full_name(), "a push was not followed up");
        }
    })
    .await;
}

fn change(command: &Command) -> RefChange {
    let oid = |hex: &str| Oid::parse(hex).filter(|oid| !oid.is_zero());
    RefChange {
        name: command.name.clone(),
        old: oid(&command.old),
        new: oid(&command.new),
    }
}

/// What the client says of the protocol, if it is harmless
fn protocol(headers: &HeaderMap) -> Option<String> {
    let text = headers.get("git-protocol")?.to_str().ok()?;
    let word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric());
    let harmless = text.split(':').all(|pair| {
        pair.split_once('=')
            .is_some_and(|(name, value)| word(name) && word(value))
    });
    harmless.then(|| text.to_owned())
}

fn answer(service: Service, what: &str, body: Body) -> Response {
    let kind = format!("application/x-git-{}-{what}", service.name());
    let mut response = body.into_response();
    let headers = response.headers_mut();
    if let Ok(kind) = HeaderValue::from_str(&kind) {
        headers.insert(header::CONTENT_TYPE, kind);
    }
    let stale = "no-cache, max-age=0, must-revalidate";
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(stale));
    headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    headers.insert(
        header::EXPIRES,
        HeaderValue::from_static("Fri, 01 Jan 1980 00:00:00 GMT"),
    );
    response
}

fn broken(error: &io::Error) -> Response {
    tracing::error!(%error, "cannot run git");
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}
