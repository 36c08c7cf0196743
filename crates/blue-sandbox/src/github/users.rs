//! People and organisations

use super::cx::Cx;
use super::refusal::{Refusal, Result};
use super::reply::Reply;
use super::view::user;
use crate::store::repos;
use crate::store::users::User;

pub(super) fn own(cx: &Cx<'_>) -> Result<Reply> {
    let who = cx.user()?;
    cx.need_scope("user")?;
    let (public, private) = counts(cx, who)?;
    Ok(Reply::ok(&user::private(&cx.urls, who, public, private)))
}

pub(super) fn get(cx: &Cx<'_>, login: &str) -> Result<Reply> {
    let who = crate::ops::users::find(cx.app, login)?;
    let (public, _) = counts(cx, &who)?;
    Ok(Reply::ok(&user::public(&cx.urls, &who, public)))
}

pub(super) fn organization(cx: &Cx<'_>, login: &str) -> Result<Reply> {
    let who = crate::ops::users::find(cx.app, login)?;
    if !who.is_org {
        return Err(Refusal::not_found());
    }
    let (public, _) = counts(cx, &who)?;
    Ok(Reply::ok(&user::organization(&cx.urls, &who, public)))
}

/// Public and private repositories of an account
fn counts(cx: &Cx<'_>, who: &User) -> Result<(usize, usize)> {
    let rows = cx.app.store.read(|c| repos::of_owner(c, who.id))?;
    let private = rows.iter().filter(|row| row.private).count();
    Ok((rows.len() - private, private))
}
