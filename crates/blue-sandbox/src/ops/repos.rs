//! Repositories: make, find, edit, rename, fork, delete

use std::fs;

use super::{Error, Result, What};
use crate::{
    app::App,
    git,
    store::{
        pulls,
        repos::{self, NewRepo, Repo, Settings},
        users::{self, User},
    },
};

/// A repository with its owner
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) repo: Repo,
    pub(crate) owner: User,
    /// The name that was asked for is an old one
    pub(crate) renamed: bool,
}

impl Found {
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.owner.login, self.repo.name)
    }
}

/// Find by present or old name; names are the same in upper and lower case
pub(crate) fn find(app: &App, owner: &str, name: &str) -> Result<Found> {
    let found = app.store.read(|c| {
        let Some(owner) = users::by_login(c, owner)? else {
            return Ok::<_, Error>(None);
        };
        if let Some(repo) = repos::by_name(c, owner.id, name)? {
            return Ok(Some(Found {
                repo,
                owner,
                renamed: false,
            }));
        }
        let old = repos::by_old_name(c, owner.id, name)?;
        Ok(old.map(|repo| Found {
            repo,
            owner,
            renamed: true,
        }))
    })?;
    found.ok_or(Error::NotFound(What::Repo))
}

pub(crate) fn by_id(app: &App, id: i64) -> Result<Option<Found>> {
    app.store.read(|c| {
        let Some(repo) = repos::by_id(c, id)? else {
            return Ok(None);
        };
        let owner = users::by_id(c, repo.owner_id)?;
        Ok(owner.map(|owner| Found {
            repo,
            owner,
            renamed: false,
        }))
    })
}

/// What a new repository is
#[derive(Debug, Clone)]
pub(crate) struct New<'a> {
    pub(crate) name: &'a str,
    pub(crate) private: bool,
    pub(crate) default_branch: &'a str,
    pub(crate) settings: Settings,
}

/// Make an empty repository
pub(crate) fn create(app: &App, owner: &User, new: &New<'_>) -> Result<Found> {
    check_name(new.name)?;
    let branch = if new.default_branch.is_empty() {
        "main"
    } else {
        new.default_branch
    };
    if !git::valid_branch_name(branch) {
        return Err(Error::BadName {
            name: branch.to_owned(),
        });
    }
    let repo = app.store.write(|tx| {
        if repos::by_name(tx, owner.id, new.name)?.is_some() {
            return Err(Error::Exists(What::Repo));
        }
        let row = NewRepo {
            owner_id: owner.id,
            name: new.name,
            default_branch: branch,
            private: new.private,
            fork_of: None,
            settings: &new.settings,
        };
        let id = repos::insert(tx, &row, app.now())?;
        git::Repo::init(app.repo_path(id), branch)?;
        Ok(repos::by_id(tx, id)?.expect("just written"))
    })?;
    Ok(Found {
        repo,
        owner: owner.clone(),
        renamed: false,
    })
}

/// Copy a repository to another owner
pub(crate) fn fork(app: &App, source: &Found, owner: &User, name: &str) -> Result<Found> {
    check_name(name)?;
    let repo = app.store.write(|tx| {
        let mut forks = repos::forks(tx, source.repo.id)?.into_iter();
        if let Some(fork) = forks.find(|fork| fork.owner_id == owner.id) {
            return Err(Error::Exists(What::Fork(fork.name)));
        }
        if repos::by_name(tx, owner.id, name)?.is_some() {
            return Err(Error::Exists(What::Repo));
        }
        let row = NewRepo {
            owner_id: owner.id,
            name,
            default_branch: &source.repo.default_branch,
            private: source.repo.private,
            fork_of: Some(source.repo.id),
            settings: &source.repo.settings,
        };
        let id = repos::insert(tx, &row, app.now())?;
        let copy = git::Repo::init(app.repo_path(id), &source.repo.default_branch)?;
        copy.take_from(
            &app.git(source.repo.id),
            &["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"],
        )?;
        Ok(repos::by_id(tx, id)?.expect("just written"))
    })?;
    Ok(Found {
        repo,
        owner: owner.clone(),
        renamed: false,
    })
}

/// Write back an edited repository; a new name leaves a redirect behind
pub(crate) fn save(app: &App, before: &Repo, after: &Repo) -> Result<Repo> {
    let renamed = !before.name.eq_ignore_ascii_case(&after.name);
    if before.name != after.name {
        check_name(&after.name)?;
    }
    app.store.write(|tx| {
        if renamed {
            if repos::by_name(tx, after.owner_id, &after.name)?.is_some() {
                return Err(Error::Exists(What::Repo));
            }
            repos::forget_name(tx, after.owner_id, &after.name)?;
            repos::remember_name(tx, after.owner_id, &before.name, after.id)?;
        }
        repos::save(tx, after, app.now())?;
        if before.default_branch != after.default_branch {
            app.git(after.id).set_head(&after.default_branch)?;
        }
        Ok(repos::by_id(tx, after.id)?.expect("just written"))
    })
}

pub(crate) fn delete(app: &App, repo: &Repo) -> Result<()> {
    app.store.write(|tx| {
        // What was asked for from here cannot be merged any more.
        for mut pull in pulls::open_from(tx, repo.id)? {
            pull.state = pulls::State::Closed;
            pull.closed_at = Some(app.now_ms());
            pulls::save(tx, &pull)?;
        }
        repos::delete(tx, repo.id)
    })?;
    // A folder without a row is removed at the next start, should this be cut short.
    match fs::remove_dir_all(app.repo_path(repo.id)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Whether it has no branch yet
pub(crate) fn is_empty(app: &App, repo: &Repo) -> Result<bool> {
    let git = app.git(repo.id);
    if git.branch(&repo.default_branch)?.is_some() {
        return Ok(false);
    }
    Ok(git.refs("refs/heads/")?.is_empty())
}

fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let lower = name.to_lowercase();
    let reserved = [".", "..", "-"].contains(&name)
        || [".git", ".wiki", ".rss", ".atom"]
            .iter()
            .any(|end| lower.ends_with(end));
    if !name.is_empty() && name.len() <= 100 && name.chars().all(plain) && !reserved {
        return Ok(());
    }
    Err(Error::BadName {
        name: name.to_owned(),
    })
}
