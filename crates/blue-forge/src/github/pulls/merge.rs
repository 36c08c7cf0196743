//! Merging a pull request

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{super::branches::Tip, GitHub, WirePull, block, wire};
use crate::{
    ConflictKind, ForgeError, MergeBlock, Result,
    model::{MergeOpts, MergeOutcome, MergeStrategy, Mergeability, PullRequest, RepoId, Sha},
    rest::Answer,
};

/// Before the second try of a merge; doubled before each further one, so that a refusal that stays
/// is asked for about five times in ten seconds
const FIRST_RETRY_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_RETRY_PAUSE: Duration = Duration::from_secs(4);
/// How long a merge may take effect after its answer was lost
const LATE_MERGE_TIME: Duration = Duration::from_secs(3);

/// Words of a 409 for a pinned head that is not the present one
const HEAD_MOVED: &str = "head branch was modified";

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
    pub(in crate::github) async fn merge(
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
        let mut pause = FIRST_RETRY_PAUSE;
        loop {
            let head = merged_head(opts, pull.as_ref());
            let body = Body {
                merge_method: method,
                sha: head.as_ref().map(Sha::as_str),
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
                    Some(pull) => self.merged(repo, pull, sha, head, opts).await,
                    None => MergeOutcome::Merged {
                        sha,
                        already: false,
                        branch_deleted: false,
                        branch_moved: false,
                        own_branch: seen.and_then(|open| open.own_branch),
                    },
                });
            }
            let result = match result {
                Ok(answer) => Ok(answer),
                Err(lost @ ForgeError::NoAnswer { .. }) => Err(lost),
                // It did not reach the forge.
                Err(error) => return Err(error),
            };
            let is_unsure = result
                .as_ref()
                .map_or(true, |answer| answer.status.is_server_error());
            // Whatever was said, the pull request itself knows whether it happened.
            let now = match self.pull_after(repo, number, end, is_unsure).await {
                Ok(now) => now,
                Err(error) => return Err(result.err().unwrap_or(error)),
            };
            if now.is_merged() {
                // A clear "no" to this call: another client was faster.
                if !is_unsure {
                    return Ok(self.already(repo, now, opts).await);
                }
                let sha = now.merge_commit_sha.clone().map(|s| s.0);
                return Ok(self.merged(repo, now, sha, head, opts).await);
            }
            let answer = result?;
            let status = answer.status.as_u16();
            if pull.is_none() {
                refuse(&now, opts).map_err(|error| error.answered(status))?;
            }
            let in_time = Instant::now() + pause < end;
            if !in_time || !is_worth_another_try(&answer, &now, opts) {
                return Err(self.why_not_merged(repo, answer, &now).await);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_RETRY_PAUSE);
            refuse(&now, opts)?;
            pull = Some(now);
        }
    }

    /// Returns the pull request after a merge that was not answered with success
    ///
    /// Where the merge may still be running it is looked at until it is merged or the time for that
    /// is over; else until GitHub knows whether it merges.
    async fn pull_after(
        &self,
        repo: &RepoId,
        number: u64,
        end: Instant,
        is_unsure: bool,
    ) -> Result<WirePull> {
        if !is_unsure {
            return self.known_pull(repo, number, end).await;
        }
        let end = end.min(Instant::now() + LATE_MERGE_TIME);
        loop {
            let pull = self.wire_pull(repo, number).await?;
            if pull.is_merged() || Instant::now() + FIRST_RETRY_PAUSE > end {
                return Ok(pull);
            }
            tokio::time::sleep(FIRST_RETRY_PAUSE).await;
        }
    }

    /// It was merged before this call
    async fn already(&self, repo: &RepoId, pull: WirePull, opts: &MergeOpts) -> MergeOutcome {
        let pull = PullRequest::from(pull);
        MergeOutcome::Merged {
            own_branch: pull.own_branch(repo),
            branch_deleted: opts.delete_branch && self.head_is_gone(&pull).await,
            branch_moved: false,
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
        merged: Option<Sha>,
        opts: &MergeOpts,
    ) -> MergeOutcome {
        let pull = PullRequest::from(pull);
        let own_branch = pull.own_branch(repo);
        let left = match (pull.head.repo, merged) {
            (Some(home), Some(merged)) if opts.delete_branch => {
                self.delete_merged(&home, &pull.head.branch, &merged).await
            }
            _ => BranchLeft::Stays,
        };
        MergeOutcome::Merged {
            sha,
            already: false,
            branch_deleted: left == BranchLeft::Gone,
            branch_moved: left == BranchLeft::Moved,
            own_branch: own_branch.filter(|_| left != BranchLeft::Moved),
        }
    }

    /// Deletes a head branch if it is still at the commit that was merged: a push after the merge
    /// would be lost with it
    async fn delete_merged(&self, repo: &RepoId, branch: &str, merged: &Sha) -> BranchLeft {
        let removed = match self.branch_tip(repo, branch).await {
            // The repository may delete head branches by itself.
            Ok(Tip::Missing | Tip::EmptyRepository) => return BranchLeft::Gone,
            Ok(Tip::At(tip)) if tip != *merged => return BranchLeft::Moved,
            Ok(Tip::At(_)) => self.remove_branch(repo, branch).await,
            Err(error) => Err(error),
        };
        match removed {
            Ok(()) | Err(ForgeError::NotFound { .. }) => BranchLeft::Gone,
            Err(error) => {
                tracing::warn!(%error, branch, "merged, but the branch stays");
                BranchLeft::Stays
            }
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
        match answer.status.as_u16() {
            405 if answer.says("not mergeable") => {
                let reason = match pull.mergeability() {
                    Mergeability::Conflict => MergeBlock::Conflict,
                    Mergeability::Checking => MergeBlock::Checking,
                    Mergeability::Empty => MergeBlock::Empty,
                    _ => block::of_words(&answer.unmasked()),
                };
                ForgeError::NotMergeable {
                    reason,
                    message,
                    status: Some(answer.status.as_u16()),
                }
            }
            405 if says_busy(&answer) => ForgeError::NotMergeable {
                reason: MergeBlock::Checking,
                message,
                status: Some(answer.status.as_u16()),
            },
            405 => ForgeError::NotMergeable {
                reason: block::of_words(&answer.unmasked()),
                message,
                status: Some(answer.status.as_u16()),
            },
            409 if answer.says("conflict") => ForgeError::NotMergeable {
                reason: MergeBlock::Conflict,
                message,
                status: Some(answer.status.as_u16()),
            },
            409 => ForgeError::Conflict {
                kind: if answer.says(HEAD_MOVED) {
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
        _ if pull.draft => blocked(MergeBlock::Draft, "is a draft"),
        Mergeability::Empty => blocked(MergeBlock::Empty, "has no commits"),
        _ => Ok(()),
    }
}

/// What became of the head branch of a merged pull request
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BranchLeft {
    Gone,
    /// It has commits that were not merged
    Moved,
    Stays,
}

/// The commit to merge: the one that the caller names, or, where its branch is deleted afterwards,
/// the one that was looked at, so that it is known what was merged
fn merged_head(opts: &MergeOpts, pull: Option<&WirePull>) -> Option<Sha> {
    let seen = pull.filter(|_| opts.delete_branch);
    let seen = seen.map(|pull| pull.head.sha.0.clone());
    opts.head_sha.clone().or(seen)
}

/// GitHub cannot merge at this very moment
fn says_busy(answer: &Answer) -> bool {
    answer.says("base branch was modified") || answer.says("merge already in progress")
}

/// Whether the same merge may be accepted in a moment: the base moved, another merge runs, it was
/// still being computed and now merges, or a head that the caller did not name has moved
fn is_worth_another_try(answer: &Answer, pull: &WirePull, opts: &MergeOpts) -> bool {
    match answer.status.as_u16() {
        405 => {
            says_busy(answer)
                || (answer.says("not mergeable") && pull.mergeability() == Mergeability::Clean)
        }
        409 => answer.says(HEAD_MOVED) && opts.head_sha.is_none(),
        _ => false,
    }
}
