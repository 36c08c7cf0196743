//! Repositories

use serde_json::{Value, json};

use super::{
    Outcome,
    body::Form,
    fail::Fail,
    reply::{Page, Reply},
    request::{InRepo, Req},
    users::sees,
    wire,
};
use crate::{
    ops::{self, access::Access, contents, repos::Found},
    store::{
        repos::{self as rows, Repo, Settings},
        users::User,
    },
};

pub(super) fn answer(cx: &InRepo<'_>, path: &[&str]) -> Outcome {
    match (cx.req.verb(), path) {
        ("GET", []) => Ok(Reply::ok(&wire::repo(cx.app(), &cx.found, cx.access)?)),
        ("PATCH", []) => edit(cx),
        ("DELETE", []) => {
            cx.req.user()?;
            if cx.access < Access::Owner {
                return Err(Fail::forbidden("Must be an organization owner"));
            }
            ops::repos::delete(cx.app(), cx.repo())?;
            Ok(Reply::empty(204))
        }
        ("GET", ["forks"]) => {
            let forks = cx
                .app()
                .store
                .read(|c| rows::forks(c, cx.repo().id))
                .map_err(ops::Error::from)?;
            listed(cx.req, forks)
        }
        ("POST", ["forks"]) => fork(cx),
        ("GET", ["topics"]) => Ok(Reply::counted(&json!({"topics": []}), 0)),
        ("GET", ["languages"]) => Ok(Reply::ok(&json!({}))),
        ("GET", ["hooks"]) => {
            cx.need_admin()?;
            Ok(Reply::counted(&json!([]), 0))
        }
        ("GET", ["releases" | "labels" | "milestones"]) => Ok(Reply::counted(&json!([]), 0)),
        (_, [] | ["forks" | "topics" | "languages"]) => Err(Fail::wrong_verb()),
        _ => Err(Fail::no_route()),
    }
}

pub(super) fn create(req: &Req, owner: &User) -> Outcome {
    let form = req.form()?;
    let name = form.required("name", "Name")?;
    let new = ops::repos::New {
        name,
        private: form.flag("private")?,
        default_branch: form.text("default_branch")?,
        settings: Settings {
            description: form.text("description")?.to_owned(),
            template: form.flag("template")?,
            ..Settings::default()
        },
    };
    let mut found =
        ops::repos::create(&req.app, owner, &new).map_err(|error| bad_name(error, name))?;
    if form.flag("auto_init")? {
        let by = req.user()?;
        let readme = contents::FileChange {
            action: contents::Action::Create,
            path: "README.md".to_owned(),
            content: format!("# {name}\n\n{}", new.settings.description)
                .trim_end()
                .to_owned()
                .into_bytes(),
            sha: None,
        };
        let first = contents::Change {
            branch: &found.repo.default_branch.clone(),
            new_branch: None,
            force_new_branch: false,
            message: "Initial commit",
            author: None,
            committer: None,
            files: vec![readme],
        };
        contents::change(&req.app, &found.repo, by, &first)?;
        found = ops::repos::by_id(&req.app, found.repo.id)?.ok_or_else(Fail::not_found)?;
    }
    Ok(Reply::created(&wire::repo(
        &req.app,
        &found,
        Access::Owner,
    )?))
}

fn bad_name(error: ops::Error, name: &str) -> Fail {
    match error {
        ops::Error::BadName { name: bad } if bad != name => {
            Fail::invalid("[DefaultBranch]: GitRefName")
        }
        ops::Error::BadName { name } => {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if name.len() > 100 {
                Fail::invalid("[Name]: MaxSize")
            } else if name.chars().all(plain) {
                Fail::invalid(&format!("name is reserved [name: {name}]"))
            } else {
                Fail::invalid("[Name]: AlphaDashDot")
            }
        }
        other => other.into(),
    }
}

fn fork(cx: &InRepo<'_>) -> Outcome {
    let user = cx.user()?;
    let form = cx.req.form_or_empty()?;
    let owner = match form.opt_text("organization")? {
        Some(org) => ops::users::find(cx.app(), org)
            .map_err(|_| Fail::invalid("organization does not exist"))?,
        None => user.clone(),
    };
    let name = form.opt_text("name")?.unwrap_or(&cx.repo().name);
    let copy = ops::repos::fork(cx.app(), &cx.found, &owner, name)?;
    Ok(Reply::json(
        202,
        &wire::repo(cx.app(), &copy, Access::Owner)?,
    ))
}

fn edit(cx: &InRepo<'_>) -> Outcome {
    cx.need_admin()?;
    let form = cx.req.form()?;
    let before = cx.repo();
    let mut after = before.clone();
    if let Some(name) = form.opt_text("name")?.filter(|name| !name.is_empty()) {
        name.clone_into(&mut after.name);
    }
    if let Some(branch) = form
        .opt_text("default_branch")?
        .filter(|name| !name.is_empty())
    {
        // A branch that is not there is passed over without a word.
        let empty = ops::repos::is_empty(cx.app(), before)?;
        if empty || cx.app().git(before.id).branch(branch)?.is_some() {
            branch.clone_into(&mut after.default_branch);
        }
    }
    if let Some(private) = form.opt_flag("private")? {
        after.private = private;
    }
    match form.opt_flag("archived")? {
        Some(true) if after.archived_at.is_none() => after.archived_at = Some(cx.app().now_ms()),
        Some(false) => after.archived_at = None,
        _ => {}
    }
    settings(&form, &mut after.settings)?;
    let saved =
        ops::repos::save(cx.app(), before, &after).map_err(|error| bad_name(error, &after.name))?;
    let found = Found {
        repo: saved,
        ..cx.found.clone()
    };
    Ok(Reply::ok(&wire::repo(cx.app(), &found, cx.access)?))
}

fn settings(form: &Form, to: &mut Settings) -> Result<(), Fail> {
    let text = |name: &str, field: &mut String| -> Result<(), Fail> {
        if let Some(value) = form.opt_text(name)? {
            value.clone_into(field);
        }
        Ok(())
    };
    text("description", &mut to.description)?;
    text("website", &mut to.website)?;
    text("default_merge_style", &mut to.default_merge_style)?;
    let flag = |name: &str, field: &mut bool| -> Result<(), Fail> {
        *field = form.opt_flag(name)?.unwrap_or(*field);
        Ok(())
    };
    flag("template", &mut to.template)?;
    flag("has_issues", &mut to.has_issues)?;
    flag("has_pull_requests", &mut to.has_pull_requests)?;
    flag("has_actions", &mut to.has_actions)?;
    flag(
        "ignore_whitespace_conflicts",
        &mut to.ignore_whitespace_conflicts,
    )?;
    flag("allow_merge_commits", &mut to.allow_merge)?;
    flag("allow_rebase", &mut to.allow_rebase)?;
    flag("allow_rebase_explicit", &mut to.allow_rebase_merge)?;
    flag("allow_squash_merge", &mut to.allow_squash)?;
    flag(
        "allow_fast_forward_only_merge",
        &mut to.allow_fast_forward_only,
    )?;
    flag("allow_rebase_update", &mut to.allow_rebase_update)?;
    flag("allow_manual_merge", &mut to.allow_manual_merge)?;
    flag("autodetect_manual_merge", &mut to.autodetect_manual_merge)?;
    flag(
        "default_delete_branch_after_merge",
        &mut to.delete_branch_after_merge,
    )?;
    flag(
        "default_allow_maintainer_edit",
        &mut to.default_allow_maintainer_edit,
    )
}

/// Everything the caller owns or was let into
pub(super) fn list_own(req: &Req, user: &User) -> Outcome {
    let all = req.app.store.read(rows::all).map_err(ops::Error::from)?;
    let mut own = Vec::new();
    for repo in all {
        let let_in = req
            .app
            .store
            .read(|c| rows::permission(c, repo.id, user.id))
            .map_err(ops::Error::from)?
            .is_some();
        let role = req
            .app
            .store
            .read(|c| crate::store::users::role(c, repo.owner_id, user.id))
            .map_err(ops::Error::from)?;
        if repo.owner_id == user.id || let_in || role.is_some() {
            own.push(repo);
        }
    }
    own.sort_by(|a, b| a.name.cmp(&b.name));
    listed(req, own)
}

pub(super) fn list_of(req: &Req, owner: &User) -> Outcome {
    let all = req
        .app
        .store
        .read(|c| rows::of_owner(c, owner.id))
        .map_err(ops::Error::from)?;
    listed(req, all)
}

pub(super) fn search(req: &Req) -> Outcome {
    req.need_scope(&["repository"])?;
    let wanted = req.query("q").unwrap_or_default().to_lowercase();
    let mut all = req.app.store.read(rows::all).map_err(ops::Error::from)?;
    all.retain(|repo| repo.name.to_lowercase().contains(&wanted));
    let (list, total, page) = visible(req, all)?;
    Ok(page.linked(req, &json!({"ok": true, "data": list}), total))
}

fn listed(req: &Req, repos: Vec<Repo>) -> Outcome {
    let (list, total, page) = visible(req, repos)?;
    Ok(page.linked(req, &list, total))
}

fn visible(req: &Req, repos: Vec<Repo>) -> Result<(Value, usize, Page), Fail> {
    let mut seen = Vec::new();
    for repo in repos {
        let access = sees(req, &repo)?;
        if access > Access::None {
            seen.push((repo, access));
        }
    }
    let page = Page::of(req);
    let mut list = Vec::new();
    for (repo, access) in page.slice(&seen) {
        if let Some(found) = ops::repos::by_id(&req.app, repo.id)? {
            list.push(wire::repo(&req.app, &found, *access)?);
        }
    }
    Ok((list.into(), seen.len(), page))
}
