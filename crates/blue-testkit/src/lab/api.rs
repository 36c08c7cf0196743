//! Plain calls of the Gitea REST API

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use blue_base::http::Method;
use serde_json::Value;
use url::Url;

use super::{Lab, Repo, User};

/// What the server said, whatever it was
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    /// `Null` when the body is no JSON
    pub body: Value,
    pub text: String,
}

impl Lab {
    /// Call `/api/v1/…`; each part of the path is one segment, whatever is in it
    pub async fn call(
        &self,
        who: &User,
        method: Method,
        path: &[&str],
        body: Option<&Value>,
    ) -> Result<Answer> {
        self.call_url(Some(who), method, self.url(path)?, body)
            .await
    }

    /// Call and insist on success
    pub async fn must(
        &self,
        who: &User,
        method: Method,
        path: &[&str],
        body: Option<&Value>,
    ) -> Result<Value> {
        let answer = self.call(who, method.clone(), path, body).await?;
        if !(200..300).contains(&answer.status) {
            bail!(
                "set-up: {method} /{} as {} with {}: {} {}",
                path.join("/"),
                who.login,
                body.map_or_else(String::new, Value::to_string),
                answer.status,
                answer.text
            );
        }
        Ok(answer.body)
    }

    pub async fn get(&self, who: &User, path: &[&str]) -> Result<Value> {
        self.must(who, Method::GET, path, None).await
    }

    pub async fn get_url(&self, who: &User, url: Url) -> Result<Value> {
        let shown = url.path().to_owned();
        let answer = self.call_url(Some(who), Method::GET, url, None).await?;
        if answer.status != 200 {
            bail!("set-up: GET {shown}: {} {}", answer.status, answer.text);
        }
        Ok(answer.body)
    }

    pub async fn post(&self, who: &User, path: &[&str], body: &Value) -> Result<Value> {
        self.must(who, Method::POST, path, Some(body)).await
    }

    /// Make requests of a sandbox go wrong that was started for it
    pub async fn fault(&self, rule: &Value) -> Result<()> {
        let url = self.server().url.join("-/sandbox/faults")?;
        let by = Some(self.admin());
        let answer = self.call_url(by, Method::POST, url, Some(rule)).await?;
        if answer.status != 201 {
            bail!("set-up: no fault: {} {}", answer.status, answer.text);
        }
        Ok(())
    }

    /// Whether a fault that was ordered for a path with this text in it has struck no request yet
    pub async fn fault_is_waiting(&self, path: &str) -> Result<bool> {
        let url = self.server().url.join("-/sandbox/faults")?;
        let rules = self.get_url(self.admin(), url).await?;
        let rules = rules.as_array().context("rules are a list")?;
        let ours = |rule: &&Value| rule["path"].as_str().is_some_and(|p| p.contains(path));
        Ok(rules.iter().filter(ours).any(|rule| rule["hits"] == 0))
    }

    /// Make a run of a workflow, as only a sandbox can
    pub async fn run(&self, repo: &Repo, run: &Value) -> Result<Value> {
        let route = format!("api/sandbox/v1/repos/{}/runs", repo.id);
        let url = self.server().url.join(&route)?;
        let by = Some(&repo.owner);
        let answer = self.call_url(by, Method::POST, url, Some(run)).await?;
        if answer.status != 201 {
            bail!("set-up: no run: {} {}", answer.status, answer.text);
        }
        Ok(answer.body)
    }

    /// Change a run that [`Lab::run`] made: `rerun` starts its jobs again, `approve` lets it begin
    pub async fn change_run(&self, repo: &Repo, id: u64, how: &str) -> Result<Value> {
        let route = format!("api/sandbox/v1/repos/{}/runs/{id}/{how}", repo.id);
        let url = self.server().url.join(&route)?;
        let by = Some(&repo.owner);
        let answer = self.call_url(by, Method::POST, url, None).await?;
        if answer.status != 201 {
            bail!("set-up: no {how}: {} {}", answer.status, answer.text);
        }
        Ok(answer.body)
    }

    /// Move a job of such a run, such as `{"conclusion": "failure"}`
    pub async fn move_job(&self, repo: &Repo, id: &Value, to: &Value) -> Result<()> {
        let route = format!("api/sandbox/v1/repos/{}/jobs/{id}", repo.id);
        let url = self.server().url.join(&route)?;
        let by = Some(&repo.owner);
        let answer = self.call_url(by, Method::PATCH, url, Some(to)).await?;
        if answer.status != 200 {
            bail!("set-up: no move: {} {}", answer.status, answer.text);
        }
        Ok(())
    }

    /// Limits the merge methods of a rule, as only a sandbox can
    pub async fn limit_merge_methods(
        &self,
        repo: &Repo,
        rule: &str,
        methods: &[&str],
    ) -> Result<()> {
        let route = format!("api/sandbox/v1/repos/{}/rules/{rule}", repo.id);
        let url = self.server().url.join(&route)?;
        let body = serde_json::json!({ "allowed_merge_methods": methods });
        let by = Some(&repo.owner);
        let answer = self.call_url(by, Method::PATCH, url, Some(&body)).await?;
        if answer.status != 204 {
            bail!("set-up: no limit: {} {}", answer.status, answer.text);
        }
        Ok(())
    }

    /// The address of a route, for a query to be put on
    pub fn url(&self, path: &[&str]) -> Result<Url> {
        let mut url = self.server().url.join("api/v1/")?;
        url.path_segments_mut()
            .ok()
            .context("the server's URL has a path")?
            .pop_if_empty()
            .extend(path);
        Ok(url)
    }

    pub(crate) async fn call_url(
        &self,
        who: Option<&User>,
        method: Method,
        url: Url,
        body: Option<&Value>,
    ) -> Result<Answer> {
        let mut request = self.client.request(method, url);
        if let Some(who) = who {
            request = request.header("Authorization", format!("token {}", who.token.expose()));
        }
        self.send(request, body).await
    }

    pub(crate) async fn send(
        &self,
        mut request: reqwest::RequestBuilder,
        body: Option<&Value>,
    ) -> Result<Answer> {
        if let Some(body) = body {
            request = request
                .header("Content-Type", "application/json")
                .body(body.to_string());
        }
        let answer = request.send().await?;
        let status = answer.status().as_u16();
        let text = answer.text().await?;
        Ok(Answer {
            status,
            body: serde_json::from_str(&text).unwrap_or_default(),
            text,
        })
    }

    pub(crate) fn client(&self) -> &reqwest::Client {
        &self.client
    }
}

/// A client for the test's own calls; it follows no redirect and knows no proxy
pub(crate) fn http_client() -> reqwest::Client {
    // Fails if a provider is installed already; that is fine, because all of Blue installs this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_mins(1))
        .no_proxy()
        .build()
        .expect("a plain client can be made")
}
