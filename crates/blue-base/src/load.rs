//! Limits on what the calls of one process hold and compute at once
//!
//! A server for many users admits a bounded number of calls, for each user and in all. Most calls
//! are light. One that reads, holds or sends more than [`LIGHT_BYTES`] at a time, or computes for
//! long, is heavy: few of those run at once, one for each user, so that memory and processors stay
//! available to the others. A call becomes heavy where that is found out, deep inside of the HTTP
//! client for example, so its limits travel with the task and not with its arguments.
//!
//! Each queue is entered in the same order, the user's own first and that of the process second.
//! So at most one request per place of a user stands in the queue of the process, and users take
//! turns there. Without a [`UserLoad`], as on the command line, nothing is limited.

use std::{
    collections::HashMap,
    panic::resume_unwind,
    sync::{Arc, LazyLock, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::{
    sync::{Mutex as Lock, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// Largest answer or content that a light call may hold
pub const LIGHT_BYTES: u64 = 1024 * 1024;
/// Most threads that [`offload`] keeps busy
const MAX_OFFLOAD_THREADS: usize = 4;

/// Limits of one process
#[derive(Debug, Clone, Copy)]
pub struct LoadLimits {
    /// Calls that run at once
    pub calls: usize,
    pub calls_per_user: usize,
    /// Heavy calls that run at once; each user has one
    pub heavy_calls: usize,
    /// Large messages that are received at once; each user has one
    pub large_messages: usize,
    /// HTTP requests of one user that are being answered
    pub requests_per_user: usize,
    /// Longest wait for a place among the running calls
    pub call_wait: Duration,
    /// Longest wait for a place among the heavy calls
    pub heavy_wait: Duration,
}

impl Default for LoadLimits {
    fn default() -> Self {
        Self {
            calls: 128,
            calls_per_user: 16,
            heavy_calls: 2,
            large_messages: 4,
            requests_per_user: 32,
            call_wait: Duration::from_secs(5),
            heavy_wait: Duration::from_secs(10),
        }
    }
}

/// A limit was reached and stayed reached; the same call may succeed a little later
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Busy {
    #[error("too many calls run at once")]
    Calls,
    #[error("too many calls that move or compute much run at once")]
    Heavy,
    #[error("too many large messages arrive at once")]
    LargeMessages,
    #[error("too many requests of this user are open at once")]
    Requests,
}

/// The limits of one process, and what is used up of them
#[derive(Debug)]
pub struct Load {
    limits: LoadLimits,
    all: Places,
    users: Mutex<HashMap<String, Weak<User>>>,
}

#[derive(Debug)]
struct Places {
    calls: Arc<Semaphore>,
    heavy: Arc<Semaphore>,
    messages: Arc<Semaphore>,
}

impl Places {
    fn new(calls: usize, heavy: usize, messages: usize) -> Self {
        Self {
            calls: Arc::new(Semaphore::new(calls)),
            heavy: Arc::new(Semaphore::new(heavy)),
            messages: Arc::new(Semaphore::new(messages)),
        }
    }
}

#[derive(Debug)]
struct User {
    load: Arc<Load>,
    own: Places,
    requests: Arc<Semaphore>,
}

/// What one user may still use; cheap to clone
#[derive(Debug, Clone)]
pub struct UserLoad(Arc<User>);

/// Places in a user's own queue and in that of the process, taken together
#[derive(Debug)]
pub struct Permit {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

/// A heavy HTTP request: the heavy calls that it carries share one permit, one after the other
#[derive(Debug, Clone)]
pub struct HeavyRequest {
    permit: Arc<Permit>,
    turn: Arc<Lock<()>>,
}

/// What lets a call be heavy
#[derive(Debug)]
enum HeavyPermit {
    Own {
        _permit: Permit,
    },
    Shared {
        _permit: Arc<Permit>,
        _turn: OwnedMutexGuard<()>,
    },
}

/// A call that was admitted
#[derive(Debug)]
pub struct CallLoad {
    user: UserLoad,
    request: Option<HeavyRequest>,
    heavy: Lock<Option<HeavyPermit>>,
    /// Large answers of one call are read one after the other
    reading: Arc<Lock<()>>,
    _permit: Permit,
}

tokio::task_local! {
    static CALL: Arc<CallLoad>;
}

impl Load {
    pub fn new(limits: LoadLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            all: Places::new(limits.calls, limits.heavy_calls, limits.large_messages),
            users: Mutex::default(),
        })
    }

    /// The limits of the user that has this name within the process
    pub fn user(self: &Arc<Self>, name: &str) -> UserLoad {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(user) = users.get(name).and_then(Weak::upgrade) {
            return UserLoad(user);
        }
        users.retain(|_, user| user.strong_count() > 0);
        let user = Arc::new(User {
            load: Arc::clone(self),
            own: Places::new(self.limits.calls_per_user, 1, 1),
            requests: Arc::new(Semaphore::new(self.limits.requests_per_user)),
        });
        users.insert(name.to_owned(), Arc::downgrade(&user));
        UserLoad(user)
    }
}

impl UserLoad {
    /// Counts an HTTP request, as long as the permit is kept
    pub fn request(&self) -> Result<OwnedSemaphorePermit, Busy> {
        let requests = Arc::clone(&self.0.requests);
        requests.try_acquire_owned().map_err(|_| Busy::Requests)
    }

    /// Waits until a large message may be received
    pub async fn large_message(&self) -> Result<Permit, Busy> {
        let (own, all) = (&self.0.own.messages, &self.0.load.all.messages);
        permit(own, all, self.limits().heavy_wait)
            .await
            .ok_or(Busy::LargeMessages)
    }

    /// Waits until an HTTP request may be heavy as a whole
    pub async fn heavy_request(&self) -> Result<HeavyRequest, Busy> {
        Ok(HeavyRequest {
            permit: Arc::new(self.heavy().await?),
            turn: Arc::default(),
        })
    }

    /// Waits until one more call of this user may run; `request` is the heavy request it came in
    pub async fn call(&self, request: Option<HeavyRequest>) -> Result<CallLoad, Busy> {
        let (own, all) = (&self.0.own.calls, &self.0.load.all.calls);
        let permit = permit(own, all, self.limits().call_wait).await;
        Ok(CallLoad {
            user: self.clone(),
            request,
            heavy: Lock::default(),
            reading: Arc::default(),
            _permit: permit.ok_or(Busy::Calls)?,
        })
    }

    async fn heavy(&self) -> Result<Permit, Busy> {
        let (own, all) = (&self.0.own.heavy, &self.0.load.all.heavy);
        let permit = permit(own, all, self.limits().heavy_wait).await;
        permit.ok_or(Busy::Heavy)
    }

    fn limits(&self) -> &LoadLimits {
        &self.0.load.limits
    }
}

async fn permit(own: &Arc<Semaphore>, all: &Arc<Semaphore>, wait: Duration) -> Option<Permit> {
    let both = async {
        let own = Arc::clone(own).acquire_owned().await.ok()?;
        let all = Arc::clone(all).acquire_owned().await.ok()?;
        Some(Permit {
            _own: own,
            _all: all,
        })
    };
    timeout(wait, both).await.ok().flatten()
}

impl CallLoad {
    /// Runs a call within its limits; they apply to what happens in its own task
    pub async fn run<T>(self, call: impl Future<Output = T>) -> T {
        CALL.scope(Arc::new(self), call).await
    }

    async fn become_heavy(&self) -> Result<(), Busy> {
        let mut heavy = self.heavy.lock().await;
        if heavy.is_some() {
            return Ok(());
        }
        *heavy = Some(match &self.request {
            Some(request) => {
                let turn = Arc::clone(&request.turn).lock_owned();
                let turn = timeout(self.user.limits().heavy_wait, turn).await;
                HeavyPermit::Shared {
                    _turn: turn.map_err(|_| Busy::Heavy)?,
                    _permit: Arc::clone(&request.permit),
                }
            }
            None => HeavyPermit::Own {
                _permit: self.user.heavy().await?,
            },
        });
        Ok(())
    }
}

fn current() -> Option<Arc<CallLoad>> {
    CALL.try_with(Arc::clone).ok()
}

/// Waits until the current call may be heavy; it stays so until it ends or [`rest`]s
pub async fn heavy() -> Result<(), Busy> {
    match current() {
        Some(call) => call.become_heavy().await,
        None => Ok(()),
    }
}

/// Makes the current call heavy to read a large answer; the next such answer of the same call waits
/// until the guard is dropped
pub(crate) async fn large_answer() -> Result<Option<OwnedMutexGuard<()>>, Busy> {
    let Some(call) = current() else {
        return Ok(None);
    };
    let reading = Arc::clone(&call.reading).lock_owned().await;
    call.become_heavy().await?;
    Ok(Some(reading))
}

/// Gives the place of a heavy call back before a long wait
pub async fn rest() {
    if let Some(call) = current() {
        *call.heavy.lock().await = None;
    }
}

/// Runs a computation on a thread of its own kind, so that it does not keep the threads that answer
/// requests
///
/// Few run at once in the process. One that was started runs to its end, also if its caller gives
/// up meanwhile, and keeps the place of a heavy call for as long.
pub async fn offload<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    static THREADS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Arc::new(Semaphore::new(processors.min(MAX_OFFLOAD_THREADS)))
    });
    let thread = Arc::clone(&THREADS).acquire_owned().await;
    let call = current();
    let done = tokio::task::spawn_blocking(move || {
        let _held = (thread, call);
        work()
    });
    match done.await {
        Ok(done) => done,
        // A panic is the caller's; a task that runs on a thread is never cancelled.
        Err(error) => resume_unwind(error.into_panic()),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// Waits are over at once, so that a place that is taken is refused
    fn impatient() -> LoadLimits {
        LoadLimits {
            call_wait: Duration::ZERO,
            heavy_wait: Duration::ZERO,
            ..LoadLimits::default()
        }
    }

    #[tokio::test]
    async fn calls_are_limited_per_user_and_in_all() {
        let load = Load::new(LoadLimits {
            calls: 3,
            calls_per_user: 2,
            ..impatient()
        });
        let (alice, bob) = (load.user("alice"), load.user("bob"));
        let first = alice.call(None).await.unwrap();
        let _second = alice.call(None).await.unwrap();
        assert_eq!(alice.call(None).await.unwrap_err(), Busy::Calls);
        let _third = bob.call(None).await.unwrap();
        assert_eq!(bob.call(None).await.unwrap_err(), Busy::Calls);
        drop(first);
        assert!(bob.call(None).await.is_ok());
        assert_eq!(
            load.all.calls.available_permits(),
            1,
            "a refusal keeps nothing"
        );
    }

    #[tokio::test]
    async fn a_call_waits_for_a_place_before_it_is_refused() {
        let load = Load::new(LoadLimits {
            calls_per_user: 1,
            ..LoadLimits::default()
        });
        let alice = load.user("alice");
        let running = alice.call(None).await.unwrap();
        let mut waiting = Box::pin(alice.call(None));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(running);
        assert!(waiting.await.is_ok());
    }

    #[tokio::test]
    async fn a_user_has_one_heavy_call_and_leaves_the_other_place_to_others() {
        let load = Load::new(impatient());
        let (alice, bob) = (load.user("alice"), load.user("bob"));
        let first = alice.call(None).await.unwrap();
        first
            .run(async {
                assert_eq!(heavy().await, Ok(()));
                assert_eq!(heavy().await, Ok(()), "it is heavy already");
                let second = alice.call(None).await.unwrap();
                assert_eq!(second.run(heavy()).await, Err(Busy::Heavy));
                let other = bob.call(None).await.unwrap();
                assert_eq!(other.run(heavy()).await, Ok(()));
                rest().await;
                let third = alice.call(None).await.unwrap();
                assert_eq!(third.run(heavy()).await, Ok(()), "the first one rests");
            })
            .await;
        assert_eq!(load.all.heavy.available_permits(), 2);
    }

    #[tokio::test]
    async fn calls_of_a_heavy_request_share_its_permit_one_after_the_other() {
        let load = Load::new(impatient());
        let alice = load.user("alice");
        let request = alice.heavy_request().await.unwrap();
        let first = alice.call(Some(request.clone())).await.unwrap();
        let second = alice.call(Some(request.clone())).await.unwrap();
        first
            .run(async {
                assert_eq!(heavy().await, Ok(()));
                assert_eq!(second.run(heavy()).await, Err(Busy::Heavy));
            })
            .await;
        let third = alice.call(Some(request)).await.unwrap();
        assert_eq!(third.run(heavy()).await, Ok(()));
    }

    #[tokio::test]
    async fn large_answers_of_one_call_are_read_one_after_the_other() {
        let load = Load::new(LoadLimits::default());
        let call = load.user("alice").call(None).await.unwrap();
        call.run(async {
            let first = large_answer().await.unwrap();
            assert!(large_answer().now_or_never().is_none());
            drop(first);
            assert!(large_answer().await.unwrap().is_some());
        })
        .await;
    }

    #[tokio::test]
    async fn without_limits_nothing_is_refused() {
        assert_eq!(heavy().await, Ok(()));
        assert!(large_answer().await.unwrap().is_none());
        rest().await;
    }

    #[tokio::test]
    async fn open_requests_of_a_user_are_limited() {
        let load = Load::new(LoadLimits {
            requests_per_user: 1,
            ..impatient()
        });
        let (alice, bob) = (load.user("alice"), load.user("bob"));
        let open = alice.request().unwrap();
        assert_eq!(alice.request().unwrap_err(), Busy::Requests);
        assert!(bob.request().is_ok());
        drop(open);
        assert!(alice.request().is_ok());
    }

    #[tokio::test]
    async fn users_without_anything_running_are_forgotten() {
        let load = Load::new(LoadLimits::default());
        for user in 0..100 {
            drop(load.user(&user.to_string()));
        }
        assert!(load.users.lock().unwrap().len() <= 1);
    }

    #[tokio::test]
    async fn an_abandoned_computation_keeps_the_place_of_its_heavy_call() {
        let load = Load::new(impatient());
        let alice = load.user("alice");
        let call = alice.call(None).await.unwrap();
        let (started, has_started) = tokio::sync::oneshot::channel();
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let mut running = Box::pin(call.run(async {
            heavy().await.unwrap();
            offload(move || {
                let _ = started.send(());
                let _ = wait.recv();
            })
            .await;
        }));
        tokio::select! {
            () = &mut running => panic!("the computation waits"),
            started = has_started => started.unwrap(),
        }
        drop(running);
        let next = alice.call(None).await.unwrap();
        assert_eq!(next.run(heavy()).await, Err(Busy::Heavy));
        drop(go_on);
        let free = async {
            while load.all.heavy.available_permits() < 2 {
                tokio::task::yield_now().await;
            }
        };
        let deadline = Duration::from_secs(20);
        assert!(timeout(deadline, free).await.is_ok(), "it never ends");
    }

    #[tokio::test]
    #[should_panic(expected = "in the middle of it")]
    async fn a_panic_of_a_computation_is_that_of_its_caller() {
        offload(|| panic!("in the middle of it")).await;
    }
}
