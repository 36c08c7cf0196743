//! Shapes that several answers share

use serde::{Deserialize, Deserializer, de::Error};

use crate::forge::model::{RepoId, Sha};

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
