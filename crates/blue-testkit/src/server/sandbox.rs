//! The sandbox, in this process

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    thread,
};

use anyhow::{Context as _, Result, anyhow};
use blue_sandbox::{Config, Flavor, Sandbox};
use url::Url;

use super::{Life, Server, StartError, Started, host};
use crate::User;

/// What is special about a sandbox; tests of one kind share one
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Plain,
    /// Goes wrong on request
    Faulty,
    /// Calls itself by a name that leads nowhere
    Elsewhere,
}

pub(crate) fn sandbox(flavor: Flavor, kind: Kind) -> &'static Started {
    static SANDBOXES: Mutex<Option<HashMap<(bool, Kind), &'static Started>>> = Mutex::new(None);
    let mut all = SANDBOXES.lock().unwrap_or_else(PoisonError::into_inner);
    all.get_or_insert_default()
        .entry((flavor == Flavor::Forgejo, kind))
        .or_insert_with(|| {
            let started = start(flavor, kind).map_err(StartError::from);
            // It lives as long as the process, like every server of the tests.
            Box::leak(Box::new(started))
        })
}

fn start(flavor: Flavor, kind: Kind) -> Result<Server> {
    let config = Config {
        flavor,
        faults: kind == Kind::Faulty,
        root_url: (kind == Kind::Elsewhere).then(|| "http://elsewhere.invalid:1".to_owned()),
        ..Config::default()
    };
    // The caller may be inside a runtime of its own, which must not be blocked on another.
    let start = || host().block_on(Sandbox::start(config));
    let sandbox = thread::scope(|scope| scope.spawn(start).join())
        .map_err(|_| anyhow!("the sandbox panicked"))??;
    let admin = sandbox
        .users()
        .iter()
        .find(|user| user.admin)
        .context("an empty sandbox has an admin")?;
    Ok(Server {
        url: Url::parse(&format!("http://{}/", sandbox.address()))?,
        admin: User {
            login: admin.login.clone(),
            password: admin.password.clone(),
            token: admin.token.clone(),
        },
        repositories: None,
        life: Life::Sandbox(Box::new(sandbox)),
    })
}
