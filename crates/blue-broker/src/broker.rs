//! The broker as a whole: start, listening, shutdown

use std::{io, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use blue_base::clock::Clock;
use blue_base::http::{Http, HttpConfig};
use tokio::{
    net::TcpListener,
    task::JoinHandle,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use crate::{
    app::App,
    backend::Backend,
    config::{Config, PublicUrl},
    crypto::{self, KeyFileError, Keys},
    http::{self, ConnectionLimits, Passes, Seen},
    limits::Limits,
    oauth::cimd::Fetcher,
    rng::Rng,
    store::{DatabaseLock, Store, StoreError, Wrapping},
    sweep,
    upstream::Turns,
};

/// How long requests in progress may go on after the broker was asked to stop
const GRACE: Duration = Duration::from_millis(1500);

/// Concurrent requests to the forge about sign-ins and tokens, over all users
const IN_FLIGHT: usize = 64;

/// Which program this is
#[derive(Debug, Clone)]
pub struct Build {
    pub version: String,
    /// Commit that it was built from
    pub git: String,
}

/// What the broker is given besides its configuration
#[derive(Debug)]
pub struct Parts {
    pub clock: Arc<dyn Clock>,
    pub rng: Arc<dyn Rng>,
    /// How the forge is reached
    pub http: HttpConfig,
    pub build: Build,
    /// What answers behind `/mcp`
    pub backend: Arc<dyn Backend>,
    /// Files and connections that the process may have open, if that is known
    pub max_open_files: Option<u64>,
}

/// Why the broker did not start
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the folder `{path}` could not be made")]
    Folder { path: String, source: io::Error },
    #[error("could not open the database")]
    Store(#[source] StoreError),
    #[error("could not load the master keys")]
    Keys(#[source] KeyFileError),
    #[error("the database holds data of key `{id}`, which the key file does not have")]
    UnknownKey { id: String },
    #[error("could not listen on {address}")]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
}

/// A broker that listens; it stops when it is dropped
#[derive(Debug)]
pub struct Broker {
    address: SocketAddr,
    app: Arc<App>,
    server: JoinHandle<()>,
    _lock: Option<DatabaseLock>,
    stop: CancellationToken,
    _stop: DropGuard,
}

impl Broker {
    /// Open what is needed, bind the port and begin to answer
    pub async fn build(config: Config, parts: Parts) -> Result<Self, StartError> {
        Self::start(config, parts, None, true).await
    }

    /// Like [`Self::build`], on a port that is bound already: an application at the forge is
    /// registered with the port before there is a broker
    pub async fn build_on(
        listener: TcpListener,
        config: Config,
        parts: Parts,
    ) -> Result<Self, StartError> {
        Self::start(config, parts, Some(listener), true).await
    }

    /// Starts a second broker on one SQLite file: it stands for a replica on PostgreSQL
    #[cfg(test)]
    pub(crate) async fn build_replica(config: Config, parts: Parts) -> Result<Self, StartError> {
        Self::start(config, parts, None, false).await
    }

    async fn start(
        mut config: Config,
        parts: Parts,
        listener: Option<TcpListener>,
        alone: bool,
    ) -> Result<Self, StartError> {
        let failed = |source| StartError::Listen {
            address: config.listen,
            source,
        };
        // First of all: if another broker listens here, perhaps of an older version, its database
        // must not be migrated while it runs.
        let listener = match listener {
            Some(listener) => listener,
            None => TcpListener::bind(config.listen).await.map_err(failed)?,
        };
        let address = listener.local_addr().map_err(failed)?;
        make_folder(&config.data).map_err(|source| StartError::Folder {
            path: config.data.display().to_string(),
            source,
        })?;
        let lock = alone.then(|| DatabaseLock::take(&config.database));
        let lock = lock.transpose().map_err(StartError::Store)?;
        let connected = Store::connect(&config.database)
            .await
            .map_err(StartError::Store)?;
        // Before anything is changed: a wrong key file must not damage the database.
        let used = connected.key_ids().await.map_err(StartError::Store)?;
        let known = used.first().map(String::as_str);
        let keys =
            crypto::load_or_make(&config.key_file, &*parts.rng, known).map_err(StartError::Keys)?;
        if let Some(id) = used.iter().find(|id| !keys.ids().contains(&id.as_str())) {
            return Err(StartError::UnknownKey { id: id.clone() });
        }
        let by = Wrapping {
            ring: &keys,
            rng: &*parts.rng,
        };
        let store = connected.open(by).await.map_err(StartError::Store)?;
        config.public_url = config.public_url.with_port(address.port());
        config.listen = address;
        let keys = Keys::new(config.key_file.clone(), keys);
        let app = Arc::new(App {
            config,
            build: parts.build,
            clock: parts.clock,
            rng: parts.rng,
            keys,
            store,
            documents: Fetcher::new(parts.http.ca_file.clone(), parts.http.user_agent.clone()),
            limits: Limits::default(),
            http: Http::new(HttpConfig {
                in_flight: IN_FLIGHT,
                ..parts.http
            }),
            turns: Turns::default(),
            tasks: TaskTracker::new(),
            passes: Passes::default(),
            seen: Seen::default(),
            backend: parts.backend,
        });
        let stop = CancellationToken::new();
        let limits = ConnectionLimits::new(parts.max_open_files, &app.config.trusted_proxies);
        let router = http::router(&app);
        let server = http::serve_within(listener, router, http::HEAD, limits, stop.clone());
        let server = tokio::spawn(server);
        let sweeping = sweep::run(Arc::clone(&app));
        tokio::spawn(stop.clone().run_until_cancelled_owned(sweeping));
        tracing::info!(%address, public_url = app.config.public_url.origin(), "listening");
        Ok(Self {
            address,
            app,
            server,
            _lock: lock,
            _stop: stop.clone().drop_guard(),
            stop,
        })
    }

    #[cfg(test)]
    pub(crate) fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// The address that was bound
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where clients reach it
    pub fn public_url(&self) -> &PublicUrl {
        &self.app.config.public_url
    }

    /// Stop accepting, give requests in progress a short time to complete, and close the database
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        let end = Instant::now() + GRACE;
        if timeout_at(end, &mut self.server).await.is_err() {
            self.server.abort();
            tracing::warn!("requests were cut off");
        }
        // A forge may have invalidated the old tokens already: new ones that are not stored are
        // lost, whether or not a caller still waits for them.
        self.app.tasks.close();
        if timeout_at(end, self.app.tasks.wait()).await.is_err() {
            tracing::warn!("the forge did not answer in time; somebody may have to sign in again");
        }
        // A query of an aborted request must not delay the shutdown.
        let _ = timeout(Duration::from_millis(300), self.app.store.close()).await;
        tracing::info!("stopped");
    }
}

/// Make the folder for its owner only
fn make_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
