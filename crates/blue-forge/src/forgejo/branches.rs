//! Branches

use serde::{Deserialize, Serialize};

use super::{Forgejo, protection::strongest, wire};
use crate::{
    ConflictKind, ForgeError, Result,
    model::{Branch, Listing, Page, RepoId},
    rest::Answer,
};

#[derive(Debug, Clone, Deserialize)]
pub(super) struct WireBranch {
    pub(super) name: String,
    pub(super) commit: Option<wire::CommitRef>,
    #[serde(default, deserialize_with = "wire::or_default")]
    pub(super) protected: bool,
    #[serde(default, deserialize_with = "wire::or_default")]
    pub(super) required_approvals: u32,
    #[serde(default, deserialize_with = "wire::or_default")]
    pub(super) enable_status_check: bool,
    #[serde(default, deserialize_with = "wire::or_default")]
    pub(super) status_check_contexts: Vec<String>,
    pub(super) user_can_push: Option<bool>,
    pub(super) user_can_merge: Option<bool>,
    #[serde(default, deserialize_with = "wire::or_default")]
    pub(super) effective_branch_protection_name: String,
}

#[derive(Debug, Serialize)]
struct NewBranch<'a> {
    new_branch_name: &'a str,
    old_ref_name: &'a str,
}

impl Forgejo {
    pub(super) async fn branch_page(&self, repo: &RepoId, page: Page) -> Result<Listing<Branch>> {
        let listing = self
            .repo_get(repo, &["branches"])
            .what(format!("repository `{repo}`"))
            .page::<WireBranch>(page, self.cap_for(page).await)
            .await?;
        let items = self.branches(listing.items)?;
        self.recent.saw_branches(repo, &items);
        Ok(Listing {
            items,
            next_page: listing.next_page,
            total: listing.total,
        })
    }

    pub(super) async fn every_branch(&self, repo: &RepoId) -> Result<Vec<Branch>> {
        let rows = self
            .repo_get(repo, &["branches"])
            .what(format!("repository `{repo}`"))
            .all::<WireBranch>(self.likely_cap())
            .await?;
        self.branches(rows)
    }

    pub(super) fn branches(&self, rows: Vec<WireBranch>) -> Result<Vec<Branch>> {
        rows.into_iter()
            // A branch that is being deleted has no commit any more.
            .filter(|row| row.commit.is_some())
            .map(|row| self.branch_of(&row))
            .collect()
    }

    pub(super) fn branch_of(&self, row: &WireBranch) -> Result<Branch> {
        let id = row.commit.as_ref().map_or("", wire::CommitRef::sha);
        Ok(Branch {
            name: row.name.clone(),
            sha: wire::sha(self.rest.host(), id)?,
            protected: row.protected,
        })
    }

    pub(super) async fn wire_branch(&self, repo: &RepoId, name: &str) -> Result<WireBranch> {
        let what = format!("branch `{name}` of `{repo}`");
        // Names that no branch can have would ask for something else.
        if !plausible_ref(name) {
            return Err(ForgeError::NotFound {
                host: self.rest.host().clone(),
                what,
                status: None,
            });
        }
        let found = self
            .repo_get(repo, &["branches"])
            .path(name)
            .what(what)
            .send()
            .await;
        match &found {
            Ok(_) => self.recent.saw_branch(repo, name),
            Err(ForgeError::NotFound { .. }) => self.recent.missed_branch(repo, name),
            Err(_) => {}
        }
        found?.json()
    }

    /// The branch, or `None` when it, but maybe also its repository, is not there
    pub(super) async fn branch_if_any(&self, repo: &RepoId, name: &str) -> Result<Option<Branch>> {
        let row = self.row_if_any(repo, name).await?;
        row.map(|row| self.branch_of(&row)).transpose()
    }

    pub(super) async fn row_if_any(&self, repo: &RepoId, name: &str) -> Result<Option<WireBranch>> {
        match self.wire_branch(repo, name).await {
            Ok(row) => Ok(Some(row)),
            Err(ForgeError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn read_branch(&self, repo: &RepoId, name: &str) -> Result<Branch> {
        match self.branch_if_any(repo, name).await? {
            Some(branch) => Ok(branch),
            None => Err(self
                .missing(repo, format!("branch `{name}` of `{repo}`"))
                .await),
        }
    }

    pub(super) async fn make_branch(
        &self,
        repo: &RepoId,
        name: &str,
        from: &str,
    ) -> Result<Branch> {
        if !good_name(name) {
            return Err(ForgeError::Invalid {
                message: format!(
                    "`{}` is not a branch name",
                    blue_base::text::clean_line(name)
                ),
                status: None,
            });
        }
        let start = self.resolve_rev(repo, from).await?;
        let body = NewBranch {
            new_branch_name: name,
            old_ref_name: start.as_str(),
        };
        let answer = self
            .repo_post(repo, &["branches"])
            .what(format!("repository `{repo}`"))
            .json(&body)
            .answer()
            .await?;
        match answer.status.as_u16() {
            200..300 => self.branch_of(&answer.json()?),
            // Race: another client created the branch between the server's own check and its push.
            500 if answer.says("reference already exists") => Err(ForgeError::Conflict {
                kind: ConflictKind::Exists,
                message: answer.message(),
                status: Some(answer.status.as_u16()),
            }),
            409 => {
                let exists = self.branch_if_any(repo, name).await?.is_some();
                Err(ForgeError::Conflict {
                    kind: if exists {
                        ConflictKind::Exists
                    } else {
                        ConflictKind::NameClash
                    },
                    message: answer.message_or_reason(),
                    status: Some(answer.status.as_u16()),
                })
            }
            422 => Err(ForgeError::Invalid {
                message: format!(
                    "`{name}` is not a branch name: {}",
                    answer.message_or_reason()
                ),
                status: Some(answer.status.as_u16()),
            }),
            403 if answer.says("mirror") => {
                let mirror = self.mirror_refusal(repo).await;
                Err(mirror.unwrap_or_else(|| answer.into_error()).answered(403))
            }
            500 => Err(self
                .why_not_made(repo, (name, from), answer)
                .await
                .answered(500)),
            _ => self.explain(repo, Err(answer.into_error())).await,
        }
    }

    /// Returns why the server failed to make a branch
    ///
    /// Only site admins get to see the text of a 500, so the usual causes are looked for.
    async fn why_not_made(
        &self,
        repo: &RepoId,
        (name, from): (&str, &str),
        answer: Answer,
    ) -> ForgeError {
        let said = answer.unmasked();
        if let Some(clash) = self.name_clash(repo, name).await {
            return clash;
        }
        if let Some(mirror) = self.mirror_refusal(repo).await {
            return mirror;
        }
        if said.contains("protected") {
            return self.forbidden(answer.mask(of_hook(&said)));
        }
        if said.contains("does not exist") {
            return self.missing(repo, format!("`{from}` of `{repo}`")).await;
        }
        if !is_wordless(&said) {
            return answer.into_error();
        }
        match self.visible_rules(repo).await {
            Ok(Some(rules)) => match strongest(rules, name) {
                Some(rule) => self.forbidden(format!(
                    "branch `{name}` cannot be created: the rule `{}` protects its name",
                    rule.name()
                )),
                None => answer.into_error(),
            },
            _ => self.forbidden(format!(
                "branch `{name}` cannot be created: the server gives no reason, most likely a \
                 rule protects its name"
            )),
        }
    }

    fn forbidden(&self, message: String) -> ForgeError {
        ForgeError::Forbidden {
            host: self.rest.host().clone(),
            message,
            status: None,
        }
    }

    /// Returns the conflict with a branch whose name is in the way of this one, if there is one:
    /// `a` and `a/b` cannot both be branches
    pub(super) async fn name_clash(&self, repo: &RepoId, name: &str) -> Option<ForgeError> {
        let other = self.branch_in_the_way(repo, name).await?;
        Some(ForgeError::Conflict {
            kind: ConflictKind::NameClash,
            message: format!("`{name}` cannot be a branch beside the branch `{other}`"),
            status: None,
        })
    }

    async fn branch_in_the_way(&self, repo: &RepoId, name: &str) -> Option<String> {
        for (end, _) in name.match_indices('/') {
            if let Ok(Some(above)) = self.branch_if_any(repo, &name[..end]).await {
                return Some(above.name);
            }
        }
        let below = format!("{name}/");
        let all = self.every_branch(repo).await.ok()?;
        let mut names = all.into_iter().map(|branch| branch.name);
        names.find(|other| other.starts_with(&below))
    }

    pub(super) async fn remove_branch(&self, repo: &RepoId, name: &str) -> Result<()> {
        let what = format!("branch `{name}` of `{repo}`");
        let answer = self
            .repo_delete(repo, &["branches"])
            .path(name)
            .what(&what)
            .answer()
            .await?;
        let status = answer.status.as_u16();
        let known = match status {
            500 if matches!(self.branch_if_any(repo, name).await, Ok(None)) => {
                Some(self.missing(repo, what).await)
            }
            500 => self.mirror_refusal(repo).await,
            403 if answer.says("mirror") => self.mirror_refusal(repo).await,
            _ => None,
        };
        self.recent.missed_branch(repo, name);
        match known {
            Some(error) => Err(error.answered(status)),
            None => self.explain(repo, answer.ok()).await.map(|_| ()),
        }
    }
}

/// Whether an answer says nothing of its cause: what those get who are no site admins
pub(super) fn is_wordless(message: &str) -> bool {
    message.is_empty() || message.eq_ignore_ascii_case("internal server error")
}

/// The sentence of a hook that refused a push, without git's words around it, which tell of folders
/// of the server
fn of_hook(said: &str) -> &str {
    let mut parts = said.split("error:").map(|part| {
        let part = part.trim();
        part.strip_suffix("remote:").unwrap_or(part).trim_end()
    });
    parts
        .find(|part| part.contains("protected"))
        .unwrap_or(said)
}

/// Whether a text can be the name of a branch or tag at all
pub(super) fn plausible_ref(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('/')
        && !name.ends_with('/')
        && !name.contains("//")
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
        && name
            .split('/')
            .all(|part| !part.starts_with('.') && part.strip_suffix(".lock").is_none())
        && !name.contains([' ', '~', '^', ':', '?', '*', '[', '\\'])
        && !name.chars().any(char::is_control)
}

/// Whether git would take it as the name of a new branch or tag
pub(super) fn good_name(name: &str) -> bool {
    plausible_ref(name)
        && !name.starts_with('-')
        && name != "@"
        && name != "HEAD"
        && name
            .split('/')
            .all(|part| !part.to_lowercase().ends_with(".lock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_heard_among_the_words_of_git() {
        let said = "PushRejected Error: exit status 1 - remote: remote: error: remote: error: Not \
                    allowed to push to protected branch rel/2 remote: error: To /srv/git/a/b.git \
                    ! [remote rejected] (pre-receive hook declined) error: failed to push some refs";
        assert_eq!(
            of_hook(said),
            "Not allowed to push to protected branch rel/2"
        );
        assert_eq!(
            of_hook("the branch is protected"),
            "the branch is protected"
        );
        assert_eq!(of_hook(""), "");
    }

    #[test]
    fn branch_names() {
        for good in ["main", "feat/ü#x+%", "a.b", "日本", "x@y"] {
            assert!(good_name(good), "{good}");
        }
        for bad in [
            "",
            "a..b",
            "with space",
            "end.lock",
            "/lead",
            "tail/",
            "a~b",
            "-dash",
            "a//b",
            ".x",
            "a/.b",
            "x@{1",
            "a\\b",
            "end.",
            "@",
            "HEAD",
        ] {
            assert!(!good_name(bad), "{bad}");
        }
    }
}
