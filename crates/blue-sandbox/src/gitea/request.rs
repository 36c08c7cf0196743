//! A request, taken apart

use bytes::Bytes;
use http::{HeaderMap, Method, request::Parts};
use percent_encoding::percent_decode_str;

use super::{body::Form, fail::Fail};
use crate::{
    app::App,
    auth::{Caller, How},
    ops::{access::Access, repos::Found},
    store::{repos::Repo, users::User},
};

#[derive(Debug)]
pub(super) struct Req {
    pub(super) app: App,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    /// Path below `/api/v1`, each part decoded once; a name with slashes is several parts
    pub(super) path: Vec<String>,
    pub(super) raw_path: String,
    pub(super) raw_query: Option<String>,
    pub(super) is_drive: bool,
    query: Vec<(String, String)>,
    body: Bytes,
    pub(super) caller: Option<Caller>,
}

impl Req {
    pub(super) fn new(app: App, parts: Parts, body: Bytes) -> Self {
        let raw_path = parts.uri.path().to_owned();
        let is_drive = raw_path.starts_with("/api/sandbox/");
        let below = raw_path
            .trim_start_matches("/api/sandbox/v1")
            .trim_start_matches("/api/v1");
        // An encoded slash and a raw one mean the same, so the path is decoded first.
        let decoded = percent_decode_str(below).decode_utf8_lossy().into_owned();
        let path = decoded
            .trim_matches('/')
            .split('/')
            .map(str::to_owned)
            .collect();
        let raw_query = parts.uri.query().map(str::to_owned);
        let query =
            url::form_urlencoded::parse(raw_query.as_deref().unwrap_or_default().as_bytes())
                .into_owned()
                .collect();
        Self {
            app,
            method: parts.method,
            headers: parts.headers,
            path,
            raw_path,
            raw_query,
            is_drive,
            query,
            body,
            caller: None,
        }
    }

    pub(super) fn verb(&self) -> &str {
        self.method.as_str()
    }

    pub(super) fn query(&self, name: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// `1`, `t`, `true` and their like
    pub(super) fn query_flag(&self, name: &str, default: bool) -> bool {
        match self.query(name) {
            Some("") | None => default,
            Some(text) => matches!(text, "1" | "t" | "T" | "true" | "TRUE" | "True" | "on"),
        }
    }

    pub(super) fn query_number(&self, name: &str) -> Option<i64> {
        self.query(name)?.parse().ok()
    }

    pub(super) fn form(&self) -> Result<Form, Fail> {
        let kind = self.headers.get(http::header::CONTENT_TYPE);
        match kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default() {
            "" => Err(Fail::invalid("[]: Empty Content-Type")),
            kind if kind.contains("json") => Form::parse(&self.body),
            kind if kind.contains("form-urlencoded") => Ok(Form::from_pairs(&self.body)),
            _ => Err(Fail::invalid("[]: Unsupported Content-Type")),
        }
    }

    /// A body that may be left out
    pub(super) fn form_or_empty(&self) -> Result<Form, Fail> {
        if self.body.is_empty() {
            Ok(Form::default())
        } else {
            self.form()
        }
    }

    pub(super) fn user(&self) -> Result<&User, Fail> {
        self.caller
            .as_ref()
            .map(|caller| &caller.user)
            .ok_or_else(Fail::token_required)
    }

    /// Refuse a token whose scopes do not reach here
    pub(super) fn need_scope(&self, areas: &[&str]) -> Result<(), Fail> {
        let Some(scopes) = self
            .caller
            .as_ref()
            .and_then(|caller| caller.scopes.as_ref())
        else {
            return Ok(());
        };
        let verb = if self.verb() == "GET" {
            "read"
        } else {
            "write"
        };
        let wanted: Vec<String> = areas.iter().map(|area| format!("{verb}:{area}")).collect();
        if wanted.iter().all(|scope| scopes.allow(scope)) {
            return Ok(());
        }
        let wanted = wanted.join(",");
        Err(Fail::forbidden(&if self.app.is_forgejo() {
            format!("token does not have at least one of required scope(s): [{wanted}]")
        } else {
            format!(
                "token does not have at least one of required scope(s), required=[{wanted}], token scope={}",
                scopes.text()
            )
        }))
    }

    /// Someone who signed in with name and password
    pub(super) fn need_password(&self) -> Result<&User, Fail> {
        match &self.caller {
            Some(caller) if caller.how == How::Password => Ok(&caller.user),
            _ => Err(Fail::new(401, "auth required")),
        }
    }
}

/// A request about a repository the caller may see
#[derive(Debug)]
pub(super) struct InRepo<'a> {
    pub(super) req: &'a Req,
    pub(super) found: Found,
    pub(super) access: Access,
}

impl InRepo<'_> {
    pub(super) fn app(&self) -> &App {
        &self.req.app
    }

    pub(super) fn repo(&self) -> &Repo {
        &self.found.repo
    }

    pub(super) fn user(&self) -> Result<&User, Fail> {
        self.req.user()
    }

    pub(super) fn need_writer(&self) -> Result<&User, Fail> {
        let user = self.req.user()?;
        if self.access < Access::Write {
            return Err(Fail::forbidden(
                "user should have a permission to write to a repo",
            ));
        }
        Ok(user)
    }

    pub(super) fn need_admin(&self) -> Result<&User, Fail> {
        let user = self.req.user()?;
        if self.access < Access::Admin {
            return Err(Fail::forbidden(
                "user should be an owner or a collaborator with admin write of a repository",
            ));
        }
        Ok(user)
    }

    /// Refuse to change the refs of a mirror; Forgejo finds out by the push that fails
    pub(super) fn need_no_mirror(&self) -> Result<(), Fail> {
        if !self.repo().settings.mirror {
            return Ok(());
        }
        Err(if self.app().is_forgejo() {
            let reason = "mirror repository is read-only";
            super::fail::push_rejected(self.app(), self.repo().id, reason)
        } else {
            Fail::forbidden("Git Repository is a mirror.")
        })
    }

    pub(super) fn need_unarchived(&self) -> Result<(), Fail> {
        if self.repo().archived_at.is_some() {
            return Err(Fail::new(
                423,
                &format!("{} is archived", self.found.full_name()),
            ));
        }
        Ok(())
    }

    /// `https://host/api/v1/repos/owner/name`
    pub(super) fn api_url(&self) -> String {
        format!(
            "{}/api/v1/repos/{}",
            self.app().root_url,
            self.found.full_name()
        )
    }

    /// `https://host/owner/name`
    pub(super) fn web_url(&self) -> String {
        format!("{}/{}", self.app().root_url, self.found.full_name())
    }
}
