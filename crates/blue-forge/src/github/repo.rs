//! Repositories

use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;

use super::{GitHub, PAGE_LIMIT, says_empty, wire};
use crate::{
    ForgeError, Result,
    model::{Page, Permissions, RepoId, Repository},
};

#[derive(Debug, Deserialize)]
pub(super) struct WireRepo {
    name: String,
    owner: wire::User,
    description: Option<String>,
    default_branch: Option<String>,
    /// Its name on old Enterprise Servers
    master_branch: Option<String>,
    #[serde(default)]
    private: bool,
    #[serde(default)]
    fork: bool,
    #[serde(default)]
    pub(super) archived: bool,
    /// Not told by every version
    pub(super) has_pull_requests: Option<bool>,
    #[serde(default)]
    size: u64,
    permissions: Option<WirePermissions>,
    #[serde(flatten)]
    styles: wire::Styles,
    #[serde(default)]
    html_url: String,
    #[serde(default)]
    clone_url: String,
    #[serde(default)]
    ssh_url: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct WirePermissions {
    #[serde(default)]
    admin: bool,
    #[serde(default)]
    push: bool,
    #[serde(default)]
    pull: bool,
}

impl WireRepo {
    pub(super) fn full_name(&self) -> String {
        format!("{}/{}", self.owner.login, self.name)
    }

    /// The default branch, where it is told
    pub(super) fn told_default(&self) -> Option<&str> {
        let told = self.default_branch.as_deref();
        let told = told.filter(|name| !name.is_empty());
        told.or(self.master_branch.as_deref())
    }

    /// Unless the answer denies it
    pub(super) fn may_push(&self) -> bool {
        self.permissions.is_none_or(|p| p.push)
    }
}

impl GitHub {
    pub(super) async fn wire_repo(&self, repo: &RepoId) -> Result<WireRepo> {
        let found: WireRepo = self.get(repo, &[]).send().await?.json()?;
        self.rest.allows(&found.owner.login, &found.name)?;
        Ok(found)
    }

    pub(super) async fn read_repository(&self, repo: &RepoId) -> Result<Repository> {
        let found = self.wire_repo(repo).await?;
        // The size is rounded down and late: zero says "perhaps empty" and no more.
        let seen = self.recent.default_branch(repo).is_some();
        let empty = found.size == 0 && !seen && self.has_no_commit(repo).await?;
        let default = match found.told_default() {
            Some(name) => name.to_owned(),
            None if empty => String::new(),
            None => {
                let rows = self.branch_page(repo, Page::first(PAGE_LIMIT)).await?;
                likely_default(rows.items.iter().map(|row| row.name.as_str()))
            }
        };
        let found = self.repository_of(found, default, empty)?;
        self.recent.saw_default(repo, &found.default_branch, empty);
        Ok(found)
    }

    pub(super) fn repository_of(
        &self,
        found: WireRepo,
        default_branch: String,
        empty: bool,
    ) -> Result<Repository> {
        let id =
            RepoId::parse(&found.owner.login, &found.name).map_err(|e| ForgeError::Unexpected {
                host: self.rest.host().clone(),
                status: 200,
                message: e.to_string(),
            })?;
        let permissions = found.permissions.map(|p| Permissions {
            admin: p.admin,
            push: p.push,
            pull: p.pull,
        });
        if let Some(may) = permissions {
            self.recent.saw_permissions(&id, may);
        }
        let styles = found.styles.told();
        self.recent.saw_styles(&id, styles.as_ref());
        Ok(Repository {
            id,
            description: found.description.unwrap_or_default(),
            default_branch,
            private: found.private,
            fork: found.fork,
            archived: found.archived,
            mirror: false,
            empty,
            permissions,
            styles,
            html_url: found.html_url,
            clone_url: found.clone_url,
            ssh_url: found.ssh_url,
        })
    }

    /// Returns how long ago something was pushed
    pub(super) async fn idle_time(&self, repo: &RepoId) -> Result<Option<Duration>> {
        #[derive(Deserialize)]
        struct Pushed {
            pushed_at: Option<Timestamp>,
        }
        let answer = self.get(repo, &[]).send().await?;
        let found: Pushed = answer.json()?;
        let ago = answer.date().zip(found.pushed_at);
        Ok(ago.and_then(|(now, then)| now.duration_since(then).try_into().ok()))
    }

    async fn has_no_commit(&self, repo: &RepoId) -> Result<bool> {
        let answer = self
            .get(repo, &["commits"])
            .query("per_page", 1)
            .answer()
            .await?;
        if says_empty(&answer) {
            return Ok(true);
        }
        answer.ok().map(|_| false)
    }
}

/// The branch that is most likely the default one of a repository that does not tell it: the usual
/// names first, else the first there is
pub(super) fn likely_default<'a>(mut names: impl Iterator<Item = &'a str> + Clone) -> String {
    let usual = ["main", "master"];
    let found = usual
        .into_iter()
        .find(|usual| names.clone().any(|name| name == *usual));
    found
        .or_else(|| names.next())
        .unwrap_or_default()
        .to_owned()
}
