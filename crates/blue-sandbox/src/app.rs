//! What all doors share

use std::{
    collections::HashMap,
    ops::Deref,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use blue_base::clock::Clock;
use jiff::Timestamp;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    config::{Flavor, Timing},
    faults::Faults,
    git, hex, oauth,
    ops::cache::Cache,
    store::Store,
};

/// The running sandbox as its doors see it; clones share everything
#[derive(Debug, Clone)]
pub(crate) struct App(Arc<Shared>);

impl Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) flavor: Flavor,
    /// Without a slash at the end
    pub(crate) root_url: String,
    pub(crate) dir: PathBuf,
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) timing: Timing,
    pub(crate) rotate_refresh: bool,
    pub(crate) faults: Faults,
    pub(crate) oauth_key: oauth::Key,
    /// Every task that outlives a request
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    /// Rings when something may have become due
    pub(crate) due: Notify,
    pub(crate) cache: Cache,
    random: SystemRandom,
    locks: Mutex<HashMap<i64, Arc<Mutex<()>>>>,
    /// Repositories by the time of their first push; kept in memory, since it matters for a moment
    first_pushes: Mutex<HashMap<i64, i64>>,
}

/// What is needed to build an `App`
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) flavor: Flavor,
    pub(crate) root_url: String,
    pub(crate) dir: PathBuf,
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) timing: Timing,
    pub(crate) rotate_refresh: bool,
    pub(crate) faults: bool,
}

impl App {
    pub(crate) fn new(parts: Parts) -> Self {
        Self(Arc::new(Shared {
            flavor: parts.flavor,
            root_url: parts.root_url,
            dir: parts.dir,
            store: parts.store,
            clock: parts.clock,
            timing: parts.timing,
            rotate_refresh: parts.rotate_refresh,
            faults: Faults::new(parts.faults),
            oauth_key: oauth::Key::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            due: Notify::new(),
            cache: Cache::default(),
            random: SystemRandom::new(),
            locks: Mutex::default(),
            first_pushes: Mutex::default(),
        }))
    }

    /// Run blocking work (SQLite, git) away from the async threads
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        let app = self.clone();
        match tokio::task::spawn_blocking(move || work(&app)).await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is going away, and the caller with it.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

impl Shared {
    pub(crate) fn is_forgejo(&self) -> bool {
        self.flavor.is_forgejo()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Milliseconds since 1970, as the store keeps time
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now().as_millisecond()
    }

    /// Random bytes as hexadecimal digits
    pub(crate) fn random_hex(&self, bytes: usize) -> String {
        let mut raw = vec![0; bytes];
        self.random
            .fill(&mut raw)
            .expect("the system has random bytes");
        hex::encode(&raw)
    }

    /// The bare repository of a row
    pub(crate) fn git(&self, repo_id: i64) -> git::Repo {
        git::Repo::at(self.repo_path(repo_id))
    }

    pub(crate) fn repo_path(&self, repo_id: i64) -> PathBuf {
        self.dir.join("repos").join(format!("{repo_id}.git"))
    }

    /// Record that a push made the first branch of a repository
    pub(crate) fn note_first_push(&self, repo_id: i64) {
        let mut pushes = self
            .first_pushes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        pushes.insert(repo_id, self.now_ms());
    }

    /// Whether Forgejo still calls a repository empty, right after the first push to it
    pub(crate) fn still_called_empty(&self, repo_id: i64) -> bool {
        if !self.is_forgejo() {
            return false;
        }
        let pushes = self
            .first_pushes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let lag = i64::try_from(self.timing.first_push.as_millis()).unwrap_or(i64::MAX);
        pushes
            .get(&repo_id)
            .is_some_and(|pushed| self.now_ms() < pushed.saturating_add(lag))
    }

    /// The turn-taking lock of a repository: hold it while refs and rows change together
    pub(crate) fn repo_lock(&self, repo_id: i64) -> Arc<Mutex<()>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(locks.entry(repo_id).or_default())
    }
}
