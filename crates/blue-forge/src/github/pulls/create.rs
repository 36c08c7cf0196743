//! Opening a pull request

use serde::Serialize;

use super::{GitHub, Head, WirePull};
use crate::{
    ConflictKind, ForgeError, Result,
    model::{CreatePrOpts, PullRequest, RepoId},
    rest::Answer,
};

#[derive(Debug, Serialize)]
struct NewPull<'a> {
    title: &'a str,
    head: &'a str,
    base: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a str>,
    draft: bool,
}

impl GitHub {
    pub(in crate::github) async fn open_pr(&self, opts: &CreatePrOpts) -> Result<PullRequest> {
        let repo = &opts.repo;
        let invalid = |message: String| {
            Err(ForgeError::Invalid {
                message,
                status: None,
            })
        };
        if opts.title.trim().is_empty() {
            return invalid("a pull request needs a title".to_owned());
        }
        let from = Head::parse(&opts.head, repo);
        let own = from.owner.eq_ignore_ascii_case(repo.owner());
        // The short name is the only one that Enterprise Servers take for organisations' own.
        let head = if own { from.branch } else { opts.head.as_str() };
        if head == opts.base {
            return invalid(format!("`{head}` cannot be merged into itself"));
        }
        // The body of a request passes no guard.
        if !own {
            self.rest.allows(from.owner, repo.name())?;
        }
        let body = NewPull {
            title: &opts.title,
            head,
            base: &opts.base,
            body: opts.body.as_deref(),
            draft: opts.draft,
        };
        let answer = self.post(repo, &["pulls"]).json(&body).answer().await?;
        if answer.status.as_u16() == 422 {
            return Err(self.why_no_pr(opts, head, answer).await);
        }
        let made = self.written(repo, answer).await?;
        Ok(made.json::<WirePull>()?.into())
    }

    /// Which branch is not there; GitHub says no more than "invalid"
    async fn missing_branch(&self, repo: &RepoId, head: &str, base: &str) -> ForgeError {
        if let Err(error) = self.wire_branch(repo, base).await {
            return error;
        }
        if !head.contains(':')
            && let Err(error) = self.wire_branch(repo, head).await
        {
            return error;
        }
        self.not_found(format!("branch `{head}` for `{repo}`"))
            .answered(422)
    }

    async fn why_no_pr(&self, opts: &CreatePrOpts, head: &str, answer: Answer) -> ForgeError {
        let message = answer.message_or_reason();
        if answer.says("already exists") {
            let twin = self.find_open_pr(&opts.repo, head, &opts.base).await;
            let number = match twin {
                Ok(Some(twin)) => format!(" (#{})", twin.number),
                _ => String::new(),
            };
            return ForgeError::Conflict {
                kind: ConflictKind::Exists,
                message: format!("{message}{number}"),
                status: Some(422),
            };
        }
        if answer.says("no commits between") {
            return ForgeError::Invalid {
                message: format!(
                    "nothing to merge: `{head}` has no commits that `{}` does not have",
                    opts.base
                ),
                status: Some(422),
            };
        }
        let named = ["PullRequest head invalid", "PullRequest base invalid"];
        if named.iter().any(|words| answer.says(words)) {
            return self.missing_branch(&opts.repo, head, &opts.base).await;
        }
        if opts.draft && answer.says("draft") {
            return ForgeError::Unsupported {
                message,
                status: Some(422),
            };
        }
        answer.into_error()
    }
}
