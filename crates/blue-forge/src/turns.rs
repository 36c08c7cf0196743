//! One lock per branch for this process, shared fairly between users
//!
//! Gitea and Forgejo cannot be told which commit a branch must still be at, so a comparison made
//! before a write holds only while no other task of this process writes to that branch. The list of
//! locks is process-wide: behind the broker each user has a forge client of their own.
//!
//! A lock that any user can take must not let one user stop the others:
//!
//! - An uncontended lock is taken at once, without any request.
//! - A caller that finds the lock taken proves the right to push before it queues.
//! - A holder that took the lock without that proof has to deliver it as soon as a caller queues.
//!   Without the right it loses the lock, except while a write of its own is on the way or was
//!   accepted: then the forge decides.
//! - One request per user stands in the queue of a branch, so users alternate however many requests
//!   each of them sends.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher as _, RandomState},
    pin::pin,
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::{
    sync::{Mutex as Lock, OwnedMutexGuard, watch},
    time::timeout,
};

use super::{
    ForgeError, Result,
    model::{Host, RepoId},
};
use blue_base::secret::Secret;

/// Longest wait for the lock of a branch; after that the caller is told to retry
const MAX_LOCK_WAIT: Duration = Duration::from_secs(15);
/// Longest wait for the forge to say whether a caller may push
const MAX_PROOF_WAIT: Duration = Duration::from_secs(5);

/// Host, repository and branch
type Key = (String, String, String);

static LOCKS: Mutex<BTreeMap<Key, Weak<Branch>>> = Mutex::new(BTreeMap::new());
static USERS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

tokio::task_local! {
    /// How far the write of the current lock holder has come
    static WRITE: watch::Sender<WriteState>;
}

/// A user as the locks tell users apart: a keyed hash of the token, which means nothing outside of
/// this process
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct UserKey(Option<u64>);

impl UserKey {
    pub(super) fn of(token: Option<&Secret>) -> Self {
        Self(token.map(|token| USERS.hash_one(token.expose())))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteState {
    /// No write is on the way, and none was accepted
    Idle,
    /// A write was sent; whether the forge accepts it is open
    Sent,
    Accepted,
}

/// A writing request on its way; the lock is not taken from its holder meanwhile
#[derive(Debug)]
pub(super) struct WriteInFlight(());

impl WriteInFlight {
    pub(super) fn begin() -> Self {
        set_write_state(WriteState::Sent);
        Self(())
    }

    pub(super) fn answered(self, accepted: bool) {
        if accepted {
            set_write_state(WriteState::Accepted);
        }
        drop(self);
    }
}

impl Drop for WriteInFlight {
    fn drop(&mut self) {
        let _ = WRITE.try_with(|state| {
            state.send_if_modified(|state| {
                let was_sent = *state == WriteState::Sent;
                if was_sent {
                    *state = WriteState::Idle;
                }
                was_sent
            })
        });
    }
}

fn set_write_state(new: WriteState) {
    // Once accepted, a later refusal (a second request of the same commit) does not undo it.
    let _ = WRITE.try_with(|state| {
        state.send_if_modified(|state| {
            let changes = *state != WriteState::Accepted && *state != new;
            if changes {
                *state = new;
            }
            changes
        })
    });
}

/// The lock of one branch
#[derive(Debug)]
struct Branch {
    lock: Arc<Lock<()>>,
    /// One place in the queue for each user
    users: Mutex<HashMap<UserKey, Weak<Lock<()>>>>,
    /// Callers that queue and have proved their right to push
    waiting: watch::Sender<usize>,
}

/// Counts a caller as waiting as long as it is kept
struct Waiting<'a>(&'a Branch);

impl<'a> Waiting<'a> {
    fn enter(branch: &'a Branch) -> Self {
        branch.waiting.send_modify(|count| *count += 1);
        Self(branch)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.send_modify(|count| *count -= 1);
    }
}

impl Branch {
    fn find(host: &Host, repo: &RepoId, branch: &str) -> Arc<Self> {
        // Forges do not tell names of repositories apart by case, but those of branches.
        let key = (
            host.to_string(),
            repo.to_string().to_lowercase(),
            branch.to_owned(),
        );
        let mut locks = guard(&LOCKS);
        if let Some(found) = locks.get(&key).and_then(Weak::upgrade) {
            return found;
        }
        locks.retain(|_, branch| branch.strong_count() > 0);
        let made = Arc::new(Self {
            lock: Arc::default(),
            users: Mutex::default(),
            waiting: watch::Sender::new(0),
        });
        locks.insert(key, Arc::downgrade(&made));
        made
    }

    /// Waits for the user's own place in the queue, then for the lock
    async fn queue(&self, user: UserKey) -> OwnedMutexGuard<()> {
        let place = {
            let mut users = guard(&self.users);
            users.retain(|_, place| place.strong_count() > 0);
            let place = users.get(&user).and_then(Weak::upgrade);
            place.unwrap_or_else(|| {
                let place = Arc::new(Lock::new(()));
                users.insert(user, Arc::downgrade(&place));
                place
            })
        };
        let _place = place.lock().await;
        Arc::clone(&self.lock).lock_owned().await
    }
}

/// Runs `work` while no other task of this process writes to the branch
///
/// `may_push` asks the forge for the caller's right to push. It is polled only where the lock is
/// contended.
pub(super) async fn exclusively<T>(
    place: (&Host, &RepoId, &str),
    user: UserKey,
    may_push: impl Future<Output = Result<bool>> + Send,
    work: impl Future<Output = Result<T>> + Send,
) -> Result<T> {
    exclusively_within(MAX_LOCK_WAIT, place, user, may_push, work).await
}

async fn exclusively_within<T>(
    max_wait: Duration,
    (host, repo, branch): (&Host, &RepoId, &str),
    user: UserKey,
    may_push: impl Future<Output = Result<bool>> + Send,
    work: impl Future<Output = Result<T>> + Send,
) -> Result<T> {
    let entry = Branch::find(host, repo, branch);
    let mut proof = pin!(async {
        match timeout(MAX_PROOF_WAIT, may_push).await {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err(ForgeError::Busy {
                message: format!(
                    "another user writes to branch `{branch}` of `{repo}`, and only users with the \
                     right to push may wait for it"
                ),
            }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(taken(repo, branch)),
        }
    });
    let (state, mut write) = watch::channel(WriteState::Idle);
    let mut work = pin!(WRITE.scope(state, work));
    if let Ok(_held) = entry.lock.try_lock() {
        let mut waiting = entry.waiting.subscribe();
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ = waiting.wait_for(|count| *count > 0) => {}
        }
        let proved = tokio::select! {
            biased;
            done = &mut work => return done,
            proved = &mut proof => proved,
        };
        let Err(refused) = proved else {
            return work.await;
        };
        // A write on its way is awaited, and an accepted one is reported.
        return tokio::select! {
            biased;
            done = &mut work => done,
            Ok(_) = write.wait_for(|state| *state == WriteState::Idle) => Err(refused),
        };
    }
    proof.await?;
    let waiting = Waiting::enter(&entry);
    let held = timeout(max_wait, entry.queue(user)).await;
    let _held = held.map_err(|_| taken(repo, branch))?;
    drop(waiting);
    work.await
}

fn taken(repo: &RepoId, branch: &str) -> ForgeError {
    ForgeError::Busy {
        message: format!(
            "other writes to branch `{branch}` of `{repo}` are not finished yet; nothing was written"
        ),
    }
}

fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::{FutureExt as _, future::BoxFuture};
    use tokio::sync::oneshot;

    use super::*;

    const ALICE: UserKey = UserKey(Some(1));
    const BOB: UserKey = UserKey(Some(2));
    /// No test gets this far
    const DEADLINE: Duration = Duration::from_secs(20);

    fn host() -> Host {
        Host::parse("turns.example.org").unwrap()
    }

    fn repo(name: &str) -> RepoId {
        RepoId::parse("alice", name).unwrap()
    }

    fn not_asked() -> impl Future<Output = Result<bool>> + Send + 'static {
        std::future::poll_fn(|_| panic!("the forge is asked for the right to push"))
    }

    fn allowed(right: bool) -> impl Future<Output = Result<bool>> + Send + 'static {
        std::future::ready(Ok(right))
    }

    /// A writer that holds or wants the lock of `main`, and what ends its work
    struct Writer {
        run: BoxFuture<'static, Result<()>>,
        finish: Option<oneshot::Sender<()>>,
    }

    impl Writer {
        fn new(
            name: &str,
            user: UserKey,
            may_push: impl Future<Output = Result<bool>> + Send + 'static,
        ) -> Self {
            let (finish, finished) = oneshot::channel::<()>();
            let repo = repo(name);
            let run = async move {
                let work = async {
                    let _ = finished.await;
                    Ok(())
                };
                exclusively((&host(), &repo, "main"), user, may_push, work).await
            };
            Self {
                run: run.boxed(),
                finish: Some(finish),
            }
        }

        /// Lets it go as far as it can; whether it ended
        fn poll(&mut self) -> Option<Result<()>> {
            self.run.as_mut().now_or_never()
        }

        async fn finish(mut self) -> Result<()> {
            drop(self.finish.take());
            timeout(DEADLINE, self.run).await.expect("it ends")
        }
    }

    #[tokio::test]
    async fn one_branch_has_one_writer_and_other_branches_do_not_wait() {
        let mut writing = Writer::new("site", ALICE, allowed(true));
        assert!(writing.poll().is_none());
        let mut gone = Writer::new("site", ALICE, allowed(true));
        let mut second = Writer::new("Site", ALICE, allowed(true));
        assert!(gone.poll().is_none() && second.poll().is_none());
        for (name, branch) in [("site", "topic"), ("site", "Main"), ("shop", "main")] {
            let (host, repo) = (host(), repo(name));
            let other = exclusively((&host, &repo, branch), ALICE, not_asked(), async { Ok(()) });
            assert!(other.now_or_never().is_some(), "{name} {branch}");
        }
        // A caller that gives up leaves its place to the next.
        drop(gone);
        writing.finish().await.unwrap();
        second.finish().await.unwrap();
        drop(Branch::find(&host(), &repo("other"), "x"));
        let kept = guard(&LOCKS);
        let here = kept.keys().filter(|key| key.1.ends_with("/site"));
        assert!(here.count() <= 1, "locks that are not in use are forgotten");
    }

    #[tokio::test]
    async fn an_uncontended_lock_costs_no_request() {
        for _ in 0..3 {
            let writer = Writer::new("quiet", ALICE, not_asked());
            writer.finish().await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_caller_without_the_right_to_push_does_not_queue() {
        let mut holder = Writer::new("closed", ALICE, not_asked());
        assert!(holder.poll().is_none());
        let mut stranger = Writer::new("closed", BOB, allowed(false));
        let refused = stranger.poll().expect("it does not wait").unwrap_err();
        assert!(matches!(refused, ForgeError::Busy { .. }), "{refused}");
        assert!(refused.retryable());
        let unseen = async {
            Err(ForgeError::NotFound {
                host: host(),
                what: "`alice/closed`".to_owned(),
                status: Some(404),
            })
        };
        let mut stranger = Writer::new("closed", BOB, unseen);
        let refused = stranger.poll().expect("it does not wait").unwrap_err();
        assert!(matches!(refused, ForgeError::NotFound { .. }), "{refused}");
        // The holder was not even asked for its own right.
        holder.finish().await.unwrap();
    }

    #[tokio::test]
    async fn a_holder_without_the_right_to_push_loses_the_lock_to_one_with_it() {
        let mut stranger = Writer::new("open", BOB, allowed(false));
        assert!(stranger.poll().is_none(), "nothing is contended yet");
        let mut waiting = Writer::new("open", ALICE, allowed(true));
        assert!(waiting.poll().is_none());
        let refused = stranger.poll().expect("it gives way").unwrap_err();
        assert!(matches!(refused, ForgeError::Busy { .. }), "{refused}");
        waiting.finish().await.unwrap();
    }

    #[tokio::test]
    async fn a_holder_with_the_right_to_push_keeps_the_lock() {
        let mut holder = Writer::new("both", BOB, allowed(true));
        assert!(holder.poll().is_none());
        let mut waiting = Writer::new("both", ALICE, allowed(true));
        assert!(waiting.poll().is_none() && holder.poll().is_none());
        assert!(waiting.poll().is_none());
        holder.finish().await.unwrap();
        waiting.finish().await.unwrap();
    }

    #[tokio::test]
    async fn a_write_on_its_way_is_answered_before_the_lock_is_lost() {
        for accepted in [true, false] {
            let name = if accepted { "accepted" } else { "refused" };
            let (answer, answered) = oneshot::channel::<()>();
            let (finish, finished) = oneshot::channel::<()>();
            let work = async move {
                let in_flight = WriteInFlight::begin();
                let _ = answered.await;
                in_flight.answered(accepted);
                let _ = finished.await;
                Ok("done")
            };
            let (host, repo) = (host(), repo(name));
            let place = (&host, &repo, "main");
            let mut stranger = Box::pin(exclusively(place, BOB, allowed(false), work));
            assert!(stranger.as_mut().now_or_never().is_none());
            let mut waiting = Writer::new(name, ALICE, allowed(true));
            assert!(waiting.poll().is_none());
            assert!(stranger.as_mut().now_or_never().is_none(), "it was sent");
            answer.send(()).unwrap();
            if accepted {
                assert!(stranger.as_mut().now_or_never().is_none());
                finish.send(()).unwrap();
                assert_eq!(stranger.await.unwrap(), "done");
            } else {
                let refused = stranger.await.unwrap_err();
                assert!(matches!(refused, ForgeError::Busy { .. }), "{refused}");
            }
            waiting.finish().await.unwrap();
        }
    }

    #[tokio::test]
    async fn users_alternate_however_many_requests_each_of_them_sends() {
        let order = Arc::new(Mutex::new(Vec::new()));
        let holder = {
            let mut holder = Writer::new("fair", ALICE, allowed(true));
            assert!(holder.poll().is_none());
            holder
        };
        let writer = |user: UserKey| {
            let order = Arc::clone(&order);
            async move {
                let work = async {
                    guard(&order).push(user);
                    tokio::task::yield_now().await;
                    Ok(())
                };
                let (host, repo) = (host(), repo("fair"));
                exclusively((&host, &repo, "main"), user, allowed(true), work).await
            }
        };
        let mut all = Vec::new();
        for user in [ALICE, ALICE, ALICE, ALICE, BOB, BOB] {
            let mut one = Box::pin(writer(user));
            assert!(one.as_mut().now_or_never().is_none());
            all.push(one);
        }
        holder.finish().await.unwrap();
        for done in futures_util::future::join_all(all).await {
            done.unwrap();
        }
        let order = guard(&order).clone();
        assert_eq!(order, [ALICE, BOB, ALICE, BOB, ALICE, ALICE]);
    }

    #[tokio::test]
    async fn a_wait_beyond_the_limit_is_a_retryable_error() {
        let mut holder = Writer::new("slow", ALICE, allowed(true));
        assert!(holder.poll().is_none());
        let (host, repo) = (host(), repo("slow"));
        let runs = AtomicUsize::new(0);
        let work = async {
            runs.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        let place = (&host, &repo, "main");
        let waiting = exclusively_within(Duration::ZERO, place, BOB, allowed(true), work);
        let late = waiting.await.unwrap_err();
        assert!(matches!(late, ForgeError::Busy { .. }), "{late}");
        assert!(late.retryable());
        assert_eq!(runs.load(Ordering::SeqCst), 0);
        assert_eq!(MAX_LOCK_WAIT, Duration::from_secs(15));
        holder.finish().await.unwrap();
    }

    #[test]
    fn users_are_told_apart_by_their_token() {
        let key = |token: &str| UserKey::of(Some(&Secret::new(token)));
        assert_eq!(key("a"), key("a"));
        assert_ne!(key("a"), key("b"));
        assert_ne!(key("a"), UserKey::of(None));
    }
}
