//! The sandbox, in this process

use std::sync::OnceLock;

use anyhow::Context as _;
use blue_core::forge::Flavor;
use blue_sandbox::{Config, Sandbox};
use url::Url;

use super::{Life, Server, Started, host};
use crate::{User, openapi::Proxy};

pub(crate) fn sandbox(flavor: Flavor) -> &'static Started {
    static GITEA: OnceLock<Started> = OnceLock::new();
    static FORGEJO: OnceLock<Started> = OnceLock::new();
    let cell = if flavor == Flavor::Forgejo {
        &FORGEJO
    } else {
        &GITEA
    };
    cell.get_or_init(|| Ok(start(flavor, None)?))
}

/// The same kind of sandbox, seen through GitHub's dialect by way of a judge
pub(crate) fn github() -> &'static Started {
    static GITHUB: OnceLock<Started> = OnceLock::new();
    GITHUB.get_or_init(|| {
        let judge = host().block_on(Proxy::bind())?;
        Ok(start(Flavor::Gitea, Some(judge))?)
    })
}

fn start(flavor: Flavor, judge: Option<Proxy>) -> anyhow::Result<Server> {
    let config = Config {
        flavor: if flavor == Flavor::Forgejo {
            blue_sandbox::Flavor::Forgejo
        } else {
            blue_sandbox::Flavor::Gitea
        },
        // Links lead through the judge as well.
        root_url: judge.as_ref().map(|judge| judge.url.to_string()),
        ..Config::default()
    };
    let sandbox = host().block_on(Sandbox::start(config))?;
    if let Some(judge) = &judge {
        judge.lead_to(sandbox.address());
    }
    let admin = sandbox
        .users()
        .iter()
        .find(|user| user.admin)
        .context("an empty sandbox has an admin")?;
    Ok(Server {
        url: Url::parse(&format!("{}/", sandbox.url().trim_end_matches('/')))?,
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
