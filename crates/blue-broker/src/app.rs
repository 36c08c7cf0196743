//! What every request can reach

use std::sync::Arc;

use blue_base::clock::Clock;
use blue_base::http::Http;
use jiff::Timestamp;
use tokio_util::task::TaskTracker;

use crate::{
    backend::Backend,
    broker::Build,
    config::Config,
    crypto::Keys,
    http::{Passes, Seen},
    limits::Limits,
    oauth::cimd::Fetcher,
    rng::{self, Rng},
    store::Store,
    upstream::Turns,
};

/// One running broker; handlers hold it by `Arc`
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) build: Build,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: Arc<dyn Rng>,
    pub(crate) keys: Keys,
    pub(crate) store: Store,
    /// Speaks to the forge
    pub(crate) http: Http,
    /// Who refreshes forge tokens
    pub(crate) turns: Turns,
    /// What must come to its end although nobody waits for it: it holds tokens that the forge gave
    pub(crate) tasks: TaskTracker,
    /// Who came in lately
    pub(crate) passes: Passes,
    /// When database and forge were last there
    pub(crate) seen: Seen,
    pub(crate) backend: Arc<dyn Backend>,
    /// Reads what clients say of themselves at addresses of theirs
    pub(crate) documents: Fetcher,
    pub(crate) limits: Limits,
}

impl App {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A name that nobody can guess
    pub(crate) fn id(&self) -> String {
        rng::id(&*self.rng)
    }
}
