//! The Gitea door, as a client sees it

use base64::{Engine, prelude::BASE64_STANDARD};
use blue_sandbox::{Config, Flavor, Sandbox, Timing};
use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::visitor::client;

/// One person calling one repository's forge
#[derive(Debug, Clone)]
pub(crate) struct Api {
    client: Client,
    base: String,
    token: String,
}

impl Api {
    pub(crate) fn new(base: &str, token: &str) -> Self {
        Self {
            client: client(),
            base: base.to_owned(),
            token: token.to_owned(),
        }
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        self.try_call(method, path, body).await.unwrap()
    }

    /// Calls the API of a server that may have stopped; a failed connection is an error, not a panic
    pub(crate) async fn try_call(
        &self,
        method: &str,
        path: &str,
        body: Value,
    ) -> reqwest::Result<(u16, Value)> {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = self
            .client
            .request(method, format!("{}/api/v1/{path}", self.base))
            .header("authorization", format!("token {}", self.token));
        if !body.is_null() {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let response = request.send().await?;
        let status = response.status().as_u16();
        let text = response.text().await?;
        Ok((status, serde_json::from_str(&text).unwrap_or(Value::Null)))
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, value) = self.call("GET", path, Value::Null).await;
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        let (status, value) = self.call("POST", path, body).await;
        assert!(status < 300, "{path}: {status} {value}");
        value
    }

    /// Write a file on a branch made from another
    pub(crate) async fn commit(
        &self,
        repo: &str,
        path: &str,
        text: &str,
        from: &str,
        to: &str,
    ) -> Value {
        let mut body = json!({
            "content": BASE64_STANDARD.encode(text),
            "message": format!("write {path}"),
            "branch": from,
        });
        if from != to {
            body["new_branch"] = to.into();
        }
        self.post(&format!("repos/{repo}/contents/{path}"), body)
            .await
    }

    /// Another person with a token of their own
    pub(crate) async fn person(&self, login: &str) -> Self {
        let password = format!("{login}-password");
        let body = json!({"username": login, "email": format!("{login}@example.org"), "password": password});
        self.post("admin/users", body).await;
        let response = self
            .client
            .post(format!("{}/api/v1/users/{login}/tokens", self.base))
            .basic_auth(login, Some(&password))
            .header("content-type", "application/json")
            .body(json!({"name": "t", "scopes": ["all"]}).to_string())
            .send()
            .await
            .unwrap();
        let made: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        Self {
            token: made["sha1"].as_str().unwrap().to_owned(),
            ..self.clone()
        }
    }
}

/// A forge in a folder of the test, with one repository that has a first commit
pub(crate) struct Forge {
    pub(crate) sandbox: Sandbox,
    pub(crate) api: Api,
    pub(crate) dir: tempfile::TempDir,
}

impl Forge {
    pub(crate) async fn start(flavor: Flavor, timing: Timing) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = Config {
            dir: Some(dir.path().to_owned()),
            flavor,
            timing,
            ..Config::default()
        };
        let sandbox = Sandbox::start(config).await.unwrap();
        let api = Api::new(sandbox.url(), sandbox.users()[0].token.expose());
        let body = json!({"name": "r", "auto_init": true, "default_branch": "main"});
        api.post("user/repos", body).await;
        Self { sandbox, api, dir }
    }

    pub(crate) async fn instant() -> Self {
        Self::start(Flavor::Gitea, Timing::INSTANT).await
    }

    /// What the real git says about the repository
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(self.dir.path(), args)
    }
}

/// The real git on the first repository of a sandbox folder
pub(crate) fn git(dir: &std::path::Path, args: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .arg("--git-dir")
        .arg(dir.join("repos/1.git"))
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {args:?}: {words}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
