//! Which program answers, how old it is, and how much it gives at once

use std::time::Duration;

use tokio::join;

use super::{Forgejo, wire};
use crate::{
    About, Flavor, ForgeError, Result,
    model::{Identity, Page, RepoId, Repository},
    rest::Answer,
};

/// Rows per page where the server does not tell
pub(super) const DEFAULT_CAP: u32 = 50;
/// Rows that every server gives unless it was set up to be stingy
pub(super) const SMALL_PAGE: u32 = 30;

/// What was learnt about the server at the first need
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) flavor: Flavor,
    pub(super) version: String,
    pub(super) cap: u32,
}

impl Server {
    /// Whether it is at least this version of its own flavour; a server that does not tell its
    /// version is taken for a new one
    pub(super) fn at_least(&self, flavor: Flavor, version: (u32, u32)) -> bool {
        self.flavor == flavor && own_version(&self.version).is_none_or(|own| own >= version)
    }
}

/// `16.0.1+gitea-1.22.0` is 16.0, `1.26.0+dev-1-gabc` is 1.26, `development` is unknown
fn own_version(text: &str) -> Option<(u32, u32)> {
    let own = text
        .trim()
        .trim_start_matches('v')
        .split(['+', '-', '~'])
        .next()?;
    let mut parts = own.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().and_then(|p| p.parse().ok()).unwrap_or(0);
    Some((major, minor))
}

/// Which of the two it is, by its version and what the API that only Forgejo has answers
///
/// An old proxy rule may hide that route, so the tail of the version counts too.
fn flavor(version: &str, own: Option<Answer>) -> Flavor {
    let has_own_api = own.is_some_and(|a| {
        a.status.is_success()
            && a.json::<wire::Version>()
                .is_ok_and(|v| !v.version.is_empty())
    });
    if has_own_api || version.contains("+gitea-") {
        Flavor::Forgejo
    } else {
        Flavor::Gitea
    }
}

/// Returns the scopes that Gitea names when it refuses a token: `…, token scope=read:user,…`
fn scopes_in(refusal: &str) -> Option<Vec<String>> {
    let (_, scopes) = refusal.split_once("token scope=")?;
    let scopes = scopes.split(',').map(|scope| scope.trim().to_owned());
    Some(scopes.filter(|scope| !scope.is_empty()).collect())
}

impl Forgejo {
    pub(super) async fn server(&self) -> Result<&Server> {
        self.server.get_or_try_init(|| self.look()).await
    }

    /// Returns the most rows that the server gives in one page; asks it the first time
    pub(super) async fn cap(&self) -> u32 {
        self.server().await.map_or(DEFAULT_CAP, |s| s.cap)
    }

    /// Returns the row limit of the server as far as it is known, without a request; enough for lists that
    /// are read to the end, which follow whatever page size the server gives
    pub(super) fn likely_cap(&self) -> u32 {
        self.server.get().map_or(DEFAULT_CAP, |server| server.cap)
    }

    /// Returns the row limit to use for `page` of a list that has `Link` headers
    ///
    /// A small page fits into the limit of every server, so it needs no request for that limit.
    pub(super) async fn cap_for(&self, page: Page) -> u32 {
        if page.limit <= SMALL_PAGE {
            return SMALL_PAGE;
        }
        self.cap().await
    }

    pub(super) async fn about_server(&self) -> Result<About> {
        let server = self.server().await?;
        Ok(About {
            flavor: server.flavor,
            version: (!server.version.is_empty()).then(|| server.version.clone()),
            page_limit: server.cap,
        })
    }

    /// The flavour alone, without what else [`Self::look`] asks for
    pub(super) async fn flavor_of_server(&self) -> Result<Flavor> {
        if let Some(server) = self.server.get() {
            return Ok(server.flavor);
        }
        let ask = async || {
            let (version, own) = join!(
                self.rest.get(&["version"]).what("version").send(),
                self.own_version_answer(),
            );
            let version = version?.json::<wire::Version>()?.version;
            Ok(flavor(&version, own))
        };
        self.flavor.get_or_try_init(ask).await.copied()
    }

    /// The version by the API that only Forgejo has
    async fn own_version_answer(&self) -> Option<Answer> {
        let call = self.own_api.as_ref()?.get(&["version"]);
        call.answer().await.ok()
    }

    async fn look(&self) -> Result<Server> {
        let (version, own, settings) = join!(
            self.rest.get(&["version"]).what("version").send(),
            self.own_version_answer(),
            self.rest.get(&["settings", "api"]).send(),
        );
        let version = version?.json::<wire::Version>()?.version;
        let flavor = flavor(&version, own);
        let cap = settings
            .ok()
            .and_then(|a| a.json::<wire::ApiSettings>().ok())
            .and_then(|s| s.max_response_items)
            .filter(|n| *n > 0)
            .unwrap_or(DEFAULT_CAP);
        Ok(Server {
            flavor,
            version,
            cap,
        })
    }

    pub(super) async fn user(&self) -> Result<Identity> {
        let user: wire::User = self
            .rest
            .get(&["user"])
            .what("the user of the token")
            .send()
            .await?
            .json()?;
        Ok(Identity {
            scopes: self.scopes(&user.login).await,
            login: user.login,
            admin: user.is_admin,
            rate: None,
        })
    }

    /// Returns what the token may do: newer Gitea tells it, all others are tried
    async fn scopes(&self, login: &str) -> Option<Vec<String>> {
        let server = self.server().await.ok()?;
        if server.at_least(Flavor::Gitea, (1, 27)) && own_version(&server.version).is_some() {
            let answer = self.rest.get(&["token"]).send().await.ok()?;
            return answer.json::<wire::TokenInfo>().ok()?.scopes;
        }
        self.tried_scopes(login).await
    }

    /// Tries the scopes that Blue needs, by requests that change nothing
    ///
    /// A server looks at the scope of a token before it looks at anything else. No repository can
    /// be called `-`, so what the token may do is answered with 404 and what it may not with 403.
    async fn tried_scopes(&self, login: &str) -> Option<Vec<String>> {
        let nowhere = ["repos", login, "-"];
        let branches = ["repos", login, "-", "branches"];
        let (reads, writes, issues) = join!(
            self.rest.get(&nowhere).answer(),
            self.rest
                .post(&branches)
                .json(&serde_json::json!({}))
                .answer(),
            self.rest
                .get(&["repos", "issues", "search"])
                .query("limit", 1)
                .answer(),
        );
        // Asked with a token that may read the user, or this would not have been reached.
        let mut scopes = vec!["read:user".to_owned()];
        for (answer, scope) in [
            (reads, "read:repository"),
            (writes, "write:repository"),
            (issues, "read:issue"),
        ] {
            let answer = answer.ok()?;
            if answer.status.as_u16() != 403 {
                scopes.push(scope.to_owned());
            } else if let Some(told) = scopes_in(&answer.message()) {
                return Some(told);
            }
        }
        Some(scopes)
    }

    pub(super) async fn wire_repo(&self, repo: &RepoId) -> Result<wire::Repo> {
        let found: wire::Repo = self
            .rest
            .get(&["repos", repo.owner(), repo.name()])
            .what(format!("repository `{repo}`"))
            .send()
            .await?
            .json()?;
        self.rest.allows(&found.owner.login, &found.name)?;
        self.recent
            .saw_default(repo, &found.default_branch, found.empty);
        self.recent.saw_styles(repo, found.styles().as_ref());
        Ok(found)
    }

    pub(super) async fn default_name(&self, repo: &RepoId) -> Result<String> {
        match self.recent.default_branch(repo) {
            Some(name) => Ok(name),
            None => Ok(self.wire_repo(repo).await?.default_branch),
        }
    }

    /// Whether the caller may push, for the lock of a branch; believed for a minute
    pub(super) async fn may_push(&self, repo: &RepoId) -> Result<bool> {
        if let Some(may) = self.recent.permissions(repo) {
            return Ok(may.push);
        }
        let may = self.read_repository(repo).await?.permissions;
        if let Some(may) = may {
            self.recent.saw_permissions(repo, may);
        }
        Ok(may.is_some_and(|may| may.push))
    }

    pub(super) async fn read_repository(&self, repo: &RepoId) -> Result<Repository> {
        Ok(self.wire_repo(repo).await?.into_model(repo))
    }

    /// Returns how long ago the repository changed; the server keeps no time of a push alone
    pub(super) async fn idle_time(&self, repo: &RepoId) -> Result<Option<Duration>> {
        let answer = self
            .rest
            .get(&["repos", repo.owner(), repo.name()])
            .what(format!("repository `{repo}`"))
            .send()
            .await?;
        let found: wire::Repo = answer.json()?;
        let ago = answer.date().zip(found.updated_at);
        // A time in the future is a clock that was set back.
        Ok(ago.and_then(|(now, then)| now.duration_since(then).try_into().ok()))
    }

    /// Make the most of a 404: a missing or private repository, an empty one, or the thing itself
    pub(super) async fn missing(&self, repo: &RepoId, what: String) -> ForgeError {
        let what = match self.wire_repo(repo).await {
            Ok(repo) if repo.empty => format!("{what} (the repository is empty)"),
            Ok(_) => what,
            Err(error) => return error,
        };
        ForgeError::NotFound {
            host: self.rest.host().clone(),
            what,
            status: Some(404),
        }
    }

    /// Returns why a repository takes no writes, if it is a mirror
    pub(super) async fn mirror_refusal(&self, repo: &RepoId) -> Option<ForgeError> {
        let found = self.wire_repo(repo).await.ok()?;
        found.mirror.then(|| ForgeError::Forbidden {
            host: self.rest.host().clone(),
            message: format!("`{repo}` is a mirror: it takes changes only from its source"),
            status: None,
        })
    }

    /// Replace a bare "not found" by one that says what is missing
    pub(super) async fn explain<T>(&self, repo: &RepoId, result: Result<T>) -> Result<T> {
        match result {
            Err(ForgeError::NotFound { what, .. }) => Err(self.missing(repo, what).await),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (text, expected) in [
            ("1.26.0", Some((1, 26))),
            ("1.26.0+dev-123-gabcdef", Some((1, 26))),
            ("16.0.0+gitea-1.22.0", Some((16, 0))),
            ("11.0.15-1-abc+gitea-1.22.0", Some((11, 0))),
            ("v1.25.3", Some((1, 25))),
            ("development", None),
            ("", None),
        ] {
            assert_eq!(own_version(text), expected, "{text}");
        }
    }

    #[test]
    fn features_go_by_flavour_and_own_version() {
        let server = |flavor, version: &str| Server {
            flavor,
            version: version.to_owned(),
            cap: 50,
        };
        let rename = (Flavor::Gitea, (1, 26));
        assert!(server(Flavor::Gitea, "1.26.0").at_least(rename.0, rename.1));
        assert!(!server(Flavor::Gitea, "1.25.9").at_least(rename.0, rename.1));
        assert!(server(Flavor::Gitea, "development").at_least(rename.0, rename.1));
        assert!(!server(Flavor::Forgejo, "16.0.0+gitea-1.22.0").at_least(rename.0, rename.1));
    }
}
