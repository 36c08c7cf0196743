//! Who may do what in a repository

use rusqlite::Connection;

use super::Result;
use crate::{
    app::App,
    auth::Caller,
    store::{
        repos::{self, Repo},
        users::{self, User},
    },
};

/// How far someone gets in a repository
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    None,
    Read,
    Write,
    Admin,
    Owner,
}

impl Access {
    pub(crate) fn parse(permission: &str) -> Self {
        match permission {
            "owner" => Self::Owner,
            "admin" => Self::Admin,
            "write" | "push" => Self::Write,
            "read" | "pull" => Self::Read,
            _ => Self::None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }
}

/// How far this caller gets; `None` is someone without a credential
pub(crate) fn of(app: &App, repo: &Repo, caller: Option<&Caller>) -> Result<Access> {
    let user = caller.map(|caller| &caller.user);
    Ok(app.store.read(|c| of_user(c, repo, user))?)
}

pub(crate) fn of_user(
    c: &Connection,
    repo: &Repo,
    user: Option<&User>,
) -> rusqlite::Result<Access> {
    let public = if repo.private {
        Access::None
    } else {
        Access::Read
    };
    let Some(user) = user else { return Ok(public) };
    if user.is_admin || user.id == repo.owner_id {
        return Ok(Access::Owner);
    }
    let role = users::role(c, repo.owner_id, user.id)?;
    let granted = repos::permission(c, repo.id, user.id)?;
    let best = [role, granted]
        .into_iter()
        .flatten()
        .map(|name| Access::parse(&name))
        .max();
    Ok(best.unwrap_or(Access::None).max(public))
}
