//! Branches

use serde::{Deserialize, Serialize};

use super::{GitHub, PAGE_LIMIT, wire};
use crate::{
    ConflictKind, ForgeError, Result,
    model::{Branch, Listing, Page, RepoId, Sha},
    rest::Answer,
};

#[derive(Debug, Clone, Deserialize)]
pub(super) struct WireBranch {
    pub(super) name: String,
    commit: TipCommit,
    #[serde(default)]
    pub(super) protected: bool,
    pub(super) protection: Option<Summary>,
}

#[derive(Debug, Clone, Deserialize)]
struct TipCommit {
    sha: wire::Oid,
    /// Missing in lists
    commit: Option<TipInner>,
}

#[derive(Debug, Clone, Deserialize)]
struct TipInner {
    tree: Option<wire::Pointer>,
}

impl WireBranch {
    pub(super) fn sha(&self) -> &Sha {
        &self.commit.sha.0
    }

    /// The tree of its commit, if it was asked for by itself
    pub(super) fn tree(&self) -> Option<&Sha> {
        let inner = self.commit.commit.as_ref()?;
        inner.tree.as_ref().map(|tree| &tree.sha.0)
    }
}

/// Part of the classic protection that every reader of the branch may see
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Summary {
    pub(super) required_status_checks: Option<SummaryChecks>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct SummaryChecks {
    #[serde(default)]
    pub(super) contexts: Vec<String>,
}

impl From<WireBranch> for Branch {
    fn from(row: WireBranch) -> Self {
        Self {
            name: row.name,
            sha: row.commit.sha.0,
            protected: row.protected,
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct NewRef<'a> {
    #[serde(rename = "ref")]
    pub(super) name: String,
    pub(super) sha: &'a str,
}

impl GitHub {
    pub(super) async fn branch_page(&self, repo: &RepoId, page: Page) -> Result<Listing<Branch>> {
        let rows = self
            .get(repo, &["branches"])
            .page::<WireBranch>(page, PAGE_LIMIT)
            .await?;
        Ok(Listing {
            items: rows.items.into_iter().map(Into::into).collect(),
            next_page: rows.next_page,
            total: rows.total,
        })
    }

    pub(super) async fn every_branch(&self, repo: &RepoId) -> Result<Vec<Branch>> {
        let rows = self
            .get(repo, &["branches"])
            .all::<WireBranch>(PAGE_LIMIT)
            .await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    pub(super) async fn wire_branch(&self, repo: &RepoId, name: &str) -> Result<WireBranch> {
        let what = format!("branch `{name}` of `{repo}`");
        if !is_ref_name(name) {
            return Err(self.not_found(what).answered(None));
        }
        let found: WireBranch = self
            .get(repo, &["branches", name])
            .what(&what)
            .send()
            .await?
            .json()?;
        // A renamed branch redirects to its new name, which was not asked for.
        if found.name != name {
            return Err(self.not_found(what).answered(301));
        }
        Ok(found)
    }

    /// The commit a branch is at; the smallest answer that tells
    pub(super) async fn branch_tip(&self, repo: &RepoId, name: &str) -> Result<Tip> {
        if !is_ref_name(name) {
            return Ok(Tip::Missing);
        }
        let answer = self
            .get(repo, &["git", "ref", "heads"])
            .path(name)
            .answer()
            .await?;
        match answer.status.as_u16() {
            404 => Ok(Tip::Missing),
            409 if super::says_empty(&answer) => Ok(Tip::EmptyRepository),
            _ => {
                let found: wire::Ref = answer.ok()?.json()?;
                Ok(Tip::At(found.object.sha.0))
            }
        }
    }

    pub(super) async fn make_branch(
        &self,
        repo: &RepoId,
        name: &str,
        from: &str,
    ) -> Result<Branch> {
        check_ref_name(name, "branch")?;
        let start = self.resolve_rev(repo, from).await?;
        self.make_ref(repo, "heads", name, &start).await?;
        // Rules may cover the name already; a copy of the server that lags knows nothing yet.
        match self.wire_branch(repo, name).await {
            Ok(found) => Ok(found.into()),
            Err(ForgeError::NotFound { .. }) => Ok(Branch {
                name: name.to_owned(),
                sha: start,
                protected: false,
            }),
            Err(error) => Err(error),
        }
    }

    /// Make `refs/KIND/NAME`
    pub(super) async fn make_ref(
        &self,
        repo: &RepoId,
        kind: &str,
        name: &str,
        sha: &Sha,
    ) -> Result<()> {
        let body = NewRef {
            name: format!("refs/{kind}/{name}"),
            sha: sha.as_str(),
        };
        let answer = self
            .post(repo, &["git", "refs"])
            .json(&body)
            .answer()
            .await?;
        if answer.status.is_success() {
            return Ok(());
        }
        if matches!(answer.status.as_u16(), 409 | 422) {
            return Err(self.why_no_ref(repo, kind, name, answer).await);
        }
        self.written(repo, answer).await.map(|_| ())
    }

    async fn why_no_ref(
        &self,
        repo: &RepoId,
        kind: &str,
        name: &str,
        answer: Answer,
    ) -> ForgeError {
        let message = answer.message_or_reason();
        let conflict = |kind| ForgeError::Conflict {
            kind,
            message: message.clone(),
            status: Some(answer.status.as_u16()),
        };
        if answer.says("already exists") {
            return conflict(ConflictKind::Exists);
        }
        if answer.says("rule violations") || answer.says("protected") {
            return self.forbidden(message).answered(answer.status.as_u16());
        }
        // The words for `a` beside `a/b` are no different from those for other failures.
        if self.has_name_in_the_way(repo, kind, name).await {
            return conflict(ConflictKind::NameClash);
        }
        answer.into_error()
    }

    async fn has_name_in_the_way(&self, repo: &RepoId, kind: &str, name: &str) -> bool {
        let below = self
            .get(repo, &["git", "matching-refs", kind])
            .path(name)
            .send()
            .await
            .and_then(|a| a.list::<wire::Ref>());
        let prefix = format!("refs/{kind}/{name}/");
        if below.is_ok_and(|refs| refs.iter().any(|r| r.name.starts_with(&prefix))) {
            return true;
        }
        for (end, _) in name.match_indices('/') {
            let above = self
                .get(repo, &["git", "ref", kind])
                .path(&name[..end])
                .send()
                .await;
            if above.is_ok() {
                return true;
            }
        }
        false
    }

    pub(super) async fn remove_branch(&self, repo: &RepoId, name: &str) -> Result<()> {
        let what = format!("branch `{name}` of `{repo}`");
        if !is_ref_name(name) {
            return Err(self.not_found(what).answered(None));
        }
        let answer = self
            .delete(repo, &["git", "refs", "heads"])
            .path(name)
            .what(&what)
            .answer()
            .await?;
        let message = answer.message_or_reason();
        match answer.status.as_u16() {
            200..300 => Ok(()),
            422 if answer.says("does not exist") => Err(self.not_found(what).answered(422)),
            // The default branch, protection and rulesets.
            status @ (409 | 422) => Err(self.forbidden(message).answered(status)),
            _ => self.written(repo, answer).await.map(|_| ()),
        }
    }
}

/// Where a branch is
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tip {
    At(Sha),
    Missing,
    EmptyRepository,
}

pub(super) fn check_ref_name(name: &str, kind: &str) -> Result<()> {
    if is_ref_name(name) {
        return Ok(());
    }
    Err(ForgeError::Invalid {
        message: format!(
            "`{}` is not a {kind} name",
            blue_base::text::clean_line(name)
        ),
        status: None,
    })
}

/// git's own rules, so that no odd name reaches a URL or a body
pub(super) fn is_ref_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && part.strip_suffix(".lock").is_none()
    };
    !name.is_empty()
        && name != "@"
        && !name.starts_with('-')
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains([' ', '~', '^', ':', '?', '*', '[', '\\'])
        && !name.chars().any(char::is_control)
        && name.split('/').all(is_part)
}
