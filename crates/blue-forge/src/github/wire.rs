//! Shapes that several answers share

use serde::{Deserialize, Deserializer, de::Error};

use crate::model::{MergeStrategy, MergeStyles, RepoId, Sha};

/// An object id that was read; anything else is a wrong answer
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Oid(pub(super) Sha);

impl<'de> Deserialize<'de> for Oid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Sha::parse(&text).map(Self).map_err(D::Error::custom)
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct User {
    pub(super) login: String,
}

/// The login, also of an account that is gone: GitHub shows those as `ghost`
pub(super) fn login(user: Option<User>) -> String {
    user.map_or_else(|| "ghost".to_owned(), |u| u.login)
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct RepoName {
    name: String,
    owner: User,
    #[serde(default)]
    pub(super) archived: bool,
    #[serde(flatten)]
    pub(super) styles: Styles,
}

/// Merge styles of a repository; told only to those who can push, and not at every place
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct Styles {
    #[serde(rename = "allow_merge_commit")]
    merge: Option<bool>,
    #[serde(rename = "allow_squash_merge")]
    squash: Option<bool>,
    #[serde(rename = "allow_rebase_merge")]
    rebase: Option<bool>,
}

impl Styles {
    /// In the order that GitHub's own page proposes them; it has no setting for a default
    pub(super) fn told(self) -> Option<MergeStyles> {
        let all = [
            (MergeStrategy::Merge, self.merge?),
            (MergeStrategy::Squash, self.squash?),
            (MergeStrategy::Rebase, self.rebase?),
        ];
        let allowed = all.into_iter().filter(|(_, allowed)| *allowed);
        Some(MergeStyles {
            allowed: allowed.map(|(style, _)| style).collect(),
            default: None,
        })
    }
}

impl RepoName {
    pub(super) fn id(&self) -> Option<RepoId> {
        RepoId::parse(&self.owner.login, &self.name).ok()
    }
}

/// What has nothing but an object id that matters
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Pointer {
    pub(super) sha: Oid,
}

/// What a ref or a tag points at
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Object {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) sha: Oid,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Ref {
    #[serde(rename = "ref")]
    pub(super) name: String,
    pub(super) object: Object,
}
