//! Who was let into a repository

use serde_json::{Value, json};

use super::{
    Outcome,
    fail::Fail,
    reply::{Page, Reply},
    request::InRepo,
    wire::{self, View},
};
use crate::{
    ops::{self, access},
    store::{repos, users::User},
};

pub(super) fn answer(cx: &InRepo<'_>, path: &[&str]) -> Outcome {
    let (app, repo) = (cx.app(), cx.repo());
    let caller = cx.user()?;
    match (cx.req.verb(), path) {
        ("GET", ["collaborators"]) => {
            let ids = app
                .store
                .read(|c| repos::collaborators(c, repo.id))
                .map_err(ops::Error::from)?;
            let page = Page::of(cx.req);
            let mut list: Vec<Value> = Vec::new();
            for id in page.slice(&ids) {
                if let Some(user) = ops::users::by_id(app, *id)? {
                    list.push(wire::user(app, &user, View::of(&user, Some(caller))));
                }
            }
            Ok(page.linked(cx.req, &list.into(), ids.len()))
        }
        ("GET", ["collaborators", login]) => {
            let user = known(cx, login)?;
            let found = app
                .store
                .read(|c| repos::permission(c, repo.id, user.id))
                .map_err(ops::Error::from)?;
            if found.is_some() {
                Ok(Reply::empty(204))
            } else {
                Err(Fail::not_found())
            }
        }
        ("PUT", ["collaborators", login]) => {
            cx.need_admin()?;
            let form = cx.req.form()?;
            let given = form.opt_text("permission")?;
            let user = known(cx, login)?;
            let level = match given {
                None | Some("" | "write") => "write",
                Some("read") => "read",
                Some("admin") => "admin",
                Some(_) => return Err(Fail::new(500, "Invalid access mode")),
            };
            app.store
                .write(|tx| repos::set_permission(tx, repo.id, user.id, level))
                .map_err(ops::Error::from)?;
            Ok(Reply::empty(204))
        }
        ("DELETE", ["collaborators", login]) => {
            cx.need_admin()?;
            let user = known(cx, login)?;
            app.store
                .write(|tx| repos::remove_collaborator(tx, repo.id, user.id))
                .map_err(ops::Error::from)?;
            Ok(Reply::empty(204))
        }
        ("GET", ["collaborators", login, "permission"]) => {
            let user = ops::users::find(app, login)?;
            if cx.access < access::Access::Admin && caller.id != user.id {
                return Err(Fail::forbidden(
                    "Only admins can query all permissions, repo admins can query all repo permissions, collaborators can query only their own",
                ));
            }
            let level = app
                .store
                .read(|c| access::of_user(c, repo, Some(&user)))
                .map_err(ops::Error::from)?;
            Ok(Reply::ok(&json!({
                "permission": level.name(),
                "role_name": level.name(),
                "user": wire::user(app, &user, View::of(&user, Some(caller))),
            })))
        }
        (_, ["collaborators"] | ["collaborators", _] | ["collaborators", _, "permission"]) => {
            Err(Fail::wrong_verb())
        }
        _ => Err(Fail::no_route()),
    }
}

fn known(cx: &InRepo<'_>, login: &str) -> Result<User, Fail> {
    ops::users::find(cx.app(), login)
        .map_err(|_| Fail::invalid(&format!("user does not exist [uid: 0, name: {login}]")))
}
