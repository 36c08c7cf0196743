//! Who was let into a repository

use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::cx::At;
use super::refusal::{Refusal, Result};
use super::reply::Reply;
use super::view::{pull, repo, user};
use crate::ops;
use crate::ops::access::{self, Access};
use crate::store::repos;
use crate::store::users::User;

/// `admin`, `write`, `read` or `none`
fn role(at: &At<'_>, who: &User) -> Result<&'static str> {
    let access = at
        .app()
        .store
        .read(|c| access::of_user(c, &at.repo.row, Some(who)))?;
    Ok(match access {
        Access::Owner | Access::Admin => "admin",
        other => other.name(),
    })
}

pub(super) fn list(at: &At<'_>) -> Result<Reply> {
    at.cx.user()?;
    if at.access < Access::Write {
        let message = "Must have push access to view repository collaborators.";
        return Err(Refusal::forbidden(message));
    }
    let mut people = Vec::new();
    if !at.repo.owner.is_org {
        people.push(at.repo.owner.id);
    }
    people.extend(at.app().store.read(|c| repos::collaborators(c, at.id()))?);
    at.cx.list(at.ask().page().cut(people), |id| {
        let who = at.cx.account(id)?.ok_or_else(Refusal::not_found)?;
        Ok(pull::collaborator(at.urls(), &who, role(at, &who)?))
    })
}

pub(super) fn check(at: &At<'_>, login: &str) -> Result<Reply> {
    at.writer()?;
    let who = ops::users::find(at.app(), login)?;
    let granted = at
        .app()
        .store
        .read(|c| repos::permission(c, at.id(), who.id))?;
    if granted.is_some() || who.id == at.repo.owner.id {
        return Ok(Reply::no_content());
    }
    Err(Refusal::not_found())
}

pub(super) fn permission(at: &At<'_>, login: &str) -> Result<Reply> {
    at.cx.user()?;
    let who = ops::users::find(at.app(), login)?;
    let role = role(at, &who)?;
    let shown = pull::collaborator(at.urls(), &who, role);
    Ok(Reply::ok(
        &json!({"permission": role, "role_name": role, "user": shown}),
    ))
}

#[derive(Debug, Deserialize)]
struct Add {
    permission: Option<String>,
}

/// Let someone in at once; GitHub would send an invitation first
pub(super) fn add(at: &At<'_>, login: &str) -> Result<Reply> {
    let by = at.admin()?;
    at.not_archived()?;
    let body: Add = at.ask().body()?;
    let who = ops::users::find(at.app(), login)?;
    if who.id == at.repo.owner.id {
        return Err(Refusal::custom(
            "Repository",
            "Repository owner cannot be a collaborator",
        ));
    }
    let word = body.permission.as_deref().unwrap_or("push");
    let granted = match word {
        "pull" | "triage" | "read" => "read",
        "push" | "write" | "maintain" => "write",
        "admin" => "admin",
        _ => return Err(Refusal::field("Repository", "permission", "invalid")),
    };
    let before = at
        .app()
        .store
        .read(|c| repos::permission(c, at.id(), who.id))?;
    at.app()
        .store
        .write(|tx| repos::set_permission(tx, at.id(), who.id, granted))?;
    if before.is_some() {
        return Ok(Reply::no_content());
    }
    let invitation = json!({
        "id": who.id,
        "node_id": super::url::node_id("RepositoryInvitation", who.id),
        "repository": repo::simple(at.urls(), &at.repo),
        "invitee": user::simple(at.urls(), &who),
        "inviter": user::simple(at.urls(), by),
        "permissions": granted,
        "created_at": super::view::date(at.app().now_ms()),
        "expired": false,
        "url": format!("{}/user/repository_invitations/{}", at.urls().api, who.id),
        "html_url": format!("{}/invitations", at.repo.web(at.urls())),
    });
    Ok(Reply::json(StatusCode::CREATED, &invitation))
}

pub(super) fn remove(at: &At<'_>, login: &str) -> Result<Reply> {
    at.admin()?;
    at.not_archived()?;
    let who = ops::users::find(at.app(), login)?;
    at.app()
        .store
        .write(|tx| repos::remove_collaborator(tx, at.id(), who.id))?;
    Ok(Reply::no_content())
}
