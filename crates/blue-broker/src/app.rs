//! State that every request handler shares

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
    /// Locks that let one caller per user refresh forge tokens
    pub(crate) turns: Turns,
    /// Tasks that must run to completion although their caller is gone: they hold tokens that the
    /// forge issued
    pub(crate) tasks: TaskTracker,
    /// Cache of bearer tokens that were accepted lately
    pub(crate) passes: Passes,
    /// Cached result of the readiness check
    pub(crate) seen: Seen,
    pub(crate) backend: Arc<dyn Backend>,
    /// Fetches client metadata documents
    pub(crate) documents: Fetcher,
    pub(crate) limits: Limits,
}

impl App {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns an unguessable id
    pub(crate) fn id(&self) -> String {
        rng::id(&*self.rng)
    }
}
