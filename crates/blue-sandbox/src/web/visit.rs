//! Who looks at what

use axum::response::Response;
use http::{HeaderMap, StatusCode, Uri};
use maud::{Markup, html};

use super::{
    layout::{Viewer, Width, page, send},
    view::repo::{RepoHead, Tab},
};
use crate::{
    app::App,
    auth, git,
    oauth::Session,
    ops::{
        self,
        access::{self, Access},
        repos::Found,
    },
    store::{
        pulls::State,
        repos::Repo,
        users::{self, User},
    },
};

/// Why there is no page
#[derive(Debug)]
pub(super) enum Trouble {
    NotFound,
    Moved(String),
    /// A credential was sent and is not good
    Refused,
    Broken(Box<ops::Error>),
}

impl From<git::Error> for Trouble {
    fn from(error: git::Error) -> Self {
        ops::Error::from(error).into()
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        ops::Error::from(error).into()
    }
}

/// Request for a page, with its user if there is a login
#[derive(Debug)]
pub(super) struct Visitor<'a> {
    pub app: &'a App,
    pub user: Option<User>,
    headers: HeaderMap,
}

impl<'a> Visitor<'a> {
    pub(super) fn recognise(app: &'a App, headers: HeaderMap) -> Self {
        let user = Session::find(app, &headers).and_then(|session| session.user);
        Self { app, user, headers }
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    pub(super) fn viewer(&self) -> Viewer {
        Viewer(self.user.as_ref().map(|user| user.login.clone()))
    }

    pub(super) fn sees(&self, repo: &Repo) -> Result<bool, Trouble> {
        let user = self.user.as_ref();
        Ok(self.app.store.read(|c| access::of_user(c, repo, user))? >= Access::Read)
    }

    pub(super) fn show(&self, title: &str, content: &Markup) -> Response {
        send(
            StatusCode::OK,
            page(title, &self.viewer(), Width::Full, content),
        )
    }
}

/// A look at one repository
#[derive(Debug)]
pub(super) struct Visit<'a> {
    pub app: &'a App,
    pub found: Found,
    pub head: RepoHead,
    viewer: Viewer,
}

impl<'a> Visit<'a> {
    pub(super) fn begin(
        visitor: &Visitor<'a>,
        owner: &str,
        name: &str,
        uri: &Uri,
    ) -> Result<Self, Trouble> {
        Self::open(visitor, visitor.user.as_ref(), owner, name, uri)
    }

    /// Opens a repository for a request that may carry an API token instead of a session, as raw files allow
    pub(super) fn begin_with_token(
        visitor: &Visitor<'a>,
        owner: &str,
        name: &str,
        uri: &Uri,
    ) -> Result<Self, Trouble> {
        let caller = auth::authenticate(visitor.app, &visitor.headers, uri.query())
            .map_err(|auth::Refused| Trouble::Refused)?;
        let user = caller
            .map(|caller| caller.user)
            .or_else(|| visitor.user.clone());
        Self::open(visitor, user.as_ref(), owner, name, uri)
    }

    fn open(
        visitor: &Visitor<'a>,
        user: Option<&User>,
        owner: &str,
        name: &str,
        uri: &Uri,
    ) -> Result<Self, Trouble> {
        let app = visitor.app;
        let name = name.strip_suffix(".git").unwrap_or(name);
        let found = ops::repos::find(app, owner, name)?;
        let access = app.store.read(|c| access::of_user(c, &found.repo, user))?;
        if access < Access::Read {
            return Err(Trouble::NotFound);
        }
        if found.renamed {
            let rest: String = uri.path().splitn(4, '/').skip(3).collect();
            let to = format!("/{}/{}/{rest}", found.owner.login, found.repo.name);
            return Err(Trouble::Moved(to.trim_end_matches('/').to_owned()));
        }
        let pulls = ops::pulls::list(app, &found.repo)?;
        let head = RepoHead {
            owner: found.owner.login.clone(),
            name: found.repo.name.clone(),
            private: found.repo.private,
            archived: found.repo.archived_at.is_some(),
            description: found.repo.settings.description.clone(),
            open_pulls: pulls
                .iter()
                .filter(|pull| pull.state == State::Open)
                .count(),
        };
        Ok(Self {
            app,
            found,
            head,
            viewer: visitor.viewer(),
        })
    }

    pub(super) fn git(&self) -> git::Repo {
        self.app.git(self.found.repo.id)
    }

    pub(super) fn repo(&self) -> &Repo {
        &self.found.repo
    }

    /// Put content under the repository's head
    pub(super) fn show(&self, tab: Tab, title: &str, content: &Markup) -> Response {
        let title = match title {
            "" => self.head.full_name(),
            title => format!("{title} · {}", self.head.full_name()),
        };
        let content = html! { (self.head.show(tab)) (content) };
        send(
            StatusCode::OK,
            page(&title, &self.viewer, Width::Full, &content),
        )
    }

    /// Returns the login of a user; `ghost` if the account was deleted
    pub(super) fn login(&self, id: i64) -> Result<String, Trouble> {
        let user = self.app.store.read(|c| users::by_id(c, id))?;
        Ok(user.map_or_else(|| "ghost".to_owned(), |user| user.login))
    }
}
