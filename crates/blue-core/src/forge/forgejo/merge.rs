//! Merging, and whether it would work

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use super::{
    Forgejo,
    blocks::{self, Refusal},
};
use crate::forge::{
    ConflictKind, ForgeError, MergeBlock, Result,
    model::{
        ChangedFile, MergeOpts, MergeOutcome, MergeStrategy, Mergeability, Mergeable, PrState,
        PullRequest, RepoId, Sha,
    },
};

/// A "yes" is believed after this long: right after a push it is still the old answer
const YES_SETTLES: Duration = Duration::from_secs(3);
/// A "no" means a conflict after this long: at first it means that a check runs, or that on a busy
/// server it waits for its turn
const NO_SETTLES: Duration = Duration::from_secs(7);
/// And where nothing was pushed lately: a look alone can start a check of a pull request that
/// nobody has looked at for days, and so can a merge that was refused
const QUIET_NO_SETTLES: Duration = Duration::from_secs(3);
/// "No file changed" is believed after this long
const EMPTY_SETTLES: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(500);
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
    /// Always sent: left out, it means "as the repository is set" or "no", by version
    delete_branch_after_merge: bool,
    merge_when_checks_succeed: bool,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    #[serde(default)]
    state: String,
}

/// What several looks at one pull request say together
#[derive(Debug)]
struct Watch {
    ends: (Option<Sha>, Option<Sha>),
    mergeable: Mergeable,
    empty: bool,
    /// Both sides are as they were a while ago
    quiet: bool,
    /// The two sides have nothing in common to conflict about
    cleared: bool,
    since: Instant,
}

impl Watch {
    fn new(pr: &PullRequest) -> Self {
        Self {
            ends: (pr.head.sha.clone(), pr.base.sha.clone()),
            mergeable: pr.mergeable,
            empty: pr.changed_files == Some(0),
            quiet: false,
            cleared: false,
            since: Instant::now(),
        }
    }

    /// Take one more look; any change starts the clock anew
    fn look(&mut self, pr: &PullRequest) {
        let now = Self::new(pr);
        if now.ends != self.ends
            || now.mergeable != self.mergeable
            || now.empty != self.empty
            || (self.quiet && pr.quiet_since.is_none())
        {
            *self = now;
        }
    }

    /// Until the next look: what may change soon is looked at often, what only has to last is not
    fn pause(&self) -> Duration {
        let settles = match self.mergeable {
            _ if self.empty => EMPTY_SETTLES,
            Mergeable::Yes => YES_SETTLES,
            _ => return POLL,
        };
        settles.saturating_sub(self.since.elapsed())
    }

    fn verdict(&self) -> Option<Mergeability> {
        let lasted = self.since.elapsed();
        if self.empty {
            return (lasted >= EMPTY_SETTLES).then_some(Mergeability::Empty);
        }
        match self.mergeable {
            Mergeable::Yes => (self.quiet || lasted >= YES_SETTLES).then_some(Mergeability::Clean),
            _ if self.cleared => None,
            _ if self.quiet => (lasted >= QUIET_NO_SETTLES).then_some(Mergeability::Conflict),
            _ => (lasted >= NO_SETTLES).then_some(Mergeability::Conflict),
        }
    }
}

fn plain_verdict(pr: &PullRequest) -> Option<Mergeability> {
    match pr.state {
        PrState::Merged => Some(Mergeability::Merged),
        PrState::Closed => Some(Mergeability::Closed),
        PrState::Open if pr.draft => Some(Mergeability::Draft),
        PrState::Open => None,
    }
}

impl Forgejo {
    pub(super) async fn judge(
        &self,
        repo: &RepoId,
        mut pr: PullRequest,
        patience: Duration,
    ) -> Result<(Mergeability, PullRequest)> {
        let end = Instant::now() + patience;
        let number = pr.number;
        if plain_verdict(&pr).is_none() && self.is_on_top(repo, &pr).await {
            return Ok((Mergeability::Clean, pr));
        }
        let mut watch = Watch::new(&pr);
        watch.quiet = plain_verdict(&pr).is_none() && self.is_quiet(repo, &pr).await;
        loop {
            self.clear(repo, &pr, &mut watch).await;
            if let Some(verdict) = plain_verdict(&pr).or_else(|| watch.verdict()) {
                return Ok((verdict, pr));
            }
            if Instant::now() >= end {
                return Ok((Mergeability::Checking, pr));
            }
            sleep(watch.pause().min(end.duration_since(Instant::now()))).await;
            pr = self.read_pr(repo, number).await?;
            watch.look(&pr);
        }
    }

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
                return self.merged(repo, number, Some(pr), opts, true).await;
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
            let refusal = match self.try_merge(repo, number, known.as_ref(), opts).await {
                Ok(None) => {
                    if let Some(pin) = &opts.head_sha {
                        self.recent.saw_merge(repo, number, pin);
                    }
                    return self.merged(repo, number, known, opts, false).await;
                }
                Ok(Some(outcome)) => return Ok(outcome),
                Err(refusal) => refusal,
            };
            // Whatever was answered, the merge may have happened.
            let pr = self.reread(repo, number, &refusal).await?;
            if pr.state == PrState::Merged {
                let already = !looked && !unsure(&refusal);
                return self.merged(repo, number, Some(pr), opts, already).await;
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
                Refusal::Final(error) => return Err(self.finished(repo, &pr, opts, error).await),
            };
            if pr.state == PrState::Closed {
                return Err(closed(&pr));
            }
            check_pin(&pr, opts)?;
            self.clear(repo, &pr, watch).await;
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

    /// A head that has all of its base cannot conflict with it, however old the server's "yes" is
    async fn is_on_top(&self, repo: &RepoId, pr: &PullRequest) -> bool {
        let (Some(tip), Some(head)) = (&pr.base.sha, &pr.head.sha) else {
            return false;
        };
        pr.mergeable == Mergeable::Yes
            && pr.changed_files.is_some_and(|changed| changed > 0)
            && pr.merge_base.as_ref() == Some(tip)
            && pr.head.repo.as_ref() == Some(repo)
            && head != tip
            // The point where they parted may be as old as the "yes": ask.
            && (self.recent.is_parent(tip, head)
                || matches!(self.commits_ahead(repo, head.as_str(), tip.as_str()).await, Ok(0)))
    }

    /// Whether both sides are as they were a while ago, so that the server has judged them
    ///
    /// It notices a push, and judges anew, seconds after it shows what was pushed: so what it shows
    /// must be old, too.
    async fn is_quiet(&self, repo: &RepoId, pr: &PullRequest) -> bool {
        let (Some(since), Some(tip), Some(head)) = (pr.quiet_since, &pr.base.sha, &pr.head.sha)
        else {
            return false;
        };
        let is_old = async |commit: &Sha| {
            let Ok(Some(row)) = self.commit_if_any(repo, commit.as_str()).await else {
                return false;
            };
            let made = row.body.committer.and_then(|by| by.date);
            made.is_some_and(|made| made <= since)
        };
        let (tip, head) = tokio::join!(is_old(tip), is_old(head));
        tip && head
    }

    /// A lasting "no" is no conflict where the sides changed nothing in common: the server is slow
    async fn clear(&self, repo: &RepoId, pr: &PullRequest, watch: &mut Watch) {
        let conflict = watch.verdict() == Some(Mergeability::Conflict);
        if conflict && pr.state == PrState::Open {
            // Seldom needed, so it is kept out of every merge's future.
            watch.cleared = !Box::pin(self.may_conflict(repo, pr)).await;
        }
    }

    /// Whether both sides changed one path since they parted; "yes" also where nobody can tell
    async fn may_conflict(&self, repo: &RepoId, pr: &PullRequest) -> bool {
        let (Some(parted), Some(tip)) = (&pr.merge_base, &pr.base.sha) else {
            return true;
        };
        if parted == tip {
            return false;
        }
        let (theirs, ours) = tokio::join!(
            self.compare_revs(repo, parted.as_str(), tip.as_str()),
            self.files_of_pr(repo, pr.number),
        );
        match (theirs, ours) {
            (Ok(theirs), Ok(ours)) => {
                let whole = theirs.commits.len() as u64 == theirs.ahead;
                !whole || touch(&theirs.files, &ours)
            }
            _ => true,
        }
    }

    /// `None` is merged
    async fn try_merge(
        &self,
        repo: &RepoId,
        number: u64,
        pr: Option<&PullRequest>,
        opts: &MergeOpts,
    ) -> std::result::Result<Option<MergeOutcome>, Refusal> {
        // The branch of a fork that is not allowed stays.
        let ours = pr
            .and_then(|pr| pr.head.repo.as_ref())
            .is_none_or(|head| self.rest.allows(head.owner(), head.name()).is_ok());
        let body = MergeBody {
            style: opts.strategy.as_str(),
            title: opts.title.as_deref(),
            message: opts.message.as_deref(),
            head_commit_id: opts.head_sha.as_ref().map(Sha::as_str),
            delete_branch_after_merge: opts.delete_branch && ours,
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

    async fn merged(
        &self,
        repo: &RepoId,
        number: u64,
        mut pr: Option<PullRequest>,
        opts: &MergeOpts,
        already: bool,
    ) -> Result<MergeOutcome> {
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
        let Some(pr) = pr else {
            return Ok(MergeOutcome::Merged {
                sha: None,
                already,
                branch_deleted: false,
                own_branch: None,
            });
        };
        let branch_deleted = opts.delete_branch && self.head_is_gone(&pr).await;
        Ok(MergeOutcome::Merged {
            own_branch: pr.own_branch(repo),
            sha: pr.merge_sha,
            already,
            branch_deleted,
        })
    }

    async fn head_is_gone(&self, pr: &PullRequest) -> bool {
        match &pr.head.repo {
            Some(repo) => matches!(self.branch_if_any(repo, &pr.head.branch).await, Ok(None)),
            None => true,
        }
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

/// Whether two sets of changes meet: in one path, or in a file where the other has a folder
fn touch(theirs: &[ChangedFile], ours: &[ChangedFile]) -> bool {
    let inside = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('/'));
    let meet = |a: &str, b: &str| a == b || inside(a, b) || inside(b, a);
    theirs
        .iter()
        .flat_map(paths)
        .any(|a| ours.iter().flat_map(paths).any(|b| meet(a, b)))
}

fn paths(file: &ChangedFile) -> impl Iterator<Item = &str> {
    [Some(&file.path), file.previous_path.as_ref()]
        .into_iter()
        .flatten()
        .map(String::as_str)
}

/// Whether a merge may still follow on what was answered
fn unsure(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        // What moved the base may have been this very merge, done by somebody else.
        Refusal::BaseMoved(_)
            | Refusal::Final(
                ForgeError::Unreachable { .. }
                    | ForgeError::NoAnswer { .. }
                    | ForgeError::Unexpected { .. }
            )
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
            "there is nothing to merge: no file differs between the branches",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forge::model::ChangeKind;

    fn changed(path: &str, previous: Option<&str>) -> ChangedFile {
        ChangedFile {
            path: path.to_owned(),
            previous_path: previous.map(str::to_owned),
            change: ChangeKind::Modified,
            additions: 0,
            deletions: 0,
        }
    }

    #[test]
    fn changes_that_meet() {
        for (a, b, meet) in [
            (changed("a", None), changed("a", None), true),
            (changed("a", None), changed("b", None), false),
            (changed("a", None), changed("ab", None), false),
            (changed("a", None), changed("a/b", None), true),
            (changed("a/b", None), changed("a", None), true),
            (changed("new", Some("old")), changed("old", None), true),
            (changed("x/1", None), changed("x/2", None), false),
        ] {
            assert_eq!(touch(&[a], &[b]), meet);
        }
        assert!(!touch(&[], &[changed("a", None)]));
    }
}
