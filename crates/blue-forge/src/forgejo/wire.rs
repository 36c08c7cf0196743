//! What Gitea and Forgejo send; read leniently, since fields are `null` or missing by version

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

use crate::{
    ForgeError, Result,
    model::{MergeStrategy, MergeStyles, Permissions, RepoId, Repository, Sha},
};
use blue_base::host::Host;

/// Take `null` as the type's empty value
pub(super) fn or_default<'de, D, T>(reader: D) -> std::result::Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(reader)?.unwrap_or_default())
}

/// A time; the servers' "not set" dates and unreadable ones are none
pub(super) fn when<'de, D>(reader: D) -> std::result::Result<Option<Timestamp>, D::Error>
where
    D: Deserializer<'de>,
{
    let text: Option<String> = Option::deserialize(reader)?;
    Ok(text
        .and_then(|t| t.parse::<Timestamp>().ok())
        .filter(|t| t.as_second() > 0))
}

/// An id that the server vouches for
pub(super) fn sha(host: &Host, text: &str) -> Result<Sha> {
    Sha::parse(text).map_err(|e| ForgeError::Unexpected {
        host: host.clone(),
        status: 200,
        message: e.to_string(),
    })
}

#[derive(Debug, Deserialize)]
pub(super) struct Version {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) version: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ApiSettings {
    pub(super) max_response_items: Option<u32>,
}

#[derive(Debug, Deserialize, Default)]
pub(super) struct User {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) login: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) is_admin: bool,
}

#[derive(Debug, Deserialize, Default)]
pub(super) struct TokenInfo {
    #[serde(default)]
    pub(super) scopes: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the server's own shape")]
pub(super) struct Repo {
    pub(super) owner: User,
    pub(super) name: String,
    #[serde(default, deserialize_with = "or_default")]
    description: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) default_branch: String,
    #[serde(default, deserialize_with = "or_default")]
    private: bool,
    #[serde(default, deserialize_with = "or_default")]
    fork: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) archived: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) mirror: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) empty: bool,
    pub(super) has_pull_requests: Option<bool>,
    pub(super) has_actions: Option<bool>,
    permissions: Option<WirePermissions>,
    allow_merge_commits: Option<bool>,
    allow_rebase: Option<bool>,
    allow_rebase_explicit: Option<bool>,
    allow_squash_merge: Option<bool>,
    allow_fast_forward_only_merge: Option<bool>,
    #[serde(default, deserialize_with = "or_default")]
    default_merge_style: String,
    #[serde(default, deserialize_with = "or_default")]
    html_url: String,
    #[serde(default, deserialize_with = "or_default")]
    clone_url: String,
    #[serde(default, deserialize_with = "or_default")]
    ssh_url: String,
    /// When something was pushed last, or changed otherwise
    #[serde(default, deserialize_with = "when")]
    pub(super) updated_at: Option<Timestamp>,
}

#[derive(Debug, Deserialize, Clone, Copy)]
struct WirePermissions {
    #[serde(default)]
    admin: bool,
    #[serde(default)]
    push: bool,
    #[serde(default)]
    pull: bool,
}

impl Repo {
    pub(super) fn id(&self) -> Option<RepoId> {
        RepoId::parse(&self.owner.login, &self.name).ok()
    }

    /// The merge styles; a server too old to tell leaves all of them out
    pub(super) fn styles(&self) -> Option<MergeStyles> {
        self.allow_merge_commits?;
        let told = [
            (MergeStrategy::Merge, self.allow_merge_commits),
            (MergeStrategy::Rebase, self.allow_rebase),
            (MergeStrategy::RebaseMerge, self.allow_rebase_explicit),
            (MergeStrategy::Squash, self.allow_squash_merge),
            (
                MergeStrategy::FastForwardOnly,
                self.allow_fast_forward_only_merge,
            ),
        ];
        let default = told
            .iter()
            .find(|(style, _)| style.as_str() == self.default_merge_style);
        Some(MergeStyles {
            default: default.map(|(style, _)| *style),
            allowed: told
                .iter()
                .filter(|(_, allowed)| *allowed == Some(true))
                .map(|(style, _)| *style)
                .collect(),
        })
    }

    pub(super) fn into_model(self, asked: &RepoId) -> Repository {
        Repository {
            styles: self.styles(),
            id: self.id().unwrap_or_else(|| asked.clone()),
            description: self.description,
            default_branch: self.default_branch,
            private: self.private,
            fork: self.fork,
            archived: self.archived,
            mirror: self.mirror,
            empty: self.empty,
            permissions: self.permissions.map(|p| Permissions {
                admin: p.admin,
                push: p.push,
                pull: p.pull,
            }),
            html_url: self.html_url,
            clone_url: self.clone_url,
            ssh_url: self.ssh_url,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct CommitRef {
    #[serde(default, deserialize_with = "or_default")]
    sha: String,
    /// What a branch has instead
    #[serde(default, deserialize_with = "or_default")]
    id: String,
}

impl CommitRef {
    pub(super) fn sha(&self) -> &str {
        if self.sha.is_empty() {
            &self.id
        } else {
            &self.sha
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Commit {
    pub(super) sha: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) html_url: String,
    #[serde(default, deserialize_with = "when")]
    pub(super) created: Option<Timestamp>,
    #[serde(rename = "commit")]
    pub(super) body: CommitBody,
    pub(super) author: Option<User>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) parents: Vec<CommitRef>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) files: Vec<Option<CommitFile>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CommitBody {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) message: String,
    pub(super) author: Option<Signature>,
    /// Who made this very commit, which an amended or rebased one has another of
    pub(super) committer: Option<Signature>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Signature {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) name: String,
    #[serde(default, deserialize_with = "when")]
    pub(super) date: Option<Timestamp>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CommitFile {
    pub(super) filename: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) status: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_with_almost_nothing_in_it() {
        let text = r#"{"owner":{"login":"a"},"name":"b","description":null,"permissions":null}"#;
        let repo: Repo = serde_json::from_str(text).unwrap();
        let repo = repo.into_model(&RepoId::parse("x", "y").unwrap());
        assert_eq!(repo.id.to_string(), "a/b");
        assert_eq!(repo.permissions, None);
    }

    #[test]
    fn dates_that_mean_not_set() {
        for (text, set) in [
            ("\"0001-01-01T00:00:00Z\"", false),
            ("\"1970-01-01T00:00:00Z\"", false),
            ("\"2026-11-15T22:40:38+01:00\"", true),
            ("\"soon\"", false),
            ("null", false),
        ] {
            let mut reader = serde_json::Deserializer::from_str(text);
            assert_eq!(when(&mut reader).unwrap().is_some(), set, "{text}");
        }
    }
}
