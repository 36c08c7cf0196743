//! Everything there is, or everything of one owner

use axum::response::Response;

use crate::{
    ops,
    store::{
        repos::{self, Repo},
        users,
    },
    web::{
        view::home::{self as view, Owner, RepoRow},
        visit::{Trouble, Visitor},
        when,
    },
};

pub(in crate::web) fn home(visitor: &Visitor<'_>) -> Result<Response, Trouble> {
    let all = visitor.app.store.read(repos::all)?;
    let rows = rows(visitor, all)?;
    Ok(visitor.show("Repositories", &view::home(&rows)))
}

pub(in crate::web) fn owner(visitor: &Visitor<'_>, login: &str) -> Result<Response, Trouble> {
    let owner = ops::users::find(visitor.app, login)?;
    let (repos, related) = visitor.app.store.read(|c| {
        let related = if owner.is_org {
            users::members(c, owner.id)?
        } else {
            users::orgs_of(c, owner.id)?
        };
        Ok::<_, rusqlite::Error>((repos::of_owner(c, owner.id)?, related))
    })?;
    let rows = rows(visitor, repos)?;
    let shown = Owner {
        login: owner.login.clone(),
        full_name: owner.full_name,
        is_org: owner.is_org,
        related: related.into_iter().map(|user| user.login).collect(),
    };
    Ok(visitor.show(&owner.login, &view::owner(&shown, &rows)))
}

fn rows(visitor: &Visitor<'_>, repos: Vec<Repo>) -> Result<Vec<RepoRow>, Trouble> {
    let mut rows = Vec::new();
    for repo in repos {
        if !visitor.sees(&repo)? {
            continue;
        }
        let owner = visitor.app.store.read(|c| users::by_id(c, repo.owner_id))?;
        rows.extend(owner.map(|owner| RepoRow {
            owner: owner.login,
            name: repo.name,
            description: repo.settings.description,
            private: repo.private,
            archived: repo.archived_at.is_some(),
            updated: when::milliseconds(repo.updated_at),
        }));
    }
    Ok(rows)
}
