//! Branches

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{
    Outcome,
    fail::{self, Fail},
    reply::{Page, Reply},
    request::InRepo,
    wire,
};
use crate::{
    git::{Oid, valid_branch_name},
    ops::{self, What, access::Access, branches, commits, protection},
    store::protections::Protection,
};

pub(super) fn answer(cx: &InRepo<'_>, path: &[&str]) -> Outcome {
    let name = path[1..].join("/");
    match (cx.req.verb(), name.as_str()) {
        ("GET", "") => list(cx),
        ("POST", "") => create(cx),
        ("GET", name) => get(cx, name),
        ("DELETE", name) if !name.is_empty() => {
            cx.req.user()?;
            cx.need_unarchived()?;
            let user = cx.need_writer()?;
            cx.need_no_mirror()?;
            branches::delete(cx.app(), cx.repo(), user, name).map_err(|error| match error {
                ops::Error::NotFound(What::Branch(_)) if cx.app().is_forgejo() => {
                    Fail::new(500, &fail::no_object(name, ""))
                }
                other => other.into(),
            })?;
            Ok(Reply::empty(204))
        }
        ("PATCH", name) if !name.is_empty() => rename(cx, name),
        ("PUT", name) if !name.is_empty() => update(cx, name),
        _ => Err(Fail::wrong_verb()),
    }
}

fn list(cx: &InRepo<'_>) -> Outcome {
    let page = Page::of(cx.req);
    let app = cx.app();
    let mut all = Vec::new();
    for (name, oid) in branches::list(app, cx.repo())? {
        all.push((
            std::cmp::Reverse(commits::time(app, cx.repo(), oid)?),
            name,
            oid,
        ));
    }
    if all.is_empty() {
        return Ok(Reply::counted(&Value::Null, 0));
    }
    all.sort();
    let mut rows = Vec::new();
    let mut known = HashMap::new();
    for (_, name, oid) in page.slice(&all) {
        rows.push(branch_with(cx, name, *oid, &mut known)?);
    }
    Ok(page.linked(cx.req, &rows.into(), all.len()))
}

fn get(cx: &InRepo<'_>, name: &str) -> Outcome {
    let found = cx.app().git(cx.repo().id).branch(name)?;
    let oid = found.ok_or_else(Fail::not_found)?;
    Ok(Reply::ok(&branch(cx, name, oid)?))
}

fn create(cx: &InRepo<'_>) -> Outcome {
    cx.req.user()?;
    cx.need_unarchived()?;
    let user = cx.need_writer()?;
    cx.need_no_mirror()?;
    let form = cx.req.form()?;
    let name = form.required("new_branch_name", "BranchName")?;
    if name.len() > 100 {
        return Err(Fail::invalid("[BranchName]: MaxSize"));
    }
    if !valid_branch_name(name) {
        return Err(Fail::invalid("[BranchName]: GitRefName"));
    }
    let (app, repo) = (cx.app(), cx.repo());
    if ops::repos::is_empty(app, repo)? {
        return Err(Fail::new(404, "Git Repository is empty."));
    }
    let old_ref = form.text("old_ref_name")?;
    let old_branch = form.text("old_branch_name")?;
    let from = if !old_ref.is_empty() {
        commits::resolve(app, repo, old_ref)
            .map_err(|_| Fail::new(500, &fail::no_object(old_ref, "")))?
    } else if !old_branch.is_empty() {
        app.git(repo.id)
            .branch(old_branch)?
            .ok_or_else(|| Fail::new(404, "The old branch does not exist"))?
    } else {
        branches::get(app, repo, &repo.default_branch)?
    };
    branches::create(app, repo, user, name, from).map_err(|error| match error {
        ops::Error::Exists(What::Branch(_)) => Fail::new(409, "The branch already exists."),
        ops::Error::RefClash(words) if app.is_forgejo() => {
            fail::push_rejected(app, repo.id, &words)
        }
        ops::Error::PushForbidden(_) if app.is_forgejo() => {
            let reason = format!("Not allowed to push to protected branch {name}");
            fail::push_rejected(app, repo.id, &reason)
        }
        ops::Error::RefClash(_) => Fail::new(409, "The branch with the same name already exists."),
        ops::Error::PushForbidden(_) => Fail::new(
            500,
            &format!("PushRejected Error: exit status 1 - remote: \nremote: error: Not allowed to push to protected branch {name}"),
        ),
        other => other.into(),
    })?;
    Ok(Reply::created(&branch(cx, name, from)?))
}

fn rename(cx: &InRepo<'_>, from: &str) -> Outcome {
    cx.req.user()?;
    cx.need_unarchived()?;
    let user = cx.need_writer()?;
    let form = cx.req.form()?;
    let to = form.required("name", "Name")?;
    if !valid_branch_name(to) {
        return Err(Fail::invalid("[Name]: GitRefName"));
    }
    let (app, repo) = (cx.app(), cx.repo());
    // A taken name is complained about first.
    if app.git(repo.id).branch(to)?.is_some() {
        return Err(Fail::invalid(
            "Cannot rename a branch using the same name or rename to a branch that already exists.",
        ));
    }
    if cx.access < Access::Admin {
        let rule = protection::of_branch(app, repo, from)?;
        if from == repo.default_branch || rule.as_ref().is_some_and(|rule| rule.name == from) {
            return Err(Fail::forbidden(
                "User must be a repo or site admin to rename default or protected branches.",
            ));
        }
        if rule.is_some() {
            return Err(Fail::forbidden(
                "Failed to rename branch due to branch protection rules.",
            ));
        }
    }
    branches::rename(cx.app(), cx.repo(), user, from, to).map_err(|error| match error {
        ops::Error::NotFound(What::Branch(_)) => Fail::missing("Branch doesn't exist.", &[]),
        other => other.into(),
    })?;
    Ok(Reply::empty(204))
}

/// Move a branch to another commit
fn update(cx: &InRepo<'_>, name: &str) -> Outcome {
    cx.req.user()?;
    cx.need_unarchived()?;
    let user = cx.need_writer()?;
    let form = cx.req.form()?;
    let to = form.required("new_commit_id", "NewCommitID")?;
    let to = commits::resolve(cx.app(), cx.repo(), to).map_err(|_| Fail::not_found())?;
    let expect = Oid::parse(form.text("old_commit_id")?);
    branches::update(
        cx.app(),
        cx.repo(),
        user,
        name,
        to,
        expect,
        form.flag("force")?,
    )
    .map_err(|error| match error {
        ops::Error::BranchMoved => Fail::new(409, "The update is not a fast-forward."),
        other => other.into(),
    })?;
    Ok(Reply::empty(204))
}

fn branch(cx: &InRepo<'_>, name: &str, oid: Oid) -> Result<Value, Fail> {
    branch_with(cx, name, oid, &mut HashMap::new())
}

/// One row; many branches share a commit, which is described once
fn branch_with(
    cx: &InRepo<'_>,
    name: &str,
    oid: Oid,
    known: &mut HashMap<Oid, Value>,
) -> Result<Value, Fail> {
    let (app, repo) = (cx.app(), cx.repo());
    let commit = match known.get(&oid) {
        Some(commit) => commit.clone(),
        None => wire::payload_commit(cx, oid, &commits::get(app, repo, oid)?)?,
    };
    known.insert(oid, commit.clone());
    let rule = protection::of_branch(app, repo, name)?;
    let (push, merge) = rights(cx, rule.as_ref())?;
    let of = rule.as_ref().map(|found| &found.rule);
    let checks = match of.map(|rule| &rule.status_check_contexts) {
        None => json!([]),
        Some(none) if none.is_empty() && !app.is_forgejo() => Value::Null,
        Some(some) => json!(some),
    };
    Ok(json!({
        "name": name,
        "commit": commit,
        "protected": rule.is_some(),
        "required_approvals": of.map_or(0, |rule| rule.required_approvals),
        "enable_status_check": of.is_some_and(|rule| rule.enable_status_check),
        "status_check_contexts": checks,
        "user_can_push": push,
        "user_can_merge": merge,
        "effective_branch_protection_name": match &rule {
            Some(rule) if cx.access >= Access::Admin => rule.name.as_str(),
            _ => "",
        },
    }))
}

/// Whether the caller may push and merge here
fn rights(cx: &InRepo<'_>, rule: Option<&Protection>) -> Result<(bool, bool), Fail> {
    let Some(caller) = &cx.req.caller else {
        return Ok((false, false));
    };
    let writer = cx.access >= Access::Write;
    let Some(rule) = rule else {
        return Ok((writer, writer));
    };
    Ok(cx.app().store.read(|c| {
        let push = protection::may_push(c, cx.repo(), &rule.rule, &caller.user)?;
        let merge = protection::may_merge(c, cx.repo(), Some(&rule.rule), &caller.user)?;
        Ok::<_, ops::Error>((push, merge))
    })?)
}
