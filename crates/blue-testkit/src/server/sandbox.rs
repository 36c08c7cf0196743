//! The sandbox, in this process

use std::sync::OnceLock;

use anyhow::Context as _;
use blue_core::forge::Flavor;
use blue_sandbox::{Config, Sandbox};
use url::Url;

use super::{Life, Server, Started, host};
use crate::User;

pub(crate) fn sandbox(flavor: Flavor) -> &'static Started {
    static GITEA: OnceLock<Started> = OnceLock::new();
    static FORGEJO: OnceLock<Started> = OnceLock::new();
    let cell = if flavor == Flavor::Forgejo {
        &FORGEJO
    } else {
        &GITEA
    };
    cell.get_or_init(|| Ok(start(flavor)?))
}

fn start(flavor: Flavor) -> anyhow::Result<Server> {
    let config = Config {
        flavor: if flavor == Flavor::Forgejo {
            blue_sandbox::Flavor::Forgejo
        } else {
            blue_sandbox::Flavor::Gitea
        },
        ..Config::default()
    };
    let sandbox = host().block_on(Sandbox::start(config))?;
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
        life: Life::Sandbox(Box::new(sandbox)),
    })
}
