//! What a handler has at hand

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use http::{StatusCode, header};
use serde_json::Value;

use super::ask::Ask;
use super::door::Door;
use super::page::Cut;
use super::refusal::{Refusal, Result};
use super::reply::Reply;
use super::url::Urls;
use super::view::commit::People;
use super::view::repo::Shown;
use super::view::{commit, user};
use crate::app::App;
use crate::auth::{Caller, Scopes};
use crate::git::{self, Commit, Oid};
use crate::ops::access::{self, Access};
use crate::ops::repos::Found;
use crate::store::users::{self, User};

/// One request and its caller
pub(super) struct Cx<'a> {
    pub(super) app: &'a App,
    pub(super) ask: &'a Ask,
    pub(super) door: &'a Door,
    pub(super) urls: Urls,
    caller: Option<Caller>,
    by_id: RefCell<HashMap<i64, Option<Rc<User>>>>,
    by_email: RefCell<HashMap<String, Option<Value>>>,
    shown: RefCell<HashMap<i64, Option<Rc<Shown>>>>,
}

/// Request for a repository that the caller may see
pub(super) struct At<'a> {
    pub(super) cx: &'a Cx<'a>,
    pub(super) repo: Rc<Shown>,
    pub(super) access: Access,
    pub(super) git: git::Repo,
}

impl<'a> Cx<'a> {
    pub(super) fn new(app: &'a App, ask: &'a Ask, caller: Option<Caller>, door: &'a Door) -> Self {
        Self {
            app,
            ask,
            door,
            urls: Urls::new(&app.root_url),
            caller,
            by_id: RefCell::default(),
            by_email: RefCell::default(),
            shown: RefCell::default(),
        }
    }

    pub(super) fn caller(&self) -> Option<&Caller> {
        self.caller.as_ref()
    }

    /// The signed-in user
    pub(super) fn user(&self) -> Result<&User> {
        match &self.caller {
            Some(caller) => Ok(&caller.user),
            None => Err(Refusal::new(
                StatusCode::UNAUTHORIZED,
                "Requires authentication",
            )),
        }
    }

    /// A token may do less than its user: `repository`, `user`, `organization`
    pub(super) fn need_scope(&self, area: &str) -> Result<()> {
        let verb = if self.ask.reads() { "read" } else { "write" };
        let scopes = self
            .caller
            .as_ref()
            .and_then(|caller| caller.scopes.as_ref());
        match scopes {
            Some(scopes) if !scopes.allow(&format!("{verb}:{area}")) => Err(Refusal::forbidden(
                "Resource not accessible by personal access token",
            )),
            _ => Ok(()),
        }
    }

    /// Refuse a write to the file of a workflow without the scope `workflow`, as GitHub does:
    /// without a word
    pub(super) fn may_write(&self, path: &str) -> Result<()> {
        let scopes = self
            .caller
            .as_ref()
            .and_then(|caller| caller.scopes.as_ref());
        let is_allowed = scopes.is_none_or(Scopes::allow_workflows);
        if !is_allowed && path.starts_with(".github/workflows/") {
            return Err(Refusal::not_found());
        }
        Ok(())
    }

    pub(super) fn account(&self, id: i64) -> Result<Option<Rc<User>>> {
        if let Some(known) = self.by_id.borrow().get(&id) {
            return Ok(known.clone());
        }
        let found = self.app.store.read(|c| users::by_id(c, id))?.map(Rc::new);
        self.by_id.borrow_mut().insert(id, found.clone());
        Ok(found)
    }

    /// The account behind a commit's mail address, as it is shown
    fn account_of(&self, email: &str) -> Result<Option<Value>> {
        if let Some(known) = self.by_email.borrow().get(email) {
            return Ok(known.clone());
        }
        let found = if email.is_empty() {
            None
        } else {
            self.app.store.read(|c| users::by_email(c, email))?
        };
        let shown = found.map(|who| user::simple(&self.urls, &who));
        self.by_email
            .borrow_mut()
            .insert(email.to_owned(), shown.clone());
        Ok(shown)
    }

    /// A repository as it is shown to the caller; `None` when there is none of this id
    pub(super) fn show(&self, id: i64) -> Result<Option<Rc<Shown>>> {
        if let Some(known) = self.shown.borrow().get(&id) {
            return Ok(known.clone());
        }
        let found = crate::ops::repos::by_id(self.app, id)?;
        let shown = found.map(|found| self.show_found(found)).transpose()?;
        self.shown.borrow_mut().insert(id, shown.clone());
        Ok(shown)
    }

    pub(super) fn show_found(&self, found: Found) -> Result<Rc<Shown>> {
        let access = access::of(self.app, &found.repo, self.caller())?;
        let id = found.repo.id;
        let count = |sql: &str| {
            self.app.store.read(|c| {
                c.prepare_cached(sql)?
                    .query_row([id], |row| row.get::<_, i64>(0))
            })
        };
        let shown = Rc::new(Shown {
            forks: count("SELECT count(*) FROM repos WHERE fork_of = ?1")?,
            open_pulls: count("SELECT count(*) FROM pulls WHERE repo_id = ?1 AND state = 'open'")?,
            rights: [
                access >= Access::Admin,
                access >= Access::Write,
                access >= Access::Read,
            ],
            ssh_url: self.ssh_url(&found),
            row: found.repo,
            owner: found.owner,
        });
        self.shown.borrow_mut().insert(id, Some(Rc::clone(&shown)));
        Ok(shown)
    }

    fn ssh_url(&self, found: &Found) -> String {
        let host = self.urls.web.split("://").nth(1).unwrap_or("localhost");
        let host = host.split(['/', ':']).next().unwrap_or(host);
        format!("git@{host}:{}.git", found.full_name())
    }

    /// One page of a list, with `Link`
    pub(super) fn list<T>(
        &self,
        cut: Cut<T>,
        show: impl FnMut(T) -> Result<Value>,
    ) -> Result<Reply> {
        let (page, total) = (cut.page, cut.total);
        let rows: Vec<Value> = cut.rows.into_iter().map(show).collect::<Result<_>>()?;
        Ok(self.linked(Reply::ok(&Value::from(rows)), page, total))
    }

    pub(super) fn linked(&self, mut reply: Reply, page: super::page::Page, total: usize) -> Reply {
        if let Some(link) = page.link(&self.urls, &self.ask.path_and_query(), total) {
            reply.headers.insert(header::LINK, link);
        }
        reply
    }
}

impl At<'_> {
    pub(super) fn app(&self) -> &App {
        self.cx.app
    }

    pub(super) fn ask(&self) -> &Ask {
        self.cx.ask
    }

    pub(super) fn urls(&self) -> &Urls {
        &self.cx.urls
    }

    pub(super) fn id(&self) -> i64 {
        self.repo.row.id
    }

    /// The signed-in user, who may push to a repository that can be written
    pub(super) fn writer(&self) -> Result<&User> {
        let user = self.cx.user()?;
        if self.access < Access::Write {
            return Err(Refusal::forbidden("Must have push access to repository"));
        }
        self.not_archived()?;
        Ok(user)
    }

    /// The signed-in user, who may change settings
    pub(super) fn admin(&self) -> Result<&User> {
        let user = self.cx.user()?;
        if self.access < Access::Admin {
            return Err(Refusal::forbidden("Must have admin rights to Repository."));
        }
        Ok(user)
    }

    pub(super) fn not_archived(&self) -> Result<()> {
        if self.repo.row.archived_at.is_some() {
            return Err(Refusal::forbidden(
                "Repository was archived so is read-only.",
            ));
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> Result<bool> {
        Ok(crate::ops::repos::is_empty(self.app(), &self.repo.row)?)
    }

    /// The commit that a branch, a tag, a ref or a sha names
    pub(super) fn resolve(&self, rev: &str) -> Result<Option<Oid>> {
        let rev = rev.strip_prefix("refs/").map_or(rev, |rest| rest);
        if let Some(name) = rev.strip_prefix("heads/")
            && let Some(oid) = self.git.branch(name)?
        {
            return Ok(Some(oid));
        }
        if let Some(name) = rev.strip_prefix("tags/")
            && let Some(oid) = self.git.tag(name)?
        {
            return Ok(self.git.peel(oid)?);
        }
        if rev == "HEAD" {
            return Ok(self.git.branch(&self.repo.row.default_branch)?);
        }
        Ok(self.git.resolve_loosely(rev)?)
    }

    pub(super) fn show_commit(&self, oid: Oid, of: &Commit) -> Result<Value> {
        let people = People {
            author: self.cx.account_of(&of.author.email)?,
            committer: self.cx.account_of(&of.committer.email)?,
        };
        Ok(commit::commit(self.urls(), &self.repo, oid, of, &people))
    }
}
