//! Merge a pull request, now or when its checks succeed; bring its branch up to date

use std::sync::PoisonError;

use super::{
    MergeError, Result,
    access::{self, Access},
    branches,
    error::Block,
    mergeability, protection, pulls, push, refuse_archived,
    repos::Found,
    reviews, signature, statuses,
    styles::{self, Style, Words},
};
use crate::{
    app::App,
    git::{Commit, Expect, Merged, Oid},
    store::{
        pulls as rows,
        pulls::{AutoMerge, Intent, Pull, State},
        repos::Repo,
        users::{self, User},
    },
};

/// What the caller asks for
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) style: Style,
    pub(crate) title: Option<String>,
    pub(crate) message: Option<String>,
    /// Merge only if the head is this, written exactly so
    pub(crate) head: Option<String>,
    pub(crate) force: bool,
    pub(crate) when_checks_succeed: bool,
    pub(crate) delete_branch: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Merged(Oid),
    Scheduled,
}

pub(crate) fn merge(
    app: &App,
    found: &Found,
    number: i64,
    user: &User,
    ask: &Ask,
) -> Result<Outcome> {
    refuse_archived(&found.repo)?;
    let lock = app.repo_lock(found.repo.id);
    let _turn = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let mut pull = pulls::get(app, &found.repo, number)?;
    check(
        app,
        &found.repo,
        &mut pull,
        user,
        ask.force,
        ask.when_checks_succeed,
    )?;
    if ask.when_checks_succeed {
        return schedule(app, pull, user, ask);
    }
    perform(app, &found.repo, pull, user, ask).map(Outcome::Merged)
}

/// Everything that must hold before a merge is tried
pub(crate) fn check(
    app: &App,
    repo: &Repo,
    pull: &mut Pull,
    user: &User,
    force: bool,
    scheduling: bool,
) -> Result<()> {
    match pull.state {
        State::Merged => return Err(MergeError::AlreadyMerged.into()),
        State::Closed => return Err(MergeError::Closed.into()),
        State::Open => {}
    }
    let rule = protection::of_branch(app, repo, &pull.base_branch)?.map(|found| found.rule);
    if !app
        .store
        .read(|c| protection::may_merge(c, repo, rule.as_ref(), user))?
    {
        return Err(MergeError::NotAllowed.into());
    }
    if pulls::is_draft(pull) {
        return Err(MergeError::Draft.into());
    }
    let verdict = mergeability::verdict(app, pull)?;
    if !verdict.mergeable || verdict.empty {
        return Err(MergeError::NotReady.into());
    }
    let unsigned = rule
        .as_ref()
        .is_some_and(|rule| rule.require_signed_commits);
    let clear = || {
        if unsigned && !scheduling {
            Err(MergeError::Blocked(Block::Unsigned).into())
        } else {
            Ok(())
        }
    };
    let Some(block) = blocked(app, repo, pull)? else {
        return clear();
    };
    let admin = app.store.read(|c| access::of_user(c, repo, Some(user)))? >= Access::Admin;
    let overrule = force
        && admin
        && !rule.is_some_and(|rule| rule.block_admin_merge_override || rule.apply_to_admins);
    if scheduling || overrule {
        clear()
    } else {
        Err(MergeError::Blocked(block).into())
    }
}

/// The first rule in the way
pub(crate) fn blocked(app: &App, repo: &Repo, pull: &Pull) -> Result<Option<Block>> {
    let Some(rule) = protection::of_branch(app, repo, &pull.base_branch)?.map(|found| found.rule)
    else {
        return Ok(None);
    };
    if rule.enable_status_check
        && !statuses::required_pass(app, repo, pull.head_sha, &rule.status_check_contexts)?
    {
        return Ok(Some(Block::Checks));
    }
    let standing = reviews::standing(app, pull, &rule)?;
    if standing.approvals < rule.required_approvals {
        return Ok(Some(Block::Approvals));
    }
    if rule.block_on_rejected_reviews && standing.rejected {
        return Ok(Some(Block::RequestedChanges));
    }
    if rule.block_on_official_review_requests && standing.requested {
        return Ok(Some(Block::ReviewRequests));
    }
    let git = app.git(repo.id);
    if rule.block_on_outdated_branch
        && pull.merge_base != pull.base_sha
        && !git.is_ancestor(pull.base_sha, pull.head_sha)?
    {
        return Ok(Some(Block::Outdated));
    }
    let files = pulls::diff(app, pull)?;
    if files
        .files
        .iter()
        .any(|file| protection::is_protected_file(&rule, &file.path))
    {
        return Ok(Some(Block::ProtectedFiles));
    }
    Ok(None)
}

fn schedule(app: &App, mut pull: Pull, user: &User, ask: &Ask) -> Result<Outcome> {
    if pull.auto_merge.is_some() {
        return Err(MergeError::Scheduled { pull_id: pull.id }.into());
    }
    pull.auto_merge = Some(AutoMerge {
        by: user.id,
        style: ask.style.name().to_owned(),
        title: ask.title.clone(),
        message: ask.message.clone(),
        delete_branch: ask.delete_branch,
    });
    app.store.write(|tx| {
        rows::save(tx, &pull)?;
        let now = app.now_ms();
        rows::insert_event(tx, pull.id, "pull_scheduled_merge", user.id, now)
    })?;
    app.due.notify_one();
    Ok(Outcome::Scheduled)
}

/// Forget a scheduled merge
pub(crate) fn cancel(app: &App, repo: &Repo, number: i64, user: &User) -> Result<()> {
    let lock = app.repo_lock(repo.id);
    let _turn = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let mut pull = pulls::get(app, repo, number)?;
    if pull.auto_merge.take().is_none() {
        return Err(MergeError::NotScheduled.into());
    }
    Ok(app.store.write(|tx| {
        rows::save(tx, &pull)?;
        let now = app.now_ms();
        rows::insert_event(tx, pull.id, "pull_cancel_scheduled_merge", user.id, now)
    })?)
}

/// Carry out a scheduled merge if nothing stands in its way any more
pub(crate) fn try_scheduled(app: &App, pull_id: i64) -> Result<()> {
    let Some(pull) = app.store.read(|c| rows::by_id(c, pull_id))? else {
        return Ok(());
    };
    let Some(found) = super::repos::by_id(app, pull.repo_id)? else {
        return Ok(());
    };
    let lock = app.repo_lock(pull.repo_id);
    let _turn = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let mut pull = pulls::get(app, &found.repo, pull.number)?;
    let Some(plan) = pull.auto_merge.clone() else {
        return Ok(());
    };
    let user = app.store.read(|c| users::by_id(c, plan.by))?;
    let (Some(user), Some(style)) = (user, Style::parse(&plan.style)) else {
        return Ok(());
    };
    if check(app, &found.repo, &mut pull, &user, false, false).is_err() {
        return Ok(());
    }
    let ask = Ask {
        style,
        title: plan.title,
        message: plan.message,
        head: None,
        force: false,
        when_checks_succeed: false,
        delete_branch: plan.delete_branch,
    };
    perform(app, &found.repo, pull, &user, &ask).map(drop)
}

/// Do it; the caller holds the repository's lock and has checked everything else
fn perform(app: &App, repo: &Repo, mut pull: Pull, user: &User, ask: &Ask) -> Result<Oid> {
    if !allowed(repo, ask.style) {
        return Err(MergeError::StyleForbidden(ask.style.name().to_owned()).into());
    }
    let git = app.git(repo.id);
    if ask
        .head
        .as_ref()
        .is_some_and(|head| !head.is_empty() && *head != pull.head_sha.to_string())
    {
        mergeability::recheck(app, &mut pull);
        app.store.write(|tx| rows::save(tx, &pull))?;
        return Err(MergeError::HeadMoved.into());
    }
    let base = branches::get(app, repo, &pull.base_branch)?;
    let words = words(app, repo, &pull, user, ask)?;
    let tip = styles::compute(&git, ask.style, base, &pull, &words)?;
    pull.intent = Some(Intent {
        new: tip.to_string(),
        by: user.id,
    });
    app.store.write(|tx| rows::save(tx, &pull))?;
    pull.intent = None;
    let name = format!("refs/heads/{}", pull.base_branch);
    if let Err(error) = git.update_ref(&name, Some(tip), Expect::At(base)) {
        app.store.write(|tx| rows::save(tx, &pull))?;
        return Err(branches::clash(error));
    }
    finish(app, &mut pull, tip, user.id)?;
    push::after(
        app,
        repo,
        user,
        &[push::RefChange::branch(
            &pull.base_branch,
            Some(base),
            Some(tip),
        )],
    )?;
    if ask.delete_branch {
        delete_head(app, &pull, user)?;
    }
    Ok(tip)
}

/// Write the row of a merge whose commit is in the base
pub(crate) fn finish(app: &App, pull: &mut Pull, tip: Oid, by: i64) -> Result<()> {
    pull.state = State::Merged;
    pull.merge_sha = Some(tip);
    pull.merged_by = Some(by);
    pull.auto_merge = None;
    pull.intent = None;
    pull.mergeable = true;
    pull.stale_until = 0;
    pull.check_until = 0;
    pull.closed_at = Some(app.now_ms());
    pull.updated_at = app.now_ms();
    Ok(app.store.write(|tx| rows::save(tx, pull))?)
}

/// Delete the merged branch, unless something else needs it; a merge never fails for this
fn delete_head(app: &App, pull: &Pull, user: &User) -> Result<()> {
    let Some(head) = pulls::head_repo(app, pull)? else {
        return Ok(());
    };
    let needed = app
        .store
        .read(|c| rows::open_at_branch(c, head.repo.id, &pull.head_branch))?;
    let protected = protection::of_branch(app, &head.repo, &pull.head_branch)?.is_some();
    let access = app
        .store
        .read(|c| access::of_user(c, &head.repo, Some(user)))?;
    let kept = head.repo.default_branch == pull.head_branch || access < Access::Write;
    if kept || protected || !needed.is_empty() {
        return Ok(());
    }
    let git = app.git(head.repo.id);
    let name = format!("refs/heads/{}", pull.head_branch);
    if let Some(at) = git.ref_oid(&name)?
        && git.update_ref(&name, None, Expect::At(at)).is_ok()
    {
        push::after(
            app,
            &head.repo,
            user,
            &[push::RefChange::branch(&pull.head_branch, Some(at), None)],
        )?;
    }
    Ok(())
}

fn allowed(repo: &Repo, style: Style) -> bool {
    let settings = &repo.settings;
    match style {
        Style::Merge => settings.allow_merge,
        Style::Rebase => settings.allow_rebase,
        Style::RebaseMerge => settings.allow_rebase_merge,
        Style::Squash => settings.allow_squash,
        Style::FastForwardOnly => settings.allow_fast_forward_only,
    }
}

fn words(app: &App, repo: &Repo, pull: &Pull, user: &User, ask: &Ask) -> Result<Words> {
    let given = |text: &Option<String>| text.as_deref().unwrap_or_default().trim().to_owned();
    let mut message = given(&ask.title);
    if message.is_empty() {
        message = default_title(app, repo, pull, ask.style)?;
    }
    let body = given(&ask.message);
    if !body.is_empty() {
        let whole = format!("{message}\n\n{body}");
        whole.trim_start().clone_into(&mut message);
    }
    let committer = signature(app, user);
    let poster = app
        .store
        .read(|c| users::by_id(c, pull.poster_id))?
        .unwrap_or_else(|| user.clone());
    let author = signature(app, &poster);
    if ask.style == Style::Squash && poster.id != user.id {
        let who = format!("{} <{}>", author.name, author.email);
        message = format!(
            "{}\n\nCo-authored-by: {who}\nCo-committed-by: {who}",
            message.trim_end()
        );
    }
    Ok(Words {
        author,
        committer,
        message,
    })
}

/// What the forge writes when the caller gives no title
pub(crate) fn default_title(app: &App, repo: &Repo, pull: &Pull, style: Style) -> Result<String> {
    let (title, number) = (&pull.title, pull.number);
    Ok(match style {
        Style::Rebase => String::new(),
        Style::Squash => format!("{title} (#{number})"),
        _ => {
            let from = match pulls::head_repo(app, pull)? {
                Some(head) if head.repo.id == repo.id => pull.head_branch.clone(),
                Some(head) => format!("{}:{}", head.full_name(), pull.head_branch),
                None => format!("<deleted>:{}", pull.head_branch),
            };
            format!(
                "Merge pull request '{title}' (#{number}) from {from} into {}",
                pull.base_branch
            )
        }
    })
}

/// Bring the head branch up to date with its base
pub(crate) fn update(app: &App, repo: &Repo, number: i64, user: &User, rebase: bool) -> Result<()> {
    let lock = app.repo_lock(repo.id);
    let _turn = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let pull = pulls::get(app, repo, number)?;
    match pull.state {
        State::Merged => return Err(MergeError::AlreadyMerged.into()),
        State::Closed => return Err(MergeError::Closed.into()),
        State::Open => {}
    }
    let head = pulls::head_repo(app, &pull)?.ok_or(MergeError::NotAllowed)?;
    let writer = app
        .store
        .read(|c| access::of_user(c, &head.repo, Some(user)))?
        >= Access::Write;
    if !writer {
        return Err(MergeError::NotAllowed.into());
    }
    let git = app.git(repo.id);
    if git.is_ancestor(pull.base_sha, pull.head_sha)? {
        return Err(MergeError::UpToDate.into());
    }
    let committer = signature(app, user);
    let tip = if rebase {
        styles::rebase(&git, pull.base_sha, pull.head_sha, &committer)?
    } else {
        let tree = match git.merge_trees(pull.head_sha, pull.base_sha)? {
            Merged::Tree(tree) => tree,
            Merged::Conflict { words } => return Err(styles::conflict("merge", &words)),
        };
        git.write_commit(&Commit {
            tree,
            parents: vec![pull.head_sha, pull.base_sha],
            author: committer.clone(),
            committer,
            message: format!(
                "Merge branch '{}' into {}",
                pull.base_branch, pull.head_branch
            ),
            gpgsig: None,
        })?
    };
    let name = format!("refs/heads/{}", pull.head_branch);
    let there = app.git(head.repo.id);
    if head.repo.id != repo.id {
        git.update_ref("refs/sandbox/outgoing", Some(tip), Expect::Anything)?;
        there.take_from(&git, &["+refs/sandbox/outgoing:refs/sandbox/incoming"])?;
        git.update_ref("refs/sandbox/outgoing", None, Expect::Anything)?;
        there.update_ref("refs/sandbox/incoming", None, Expect::Anything)?;
    }
    there
        .update_ref(&name, Some(tip), Expect::At(pull.head_sha))
        .map_err(branches::clash)?;
    let change = push::RefChange::branch(&pull.head_branch, Some(pull.head_sha), Some(tip));
    push::after(app, &head.repo, user, &[change])
}
