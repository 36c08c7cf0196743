//! A sandbox seen through its GitHub door, with every answer held to the published description
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::{Arc, Mutex};

use base64::{Engine, engine::general_purpose::STANDARD};
use blue_base::clock::Clock;
use blue_sandbox::{Config, Sandbox, Seed, Timing};
use blue_testkit::openapi::{self, Description};
use reqwest::{Client, Method, header::HeaderMap, redirect};
use serde_json::{Value, json};

const SEED: &str = "
users:
  - { login: alice, token: alice-token-0000, admin: true, full_name: Alice Archer, email: alice@example.org }
  - { login: bob, token: bob-token-000000, email: bob@example.org }
  - { login: carol, token: carol-token-0000, email: carol@example.org }
orgs:
  - { name: acme, owners: [alice], members: { bob: write } }
";

/// What came back
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl Said {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// The message of a refusal with the words in `errors`
    pub(crate) fn words(&self) -> String {
        let mut words = self.json["message"].as_str().unwrap_or_default().to_owned();
        for error in self.json["errors"].as_array().into_iter().flatten() {
            for field in [error, &error["message"], &error["field"], &error["code"]] {
                if let Some(text) = field.as_str() {
                    words = format!("{words} | {text}");
                }
            }
        }
        words
    }

    #[track_caller]
    pub(crate) fn is(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    #[track_caller]
    pub(crate) fn refused(&self, status: u16, words: &str) -> &Self {
        self.is(status);
        assert!(
            self.words().contains(words),
            "{:?} in {:?}",
            words,
            self.words()
        );
        self
    }

    pub(crate) fn sha(&self) -> String {
        self.json["sha"].as_str().unwrap().to_owned()
    }
}

pub(crate) struct Hub {
    sandbox: Sandbox,
    client: Client,
    faults: Mutex<Vec<String>>,
    _seed: tempfile::NamedTempFile,
}

impl Hub {
    pub(crate) async fn start() -> Self {
        Self::with(Timing::INSTANT).await
    }

    pub(crate) async fn with(timing: Timing) -> Self {
        let config = Config {
            timing,
            ..Config::default()
        };
        Self::configured(config).await
    }

    /// With a clock of the test's own
    pub(crate) async fn at(clock: Arc<dyn Clock>) -> Self {
        let config = Config {
            timing: Timing::INSTANT,
            clock,
            ..Config::default()
        };
        Self::configured(config).await
    }

    async fn configured(config: Config) -> Self {
        // Fails if a provider is installed already; that is fine, because every test installs this one.
        drop(rustls::crypto::ring::default_provider().install_default());
        let seed = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(seed.path(), SEED).unwrap();
        let config = Config {
            seed: Seed::File(seed.path().to_owned()),
            ..config
        };
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .build()
            .unwrap();
        Self {
            sandbox: Sandbox::start(config).await.unwrap(),
            client,
            faults: Mutex::default(),
            _seed: seed,
        }
    }

    pub(crate) fn url(&self) -> &str {
        self.sandbox.url()
    }

    pub(crate) async fn get(&self, path: &str) -> Said {
        self.call("alice", Method::GET, path, None, &[]).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Said {
        self.call("alice", Method::POST, path, Some(body), &[])
            .await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Said {
        self.call("alice", Method::PUT, path, Some(body), &[]).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Said {
        self.call("alice", Method::PATCH, path, Some(body), &[])
            .await
    }

    pub(crate) async fn delete(&self, path: &str) -> Said {
        self.call("alice", Method::DELETE, path, None, &[]).await
    }

    pub(crate) async fn get_as(&self, who: &str, path: &str) -> Said {
        self.call(who, Method::GET, path, None, &[]).await
    }

    /// A token that may do less than alice, made through the other door
    pub(crate) async fn token(&self, scopes: &[&str]) -> String {
        let alice = &self.sandbox.users()[0];
        let made = self
            .client
            .post(format!("{}/users/alice/tokens", self.sandbox.gitea_api()))
            .basic_auth("alice", Some(alice.password.expose()))
            .header("content-type", "application/json")
            .body(json!({"name": "less", "scopes": scopes}).to_string())
            .send()
            .await
            .unwrap();
        let body: Value = serde_json::from_str(&made.text().await.unwrap()).unwrap();
        body["sha1"].as_str().unwrap().to_owned()
    }

    /// Sends a request as the user `who`, anonymous if empty; `path` begins after `/api/v3`
    pub(crate) async fn call(
        &self,
        who: &str,
        method: Method,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> Said {
        let url = format!("{}{path}", self.sandbox.github_api());
        let mut request = self.client.request(method.clone(), &url);
        if !who.is_empty() {
            let user = self.sandbox.users().iter().find(|user| user.login == who);
            // Who is no user is taken for a token.
            let token = user.map_or(who, |user| user.token.expose());
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = &body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.bytes().await.unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let is_json = headers
            .get("content-type")
            .is_some_and(|kind| kind.to_str().unwrap().starts_with("application/json"));
        let json: Option<Value> = is_json.then(|| serde_json::from_slice(&bytes).unwrap());
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        // The same things are found under the repository's id, which the description leaves out.
        if path != "/" && !path.starts_with("/repositories/") && !path.starts_with("/_logs/") {
            let request = openapi::Request {
                method: method.to_string(),
                path: path.to_owned(),
                query: Some(query.to_owned()),
                body,
            };
            let answer = openapi::Answer {
                status,
                body: json.clone(),
            };
            let faults = Description::github().answer_faults(&request, &answer);
            self.faults.lock().unwrap().extend(faults);
        }
        Said {
            status,
            headers,
            text,
            json: json.unwrap_or_default(),
        }
    }

    /// A repository with one commit
    pub(crate) async fn repo(&self, name: &str) -> String {
        let body = json!({"name": name, "auto_init": true});
        self.post("/user/repos", body).await.is(201);
        format!("/repos/alice/{name}")
    }

    /// Write one file; the new commit
    pub(crate) async fn write(&self, repo: &str, branch: &str, path: &str, text: &str) -> String {
        let at = format!("{repo}/contents/{path}");
        let there = self.get(&format!("{at}?ref={branch}")).await;
        let mut body = json!({
            "message": format!("write {path}"),
            "content": STANDARD.encode(text),
            "branch": branch,
        });
        if there.status == 200 {
            body["sha"] = there.json["sha"].clone();
        }
        let said = self.put(&at, body).await;
        assert!(matches!(said.status, 200 | 201), "{}", said.text);
        said.json["commit"]["sha"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn tip(&self, repo: &str, branch: &str) -> String {
        let said = self.get(&format!("{repo}/git/ref/heads/{branch}")).await;
        said.is(200).json["object"]["sha"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Make a branch at the tip of main
    pub(crate) async fn branch(&self, repo: &str, name: &str) -> String {
        let sha = self.tip(repo, "main").await;
        let body = json!({"ref": format!("refs/heads/{name}"), "sha": sha});
        self.post(&format!("{repo}/git/refs"), body).await.is(201);
        sha
    }

    /// A pull request that adds one file
    pub(crate) async fn pull(&self, repo: &str, branch: &str) -> i64 {
        self.branch(repo, branch).await;
        self.write(repo, branch, &format!("{branch}.txt"), branch)
            .await;
        let body = json!({"title": format!("Add {branch}"), "head": branch, "base": "main"});
        let said = self.post(&format!("{repo}/pulls"), body).await;
        said.is(201).json["number"].as_i64().unwrap()
    }

    /// Every answer was one that GitHub could have given
    #[track_caller]
    pub(crate) fn finish(&self) {
        let faults = self.faults.lock().unwrap();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}
