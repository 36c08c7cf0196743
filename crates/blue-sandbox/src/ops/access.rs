//! Who may do what in a repository

use rusqlite::Connection;

use super::Result;
use crate::{
    app::App,
    auth::Caller,
    store::{
        repos::{self, Repo},
        teams,
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
    let teams = teams::of_user(c, repo.owner_id, repo.id, user.id)?;
    let by_team = teams.iter().filter_map(|team| team.level("repo.code"));
    let best = [role.as_deref(), granted.as_deref()]
        .into_iter()
        .flatten()
        .chain(by_team)
        .map(Access::parse)
        .max();
    Ok(best.unwrap_or(Access::None).max(public))
}

/// Whether this caller sees the pull requests of a repository that they see
///
/// A team may give its members the code of a private repository and nothing else.
pub(crate) fn sees_pulls(app: &App, repo: &Repo, caller: Option<&Caller>) -> Result<bool> {
    let Some(user) = caller.map(|caller| &caller.user) else {
        return Ok(true);
    };
    if !repo.private || user.is_admin || user.id == repo.owner_id {
        return Ok(true);
    }
    Ok(app.store.read(|c| {
        let role = users::role(c, repo.owner_id, user.id)?;
        let granted = repos::permission(c, repo.id, user.id)?;
        let teams = teams::of_user(c, repo.owner_id, repo.id, user.id)?;
        let by_team = teams.iter().any(|team| team.level("repo.pulls").is_some());
        Ok::<_, rusqlite::Error>(role.is_some() || granted.is_some() || by_team)
    })?)
}
