//! Teams of an organisation: who may do what in which of its repositories

use serde_json::{Map, Value, json};

use super::{Outcome, fail::Fail, reply::Reply, request::Req};
use crate::{
    ops,
    store::{
        teams::{self as rows, Team},
        users::{self, User},
    },
};

/// `POST /orgs/{org}/teams`; the caller was found to be an owner
pub(super) fn create(req: &Req, org: &User) -> Outcome {
    let form = req.form()?;
    let permission = form.opt_text("permission")?.unwrap_or("read").to_owned();
    let mut units: Map<String, Value> = form
        .opt_texts("units")?
        .unwrap_or_default()
        .into_iter()
        .map(|unit| (unit, permission.clone().into()))
        .collect();
    if let Some(map) = form.opt_object("units_map", "map[string]string")? {
        units = map.into_map();
    }
    let team = Team {
        id: 0,
        org_id: org.id,
        name: form.required("name", "Name")?.to_owned(),
        permission,
        units,
        all_repositories: form.flag("includes_all_repositories")?,
    };
    let made = req
        .app
        .store
        .write(|tx| rows::insert(tx, &team))
        .map_err(ops::Error::from)?;
    Ok(Reply::created(&shown(&Team { id: made, ..team })))
}

/// `/teams/{id}/…`: members and repositories
pub(super) fn answer(req: &Req, id: &str, path: &[&str]) -> Outcome {
    req.need_scope(&["organization"])?;
    let user = req.user()?;
    let id = id.parse().map_err(|_| Fail::not_found())?;
    let team = req
        .app
        .store
        .read(|c| rows::by_id(c, id))
        .map_err(ops::Error::from)?
        .ok_or_else(Fail::not_found)?;
    let role = req
        .app
        .store
        .read(|c| users::role(c, team.org_id, user.id))
        .map_err(ops::Error::from)?;
    if !user.is_admin && role.as_deref() != Some("owner") {
        return Err(Fail::forbidden("Must be a team member"));
    }
    match (req.verb(), path) {
        ("GET", []) => Ok(Reply::ok(&shown(&team))),
        ("PUT", ["members", login]) => {
            let member = ops::users::find(&req.app, login)?;
            req.app
                .store
                .write(|tx| rows::add_member(tx, team.id, member.id))
                .map_err(ops::Error::from)?;
            Ok(Reply::empty(204))
        }
        ("PUT", ["repos", owner, name]) => {
            let found = ops::repos::find(&req.app, owner, name)?;
            req.app
                .store
                .write(|tx| rows::add_repository(tx, team.id, found.repo.id))
                .map_err(ops::Error::from)?;
            Ok(Reply::empty(204))
        }
        (_, [] | ["members" | "repos", ..]) => Err(Fail::wrong_verb()),
        _ => Err(Fail::no_route()),
    }
}

pub(super) fn shown(team: &Team) -> Value {
    json!({
        "id": team.id,
        "name": team.name,
        "description": "",
        "organization": null,
        "includes_all_repositories": team.all_repositories,
        "permission": team.permission,
        "units": team.units.keys().collect::<Vec<_>>(),
        "units_map": team.units,
        "can_create_org_repo": false,
    })
}
