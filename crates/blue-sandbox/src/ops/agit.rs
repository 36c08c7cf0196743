//! Pull requests that a push makes, without a branch of their own (`AGit`)
//!
//! `git push origin HEAD:refs/for/main/topic` asks to merge what was pushed into `main`; a second
//! push of the same user to the same topic moves the head.

use super::{Error, Result, ci, mergeability};
use crate::{
    app::App,
    git::{Expect, Oid},
    store::{
        pulls::{self, Pull, State},
        repos::{self, Repo},
        users::User,
    },
};

pub(crate) const PREFIX: &str = "refs/for/";

/// Whether the pull request was made by a push to `refs/for/`
pub(crate) fn is_agit(app: &App, pull: &Pull) -> Result<bool> {
    Ok(app.store.read(|c| pulls::is_agit(c, pull.id))?)
}

/// Open or move the pull request of a push to `refs/for/BASE/TOPIC`
///
/// The caller holds the repository's lock.
pub(crate) fn received(app: &App, repo: &Repo, user: &User, to: &str, head: Oid) -> Result<()> {
    let git = app.git(repo.id);
    let Some((base, topic, base_sha)) = split(app, repo, to)? else {
        return Ok(());
    };
    let label = format!("{}/{topic}", user.login);
    let now = app.now_ms();
    let merge_base = git.merge_base(base_sha, head)?.unwrap_or(base_sha);
    for mut pull in app.store.read(|c| pulls::of_repo(c, repo.id))? {
        let same = pull.state == State::Open
            && pull.head_branch == label
            && pull.base_branch == base
            && is_agit(app, &pull)?;
        if !same {
            continue;
        }
        pull.head_sha = head;
        pull.merge_base = merge_base;
        pull.updated_at = now;
        mergeability::restart(app, &mut pull);
        git.update_ref(&head_ref(pull.number), Some(head), Expect::Anything)?;
        app.store.write(|tx| pulls::save(tx, &pull))?;
        return ci::on_pull(app, &pull, user);
    }
    let mut pull = Pull {
        id: 0,
        repo_id: repo.id,
        number: 0,
        poster_id: user.id,
        title: git.commit(head)?.title().to_owned(),
        body: String::new(),
        state: State::Open,
        head_repo_id: Some(repo.id),
        head_branch: label,
        head_sha: head,
        base_branch: base,
        base_sha,
        merge_base,
        mergeable: true,
        checked_head: None,
        checked_base: None,
        stale_until: 0,
        check_until: 0,
        maintainer_edit: false,
        merge_sha: None,
        merged_by: None,
        auto_merge: None,
        intent: None,
        created_at: now,
        updated_at: now,
        closed_at: None,
    };
    mergeability::restart(app, &mut pull);
    let pull = app.store.write(|tx| {
        pull.number = repos::take_number(tx, repo.id)?;
        git.update_ref(&head_ref(pull.number), Some(head), Expect::Anything)?;
        pull.id = pulls::insert(tx, &pull)?;
        pulls::mark_agit(tx, pull.id)?;
        Ok::<_, Error>(pull)
    })?;
    ci::on_pull(app, &pull, user)
}

fn head_ref(number: i64) -> String {
    format!("refs/pull/{number}/head")
}

/// Base, topic and the base's commit: the longest start of the name that is a branch is the base
fn split(app: &App, repo: &Repo, to: &str) -> Result<Option<(String, String, Oid)>> {
    let git = app.git(repo.id);
    let mut ends: Vec<usize> = to.match_indices('/').map(|(at, _)| at).collect();
    ends.reverse();
    for end in ends {
        if let Some(oid) = git.branch(&to[..end])? {
            return Ok(Some((to[..end].to_owned(), to[end + 1..].to_owned(), oid)));
        }
    }
    Ok(None)
}
