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
use crate::{User, openapi::Proxy};

/// What is special about a sandbox; tests of one kind share one
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Plain,
    /// Reached through a judge that holds GitHub's dialect to its published description
    Judged,
    /// Goes wrong on request
    Faulty,
    /// Calls itself by a name that leads nowhere
    Elsewhere,
}

pub(crate) fn sandbox(flavor: Flavor, kind: Kind) -> &'static Started {
    static SANDBOXES: Mutex<Option<HashMap<(Flavor, Kind), &'static Started>>> = Mutex::new(None);
    let mut all = SANDBOXES.lock().unwrap_or_else(PoisonError::into_inner);
    all.get_or_insert_default()
        .entry((flavor, kind))
        .or_insert_with(|| {
            let started = start(flavor, kind).map_err(StartError::from);
            // It lives as long as the process, like every server of the tests.
            Box::leak(Box::new(started))
        })
}

fn start(flavor: Flavor, kind: Kind) -> Result<Server> {
    // The caller may be inside a runtime of its own, which must not be blocked on another.
    let start = || host().block_on(start_on(flavor, kind));
    let (sandbox, judge) = thread::scope(|scope| scope.spawn(start).join())
        .map_err(|_| anyhow!("the sandbox panicked"))??;
    let url = match &judge {
        Some(judge) => judge.url.clone(),
        None => Url::parse(&format!("http://{}/", sandbox.address()))?,
    };
    let admin = sandbox
        .users()
        .iter()
        .find(|user| user.admin)
        .context("an empty sandbox has an admin")?;
    Ok(Server {
        url,
        admin: User {
            login: admin.login.clone(),
            password: admin.password.clone(),
            token: admin.token.clone(),
        },
        repositories: None,
        judge,
        life: Life::Sandbox(Box::new(sandbox)),
    })
}

async fn start_on(flavor: Flavor, kind: Kind) -> Result<(Sandbox, Option<Proxy>)> {
    let judge = match kind {
        Kind::Judged => Some(Proxy::bind().await?),
        _ => None,
    };
    let root_url = match (&judge, kind) {
        // Links lead through the judge as well.
        (Some(judge), _) => Some(judge.url.to_string()),
        (None, Kind::Elsewhere) => Some("http://elsewhere.invalid:1".to_owned()),
        (None, _) => None,
    };
    let sandbox = Sandbox::start(Config {
        flavor,
        faults: kind == Kind::Faulty,
        root_url,
        ..Config::default()
    })
    .await?;
    if let Some(judge) = &judge {
        judge.lead_to(sandbox.address());
    }
    Ok((sandbox, judge))
}
