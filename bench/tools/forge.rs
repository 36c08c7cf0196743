//! The forge that is measured on: its fixture, and what is done beside the measurement
//!
//! All of this goes to the forge itself, past the counting proxy.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use url::Url;

use crate::steps::{At, Step};

pub(crate) const BRANCHES: usize = 25;
pub(crate) const PRS: usize = 10;
pub(crate) const FILE: &str = "docs/guide.md";

/// A server with Gitea's API, and who works there
#[derive(Debug)]
pub(crate) struct Forge {
    client: Client,
    runtime: Handle,
    api: Url,
    pub(crate) login: String,
    pub(crate) token: String,
}

impl Forge {
    pub(crate) fn new(runtime: &Handle, root: &Url, login: &str, token: &str) -> Result<Self> {
        Ok(Self {
            client: Client::builder().no_proxy().build()?,
            runtime: runtime.clone(),
            api: root.join("api/v1/")?,
            login: login.to_owned(),
            token: token.to_owned(),
        })
    }

    fn send(&self, method: &Method, path: &str, body: Option<&Value>) -> Result<Value> {
        let mut request = self
            .client
            .request(method.clone(), self.api.join(path)?)
            .header("authorization", format!("token {}", self.token));
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let (status, text) = self.runtime.block_on(async {
            let answer = request.send().await?;
            let status = answer.status();
            anyhow::Ok((status, answer.text().await?))
        })?;
        ensure!(status.is_success(), "{method} {path}: {status}: {text}");
        Ok(serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    fn get(&self, path: &str) -> Result<Value> {
        self.send(&Method::GET, path, None)
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.send(&Method::POST, path, Some(body))
    }

    /// A second token: there is a program that wants one to read and another to write
    pub(crate) fn second_token(&self, password: &str) -> Result<String> {
        let request = self
            .client
            .post(self.api.join(&format!("users/{}/tokens", self.login))?)
            .basic_auth(&self.login, Some(password))
            .header("content-type", "application/json")
            .body(json!({"name": "second", "scopes": ["all"]}).to_string());
        let text = self
            .runtime
            .block_on(async { request.send().await?.text().await })?;
        let answer: Value = serde_json::from_str(&text)?;
        let token = answer["sha1"].as_str();
        Ok(token
            .with_context(|| format!("no token: {text}"))?
            .to_owned())
    }

    /// A repository with 25 branches, 10 open pull requests and a file of 3 KB
    pub(crate) fn fixture(&self, repo: &str) -> Result<()> {
        let own = format!("repos/{}/{repo}", self.login);
        self.post(
            "user/repos",
            &json!({"name": repo, "auto_init": true, "default_branch": "main"}),
        )?;
        self.post(
            &format!("{own}/contents/{FILE}"),
            &json!({"content": base64(&text(0)), "message": "Add the guide", "branch": "main"}),
        )?;
        for number in 1..BRANCHES {
            let branch = format!("feature/topic-{number:02}");
            if number > PRS {
                self.post(
                    &format!("{own}/branches"),
                    &json!({"new_branch_name": branch, "old_ref_name": "main"}),
                )?;
                continue;
            }
            self.post(
                &format!("{own}/contents/docs/topic-{number:02}.md"),
                &json!({"content": base64("A topic.\n"), "message": "Add a topic", "branch": "main", "new_branch": branch}),
            )?;
            self.post(
                &format!("{own}/pulls"),
                &json!({
                    "head": branch,
                    "base": "main",
                    "title": format!("Describe topic number {number}"),
                    "body": "The guide lacks this topic.\n\n- [x] written\n- [ ] read by somebody else\n",
                }),
            )?;
        }
        Ok(())
    }

    pub(crate) fn head(&self, repo: &str, branch: &str) -> Result<String> {
        let answer = self.get(&format!("repos/{}/{repo}/branches/{branch}", self.login))?;
        text_at(&answer["commit"]["id"])
    }

    pub(crate) fn blob(&self, repo: &str) -> Result<String> {
        let answer = self.get(&format!(
            "repos/{}/{repo}/contents/{FILE}?ref=main",
            self.login
        ))?;
        text_at(&answer["sha"])
    }

    /// The open pull request of a branch, once the forge knows whether it can be merged
    pub(crate) fn pull(&self, repo: &str, branch: &str) -> Result<u64> {
        let own = format!("repos/{}/{repo}/pulls", self.login);
        let all = self.get(&format!("{own}?state=open&limit=50"))?;
        let number = all
            .as_array()
            .and_then(|all| all.iter().find(|pr| pr["head"]["ref"] == branch))
            .and_then(|pr| pr["number"].as_u64())
            .with_context(|| format!("no open pull request of `{branch}`"))?;
        let until = Instant::now() + Duration::from_secs(30);
        while self.get(&format!("{own}/{number}"))?["mergeable"] != true {
            if Instant::now() > until {
                bail!("the forge never says that {number} can be merged");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(number)
    }

    /// Do a step that a program has no tool for, so that the next ones find what they need
    pub(crate) fn instead(&self, step: Step, at: &At) -> Result<()> {
        let own = format!("repos/{}/{}", at.owner, at.repo);
        match step {
            Step::Repository | Step::Branches | Step::Prs | Step::Read | Step::Verify => {}
            Step::Write => {
                let body = json!({
                    "content": base64(&at.content), "sha": at.file_sha, "message": at.title,
                    "branch": "main", "new_branch": at.branch,
                });
                self.send(&Method::PUT, &format!("{own}/contents/{FILE}"), Some(&body))?;
            }
            Step::OpenPr => {
                let body = json!({"head": at.branch, "base": "main", "title": at.title});
                self.post(&format!("{own}/pulls"), &body)?;
            }
            Step::Merge => {
                let path = format!("{own}/pulls/{}/merge", at.number);
                let until = Instant::now() + Duration::from_secs(20);
                // It may be looking at the branches once more.
                while let Err(error) = self.post(&path, &json!({"Do": "merge"})) {
                    let again = error.to_string().contains("try again later");
                    ensure!(again && Instant::now() < until, "{error}");
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
            Step::Delete => {
                let path = format!("{own}/branches/{}", at.branch);
                self.send(&Method::DELETE, &path, None)?;
            }
            Step::Tag => {
                let body = json!({"tag_name": at.tag, "target": "main"});
                self.post(&format!("{own}/tags"), &body)?;
            }
        }
        Ok(())
    }
}

fn text_at(value: &Value) -> Result<String> {
    Ok(value.as_str().context("no text")?.to_owned())
}

/// 3,000 bytes of prose that differ from round to round
pub(crate) fn text(round: usize) -> String {
    let mut text = format!("# Guide, version {round:04}\n\n");
    let mut line = 0;
    while text.len() < 3_000 {
        line += 1;
        text.push_str(&line.to_string());
        text.push_str(". Open a branch, change one thing, ask for a review.\n");
    }
    text.truncate(2_999);
    text + "\n"
}

pub(crate) fn base64(text: &str) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    STANDARD.encode(text)
}
