//! Rules for branches

use rusqlite::Connection;

use super::{
    Error, Result, What,
    access::{self, Access},
};
use crate::{
    app::App,
    store::{
        protections::{self, Protection, Rule},
        repos::Repo,
        users::User,
    },
};

/// The rule that counts for a branch: by priority, plain names before patterns, then the oldest
pub(crate) fn for_branch(c: &Connection, repo_id: i64, branch: &str) -> Result<Option<Protection>> {
    let mut rules = protections::of_repo(c, repo_id)?;
    rules.sort_by_key(|rule| (rule.priority, is_pattern(&rule.name), rule.id));
    Ok(rules.into_iter().find(|rule| covers(&rule.name, branch)))
}

pub(crate) fn of_branch(app: &App, repo: &Repo, branch: &str) -> Result<Option<Protection>> {
    app.store.read(|c| for_branch(c, repo.id, branch))
}

fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '[', '{', '\\'])
}

fn covers(name: &str, branch: &str) -> bool {
    if is_pattern(name) {
        crate::glob::matches(name, branch, &['/'])
    } else {
        name.eq_ignore_ascii_case(branch)
    }
}

pub(crate) fn list(app: &App, repo: &Repo) -> Result<Vec<Protection>> {
    Ok(app.store.read(|c| protections::of_repo(c, repo.id))?)
}

pub(crate) fn get(app: &App, repo: &Repo, name: &str) -> Result<Protection> {
    let found = app.store.read(|c| protections::by_name(c, repo.id, name))?;
    found.ok_or(Error::NotFound(What::Rule))
}

pub(crate) fn create(
    app: &App,
    repo: &Repo,
    name: &str,
    priority: Option<i64>,
    rule: &Rule,
) -> Result<Protection> {
    app.store.write(|tx| {
        if protections::by_name(tx, repo.id, name)?.is_some() {
            return Err(Error::Exists(What::Rule));
        }
        let last = protections::of_repo(tx, repo.id)?
            .iter()
            .map(|rule| rule.priority)
            .max();
        let priority = priority
            .filter(|given| *given > 0)
            .unwrap_or(last.unwrap_or(0) + 1);
        protections::put(tx, repo.id, name, priority, rule, app.now_ms())?;
        Ok(protections::by_name(tx, repo.id, name)?.expect("just written"))
    })
}

pub(crate) fn save(app: &App, repo: &Repo, rule: &Protection) -> Result<Protection> {
    app.store.write(|tx| {
        protections::put(
            tx,
            repo.id,
            &rule.name,
            rule.priority,
            &rule.rule,
            app.now_ms(),
        )?;
        Ok(protections::by_name(tx, repo.id, &rule.name)?.expect("just written"))
    })
}

pub(crate) fn delete(app: &App, repo: &Repo, name: &str) -> Result<()> {
    if app
        .store
        .write(|tx| protections::delete(tx, repo.id, name))?
    {
        return Ok(());
    }
    Err(Error::NotFound(What::Rule))
}

/// Whether a rule lets someone push; site admins are bound by it as well
pub(crate) fn may_push(c: &Connection, repo: &Repo, rule: &Rule, user: &User) -> Result<bool> {
    if !rule.enable_push || access::of_user(c, repo, Some(user))? < Access::Write {
        return Ok(false);
    }
    Ok(!rule.enable_push_whitelist || named(&rule.push_whitelist_usernames, user))
}

pub(crate) fn may_force_push(
    c: &Connection,
    repo: &Repo,
    rule: &Rule,
    user: &User,
) -> Result<bool> {
    if !rule.enable_force_push || !may_push(c, repo, rule, user)? {
        return Ok(false);
    }
    Ok(!rule.enable_force_push_allowlist || named(&rule.force_push_allowlist_usernames, user))
}

pub(crate) fn may_merge(
    c: &Connection,
    repo: &Repo,
    rule: Option<&Rule>,
    user: &User,
) -> Result<bool> {
    let writer = access::of_user(c, repo, Some(user))? >= Access::Write;
    Ok(match rule {
        Some(rule) if rule.enable_merge_whitelist => named(&rule.merge_whitelist_usernames, user),
        _ => writer,
    })
}

/// Whether an approval of this person counts
pub(crate) fn is_official(
    c: &Connection,
    repo: &Repo,
    rule: Option<&Rule>,
    user: &User,
) -> Result<bool> {
    Ok(match rule {
        Some(rule) if rule.enable_approvals_whitelist => {
            named(&rule.approvals_whitelist_username, user)
        }
        _ => access::of_user(c, repo, Some(user))? >= Access::Write,
    })
}

/// Whether a rule keeps this file from being changed
pub(crate) fn is_protected_file(rule: &Rule, path: &str) -> bool {
    crate::glob::names_file(&rule.protected_file_patterns, path)
}

/// Whether everyone who can write may change this file in spite of the rule
pub(crate) fn is_unprotected_file(rule: &Rule, path: &str) -> bool {
    crate::glob::names_file(&rule.unprotected_file_patterns, path)
}

fn named(list: &[String], user: &User) -> bool {
    list.iter()
        .any(|login| login.eq_ignore_ascii_case(&user.login))
}

/// Refuse a change of these files on a branch by someone the rule does not let push
pub(crate) fn check_commit(
    app: &App,
    repo: &Repo,
    branch: &str,
    user: &User,
    paths: &[&str],
) -> Result<()> {
    app.store.read(|c| {
        let Some(rule) = for_branch(c, repo.id, branch)? else {
            return Ok(());
        };
        let open = paths
            .iter()
            .all(|path| is_unprotected_file(&rule.rule, path));
        let writer = access::of_user(c, repo, Some(user))? >= Access::Write;
        let allowed = may_push(c, repo, &rule.rule, user)? || (open && writer && !paths.is_empty());
        if !allowed {
            return Err(Error::PushForbidden(user.login.clone()));
        }
        match paths
            .iter()
            .find(|path| is_protected_file(&rule.rule, path))
        {
            Some(path) => Err(Error::ProtectedPath((*path).to_owned())),
            None => Ok(()),
        }
    })
}
