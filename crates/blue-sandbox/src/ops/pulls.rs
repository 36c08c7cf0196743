//! Pull requests: make, find, edit

use std::sync::{Arc, PoisonError};

use super::{Error, Result, What, ci, mergeability, repos::Found};
use crate::{
    app::App,
    git::{Commit, Diff, Expect, Oid},
    store::{
        pulls::{self, Pull, State},
        repos::{self, Repo},
        users::User,
    },
};

/// What a new pull request is
#[derive(Debug, Clone)]
pub(crate) struct New<'a> {
    pub(crate) title: &'a str,
    pub(crate) body: &'a str,
    pub(crate) head_repo: &'a Repo,
    pub(crate) head: &'a str,
    pub(crate) base: &'a str,
    pub(crate) maintainer_edit: bool,
}

/// Make a pull request; equal branches are taken too, as forges of this family do
pub(crate) fn create(app: &App, repo: &Repo, poster: &User, new: &New<'_>) -> Result<Pull> {
    let same_repo = new.head_repo.id == repo.id;
    if same_repo && new.head == new.base {
        return Err(Error::SameBranch);
    }
    let lock = app.repo_lock(repo.id);
    let _turn = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let git = app.git(repo.id);
    let missing = |name: &str| Error::NotFound(What::Branch(name.to_owned()));
    let base_sha = git.branch(new.base)?.ok_or_else(|| missing(new.base))?;
    let head_sha = app
        .git(new.head_repo.id)
        .branch(new.head)?
        .ok_or_else(|| missing(new.head))?;
    let now = app.now_ms();
    let mut pull = Pull {
        id: 0,
        repo_id: repo.id,
        number: 0,
        poster_id: poster.id,
        title: new.title.to_owned(),
        body: new.body.to_owned(),
        state: State::Open,
        head_repo_id: Some(new.head_repo.id),
        head_branch: new.head.to_owned(),
        head_sha,
        base_branch: new.base.to_owned(),
        base_sha,
        merge_base: base_sha,
        mergeable: true,
        checked_head: Some(head_sha),
        checked_base: Some(base_sha),
        stale_until: 0,
        check_until: 0,
        maintainer_edit: new.maintainer_edit,
        merge_sha: None,
        merged_by: None,
        auto_merge: None,
        intent: None,
        created_at: now,
        updated_at: now,
        closed_at: None,
    };
    let twin = app
        .store
        .read(|c| pulls::open_at_branch(c, repo.id, new.base))?
        .into_iter()
        .find(|other| {
            other.head_repo_id == pull.head_repo_id
                && other.head_branch == new.head
                && other.base_branch == new.base
                && other.repo_id == repo.id
        });
    if let Some(twin) = twin {
        return Err(Error::PullExists {
            id: twin.id,
            number: twin.number,
            head: twin.head_branch,
            base: twin.base_branch,
            head_repo: new.head_repo.id,
            base_repo: repo.id,
        });
    }
    if !same_repo {
        // The objects must be here before the base can be compared with them.
        git.take_from(
            &app.git(new.head_repo.id),
            &[&format!("+refs/heads/{}:refs/sandbox/incoming", new.head)],
        )?;
    }
    pull.merge_base = git.merge_base(base_sha, head_sha)?.unwrap_or(base_sha);
    pull.mergeable = mergeability::can_merge(app, &pull)?;
    mergeability::restart(app, &mut pull);
    // The ref is written before the row is committed: a row never lacks its ref, and a ref without a
    // row is removed at the next start.
    let pull = app.store.write(|tx| {
        pull.number = repos::take_number(tx, repo.id)?;
        git.update_ref(
            &format!("refs/pull/{}/head", pull.number),
            Some(head_sha),
            Expect::Anything,
        )?;
        pull.id = pulls::insert(tx, &pull)?;
        Ok::<_, Error>(pull)
    })?;
    if !same_repo {
        git.update_ref("refs/sandbox/incoming", None, Expect::Anything)?;
    }
    ci::on_pull(app, &pull, poster)?;
    app.due.notify_one();
    Ok(pull)
}

pub(crate) fn get(app: &App, repo: &Repo, number: i64) -> Result<Pull> {
    app.store
        .read(|c| pulls::by_number(c, repo.id, number))?
        .ok_or(Error::NotFound(What::Pull))
}

/// All of a repository, newest first
pub(crate) fn list(app: &App, repo: &Repo) -> Result<Vec<Pull>> {
    Ok(app.store.read(|c| pulls::of_repo(c, repo.id))?)
}

/// What to change; `None` leaves it
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_field_names,
    reason = "`maintainer_edit` is the forge's own word"
)]
pub(crate) struct Edit<'a> {
    pub(crate) title: Option<&'a str>,
    pub(crate) body: Option<&'a str>,
    pub(crate) open: Option<bool>,
    pub(crate) base: Option<&'a str>,
    pub(crate) maintainer_edit: Option<bool>,
}

pub(crate) fn edit(app: &App, repo: &Repo, number: i64, edit: &Edit<'_>) -> Result<Pull> {
    let lock = app.repo_lock(repo.id);
    let _turn = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let mut pull = get(app, repo, number)?;
    let git = app.git(repo.id);
    if let Some(title) = edit.title {
        title.clone_into(&mut pull.title);
    }
    if let Some(body) = edit.body {
        body.clone_into(&mut pull.body);
    }
    if let Some(allowed) = edit.maintainer_edit {
        pull.maintainer_edit = allowed;
    }
    if let Some(base) = edit.base
        && base != pull.base_branch
    {
        let missing = || Error::NotFound(What::Branch(base.to_owned()));
        pull.base_sha = git.branch(base)?.ok_or_else(missing)?;
        base.clone_into(&mut pull.base_branch);
        pull.merge_base = git
            .merge_base(pull.base_sha, pull.head_sha)?
            .unwrap_or(pull.base_sha);
        mergeability::restart(app, &mut pull);
    }
    match (edit.open, pull.state) {
        (Some(false), State::Open) => {
            pull.state = State::Closed;
            pull.closed_at = Some(app.now_ms());
            pull.auto_merge = None;
        }
        (Some(true), State::Closed) => {
            let head = pull
                .head_repo_id
                .map(|id| app.git(id).branch(&pull.head_branch))
                .transpose()?
                .flatten();
            let base = git.branch(&pull.base_branch)?;
            let (Some(head), Some(base)) = (head, base) else {
                return Err(Error::Invalid("the head or base branch is gone".to_owned()));
            };
            if pull.head_repo_id == Some(repo.id) {
                git.update_ref(
                    &format!("refs/pull/{number}/head"),
                    Some(head),
                    Expect::Anything,
                )?;
                pull.head_sha = head;
            }
            pull.base_sha = base;
            pull.merge_base = git.merge_base(base, pull.head_sha)?.unwrap_or(base);
            pull.state = State::Open;
            pull.closed_at = None;
            mergeability::restart(app, &mut pull);
        }
        (Some(_), State::Merged) => {
            return Err(Error::Merge(super::MergeError::AlreadyMerged));
        }
        _ => {}
    }
    pull.updated_at = app.now_ms();
    app.store.write(|tx| pulls::save(tx, &pull))?;
    app.due.notify_one();
    Ok(pull)
}

/// A title prefix makes a draft
pub(crate) fn is_draft(pull: &Pull) -> bool {
    let title = pull.title.to_uppercase();
    title.starts_with("WIP:") || title.starts_with("[WIP]")
}

/// What the pull request changes, seen from where it left the base
pub(crate) fn diff(app: &App, pull: &Pull) -> Result<Arc<Diff>> {
    let key = (pull.repo_id, pull.merge_base, pull.head_sha);
    app.cache.diff(key, || {
        Ok(app.git(pull.repo_id).diff(pull.merge_base, pull.head_sha)?)
    })
}

/// Its commits, newest first
pub(crate) fn commits(app: &App, pull: &Pull) -> Result<Vec<(Oid, Commit)>> {
    Ok(app
        .git(pull.repo_id)
        .log(pull.head_sha, Some(pull.merge_base))?)
}

/// The repository the head lies in, if it is still there
pub(crate) fn head_repo(app: &App, pull: &Pull) -> Result<Option<Found>> {
    match pull.head_repo_id {
        Some(id) => super::repos::by_id(app, id),
        None => Ok(None),
    }
}
