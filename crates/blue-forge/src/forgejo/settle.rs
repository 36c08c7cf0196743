//! Whether a pull request merges, from several looks at a server that is still making up its mind
//!
//! Gitea and Forgejo have one flag, `mergeable`. After a push it is the old answer for a while, then
//! "no" while a check runs or waits for its turn, then the truth; on a busy server each step takes
//! seconds. "No" also stands for a draft and for an error. So a flag is believed only after it has
//! lasted, or where the time of the last push and the changed paths confirm it.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, sleep};

use super::Forgejo;
use crate::{
    Result,
    model::{ChangedFile, Mergeability, Mergeable, PrState, PullRequest, RepoId, Sha},
};

/// A "yes" is believed after it has lasted this long: right after a push it is still the old answer
const YES_SETTLES: Duration = Duration::from_secs(3);
/// A "no" means a conflict after it has lasted this long
const NO_SETTLES: Duration = Duration::from_secs(7);
/// A "no" means a conflict after this long where nothing was pushed lately: a look alone, or a merge
/// that was refused, can start a check of a pull request that has been idle for days
const QUIET_NO_SETTLES: Duration = Duration::from_secs(3);
/// "No commits" is believed after this long
const EMPTY_SETTLES: Duration = Duration::from_secs(1);
pub(super) const POLL: Duration = Duration::from_millis(500);
/// A "yes" is believed at once where the last push is this old: also a busy server has judged by then
const QUIET: SignedDuration = SignedDuration::from_secs(20);
/// Where both sides changed a common path, a "yes" is not believed before the last push is this old, and
/// a "no" is a conflict at once after it
const OVERLAP_SETTLES: SignedDuration = SignedDuration::from_secs(10);

/// Whether both sides changed one path since they parted
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overlap {
    Common,
    Disjoint,
    /// The server does not tell all that changed
    Untold,
}

/// What several looks at one pull request say together
#[derive(Debug)]
pub(super) struct Watch {
    ends: (Option<Sha>, Option<Sha>),
    mergeable: Mergeable,
    empty: bool,
    /// How old the last push to either side is, at least; `None` where that is not known
    push_age: Option<SignedDuration>,
    overlap: Option<Overlap>,
    since: Instant,
}

impl Watch {
    pub(super) fn new(pr: &PullRequest) -> Self {
        Self {
            ends: (pr.head.sha.clone(), pr.base.sha.clone()),
            mergeable: pr.mergeable,
            empty: has_no_commit(pr),
            push_age: None,
            overlap: None,
            since: Instant::now(),
        }
    }

    /// Take one more look; any change starts the clock again
    pub(super) fn look(&mut self, pr: &PullRequest) {
        let now = Self::new(pr);
        let pushed =
            self.push_age.is_some_and(|age| age >= QUIET) && pr.quiet_since(QUIET).is_none();
        let same_ends = now.ends == self.ends;
        if !same_ends || now.mergeable != self.mergeable || now.empty != self.empty || pushed {
            let overlap = self.overlap.filter(|_| same_ends);
            *self = Self { overlap, ..now };
        }
    }

    fn is_quiet(&self) -> bool {
        self.push_age.is_some_and(|age| age >= QUIET)
    }

    /// Whether the last push is old enough to trust the flag where both sides changed a common path
    fn is_at_rest(&self) -> bool {
        // Seen to last, whatever the dates say: a commit may have a date in the future.
        let watched = SignedDuration::try_from(self.since.elapsed());
        self.push_age.is_some_and(|age| age >= OVERLAP_SETTLES)
            || watched.is_ok_and(|watched| watched >= OVERLAP_SETTLES)
    }

    /// Until the next look: what may change soon is looked at often, what only has to last is not
    fn pause(&self) -> Duration {
        let settles = match self.mergeable {
            _ if self.empty => EMPTY_SETTLES,
            Mergeable::Yes => YES_SETTLES,
            _ => return POLL,
        };
        let left = settles.saturating_sub(self.since.elapsed());
        if left.is_zero() { POLL } else { left }
    }

    /// Whether the flag would decide, if the changed paths were known
    fn needs_overlap(&self) -> bool {
        let lasted = self.since.elapsed();
        self.overlap.is_none()
            && !self.empty
            && match self.mergeable {
                Mergeable::Yes => !self.is_quiet() && lasted >= YES_SETTLES,
                _ => self.is_at_rest() || lasted >= QUIET_NO_SETTLES,
            }
    }

    pub(super) fn verdict(&self) -> Option<Mergeability> {
        let lasted = self.since.elapsed();
        if self.empty {
            return (lasted >= EMPTY_SETTLES).then_some(Mergeability::Empty);
        }
        if self.mergeable == Mergeable::Yes {
            let settled = lasted >= YES_SETTLES
                && (self.overlap == Some(Overlap::Disjoint) || self.is_at_rest());
            return (self.is_quiet() || settled).then_some(Mergeability::Clean);
        }
        let settles = if self.is_quiet() {
            QUIET_NO_SETTLES
        } else {
            NO_SETTLES
        };
        let conflict = match self.overlap {
            // Nothing to conflict about: the server is slow.
            Some(Overlap::Disjoint) => false,
            Some(Overlap::Common) => self.is_at_rest() || lasted >= settles,
            Some(Overlap::Untold) | None => lasted >= settles,
        };
        conflict.then_some(Mergeability::Conflict)
    }
}

/// Whether the head has nothing that the base has not; a commit without changes is something, and the
/// servers merge it
fn has_no_commit(pr: &PullRequest) -> bool {
    match (&pr.head.sha, &pr.merge_base) {
        (Some(head), Some(parted)) => head == parted,
        _ => pr.changed_files == Some(0),
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
        if plain_verdict(&pr).is_none() {
            watch.push_age = self.push_age(repo, &pr).await;
        }
        loop {
            self.weigh(repo, &pr, &mut watch).await;
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

    /// A head that has all of its base cannot conflict with it, however old the server's "yes" is
    async fn is_on_top(&self, repo: &RepoId, pr: &PullRequest) -> bool {
        let (Some(tip), Some(head)) = (&pr.base.sha, &pr.head.sha) else {
            return false;
        };
        pr.mergeable == Mergeable::Yes
            && pr.changed_files.is_some()
            && pr.merge_base.as_ref() == Some(tip)
            && pr.head.repo.as_ref() == Some(repo)
            && head != tip
            // The point where they parted may be as old as the "yes": ask.
            && (self.recent.is_parent(tip, head)
                || matches!(self.commits_ahead(repo, head.as_str(), tip.as_str()).await, Ok(0)))
    }

    /// Returns how old the last push to either side is, at least, by the server's clock
    ///
    /// The server notices a push, and judges again, seconds after it shows what was pushed. So the
    /// commits that it shows must be as old as the times that it keeps.
    async fn push_age(&self, repo: &RepoId, pr: &PullRequest) -> Option<SignedDuration> {
        let (now, pushed) = (pr.server_time?, pr.last_push?);
        let age = now.duration_since(pushed);
        if age < OVERLAP_SETTLES {
            return Some(age);
        }
        let (head, tip) = (pr.head.sha.as_ref()?, pr.base.sha.as_ref()?);
        let (head, tip) = tokio::join!(self.made_at(repo, head), self.made_at(repo, tip));
        let newest = head?.max(tip?);
        Some(age.min(now.duration_since(newest)))
    }

    /// Returns the time that a commit was made; an amended or rebased one was made later than written
    async fn made_at(&self, repo: &RepoId, commit: &Sha) -> Option<Timestamp> {
        let row = self.commit_if_any(repo, commit.as_str()).await.ok()??;
        row.body.committer.and_then(|by| by.date)
    }

    /// Marks a refused merge whose flag said "no" before it, too: then the flag is no answer to the try
    pub(super) async fn recall_push(&self, repo: &RepoId, pr: &PullRequest, watch: &mut Watch) {
        watch.push_age = self.push_age(repo, pr).await;
    }

    /// Ask for what decides beside the flag, once it would decide
    pub(super) async fn weigh(&self, repo: &RepoId, pr: &PullRequest, watch: &mut Watch) {
        if plain_verdict(pr).is_some() {
            return;
        }
        if watch.needs_overlap() {
            // Seldom needed, so it is kept out of every merge's future.
            watch.overlap = Some(Box::pin(self.overlap(repo, pr)).await);
        }
        let waits_for_push = watch.mergeable == Mergeable::Yes
            && matches!(watch.overlap, Some(Overlap::Common | Overlap::Untold));
        if waits_for_push && !watch.is_at_rest() {
            watch.push_age = self.push_age(repo, pr).await;
        }
    }

    async fn overlap(&self, repo: &RepoId, pr: &PullRequest) -> Overlap {
        let (Some(parted), Some(tip)) = (&pr.merge_base, &pr.base.sha) else {
            return Overlap::Untold;
        };
        if parted == tip {
            return Overlap::Disjoint;
        }
        let (theirs, ours) = tokio::join!(
            self.compare_revs(repo, parted.as_str(), tip.as_str()),
            self.files_of_pr(repo, pr.number),
        );
        match (theirs, ours) {
            (Ok(theirs), Ok(ours)) if touch(&theirs.files, &ours) => Overlap::Common,
            // A comparison that was cut may lack the very file.
            (Ok(theirs), Ok(_)) if theirs.commits.len() as u64 == theirs.ahead => Overlap::Disjoint,
            _ => Overlap::Untold,
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ChangeKind;

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

    /// A watch that has lasted, of a push of some age
    fn watch(
        mergeable: Mergeable,
        overlap: Option<Overlap>,
        push_age_secs: i64,
        lasted_secs: u64,
    ) -> Watch {
        Watch {
            ends: (None, None),
            mergeable,
            empty: false,
            push_age: Some(SignedDuration::from_secs(push_age_secs)),
            overlap,
            since: Instant::now()
                .checked_sub(Duration::from_secs(lasted_secs))
                .unwrap(),
        }
    }

    #[tokio::test]
    async fn a_flag_with_a_common_path_is_believed_ten_seconds_after_the_push() {
        use Mergeability::{Clean, Conflict};
        use Mergeable::{Unknown, Yes};
        use Overlap::{Common, Disjoint, Untold};
        for (mergeable, overlap, age, lasted, verdict) in [
            (Unknown, Some(Common), 10, 0, Some(Conflict)),
            (Unknown, Some(Common), 9, 0, None),
            (Unknown, Some(Common), 9, 7, Some(Conflict)),
            (Unknown, Some(Disjoint), 3_600, 60, None),
            (Unknown, Some(Untold), 10, 6, None),
            (Unknown, Some(Untold), 10, 7, Some(Conflict)),
            (Unknown, Some(Untold), 20, 3, Some(Conflict)),
            (Yes, Some(Common), 9, 4, None),
            (Yes, Some(Common), 10, 4, Some(Clean)),
            (Yes, Some(Untold), 9, 4, None),
            (Yes, Some(Disjoint), 3, 3, Some(Clean)),
            (Yes, None, 20, 0, Some(Clean)),
            // A commit of tomorrow does not keep it open for ever.
            (Yes, Some(Common), -90_000, 10, Some(Clean)),
        ] {
            let found = watch(mergeable, overlap, age, lasted).verdict();
            assert_eq!(found, verdict, "{mergeable:?} {overlap:?} {age} {lasted}");
        }
    }
}
