//! What a caller chooses

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use blue_base::{
    clock::{Clock, SystemClock},
    secret::Secret,
};

/// How to start a sandbox
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the state lies; `None` is a folder that is removed at the end
    pub dir: Option<PathBuf>,
    /// Port 0 takes a free one
    pub listen: SocketAddr,
    /// What links in answers start with; `None` is the bound address
    pub root_url: Option<String>,
    pub flavor: Flavor,
    /// What a new folder is filled with
    pub seed: Seed,
    /// Let an admin order faults
    pub faults: bool,
    pub timing: Timing,
    /// Hand out a new refresh token at each use and refuse the old one; `None` is the flavour's own habit
    pub rotate_refresh: Option<bool>,
    pub clock: Arc<dyn Clock>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            dir: None,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            root_url: None,
            flavor: Flavor::Gitea,
            seed: Seed::Empty,
            faults: false,
            timing: Timing::default(),
            rotate_refresh: None,
            clock: Arc::new(SystemClock),
        }
    }
}

/// Which forge to be
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Flavor {
    /// Gitea 1.26.0
    #[default]
    Gitea,
    /// Forgejo 11.0.15
    Forgejo,
    /// Forgejo 7.0.16: no comparison, no Actions API, no scopes of OAuth tokens
    Forgejo7,
    /// Forgejo 15.0.3: lists workflow runs, holds those of unknown contributors
    Forgejo15,
}

impl Flavor {
    /// Whether it is a Forgejo of any version
    pub fn is_forgejo(self) -> bool {
        self != Self::Gitea
    }
}

/// What a new folder is filled with
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Seed {
    /// One admin and nothing else
    #[default]
    Empty,
    /// A few people and repositories to look at; passwords and tokens are always the same
    Demo,
    /// Like `Demo`, with random passwords and tokens
    DemoWithRandomSecrets,
    /// What a YAML file says
    File(PathBuf),
}

/// How long derived facts lag behind
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// After a push, how long `mergeable` still shows the old answer
    pub stale: Duration,
    /// How long the check then takes; merging is refused meanwhile
    pub checking: Duration,
    /// How long a failed head pin keeps the pull request in that state
    pub recheck: Duration,
    /// After the first push to an empty repository, how long Forgejo still calls it empty
    pub first_push: Duration,
}

impl Timing {
    /// Nothing lags
    pub const INSTANT: Self = Self {
        stale: Duration::ZERO,
        checking: Duration::ZERO,
        recheck: Duration::ZERO,
        first_push: Duration::ZERO,
    };
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            stale: Duration::from_millis(100),
            checking: Duration::from_millis(200),
            recheck: Duration::from_millis(300),
            first_push: Duration::from_millis(300),
        }
    }
}

/// Someone the seed made, with what is needed to sign in
#[derive(Debug, Clone)]
pub struct UserInfo {
    pub login: String,
    pub password: Secret,
    /// A personal access token for everything
    pub token: Secret,
    pub admin: bool,
}
