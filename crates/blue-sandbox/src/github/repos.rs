//! Repositories: show, list, make, edit, delete

use serde::Deserialize;
use serde_json::json;

use super::cx::{At, Cx};
use super::refusal::{Refusal, Result};
use super::reply::Reply;
use super::view::repo;
use crate::git::{Commit, Edit, Expect, Kind, Mode, Oid};
use crate::ops::repos::{Found, New};
use crate::ops::{self, access, access::Access, push};
use crate::store::repos::{self as rows, Settings};
use crate::store::users::{self, User};

pub(super) fn get(at: &At<'_>) -> Result<Reply> {
    let mut shown = repo::full(at.urls(), &at.repo);
    if let Some(parent) = at.repo.row.fork_of
        && let Some(parent) = at.cx.show(parent)?
        && parent.rights[2]
    {
        let parent = repo::simple(at.urls(), &parent);
        shown["source"] = parent.clone();
        shown["parent"] = parent;
    }
    Ok(Reply::ok(&shown))
}

/// Everything the caller owns or was let into
pub(super) fn own_list(cx: &Cx<'_>) -> Result<Reply> {
    let who = cx.user()?;
    let all = cx.app.store.read(rows::all)?;
    let mut mine = Vec::new();
    for row in all {
        let close = row.owner_id == who.id
            || cx.app.store.read(|c| {
                Ok::<_, rusqlite::Error>(
                    rows::permission(c, row.id, who.id)?.is_some()
                        || users::role(c, row.owner_id, who.id)?.is_some(),
                )
            })?;
        if close {
            mine.push(row.id);
        }
    }
    list(cx, mine)
}

pub(super) fn list_of(cx: &Cx<'_>, login: &str) -> Result<Reply> {
    let owner = ops::users::find(cx.app, login)?;
    let all = cx.app.store.read(|c| rows::of_owner(c, owner.id))?;
    let mut seen = Vec::new();
    for row in all {
        if access::of(cx.app, &row, cx.caller())? >= Access::Read {
            seen.push(row.id);
        }
    }
    list(cx, seen)
}

fn list(cx: &Cx<'_>, ids: Vec<i64>) -> Result<Reply> {
    cx.list(cx.ask.page().cut(ids), |id| {
        let shown = cx.show(id)?.ok_or_else(Refusal::not_found)?;
        Ok(repo::simple(&cx.urls, &shown))
    })
}

#[derive(Debug, Deserialize)]
struct Create {
    name: String,
    #[serde(default)]
    auto_init: bool,
    #[serde(flatten)]
    edit: Edited,
}

/// What can be set when a repository is made and later
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Edited {
    description: Option<String>,
    homepage: Option<String>,
    private: Option<bool>,
    visibility: Option<String>,
    has_issues: Option<bool>,
    is_template: Option<bool>,
    allow_merge_commit: Option<bool>,
    allow_squash_merge: Option<bool>,
    allow_rebase_merge: Option<bool>,
    delete_branch_on_merge: Option<bool>,
}

impl Edited {
    fn private(&self) -> Option<bool> {
        let named = self.visibility.as_deref().map(|word| word != "public");
        named.or(self.private)
    }

    fn apply(&self, settings: &mut Settings) {
        let set = |to: &mut bool, from: Option<bool>| *to = from.unwrap_or(*to);
        set(&mut settings.has_issues, self.has_issues);
        set(&mut settings.template, self.is_template);
        set(&mut settings.allow_merge, self.allow_merge_commit);
        set(&mut settings.allow_squash, self.allow_squash_merge);
        set(&mut settings.allow_rebase, self.allow_rebase_merge);
        set(
            &mut settings.delete_branch_after_merge,
            self.delete_branch_on_merge,
        );
        if let Some(text) = &self.description {
            settings.description.clone_from(text);
        }
        if let Some(text) = &self.homepage {
            settings.website.clone_from(text);
        }
    }
}

pub(super) fn create_own(cx: &Cx<'_>) -> Result<Reply> {
    let owner = cx.user()?;
    create(cx, owner)
}

pub(super) fn create_in_org(cx: &Cx<'_>, login: &str) -> Result<Reply> {
    let who = cx.user()?;
    let org = ops::users::find(cx.app, login)?;
    if !org.is_org {
        return Err(Refusal::not_found());
    }
    let role = cx.app.store.read(|c| users::role(c, org.id, who.id))?;
    let may = who.is_admin || role.is_some_and(|role| Access::parse(&role) >= Access::Admin);
    if !may {
        return Err(Refusal::forbidden(format!(
            "You need admin access to the organization before adding a repository to it: {login}"
        )));
    }
    create(cx, &org)
}

fn create(cx: &Cx<'_>, owner: &User) -> Result<Reply> {
    cx.need_scope("repository")?;
    let body: Create = cx.ask.body()?;
    let mut settings = Settings::default();
    body.edit.apply(&mut settings);
    let new = New {
        name: &body.name,
        private: body.edit.private().unwrap_or(false),
        default_branch: "",
        settings,
    };
    let made = ops::repos::create(cx.app, owner, &new).map_err(|error| match error {
        ops::Error::Exists(_) => failed("name already exists on this account"),
        ops::Error::BadName { .. } => failed("name is invalid"),
        other => other.into(),
    })?;
    if body.auto_init {
        first_commit(cx, &made)?;
    }
    let shown = cx.show_found(made)?;
    Ok(Reply::created(&repo::full(&cx.urls, &shown)))
}

fn failed(why: &str) -> Refusal {
    Refusal::with_errors(
        "Repository creation failed.",
        json!([{"resource": "Repository", "code": "custom", "field": "name", "message": why}]),
    )
}

/// The `README.md` a repository may start with
fn first_commit(cx: &Cx<'_>, made: &Found) -> Result<()> {
    let who = cx.user()?;
    let git = cx.app.git(made.repo.id);
    let text = format!("# {}\n", made.repo.name);
    let oid = git.write(Kind::Blob, text.as_bytes())?;
    let put = Edit::Put {
        path: "README.md".to_owned(),
        mode: Mode::File,
        oid,
    };
    let by = ops::signature(cx.app, who);
    let commit = git.write_commit(&Commit {
        tree: git.edit_tree(Oid::EMPTY_TREE, &[put])?,
        parents: Vec::new(),
        author: by.clone(),
        committer: by,
        message: "Initial commit".to_owned(),
        gpgsig: None,
    })?;
    let branch = &made.repo.default_branch;
    git.update_ref(
        &format!("refs/heads/{branch}"),
        Some(commit),
        Expect::Absent,
    )?;
    let change = push::RefChange::branch(branch, None, Some(commit));
    Ok(push::received(cx.app, &made.repo, who, &[change])?)
}

#[derive(Debug, Deserialize)]
struct Update {
    name: Option<String>,
    default_branch: Option<String>,
    archived: Option<bool>,
    #[serde(flatten)]
    edit: Edited,
}

pub(super) fn update(at: &At<'_>) -> Result<Reply> {
    at.admin()?;
    let body: Update = at.ask().body()?;
    let before = &at.repo.row;
    if body.archived != Some(false) {
        at.not_archived()?;
    }
    let mut after = before.clone();
    body.edit.apply(&mut after.settings);
    after.private = body.edit.private().unwrap_or(after.private);
    if let Some(name) = body.name {
        after.name = name;
    }
    if let Some(branch) = body.default_branch {
        if at.git.branch(&branch)?.is_none() {
            return Err(Refusal::unprocessable(format!(
                "The branch {branch} was not found. Please push that ref first or create it via the Git Data API."
            )));
        }
        after.default_branch = branch;
    }
    match body.archived {
        Some(true) => after.archived_at = after.archived_at.or(Some(at.app().now_ms())),
        Some(false) => after.archived_at = None,
        None => {}
    }
    let saved = ops::repos::save(at.app(), before, &after).map_err(|error| match error {
        ops::Error::Exists(_) => failed("name already exists on this account"),
        ops::Error::BadName { .. } => failed("name is invalid"),
        other => other.into(),
    })?;
    let found = Found {
        repo: saved,
        owner: at.repo.owner.clone(),
        renamed: false,
    };
    let shown = at.cx.show_found(found)?;
    Ok(Reply::ok(&repo::full(at.urls(), &shown)))
}

pub(super) fn delete(at: &At<'_>) -> Result<Reply> {
    at.admin()?;
    ops::repos::delete(at.app(), &at.repo.row)?;
    Ok(Reply::no_content())
}
