//! A running sandbox

use std::{fs, io, net::SocketAddr, path::PathBuf, time::Duration};

use axum::serve::ListenerExt;
use blue_base::secret::Secret;
use tokio::{
    net::TcpListener,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_util::sync::DropGuard;

use crate::{
    app::{App, Parts},
    background,
    config::{Config, Flavor, UserInfo},
    disk, git,
    guard::OwnNames,
    recovery, routes, seed,
    store::{Store, users},
};

/// How long requests may still run when the sandbox stops
const GRACE: Duration = Duration::from_secs(2);
const LOCK_TRIES: u32 = 40;
const LOCK_PAUSE: Duration = Duration::from_millis(25);

/// Why a sandbox did not start
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot use the folder `{dir}`")]
    Dir { dir: PathBuf, source: io::Error },
    #[error("cannot make a temporary folder")]
    Temporary(#[source] io::Error),
    #[error("git cannot be used: {0}")]
    Git(String),
    #[error("another sandbox runs on the folder `{0}`")]
    InUse(PathBuf),
    #[error("cannot listen on `{address}`")]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("no space left in the folder `{0}`")]
    Full(PathBuf),
    #[error("cannot open the database")]
    Store(#[from] rusqlite::Error),
    #[error("cannot repair what an earlier run left")]
    Recovery(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("cannot plant the seed: {0}")]
    Seed(String),
}

/// A small forge that runs until it is shut down or dropped
#[derive(Debug)]
pub struct Sandbox {
    app: App,
    users: Vec<UserInfo>,
    address: SocketAddr,
    server: JoinHandle<io::Result<()>>,
    _stop: DropGuard,
    _lock: fs::File,
    /// Removed with the sandbox when the caller named no folder
    _temporary: Option<tempfile::TempDir>,
}

impl Sandbox {
    /// Start; when this returns, the port is bound and requests are answered
    pub async fn start(config: Config) -> Result<Self, Error> {
        let listener = TcpListener::bind(config.listen)
            .await
            .map_err(|source| Error::Listen {
                address: config.listen,
                source,
            })?;
        let address = listener.local_addr().map_err(|source| Error::Listen {
            address: config.listen,
            source,
        })?;
        let (dir, temporary) = folder(config.dir.clone())?;
        let lock = lock(&dir).await?;
        let store = Store::open(&dir.join("sandbox.db"))
            .map_err(|error| full_or(&dir, Error::Store(error)))?;
        let app = App::new(Parts {
            flavor: config.flavor,
            root_url: root_url(&config, address),
            dir,
            store,
            clock: config.clock,
            timing: config.timing,
            rotate_refresh: config
                .rotate_refresh
                .unwrap_or(matches!(config.flavor, Flavor::Forgejo | Flavor::Forgejo15)),
            faults: config.faults,
        });
        let seed = config.seed;
        let prepared =
            app.blocking(move |app| prepare(app, &seed).map_err(|error| full_or(&app.dir, error)));
        let users = prepared.await?;
        app.tasks.spawn(background::run(app.clone()));
        let stop = app.stop.clone();
        // Small answers must not wait for more to send; a socket that refuses is only slower.
        let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
        let own = OwnNames::new(&app.root_url, address);
        let server = axum::serve(listener, routes::all(&app, own))
            .with_graceful_shutdown(app.stop.clone().cancelled_owned());
        let server = tokio::spawn(server.into_future());
        Ok(Self {
            app,
            users,
            address,
            server,
            _stop: stop.drop_guard(),
            _lock: lock,
            _temporary: temporary,
        })
    }

    /// What links start with, such as `http://127.0.0.1:3000`
    pub fn url(&self) -> &str {
        &self.app.root_url
    }

    /// Where it listens, whatever its links say
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn gitea_api(&self) -> String {
        format!("{}/api/v1", self.app.root_url)
    }

    pub fn github_api(&self) -> String {
        format!("{}/api/v3", self.app.root_url)
    }

    /// Who the seed made; the first is an admin
    pub fn users(&self) -> &[UserInfo] {
        &self.users
    }

    /// Stop and wait until nothing runs any more
    pub async fn shutdown(mut self) {
        self.app.stop.cancel();
        self.app.tasks.close();
        if timeout(GRACE, &mut self.server).await.is_err() {
            self.server.abort();
        }
        if timeout(GRACE, self.app.tasks.wait()).await.is_err() {
            tracing::warn!("a task of the sandbox did not end in time");
        }
    }
}

/// Why a start failed: that the disk is full, where it is, else the error itself
fn full_or(dir: &std::path::Path, error: Error) -> Error {
    if disk::is_full(dir) {
        return Error::Full(dir.to_owned());
    }
    error
}

fn prepare(app: &App, seed: &crate::config::Seed) -> Result<Vec<UserInfo>, Error> {
    git::check().map_err(Error::Git)?;
    recovery::run(app).map_err(|error| Error::Recovery(error.into()))?;
    let mut made = app.store.read(users::handed_out)?;
    if made.is_empty() {
        seed::plant(app, seed).map_err(Error::Seed)?;
        made = app.store.read(users::handed_out)?;
    }
    let info = |(login, password, token, admin): (String, String, String, bool)| UserInfo {
        login,
        password: Secret::new(password),
        token: Secret::new(token),
        admin,
    };
    Ok(made.into_iter().map(info).collect())
}

fn folder(dir: Option<PathBuf>) -> Result<(PathBuf, Option<tempfile::TempDir>), Error> {
    let (dir, temporary) = if let Some(dir) = dir {
        (dir, None)
    } else {
        let temporary = tempfile::Builder::new()
            .prefix("blue-sandbox-")
            .tempdir()
            .map_err(Error::Temporary)?;
        (temporary.path().to_owned(), Some(temporary))
    };
    fs::create_dir_all(dir.join("repos"))
        .and_then(|()| fs::canonicalize(&dir))
        .map(|dir| (dir, temporary))
        .map_err(|source| Error::Dir { dir, source })
}

async fn lock(dir: &std::path::Path) -> Result<fs::File, Error> {
    let failed = |source| Error::Dir {
        dir: dir.to_owned(),
        source,
    };
    let file = fs::File::create(dir.join("lock")).map_err(failed)?;
    // A child that was just forked shares the lock of its parent until it runs its own program,
    // so the lock of a sandbox that has stopped may live a moment longer.
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::WouldBlock) => sleep(LOCK_PAUSE).await,
            Err(fs::TryLockError::Error(source)) => return Err(failed(source)),
        }
    }
    Err(Error::InUse(dir.to_owned()))
}

fn root_url(config: &Config, address: SocketAddr) -> String {
    match &config.root_url {
        Some(url) => url.trim_end_matches('/').to_owned(),
        None if address.ip().is_unspecified() => format!("http://localhost:{}", address.port()),
        None => format!("http://{address}"),
    }
}
