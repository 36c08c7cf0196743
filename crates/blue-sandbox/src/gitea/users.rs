//! People and their tokens: `/user`, `/users`, `/admin`

use serde_json::{Value, json};

use super::{
    Outcome,
    body::Form,
    fail::Fail,
    reply::{Page, Reply},
    repos,
    request::Req,
    wire::{self, NEVER, View},
};
use crate::{
    auth::{known_github_scope, known_scope},
    ops::{self, access},
    store::users::{self as rows, Token, User},
};

pub(super) fn answer(req: &Req, path: &[&str]) -> Outcome {
    match path {
        ["admin", rest @ ..] => admin(req, rest),
        ["user", rest @ ..] => own(req, rest),
        ["users", "search"] => search(req),
        ["users", login, "tokens", rest @ ..] => tokens(req, login, rest),
        ["users", login, rest @ ..] => other(req, login, rest),
        _ => Err(Fail::no_route()),
    }
}

fn own(req: &Req, path: &[&str]) -> Outcome {
    req.need_scope(match path.first() {
        Some(&"repos") => &["user", "repository"],
        Some(&"orgs") => &["user", "organization"],
        _ => &["user"],
    })?;
    let user = req.user()?;
    match (req.verb(), path) {
        ("GET", []) => Ok(Reply::ok(&wire::user(&req.app, user, View::Full))),
        ("GET", ["repos"]) => repos::list_own(req, user),
        ("POST", ["repos"]) => repos::create(req, user),
        ("GET", ["orgs"]) => {
            let orgs = req
                .app
                .store
                .read(|c| rows::orgs_of(c, user.id))
                .map_err(ops::Error::from)?;
            let page = Page::of(req);
            let list: Value = page
                .slice(&orgs)
                .iter()
                .map(|org| wire::org(&req.app, org))
                .collect();
            Ok(page.linked(req, &list, orgs.len()))
        }
        ("GET", ["emails"]) => Ok(Reply::ok(&json!([{
            "email": user.email, "verified": true, "primary": true,
            "user_id": user.id, "username": user.login,
        }]))),
        (_, [] | ["repos" | "orgs" | "emails"]) => Err(Fail::wrong_verb()),
        _ => Err(Fail::no_route()),
    }
}

fn other(req: &Req, login: &str, path: &[&str]) -> Outcome {
    req.need_scope(&["user"])?;
    let found = ops::users::find(&req.app, login)?;
    let caller = req.caller.as_ref().map(|caller| &caller.user);
    match (req.verb(), path) {
        ("GET", []) => Ok(Reply::ok(&wire::user(
            &req.app,
            &found,
            View::of(&found, caller),
        ))),
        ("GET", ["repos"]) => repos::list_of(req, &found),
        ("GET", ["orgs"]) => {
            let orgs = req
                .app
                .store
                .read(|c| rows::orgs_of(c, found.id))
                .map_err(ops::Error::from)?;
            let page = Page::of(req);
            let list: Value = page
                .slice(&orgs)
                .iter()
                .map(|org| wire::org(&req.app, org))
                .collect();
            Ok(page.linked(req, &list, orgs.len()))
        }
        (_, [] | ["repos" | "orgs"]) => Err(Fail::wrong_verb()),
        _ => Err(Fail::no_route()),
    }
}

fn search(req: &Req) -> Outcome {
    req.need_scope(&["user"])?;
    let wanted = req.query("q").unwrap_or_default().to_lowercase();
    let mut people = req
        .app
        .store
        .read(|c| rows::all(c, false))
        .map_err(ops::Error::from)?;
    people.retain(|user| user.login.to_lowercase().contains(&wanted));
    let caller = req.caller.as_ref().map(|caller| &caller.user);
    let page = Page::of(req);
    let show = |user: &User| wire::user(&req.app, user, View::of(user, caller));
    let list: Value = page.slice(&people).iter().map(show).collect();
    Ok(page.linked(req, &json!({"ok": true, "data": list}), people.len()))
}

fn admin(req: &Req, path: &[&str]) -> Outcome {
    req.need_scope(&["admin"])?;
    let admin = req.user()?;
    if !admin.is_admin {
        return Err(Fail::forbidden("user should be the site admin"));
    }
    match (req.verb(), path) {
        ("GET", ["users"]) => {
            let people = req
                .app
                .store
                .read(|c| rows::all(c, false))
                .map_err(ops::Error::from)?;
            let page = Page::of(req);
            let show = |user: &User| wire::user(&req.app, user, View::Full);
            let list: Value = page.slice(&people).iter().map(show).collect();
            Ok(page.linked(req, &list, people.len()))
        }
        ("POST", ["users"]) => create_user(req),
        ("DELETE", ["users", login]) => {
            let user = ops::users::find(&req.app, login)?;
            req.app
                .store
                .write(|tx| tx.execute("DELETE FROM users WHERE id = ?1", [user.id]))
                .map_err(ops::Error::from)?;
            Ok(Reply::empty(204))
        }
        ("POST", ["users", login, "repos"]) => {
            let owner = ops::users::find(&req.app, login)?;
            repos::create(req, &owner)
        }
        ("POST", ["users", login, "orgs"]) => {
            let owner = ops::users::find(&req.app, login)?;
            super::orgs::create(req, &owner)
        }
        (_, ["users"] | ["users", _] | ["users", _, "repos" | "orgs"]) => Err(Fail::wrong_verb()),
        _ => Err(Fail::no_route()),
    }
}

/// Shortest password the forge takes
const LEAST_PASSWORD: usize = 8;

fn create_user(req: &Req) -> Outcome {
    let form = req.form()?;
    let login = form.required("username", "Username")?;
    let email = form.required("email", "Email")?;
    if !email.contains('@') {
        return Err(Fail::invalid("[Email]: Email"));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !login.chars().all(plain) {
        return Err(Fail::invalid("[Username]: invalid username"));
    }
    if form.text("password")?.len() < LEAST_PASSWORD {
        return Err(Fail::new(400, "PasswordIsRequired"));
    }
    let person = ops::users::Person {
        login,
        full_name: form.text("full_name")?,
        email,
        password: form.text("password")?,
        admin: false,
    };
    if req
        .app
        .store
        .read(|c| rows::by_email(c, email))
        .map_err(ops::Error::from)?
        .is_some()
    {
        return Err(Fail::invalid(&format!(
            "e-mail already in use [email: {email}]"
        )));
    }
    let user = ops::users::create(&req.app, &person).map_err(|error| match error {
        ops::Error::BadName { name } => Fail::invalid(&format!("name is invalid [{name}]")),
        other => other.into(),
    })?;
    Ok(Reply::created(&wire::user(&req.app, &user, View::Full)))
}

fn tokens(req: &Req, login: &str, path: &[&str]) -> Outcome {
    req.need_scope(&["user"])?;
    let user = ops::users::find(&req.app, login)?;
    let own = |caller: &crate::auth::Caller| caller.user.id == user.id || caller.user.is_admin;
    if !req.caller.as_ref().is_some_and(own) {
        return Err(Fail::forbidden(
            "doer should be the site admin or be same as the contextUser",
        ));
    }
    req.need_password()?;
    match (req.verb(), path) {
        ("GET", []) => {
            let held = req
                .app
                .store
                .read(|c| rows::tokens_of(c, user.id))
                .map_err(ops::Error::from)?;
            let page = Page::of(req);
            let show = |token: &Token| shown(req, token, "", true);
            let list: Value = page.slice(&held).iter().map(show).collect();
            Ok(Reply::counted(&list, held.len()))
        }
        ("POST", []) => create_token(req, &user, &req.form()?),
        ("DELETE", [which]) => {
            let held = req
                .app
                .store
                .read(|c| rows::tokens_of(c, user.id))
                .map_err(ops::Error::from)?;
            let token = held
                .iter()
                .find(|token| token.id.to_string() == *which || token.name == *which);
            let id = token.ok_or_else(Fail::not_found)?.id;
            req.app
                .store
                .write(|tx| rows::delete_token(tx, user.id, id))
                .map_err(ops::Error::from)?;
            Ok(Reply::empty(204))
        }
        (_, [] | [_]) => Err(Fail::wrong_verb()),
        _ => Err(Fail::no_route()),
    }
}

fn create_token(req: &Req, user: &User, form: &Form) -> Outcome {
    let name = form.required("name", "Name")?;
    let scopes = form.opt_texts("scopes")?.unwrap_or_default();
    let known = |scope: &str| known_scope(scope) || known_github_scope(scope);
    if let Some(bad) = scopes.iter().find(|scope| !known(scope)) {
        return Err(Fail::new(
            400,
            &format!("invalid access token scope provided: invalid access token scope: {bad}"),
        ));
    }
    if scopes.is_empty() {
        return Err(Fail::new(400, "access token must have a scope"));
    }
    let (token, value) = ops::users::create_token(&req.app, user, name, &scopes.join(","))?;
    Ok(Reply::created(&shown(req, &token, value.expose(), false)))
}

fn shown(req: &Req, token: &Token, value: &str, dated: bool) -> Value {
    let when = if dated {
        wire::time(token.created_at)
    } else {
        NEVER.to_owned()
    };
    let mut shown = json!({
        "id": token.id,
        "name": token.name,
        "sha1": value,
        "token_last_eight": token.last_eight,
        "scopes": token.scopes.split(',').collect::<Vec<_>>(),
    });
    if !req.app.is_forgejo() {
        shown["created_at"] = when.clone().into();
        shown["last_used_at"] = when.into();
    }
    shown
}

/// Whether someone may see a repository
pub(super) fn sees(req: &Req, repo: &crate::store::repos::Repo) -> Result<access::Access, Fail> {
    Ok(access::of(&req.app, repo, req.caller.as_ref())?)
}
