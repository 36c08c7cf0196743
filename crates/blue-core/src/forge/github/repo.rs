//! Repositories

use serde::Deserialize;

use super::{GitHub, says_empty, wire};
use crate::forge::{
    ForgeError, Result,
    model::{Permissions, RepoId, Repository},
};

#[derive(Debug, Deserialize)]
pub(super) struct WireRepo {
    name: String,
    owner: wire::User,
    description: Option<String>,
    pub(super) default_branch: Option<String>,
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
        let found = self.repository_of(found, empty)?;
        self.recent.saw_default(repo, &found.default_branch, empty);
        Ok(found)
    }

    pub(super) fn repository_of(&self, found: WireRepo, empty: bool) -> Result<Repository> {
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
        Ok(Repository {
            id,
            description: found.description.unwrap_or_default(),
            default_branch: found.default_branch.unwrap_or_default(),
            private: found.private,
            fork: found.fork,
            archived: found.archived,
            empty,
            permissions,
            html_url: found.html_url,
            clone_url: found.clone_url,
            ssh_url: found.ssh_url,
        })
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
