//! Merging

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use super::{
    Forgejo,
    blocks::{self, Refusal},
    merged_branch::{BranchLeft, merged_head},
    settle::{POLL, Watch},
};
use crate::{
    ConflictKind, ForgeError, MergeBlock, Result,
    model::{
        MergeOpts, MergeOutcome, MergeStrategy, Mergeability, Mergeable, PrState, PullRequest,
        RepoId, Sha,
    },
};

/// How long to look for the commit of a merge that is done
const SHA_PATIENCE: Duration = Duration::from_secs(3);

/// The names must be written like this: older servers know no others
#[derive(Debug, Serialize)]
struct MergeBody<'a> {
    #[serde(rename = "Do")]
    style: &'static str,
    #[serde(rename = "MergeTitleField", skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(rename = "MergeMessageField", skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head_commit_id: Option<&'a str>,
    /// Only for a merge that the server makes later: it deletes the branch wherever that is by then,
    /// and `delete_merged` looks. Always sent: left out, it means "as the repository is set" or
    /// "no", by version
    delete_branch_after_merge: bool,
    merge_when_checks_succeed: bool,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    #[serde(default)]
    state: String,
}

impl Forgejo {
    pub(super) async fn merge(
        &self,
        repo: &RepoId,
        number: u64,
        opts: &MergeOpts,
    ) -> Result<MergeOutcome> {
        if opts.when_checks_succeed && opts.head_sha.is_some() {
            return Err(ForgeError::Invalid {
                message: "a merge that waits for checks cannot be pinned to a commit: \
                          the forge would merge whatever is there by then"
                    .to_owned(),
                status: None,
            });
        }
        let mut known = if self.seen_enough(repo, number, opts) {
            None
        } else {
            let pr = self.read_pr(repo, number).await?;
            if pr.state == PrState::Merged {
                return self.already_merged(repo, number, pr, opts).await;
            }
            if pr.state == PrState::Closed {
                return Err(closed(&pr));
            }
            check_pin(&pr, opts)?;
            self.refuse_behind(repo, &pr).await?;
            Some(pr)
        };
        let end = Instant::now() + opts.patience;
        let mut watch = known.as_ref().map(Watch::new);
        loop {
            let looked = known.is_some();
            let said_no = known
                .as_ref()
                .is_some_and(|pr| pr.mergeable != Mergeable::Yes);
            let head = merged_head(opts, known.as_ref());
            let refusal = match self.try_merge(repo, number, head.as_ref(), opts).await {
                Ok(None) => {
                    if let Some(pin) = &opts.head_sha {
                        self.recent.saw_merge(repo, number, pin);
                    }
                    return self.merged(repo, number, known, opts, head).await;
                }
                Ok(Some(outcome)) => return Ok(outcome),
                Err(refusal) => refusal,
            };
            // Whatever was answered, the merge may have happened.
            let pr = self.reread(repo, number, &refusal).await?;
            if pr.state == PrState::Merged {
                // A clear "no" to this call: another client was faster.
                if !may_be_done(&refusal) {
                    return self.already_merged(repo, number, pr, opts).await;
                }
                return self.merged(repo, number, Some(pr), opts, head).await;
            }
            if !looked {
                check_pin(&pr, opts).map_err(|error| error.answered(409))?;
            }
            let watch = watch.get_or_insert_with(|| Watch::new(&pr));
            watch.look(&pr);
            let (message, status) = match refusal {
                Refusal::TryAgain(message) => (message, 405),
                Refusal::BaseMoved(message) => (message, 409),
                Refusal::AlreadyMerged => (String::new(), 405),
                Refusal::Final(error) if opts.head_sha.is_none() && is_head_moved(&error) => {
                    (error.to_string(), 409)
                }
                Refusal::Final(error) => return Err(self.finished(repo, &pr, opts, error).await),
            };
            if pr.state == PrState::Closed {
                return Err(closed(&pr));
            }
            check_pin(&pr, opts)?;
            // A "no" from before the try is no check that the try itself has started.
            if said_no && pr.mergeable != Mergeable::Yes {
                self.recall_push(repo, &pr, watch).await;
            }
            self.weigh(repo, &pr, watch).await;
            if let Some(error) = settled(watch, &message) {
                return Err(error.answered(status));
            }
            if Instant::now() >= end {
                return Err(blocks::still_checking(self.rest.host(), &message).answered(status));
            }
            sleep(POLL.min(end.duration_since(Instant::now()))).await;
            known = Some(pr);
        }
    }

    /// Whether the look before a merge was taken a moment ago: the server holds the pin against the
    /// head by itself, and only whether the base has a rule that it keeps too late must be known
    fn seen_enough(&self, repo: &RepoId, number: u64, opts: &MergeOpts) -> bool {
        let pin = opts.head_sha.as_ref().filter(|_| !opts.delete_branch);
        pin.and_then(|pin| self.recent.open_at(repo, number, pin))
            .is_some_and(|open| self.recent.may_be_behind(repo, &open))
    }

    /// `None` is merged
    async fn try_merge(
        &self,
        repo: &RepoId,
        number: u64,
        head: Option<&Sha>,
        opts: &MergeOpts,
    ) -> std::result::Result<Option<MergeOutcome>, Refusal> {
        let body = MergeBody {
            style: opts.strategy.as_str(),
            title: opts.title.as_deref(),
            message: opts.message.as_deref(),
            head_commit_id: head.map(Sha::as_str),
            delete_branch_after_merge: opts.delete_branch && opts.when_checks_succeed,
            merge_when_checks_succeed: opts.when_checks_succeed,
        };
        let answer = self
            .repo_post(repo, &["pulls", &number.to_string(), "merge"])
            .what(format!("pull request #{number} of `{repo}`"))
            .json(&body)
            .answer()
            .await
            .map_err(Refusal::Final)?;
        match answer.status.as_u16() {
            201 | 202 => Ok(Some(MergeOutcome::Scheduled)),
            200..300 => Ok(None),
            _ => Err(blocks::read(answer)),
        }
    }

    /// Look what really happened; a broken connection may still be followed by a merge
    async fn reread(&self, repo: &RepoId, number: u64, refusal: &Refusal) -> Result<PullRequest> {
        let unsure = unsure(refusal);
        let end = Instant::now() + SHA_PATIENCE;
        loop {
            let pr = self.read_pr(repo, number).await?;
            if !unsure || pr.state != PrState::Open || Instant::now() >= end {
                return Ok(pr);
            }
            sleep(POLL).await;
        }
    }

    /// Returns the pull request with the commit of its merge, where that can be read soon
    async fn with_merge_sha(
        &self,
        repo: &RepoId,
        number: u64,
        mut pr: Option<PullRequest>,
    ) -> Option<PullRequest> {
        let known = |pr: &Option<PullRequest>| pr.as_ref().is_some_and(|pr| pr.merge_sha.is_some());
        let end = Instant::now() + SHA_PATIENCE;
        while !known(&pr) {
            match self.read_pr(repo, number).await {
                Ok(now) => pr = Some(now),
                // It is merged: that the commit cannot be read is no reason to fail.
                Err(_) => break,
            }
            if known(&pr) || Instant::now() >= end {
                break;
            }
            sleep(POLL / 2).await;
        }
        pr
    }

    /// The outcome of a merge by this call, of the commit `head` where that is known
    async fn merged(
        &self,
        repo: &RepoId,
        number: u64,
        pr: Option<PullRequest>,
        opts: &MergeOpts,
        head: Option<Sha>,
    ) -> Result<MergeOutcome> {
        let Some(pr) = self.with_merge_sha(repo, number, pr).await else {
            return Ok(MergeOutcome::Merged {
                sha: None,
                already: false,
                branch_deleted: false,
                branch_moved: false,
                own_branch: None,
            });
        };
        let left = match head {
            Some(head) if opts.delete_branch => self.delete_merged(&pr, &head).await,
            None if opts.delete_branch && self.head_is_gone(&pr).await => BranchLeft::Gone,
            _ => BranchLeft::Stays,
        };
        Ok(MergeOutcome::Merged {
            own_branch: pr.own_branch(repo).filter(|_| left != BranchLeft::Moved),
            sha: pr.merge_sha,
            already: false,
            branch_deleted: left == BranchLeft::Gone,
            branch_moved: left == BranchLeft::Moved,
        })
    }

    /// The outcome of a call that merged nothing, since it was merged before
    async fn already_merged(
        &self,
        repo: &RepoId,
        number: u64,
        pr: PullRequest,
        opts: &MergeOpts,
    ) -> Result<MergeOutcome> {
        let branch_deleted = opts.delete_branch && self.head_is_gone(&pr).await;
        let own_branch = pr.own_branch(repo);
        let pr = self.with_merge_sha(repo, number, Some(pr)).await;
        Ok(MergeOutcome::Merged {
            own_branch,
            sha: pr.and_then(|pr| pr.merge_sha),
            already: true,
            branch_deleted,
            branch_moved: false,
        })
    }

    /// The last word on a refusal that is not worth another try
    async fn finished(
        &self,
        repo: &RepoId,
        pr: &PullRequest,
        opts: &MergeOpts,
        error: ForgeError,
    ) -> ForgeError {
        let status = error.status();
        let known = match error {
            ForgeError::Conflict {
                kind: ConflictKind::HeadMoved { .. },
                message,
                ..
            } => ForgeError::Conflict {
                kind: ConflictKind::HeadMoved {
                    current: pr.head.sha.clone(),
                },
                message,
                status: None,
            },
            ForgeError::NotFound { .. } if pr.state == PrState::Closed => closed(pr),
            // Only site admins get to see the text of a 500, so a look at the facts must do.
            ForgeError::Unexpected {
                status: 500,
                message,
                ..
            } if opts.strategy == MergeStrategy::FastForwardOnly
                && self.base_has_more(repo, pr).await =>
            {
                ForgeError::NotMergeable {
                    reason: MergeBlock::FastForward,
                    message,
                    status: None,
                }
            }
            ForgeError::Unexpected { status: 500, .. }
                if self.waits_for_another(repo, pr.number).await =>
            {
                ForgeError::NotMergeable {
                    reason: MergeBlock::Dependency,
                    message: format!(
                        "pull request #{} is blocked by an open dependency",
                        pr.number
                    ),
                    status: None,
                }
            }
            other => other,
        };
        known.answered(status)
    }

    /// Whether the pull request waits for another; "no" also where that cannot be read
    pub(super) async fn waits_for_another(&self, repo: &RepoId, number: u64) -> bool {
        let call = self
            .repo_get(repo, &["issues", &number.to_string(), "dependencies"])
            .what(format!("pull request #{number} of `{repo}`"));
        let Ok(answer) = call.send().await else {
            return false;
        };
        answer
            .list::<Dependency>()
            .is_ok_and(|rows| rows.iter().any(|row| row.state == "open"))
    }

    /// The server looks at a count that it brings up to date only some time after a push
    async fn refuse_behind(&self, repo: &RepoId, pr: &PullRequest) -> Result<()> {
        // The head left the base at its tip: whatever the rule is, it holds.
        if pr.merge_base.is_some() && pr.merge_base == pr.base.sha {
            return Ok(());
        }
        let rule = self.read_protection(repo, &pr.base.branch).await;
        if rule.is_ok_and(|r| r.require_up_to_date) && self.base_has_more(repo, pr).await {
            return Err(ForgeError::NotMergeable {
                reason: MergeBlock::Behind,
                message: "The head branch is behind the base branch".to_owned(),
                status: None,
            });
        }
        Ok(())
    }

    async fn base_has_more(&self, repo: &RepoId, pr: &PullRequest) -> bool {
        let (Some(head), Ok(base)) = (&pr.head.sha, self.read_branch(repo, &pr.base.branch).await)
        else {
            return false;
        };
        self.commits_ahead(repo, head.as_str(), base.sha.as_str())
            .await
            .is_ok_and(|n| n > 0)
    }
}

/// Whether a merge may still follow on what was answered
fn unsure(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        // The base may have moved because another client merged this pull request.
        Refusal::BaseMoved(_)
            | Refusal::Final(
                ForgeError::Unreachable { .. }
                    | ForgeError::NoAnswer { .. }
                    | ForgeError::Unexpected { .. }
            )
    )
}

/// Whether a merge that is found after this refusal may be the one that was asked for
fn may_be_done(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::Final(ForgeError::NoAnswer { .. } | ForgeError::Unexpected { .. })
    )
}

fn is_head_moved(error: &ForgeError) -> bool {
    matches!(
        error,
        ForgeError::Conflict {
            kind: ConflictKind::HeadMoved { .. },
            ..
        }
    )
}

fn closed(pr: &PullRequest) -> ForgeError {
    ForgeError::NotMergeable {
        reason: MergeBlock::Closed,
        message: format!("pull request #{} is closed", pr.number),
        status: None,
    }
}

/// Asking with the wrong pin would block the pull request for seconds
fn check_pin(pr: &PullRequest, opts: &MergeOpts) -> Result<()> {
    match (&opts.head_sha, &pr.head.sha) {
        (Some(pin), Some(head)) if pin != head => Err(ForgeError::Conflict {
            kind: ConflictKind::HeadMoved {
                current: Some(head.clone()),
            },
            message: format!(
                "head out of date: pull request #{} is at {}, not at {}",
                pr.number,
                head.short(),
                pin.short()
            ),
            status: None,
        }),
        _ => Ok(()),
    }
}

/// What a lasting "try again later" turned out to be
fn settled(watch: &Watch, message: &str) -> Option<ForgeError> {
    let (reason, text) = match watch.verdict()? {
        Mergeability::Empty => (
            MergeBlock::Empty,
            "there is nothing to merge: the head has no commit that the base does not have",
        ),
        Mergeability::Conflict => (
            MergeBlock::Conflict,
            "the branches conflict and cannot be merged automatically",
        ),
        _ => return None,
    };
    let message = if message.is_empty() {
        text.to_owned()
    } else {
        format!("{text} (the forge says: {message})")
    };
    Some(ForgeError::NotMergeable {
        reason,
        message,
        status: None,
    })
}
