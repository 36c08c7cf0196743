//! Servers that tests share: one of each kind per test process

mod guard;
mod real;
mod sandbox;

use std::{path::PathBuf, sync::OnceLock};

use blue_base::secret::Secret;
use tokio::runtime::{Builder, Runtime};
use url::Url;

use crate::{Skip, lab::User, openapi::Proxy};

pub(crate) use real::{forgejo, gitea};
pub(crate) use sandbox::{Kind, sandbox};

/// A running forge with a site administrator
#[derive(Debug)]
pub struct Server {
    /// Ends with a slash
    pub url: Url,
    pub admin: User,
    /// Where a real server keeps its bare repositories
    pub(crate) repositories: Option<PathBuf>,
    /// Looks at what passes, where a published description tells right from wrong
    pub(crate) judge: Option<Proxy>,
    /// Keeps the server alive; a server outlives every test and ends with the process
    #[expect(dead_code, reason = "held, never read")]
    life: Life,
}

#[derive(Debug)]
#[expect(dead_code, reason = "held, never read")]
enum Life {
    Process(guard::Guard),
    Sandbox(Box<dyn std::fmt::Debug + Send + Sync>),
}

/// What starting gave, kept for all tests of the process
type Started = Result<Server, StartError>;

/// Why there is no server
#[derive(Debug, Clone)]
pub(crate) enum StartError {
    /// Not wanted or not possible here
    Skip(Skip),
    /// It should have worked
    Broken(String),
}

impl From<anyhow::Error> for StartError {
    fn from(error: anyhow::Error) -> Self {
        match error.downcast::<Skip>() {
            Ok(skip) => Self::Skip(skip),
            Err(error) => Self::Broken(format!("{error:#}")),
        }
    }
}

/// The runtime that in-process servers live on; tests have their own
pub(crate) fn host() -> &'static Runtime {
    static HOST: OnceLock<Runtime> = OnceLock::new();
    HOST.get_or_init(|| {
        Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("test-servers")
            .enable_all()
            .build()
            .expect("a runtime can be made")
    })
}

fn admin(login: &str, password: &str, token: &str) -> User {
    User {
        login: login.to_owned(),
        password: Secret::new(password),
        token: Secret::new(token),
    }
}
