//! Merging a pull request

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{super::branches::Tip, GitHub, WirePull, block, wire};
use crate::forge::{
    ConflictKind, ForgeError, MergeBlock, Result,
    model::{MergeOpts, MergeOutcome, MergeStrategy, Mergeability, PullRequest, RepoId, Sha},
    rest::Answer,
};

/// Before another try
const PAUSE: Duration = Duration::from_millis(400);

#[derive(Debug, Serialize)]
struct Body<'a> {
    merge_method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit_title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit_message: Option<&'a str>,
}

#[derive(Debug, Deserialize)]
struct Merged {
    sha: Option<wire::Oid>,
}

impl GitHub {
    pub(in crate::forge::github) async fn merge(
        &self,
        repo: &RepoId,
        number: u64,
        opts: &MergeOpts,
    ) -> Result<MergeOutcome> {
        let method = method(opts)?;
        let end = Instant::now() + opts.patience;
        // GitHub holds the pin against the head by itself, so a look of a moment ago is enough.
        let pin = opts.head_sha.as_ref().filter(|_| !opts.delete_branch);
        let seen = pin.and_then(|pin| self.recent.open_at(repo, number, pin));
        let mut pull = None;
        if seen.is_none() {
            let found = self.wire_pull(repo, number).await?;
            if found.is_merged() {
                return Ok(self.already(repo, found, opts).await);
            }
            refuse(&found, opts)?;
            pull = Some(found);
        }
        loop {
            let body = Body {
                merge_method: method,
                sha: opts.head_sha.as_ref().map(Sha::as_str),
                commit_title: opts.title.as_deref(),
                commit_message: opts.message.as_deref(),
            };
            let result = self
                .put(repo, &["pulls", &number.to_string(), "merge"])
                .what(format!("pull request #{number} of `{repo}`"))
                .json(&body)
                .answer()
                .await;
            if let Ok(answer) = &result
                && answer.status.is_success()
            {
                let sha = answer
                    .json::<Merged>()
                    .ok()
                    .and_then(|m| m.sha)
                    .map(|s| s.0);
                if let Some(pin) = &opts.head_sha {
                    self.recent.saw_merge(repo, number, pin);
                }
                return Ok(match pull {
                    Some(pull) => self.merged(repo, pull, sha, opts).await,
                    None => MergeOutcome::Merged {
                        sha,
                        already: false,
                        branch_deleted: false,
                        own_branch: seen.and_then(|open| open.own_branch),
                    },
                });
            }
            // Whatever was said, the pull request itself knows whether it happened.
            let now = match self.known_pull(repo, number, end).await {
                Ok(now) => now,
                Err(error) => return Err(result.err().unwrap_or(error)),
            };
            if now.is_merged() {
                // A clear "no" without a look before it: somebody else was faster.
                if pull.is_none()
                    && matches!(&result, Ok(answer) if answer.status.is_client_error())
                {
                    return Ok(self.already(repo, now, opts).await);
                }
                let sha = now.merge_commit_sha.clone().map(|s| s.0);
                return Ok(self.merged(repo, now, sha, opts).await);
            }
            let answer = result?;
            let status = answer.status.as_u16();
            if pull.is_none() {
                refuse(&now, opts).map_err(|error| error.answered(status))?;
            }
            let again = is_worth_another_try(&answer, &now) && Instant::now() < end;
            if !again {
                return Err(self.why_not_merged(repo, answer, &now).await);
            }
            tokio::time::sleep(PAUSE).await;
            refuse(&now, opts)?;
            pull = Some(now);
        }
    }

    /// It was merged before this call
    async fn already(&self, repo: &RepoId, pull: WirePull, opts: &MergeOpts) -> MergeOutcome {
        let pull = PullRequest::from(pull);
        MergeOutcome::Merged {
            own_branch: pull.own_branch(repo),
            branch_deleted: opts.delete_branch && self.head_is_gone(&pull).await,
            sha: pull.merge_sha,
            already: true,
        }
    }

    /// The merge is done; a branch that stays is no reason to call it failed
    async fn merged(
        &self,
        repo: &RepoId,
        pull: WirePull,
        sha: Option<Sha>,
        opts: &MergeOpts,
    ) -> MergeOutcome {
        let pull = PullRequest::from(pull);
        let own_branch = pull.own_branch(repo);
        let head = pull.head;
        let branch_deleted = match head.repo {
            Some(repo) if opts.delete_branch => {
                match self.remove_branch(&repo, &head.branch).await {
                    // Gone already: the repository may delete head branches by itself.
                    Ok(()) | Err(ForgeError::NotFound { .. }) => true,
                    Err(error) => {
                        tracing::warn!(%error, branch = head.branch, "merged, but the branch stays");
                        false
                    }
                }
            }
            _ => false,
        };
        MergeOutcome::Merged {
            sha,
            already: false,
            branch_deleted,
            own_branch,
        }
    }

    async fn head_is_gone(&self, pull: &PullRequest) -> bool {
        match &pull.head.repo {
            Some(repo) => matches!(
                self.branch_tip(repo, &pull.head.branch).await,
                Ok(Tip::Missing)
            ),
            None => true,
        }
    }

    async fn why_not_merged(&self, repo: &RepoId, answer: Answer, pull: &WirePull) -> ForgeError {
        let message = answer.message_or_reason();
        let lower = message.to_lowercase();
        match answer.status.as_u16() {
            405 if lower.contains("not mergeable") => {
                let reason = match pull.mergeability() {
                    Mergeability::Conflict => MergeBlock::Conflict,
                    Mergeability::Checking => MergeBlock::Checking,
                    _ => block::of_words(&message),
                };
                ForgeError::NotMergeable {
                    reason,
                    message,
                    status: Some(answer.status.as_u16()),
                }
            }
            405 if lower.contains("base branch was modified") => ForgeError::NotMergeable {
                reason: MergeBlock::Checking,
                message,
                status: Some(answer.status.as_u16()),
            },
            405 => ForgeError::NotMergeable {
                reason: block::of_words(&message),
                message,
                status: Some(answer.status.as_u16()),
            },
            409 if lower.contains("conflict") => ForgeError::NotMergeable {
                reason: MergeBlock::Conflict,
                message,
                status: Some(answer.status.as_u16()),
            },
            409 => ForgeError::Conflict {
                kind: if lower.contains("head branch was modified") {
                    ConflictKind::HeadMoved {
                        current: Some(pull.head.sha.0.clone()),
                    }
                } else {
                    ConflictKind::Other
                },
                message,
                status: Some(answer.status.as_u16()),
            },
            _ => self.explain(repo, answer.into_error()).await,
        }
    }
}

fn method(opts: &MergeOpts) -> Result<&'static str> {
    let unsupported = |message: String| {
        Err(ForgeError::Unsupported {
            message,
            status: None,
        })
    };
    if opts.when_checks_succeed {
        return unsupported(
            "GitHub merges later only through its GraphQL API, which is not used here: \
             wait for the checks, then merge"
                .to_owned(),
        );
    }
    match opts.strategy {
        MergeStrategy::Merge | MergeStrategy::Squash | MergeStrategy::Rebase => {
            Ok(opts.strategy.as_str())
        }
        MergeStrategy::RebaseMerge | MergeStrategy::FastForwardOnly => unsupported(format!(
            "GitHub has no `{}` merge: use `merge`, `squash` or `rebase`",
            opts.strategy.as_str()
        )),
    }
}

/// What can be told without asking; GitHub's words for it are the poorer ones
fn refuse(pull: &WirePull, opts: &MergeOpts) -> Result<()> {
    let blocked = |reason, message: &str| {
        Err(ForgeError::NotMergeable {
            reason,
            message: format!("pull request #{} {message}", pull.number),
            status: None,
        })
    };
    if let Some(pin) = &opts.head_sha
        && *pin != pull.head.sha.0
    {
        return Err(ForgeError::Conflict {
            kind: ConflictKind::HeadMoved {
                current: Some(pull.head.sha.0.clone()),
            },
            message: format!(
                "the head of pull request #{} is {} and not {}",
                pull.number,
                pull.head.sha.0.short(),
                pin.short()
            ),
            status: None,
        });
    }
    match pull.mergeability() {
        Mergeability::Closed => blocked(MergeBlock::Closed, "is closed"),
        Mergeability::Draft => blocked(MergeBlock::Draft, "is a draft"),
        Mergeability::Empty => blocked(MergeBlock::Empty, "changes nothing"),
        _ => Ok(()),
    }
}

/// The base moved, or it was still being computed and now merges
fn is_worth_another_try(answer: &Answer, pull: &WirePull) -> bool {
    let message = answer.message().to_lowercase();
    answer.status.as_u16() == 405
        && (message.contains("base branch was modified")
            || (message.contains("not mergeable") && pull.mergeability() == Mergeability::Clean))
}
