//! What follows when refs change, by a push or by the forge itself

use std::sync::PoisonError;

use super::{Result, agit, ci, mergeability, protection};
use crate::{
    app::App,
    git::{Expect, Oid},
    store::{
        protections::Rule,
        pulls::{self, Pull, State},
        repos::{self, Repo},
        reviews,
        users::User,
    },
};

/// One ref that moved
#[derive(Debug, Clone)]
pub(crate) struct RefChange {
    /// Full name, such as `refs/heads/main`
    pub(crate) name: String,
    pub(crate) old: Option<Oid>,
    pub(crate) new: Option<Oid>,
}

impl RefChange {
    pub(crate) fn branch(name: &str, old: Option<Oid>, new: Option<Oid>) -> Self {
        Self {
            name: format!("refs/heads/{name}"),
            old,
            new,
        }
    }
}

/// Why a push of one ref must be refused, in the forge's words; called before git takes it
///
/// Whether a push is forced can only be told once the objects are here, so a forced push to a
/// protected branch is judged by `refuse_forced` from the hook of the receiving side.
pub(crate) fn refuse(
    app: &App,
    repo: &Repo,
    user: &User,
    change: &RefChange,
) -> Result<Option<String>> {
    if change.name.starts_with("refs/pull/") {
        return Ok(Some(format!(
            "The deletion or change of {} is skipped as it's an internal reference.",
            change.name
        )));
    }
    let Some(branch) = change.name.strip_prefix("refs/heads/") else {
        return Ok(None);
    };
    if change.new.is_none() && branch == repo.default_branch {
        return Ok(Some(format!(
            "branch {branch} is the default branch and cannot be deleted"
        )));
    }
    let Some(rule) = protection::of_branch(app, repo, branch)? else {
        return Ok(None);
    };
    if change.new.is_none() {
        return Ok(Some(format!("branch {branch} is protected from deletion")));
    }
    let allowed = app
        .store
        .read(|c| protection::may_push(c, repo, &rule.rule, user))?;
    Ok((!allowed).then(|| format!("Not allowed to push to protected branch {branch}")))
}

/// Whether a push that rewrites history must be refused
pub(crate) fn refuse_forced(
    app: &App,
    repo: &Repo,
    user: &User,
    change: &RefChange,
) -> Result<Option<String>> {
    let Some(branch) = change.name.strip_prefix("refs/heads/") else {
        return Ok(None);
    };
    let Some(rule) = protection::of_branch(app, repo, branch)? else {
        return Ok(None);
    };
    let allowed = app
        .store
        .read(|c| protection::may_force_push(c, repo, &rule.rule, user))?;
    Ok((!allowed).then(|| format!("branch {branch} is protected from force push")))
}

/// Records a finished push; takes the repository's lock
pub(crate) fn received(app: &App, repo: &Repo, user: &User, changes: &[RefChange]) -> Result<()> {
    let lock = app.repo_lock(repo.id);
    let _turn = lock.lock().unwrap_or_else(PoisonError::into_inner);
    if is_first(app, repo, changes)? {
        app.note_first_push(repo.id);
    }
    after(app, repo, user, changes)
}

/// Whether there was no branch before these
fn is_first(app: &App, repo: &Repo, changes: &[RefChange]) -> Result<bool> {
    let made = changes.iter().filter(|change| {
        change.name.starts_with("refs/heads/") && change.old.is_none() && change.new.is_some()
    });
    let made = made.count();
    Ok(made > 0 && app.git(repo.id).refs("refs/heads/")?.len() == made)
}

/// Records a finished push; the caller holds the repository's lock
pub(crate) fn after(app: &App, repo: &Repo, user: &User, changes: &[RefChange]) -> Result<()> {
    adopt_first_branch(app, repo, changes)?;
    for change in changes {
        if let (Some(to), Some(new)) = (change.name.strip_prefix(agit::PREFIX), change.new) {
            agit::received(app, repo, user, to, new)?;
            app.git(repo.id)
                .update_ref(&change.name, None, Expect::At(new))?;
        }
        let Some(branch) = change.name.strip_prefix("refs/heads/") else {
            continue;
        };
        for pull in app
            .store
            .read(|c| pulls::open_at_branch(c, repo.id, branch))?
        {
            let is_head = pull.head_repo_id == Some(repo.id) && pull.head_branch == branch;
            follow(app, user, pull, change.new, is_head)?;
        }
        if let Some(new) = change.new {
            ci::on_push(app, repo, user, branch, new)?;
        }
    }
    app.store.write(|tx| repos::touch(tx, repo.id, app.now()))?;
    app.due.notify_one();
    Ok(())
}

/// The first branch of an empty repository becomes its default
fn adopt_first_branch(app: &App, repo: &Repo, changes: &[RefChange]) -> Result<()> {
    let git = app.git(repo.id);
    if git.branch(&repo.default_branch)?.is_some() {
        return Ok(());
    }
    let made: Vec<&str> = changes
        .iter()
        .filter(|change| change.old.is_none() && change.new.is_some())
        .filter_map(|change| change.name.strip_prefix("refs/heads/"))
        .collect();
    let existed = git.refs("refs/heads/")?.len() > made.len();
    match made.first() {
        Some(branch) if !existed => {
            git.set_head(branch)?;
            let adopted = Repo {
                default_branch: (*branch).to_owned(),
                ..repo.clone()
            };
            app.store.write(|tx| repos::save(tx, &adopted, app.now()))?;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Bring an open pull request in line with a branch that moved or went
fn follow(app: &App, user: &User, mut pull: Pull, tip: Option<Oid>, is_head: bool) -> Result<()> {
    let base = app.git(pull.repo_id);
    match (tip, is_head) {
        (None, true) => {
            pull.state = State::Closed;
            pull.closed_at = Some(app.now_ms());
            pull.auto_merge = None;
        }
        (None, false) => return Ok(()),
        (Some(tip), true) => {
            if tip == pull.head_sha {
                return Ok(());
            }
            let name = format!("refs/pull/{}/head", pull.number);
            match pull.head_repo_id {
                Some(fork) if fork != pull.repo_id => {
                    base.take_from(
                        &app.git(fork),
                        &[&format!("+refs/heads/{}:{name}", pull.head_branch)],
                    )?;
                }
                _ => base.update_ref(&name, Some(tip), Expect::Anything)?,
            }
            pull.head_sha = tip;
        }
        (Some(tip), false) => pull.base_sha = tip,
    }
    if pull.state == State::Open {
        pull.merge_base = base
            .merge_base(pull.base_sha, pull.head_sha)?
            .unwrap_or(pull.base_sha);
        mergeability::restart(app, &mut pull);
    }
    pull.updated_at = app.now_ms();
    app.store.write(|tx| {
        let rule =
            protection::for_branch(tx, pull.repo_id, &pull.base_branch)?.map(|rule| rule.rule);
        if is_head && rule.is_some_and(|rule: Rule| rule.dismiss_stale_approvals) {
            for mut review in reviews::of_pull(tx, pull.id)? {
                if review.state == "APPROVED" && review.commit_id != pull.head_sha {
                    review.dismissed = true;
                    reviews::save(tx, &review)?;
                }
            }
        }
        pulls::save(tx, &pull)?;
        Ok::<_, super::Error>(())
    })?;
    if is_head && pull.state == State::Open {
        ci::on_pull(app, &pull, user)?;
    }
    Ok(())
}
