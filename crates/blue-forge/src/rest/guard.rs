//! No request for a repository that is not allowed, whatever a redirect leads to

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use url::Url;

use super::{Call, Rest};
use crate::{ForgeError, Result, allow::Allow, model::RepoId};

/// As much of a repository as tells its name
#[derive(Debug, Deserialize)]
struct Named {
    name: String,
    owner: Owner,
}

#[derive(Debug, Deserialize)]
struct Owner {
    login: String,
}

/// What a path of the API is about
enum About {
    Repo(RepoId),
    /// GitHub's permanent address of a repository, which tells no name
    Number(String),
    Unreadable,
    Other,
}

impl Rest {
    /// Touch only what is allowed
    #[must_use]
    pub(crate) fn allowing(mut self, allow: Allow) -> Self {
        self.allow = allow;
        self
    }

    /// Refuse a repository by the name that the forge itself gives it
    pub(crate) fn allows(&self, owner: &str, name: &str) -> Result<()> {
        Ok(self.allow.check(self.host(), owner, name)?)
    }

    fn about(&self, url: &Url) -> About {
        let api = &self.endpoint.api;
        if url.origin() != api.origin() {
            return About::Other;
        }
        let Some(tail) = url.path().strip_prefix(api.path()) else {
            return About::Other;
        };
        let parts: Vec<&str> = tail.trim_start_matches('/').split('/').collect();
        let plain = |text: &str| {
            percent_decode_str(text)
                .decode_utf8()
                .ok()
                .map(String::from)
        };
        match parts.as_slice() {
            ["repos", owner, name, ..] => plain(owner)
                .zip(plain(name))
                .and_then(|(owner, name)| RepoId::parse(&owner, &name).ok())
                .map_or(About::Unreadable, About::Repo),
            ["repositories", id, ..] if id.bytes().all(|b| b.is_ascii_digit()) => {
                About::Number((*id).to_owned())
            }
            [first, ..] if first.to_ascii_lowercase().starts_with("repo") => About::Unreadable,
            _ => About::Other,
        }
    }
}

impl Call<'_> {
    /// Refuse a request for what is not allowed, before it is sent
    pub(super) fn may_ask(&self) -> Result<()> {
        if !self.rest.allow.is_limited() {
            return Ok(());
        }
        let [repos, owner, name, tail @ ..] = self.segments.as_slice() else {
            return Ok(());
        };
        if repos != "repos" {
            return Ok(());
        }
        self.rest.allows(owner, name)?;
        // A comparison reaches into the fork that is named before the colon.
        if let [compare, sides @ ..] = tail
            && compare == "compare"
        {
            for side in sides.join("/").split("...") {
                if let Some((fork, _)) = side.split_once(':') {
                    let (owner, name) = fork.split_once('/').unwrap_or((fork, name));
                    self.rest.allows(owner, name)?;
                }
            }
        }
        Ok(())
    }

    /// Refuse what a redirect leads to, before anything of it is read
    pub(super) async fn may_follow(&self, target: &Url) -> Result<()> {
        if !self.rest.allow.is_limited() {
            return Ok(());
        }
        match self.rest.about(target) {
            About::Repo(repo) => self.rest.allows(repo.owner(), repo.name()),
            About::Number(id) => self.may_reach(&id).await,
            About::Unreadable => Err(self.unclear(target)),
            // Within the API a repository is only ever redirected to a repository; what lies
            // outside of it is not followed with the token.
            About::Other if self.is_in_api(target) && self.repo_text().is_some() => {
                Err(self.unclear(target))
            }
            About::Other => Ok(()),
        }
    }

    async fn may_reach(&self, id: &str) -> Result<()> {
        let call = self.rest.get(&["repositories", id]);
        let request = call.request(call.url()?)?;
        let what = format!("repository {id}");
        let answer = self.rest.transmit(request, &what).await?.ok()?;
        let named: Named = answer.json()?;
        self.rest.allows(&named.owner.login, &named.name)
    }

    fn is_in_api(&self, target: &Url) -> bool {
        let api = &self.rest.endpoint.api;
        target.origin() == api.origin() && target.path().starts_with(api.path())
    }

    fn unclear(&self, target: &Url) -> ForgeError {
        ForgeError::Unexpected {
            host: self.rest.host().clone(),
            status: 301,
            message: format!(
                "the answer points to `{}`, and whether that is allowed cannot be told",
                blue_base::text::clean_line(target.path())
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::{
        Router,
        http::{StatusCode, header},
        routing::any,
    };
    use serde_json::json;

    use super::{
        super::tests::{rest, serve},
        *,
    };

    /// A server that sends every request for `alice/old` to `to`
    async fn moved_to(to: &str) -> (Rest, impl Fn() -> Vec<String>) {
        let to = to.to_owned();
        let redirect =
            move || async move { (StatusCode::MOVED_PERMANENTLY, [(header::LOCATION, to)]) };
        let router = Router::new()
            .route("/api/v1/repos/alice/old", any(redirect.clone()))
            .route("/api/v1/repos/alice/old/{*rest}", any(redirect))
            .route(
                "/api/v1/repositories/7",
                any(|| async { axum::Json(json!({"name": "new", "owner": {"login": "Mallory"}})) }),
            )
            .route(
                "/api/v1/repositories/8",
                any(|| async { axum::Json(json!({"name": "new", "owner": {"login": "alice"}})) }),
            )
            .fallback(any(|| async { axum::Json(json!({"secret": true})) }));
        let (api, log) = serve(router).await;
        let rest = rest(&api).allowing(Allow::parse("alice, acme/site").unwrap());
        let paths = move || {
            let log = log.lock().unwrap();
            log.iter().map(|(_, path, _)| path.clone()).collect()
        };
        (rest, paths)
    }

    #[tokio::test]
    async fn what_is_not_allowed_is_never_asked_for() {
        let (rest, seen) = moved_to("/").await;
        for segments in [
            &["repos", "mallory", "x"][..],
            &["repos", "mallory", "x", "branches"],
            &["repos", "acme", "other"],
            &["repos", "alice", "x", "compare", "main...mallory:topic"],
            &["repos", "alice", "x", "compare", "mallory/y:main...topic"],
            &["repos", "alice", "x", "compare", "main...mallory:feat", "a"],
        ] {
            for call in [
                rest.get(segments),
                rest.post(segments),
                rest.delete(segments),
            ] {
                let error = call.send().await.unwrap_err();
                assert!(matches!(error, ForgeError::NotAllowed(_)), "{segments:?}");
            }
        }
        assert_eq!(seen(), Vec::<String>::new());
        for segments in [
            &["repos", "Alice", "x"][..],
            &["repos", "acme", "site", "branches"],
            &["repos", "alice", "x", "compare", "main...alice:a/b"],
            &["user"],
            &["version"],
        ] {
            rest.get(segments).send().await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_redirect_out_of_the_list_is_not_followed() {
        for to in [
            "/api/v1/repos/mallory/new",
            "/api/v1/repos/mallory/new/branches?page=1",
            "/api/v1/repos/%6dallory/new",
            "/api/v1/repos/alice/../mallory/new",
            "/api/v1/repos/alice/%2e%2e/%2e%2e/repos/mallory/new",
            "/api/v1//repos/mallory/new",
            "/api/v1/repositories/7",
            "/api/v1/repositories/7/branches",
        ] {
            let (rest, seen) = moved_to(to).await;
            let call = rest.get(&["repos", "alice", "old", "branches"]);
            for call in [call.clone(), call.keep_redirect()] {
                let error = call.send().await.unwrap_err();
                let ForgeError::NotAllowed(refused) = &error else {
                    panic!("{to}: {error:?}");
                };
                assert_eq!(refused.owner.to_lowercase(), "mallory");
            }
            let error = rest
                .post(&["repos", "alice", "old", "branches"])
                .send()
                .await;
            assert!(matches!(error, Err(ForgeError::NotAllowed(_))), "{to}");
            // Only the name behind the number was asked for, never what is under it.
            let mut seen = seen();
            seen.retain(|p| !p.contains("/alice/old") && p != "/api/v1/repositories/7");
            assert_eq!(seen, Vec::<String>::new(), "{to}");
        }
    }

    #[tokio::test]
    async fn a_redirect_that_does_not_tell_the_name_is_not_followed() {
        for to in [
            "/api/v1/repos/alice%2Fx/new",
            "/api/v1/repos//mallory/new",
            "/api/v1/repos/mallory",
            "/api/v1/REPOS/mallory/new",
            "/api/v1/repositories/7%2e",
            "/api/v1/user/repos",
            "/api/v1/orgs/mallory/repos",
        ] {
            let (rest, seen) = moved_to(to).await;
            let error = rest.get(&["repos", "alice", "old"]).send().await;
            assert!(
                matches!(error, Err(ForgeError::Unexpected { .. })),
                "{to}: {error:?}"
            );
            assert_eq!(seen().len(), 1, "{to}");
        }
    }

    #[tokio::test]
    async fn a_redirect_within_the_list_is_followed() {
        for to in [
            "/api/v1/repos/alice/new",
            "/api/v1/repos/ACME/Site/branches",
            "/api/v1/repositories/8",
            "/api/v1/repositories/8/branches",
        ] {
            let (rest, seen) = moved_to(to).await;
            rest.get(&["repos", "alice", "old"]).send().await.unwrap();
            assert_eq!(seen().last().unwrap(), to);
        }
        let (rest, _) = moved_to("/api/v1/repos/mallory/new").await;
        let open = rest.allowing(Allow::everything());
        open.get(&["repos", "alice", "old"]).send().await.unwrap();
    }
}
