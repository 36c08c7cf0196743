//! The server and the user behind the token

use jiff::Timestamp;
use serde::Deserialize;

use super::{GitHub, PAGE_LIMIT, scopes::scopes};
use crate::{
    About, Flavor, Result,
    model::{Identity, Rate},
    rest::Answer,
};

#[derive(Debug, Deserialize)]
struct Meta {
    installed_version: Option<String>,
}

#[derive(Debug, Deserialize)]
struct WireIdentity {
    login: String,
    #[serde(default)]
    site_admin: bool,
}

#[derive(Debug, Deserialize)]
struct RateLimit {
    resources: Resources,
}

#[derive(Debug, Deserialize)]
struct Resources {
    core: Core,
}

#[derive(Debug, Deserialize)]
struct Core {
    limit: u64,
    remaining: u64,
    reset: i64,
}

impl GitHub {
    pub(super) async fn read_about(&self) -> Result<About> {
        let answer = self
            .rest
            .get(&["meta"])
            .what("the API of GitHub")
            .answer()
            .await?;
        // A private Enterprise Server says its version even where it refuses to say more.
        let said = answer.header("x-github-enterprise-version").map(|v| {
            let version = v.trim();
            version.rsplit('@').next().unwrap_or(version).to_owned()
        });
        let version = match said {
            Some(version) => Some(version),
            None => answer.ok()?.json::<Meta>()?.installed_version,
        };
        Ok(About {
            flavor: Flavor::GitHub,
            version: version.map(|v| blue_base::text::clean_line(&v)),
            page_limit: PAGE_LIMIT,
        })
    }

    pub(super) async fn read_identity(&self) -> Result<Identity> {
        let answer = self.rest.get(&["user"]).what("the user").send().await?;
        let user: WireIdentity = answer.json()?;
        let rate = match rate_of(&answer) {
            Some(rate) => Some(rate),
            None => self.read_rate().await,
        };
        Ok(Identity {
            login: user.login,
            admin: user.site_admin,
            scopes: answer.header("x-oauth-scopes").map(scopes),
            rate,
        })
    }

    /// Nothing where limits are switched off, as an Enterprise Server has it
    async fn read_rate(&self) -> Option<Rate> {
        let answer = self.rest.get(&["rate_limit"]).send().await.ok()?;
        let core = answer.json::<RateLimit>().ok()?.resources.core;
        Some(Rate {
            limit: core.limit,
            remaining: core.remaining,
            reset: Timestamp::from_second(core.reset).ok(),
        })
    }
}

fn rate_of(answer: &Answer) -> Option<Rate> {
    let number = |name| answer.header(name)?.trim().parse().ok();
    Some(Rate {
        limit: number("x-ratelimit-limit")?,
        remaining: number("x-ratelimit-remaining")?,
        reset: number("x-ratelimit-reset")
            .and_then(|s| i64::try_from(s).ok())
            .and_then(|s| Timestamp::from_second(s).ok()),
    })
}
