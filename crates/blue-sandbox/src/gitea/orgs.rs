//! Organisations

use serde_json::{Value, json};

use super::{
    Outcome,
    fail::Fail,
    reply::{Page, Reply},
    repos,
    request::Req,
    teams,
    wire::{self, View},
};
use crate::{
    ops,
    store::{
        teams as team_rows,
        users::{self as rows, User},
    },
};

pub(super) fn answer(req: &Req, path: &[&str]) -> Outcome {
    req.need_scope(&["organization"])?;
    match (req.verb(), path) {
        ("GET", ["orgs"]) => {
            let orgs = req
                .app
                .store
                .read(|c| rows::all(c, true))
                .map_err(ops::Error::from)?;
            let page = Page::of(req);
            let list: Value = page
                .slice(&orgs)
                .iter()
                .map(|org| wire::org(&req.app, org))
                .collect();
            Ok(page.linked(req, &list, orgs.len()))
        }
        ("POST", ["orgs"]) => create(req, req.user()?),
        (_, ["orgs"]) => Err(Fail::wrong_verb()),
        (_, [_, name, rest @ ..]) => one(req, name, rest),
        _ => Err(Fail::no_route()),
    }
}

pub(super) fn create(req: &Req, owner: &User) -> Outcome {
    let form = req.form()?;
    let login = form.required("username", "UserName")?;
    let visibility = form
        .opt_text("visibility")?
        .filter(|text| !text.is_empty())
        .unwrap_or("public");
    let (full_name, description) = (form.text("full_name")?, form.text("description")?);
    let org = ops::users::create_org(&req.app, owner, login, full_name, description, visibility)
        .map_err(|error| match error {
            ops::Error::BadName { .. } => Fail::invalid("[UserName]: AlphaDashDot"),
            other => other.into(),
        })?;
    Ok(Reply::created(&wire::org(&req.app, &org)))
}

fn one(req: &Req, name: &str, path: &[&str]) -> Outcome {
    let app = &req.app;
    let found = ops::users::find(app, name)
        .ok()
        .filter(|found| found.is_org);
    let missing = || {
        Fail::missing(
            "GetOrgByName",
            &[&format!("user redirect does not exist [name: {name}]")],
        )
    };
    let org = found.ok_or_else(missing)?;
    match (req.verb(), path) {
        ("GET", []) => Ok(Reply::ok(&wire::org(app, &org))),
        ("DELETE", []) => {
            need_owner(req, &org)?;
            app.store
                .write(|tx| tx.execute("DELETE FROM users WHERE id = ?1", [org.id]))
                .map_err(ops::Error::from)?;
            Ok(Reply::empty(204))
        }
        ("GET", ["repos"]) => repos::list_of(req, &org),
        ("POST", ["repos"]) => {
            let user = req.user()?;
            let role = app
                .store
                .read(|c| rows::role(c, org.id, user.id))
                .map_err(ops::Error::from)?;
            if role.is_none() && !user.is_admin {
                return Err(Fail::forbidden(
                    "Given user is not allowed to create repository in organization.",
                ));
            }
            repos::create(req, &org)
        }
        ("GET", ["members" | "public_members"]) => {
            let members = app
                .store
                .read(|c| rows::members(c, org.id))
                .map_err(ops::Error::from)?;
            let caller = req.caller.as_ref().map(|caller| &caller.user);
            let page = Page::of(req);
            let show = |user: &User| wire::user(app, user, View::of(user, caller));
            let list: Value = page.slice(&members).iter().map(show).collect();
            Ok(page.linked(req, &list, members.len()))
        }
        ("GET", ["members", login]) => {
            let user = ops::users::find(app, login)?;
            let role = app
                .store
                .read(|c| rows::role(c, org.id, user.id))
                .map_err(ops::Error::from)?;
            if role.is_some() {
                Ok(Reply::empty(204))
            } else {
                Err(Fail::not_found())
            }
        }
        ("PUT", ["members", login]) => {
            need_owner(req, &org)?;
            let user = ops::users::find(app, login)?;
            let form = req.form_or_empty()?;
            let role = form.opt_text("role")?.unwrap_or("write");
            app.store
                .write(|tx| rows::set_role(tx, org.id, user.id, role))
                .map_err(ops::Error::from)?;
            Ok(Reply::empty(204))
        }
        ("GET", ["teams"]) => {
            let others = app
                .store
                .read(|c| team_rows::of_org(c, org.id))
                .map_err(ops::Error::from)?;
            let list: Vec<Value> = std::iter::once(owners_team(&org))
                .chain(others.iter().map(teams::shown))
                .collect();
            let total = list.len();
            Ok(Reply::counted(&list.into(), total))
        }
        ("POST", ["teams"]) => {
            need_owner(req, &org)?;
            teams::create(req, &org)
        }
        (_, [] | ["repos" | "members" | "teams"]) => Err(Fail::wrong_verb()),
        _ => Err(Fail::no_route()),
    }
}

fn need_owner(req: &Req, org: &User) -> Result<(), Fail> {
    let user = req.user()?;
    let role = req
        .app
        .store
        .read(|c| rows::role(c, org.id, user.id))
        .map_err(ops::Error::from)?;
    if user.is_admin || role.as_deref() == Some("owner") {
        return Ok(());
    }
    Err(Fail::forbidden("Must be an organization owner"))
}

/// The one team every organisation has
fn owners_team(org: &User) -> Value {
    const UNITS: &[&str] = &[
        "repo.code",
        "repo.releases",
        "repo.ext_wiki",
        "repo.issues",
        "repo.pulls",
        "repo.projects",
        "repo.packages",
        "repo.actions",
        "repo.ext_issues",
        "repo.wiki",
    ];
    let map: serde_json::Map<String, Value> = UNITS
        .iter()
        .map(|unit| ((*unit).to_owned(), json!("owner")))
        .collect();
    json!({
        "id": org.id,
        "name": "Owners",
        "description": "",
        "organization": null,
        "includes_all_repositories": true,
        "permission": "owner",
        "units": UNITS,
        "units_map": map,
        "can_create_org_repo": true,
    })
}
