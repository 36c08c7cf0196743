//! A caller at work: a repository, and the tools as one user has them

use std::sync::Arc;

use blue_base::{clock::SystemClock, host::Host, http::HttpConfig};
use blue_forge::{
    allow::Allow,
    open::{Forges, Settings},
    token::Vars,
};
use blue_testkit::{Cx as Lab, Repo, Result, User};
use blue_tools::{Answer, Cx, ErrorCode, Opener, ToolError, tools};
use serde_json::{Map, Value, json};
use url::Url;

/// One user's tools; the repository of the test is filled in where none is named
pub(crate) struct Desk {
    pub(crate) cx: Cx,
    opener: Arc<dyn Opener>,
    pub(crate) owner: String,
    pub(crate) name: String,
    host: String,
    home: tempfile::TempDir,
}

/// A new user with a repository that has a `README.md`, and that user's tools
pub(crate) async fn start(lab: &Lab) -> Result<(Desk, Repo)> {
    let owner = lab.lab.user("owner").await?;
    let repo = lab.lab.repo(&owner).await?;
    Ok((Desk::new(lab, &owner, &repo), repo))
}

/// Settings of a repository that allows nothing but squashing
pub(crate) fn squash_only() -> Value {
    json!({
        "has_pull_requests": true, "allow_merge_commits": false, "allow_rebase": false,
        "allow_rebase_explicit": false, "allow_squash_merge": true,
        "allow_fast_forward_only_merge": false, "default_merge_style": "squash",
    })
}

impl Desk {
    pub(crate) fn new(lab: &Lab, user: &User, repo: &Repo) -> Self {
        Self::with(lab, user, repo, |_| {})
    }

    /// Makes a desk with changed settings, such as an allowlist
    pub(crate) fn with(
        lab: &Lab,
        user: &User,
        repo: &Repo,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        Self::at(&lab.lab.server().url, lab, user, repo, change)
    }

    /// Makes a desk that talks to `url`, such as a proxy in front of the server
    pub(crate) fn at(
        url: &Url,
        lab: &Lab,
        user: &User,
        repo: &Repo,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let home = tempfile::tempdir().expect("a folder can be made");
        let host = Host::of_url(url).expect("a server's URL has a host");
        let (kind, api) = if lab.backend.is_github() {
            ("github", "api/v3")
        } else {
            ("forgejo", "api/v1")
        };
        let token = home.path().join("token");
        std::fs::write(&token, user.token.expose()).expect("a file can be written");
        let hosts = format!(
            "{host}:\n  type: {kind}\n  api_url: {url}{api}\n  token_file: {}\n",
            token.display()
        );
        std::fs::write(home.path().join("hosts.yaml"), hosts).expect("a file can be written");
        let mut settings = Settings {
            home: home.path().to_owned(),
            vars: Vars::default(),
            allow: Allow::everything(),
            http: HttpConfig::default(),
            cache: false,
            git_credentials: false,
            ssh_aliases: false,
        };
        change(&mut settings);
        let read_only = settings.http.read_only;
        let forges = Forges::new(settings, home.path(), Arc::new(SystemClock));
        let opener: Arc<dyn Opener> = Arc::new(forges);
        let cx = Cx::new(Arc::clone(&opener), Arc::new(SystemClock), home.path());
        Self {
            cx: cx.read_only(read_only),
            opener,
            owner: repo.id.owner().to_owned(),
            name: repo.id.name().to_owned(),
            host: host.to_string(),
            home,
        }
    }

    /// Like this desk, with something between the tools and what opens repositories
    pub(crate) fn opening_with(
        self,
        wrap: impl FnOnce(Arc<dyn Opener>) -> Arc<dyn Opener>,
    ) -> Self {
        let opener = wrap(Arc::clone(&self.opener));
        let cx = Cx::new(Arc::clone(&opener), Arc::new(SystemClock), self.home.path());
        Self { cx, opener, ..self }
    }

    /// Makes a desk whose user has no token
    pub(crate) fn without_token(lab: &Lab, repo: &Repo) -> Self {
        let desk = Self::new(lab, &repo.owner, repo);
        let path = desk.home.path().join("hosts.yaml");
        let hosts = std::fs::read_to_string(&path).expect("it was written a moment ago");
        let lines = hosts.lines().filter(|line| !line.contains("token_file"));
        let hosts: Vec<&str> = lines.collect();
        std::fs::write(path, hosts.join("\n")).expect("a file can be written");
        desk
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Run git in the folder that the tools work in
    pub(crate) fn git(&self, args: &[&str]) {
        let done = std::process::Command::new("git")
            .current_dir(self.home.path())
            .args(args)
            .status();
        assert!(done.expect("git can be run").success(), "git {args:?}");
    }

    /// `HOST/OWNER/NAME`, for the command line
    pub(crate) fn whole(&self) -> String {
        format!("{}/{}/{}", self.host, self.owner, self.name)
    }

    /// Call a tool; the answer is held against its output schema
    pub(crate) async fn call(&self, tool: &str, args: Value) -> Result<Value, ToolError> {
        let Value::Object(given) = args else {
            panic!("arguments are an object")
        };
        let mut args = Map::new();
        args.insert("host".to_owned(), self.host.clone().into());
        args.insert("owner".to_owned(), self.owner.clone().into());
        args.insert("name".to_owned(), self.name.clone().into());
        args.extend(given);
        let tool = tools::find(tool).unwrap_or_else(|| panic!("there is no `{tool}`"));
        let answer = Value::Object(tool.call_json(&self.cx, args).await?);
        let schema = Value::Object(tool.output_schema());
        if let Err(error) = jsonschema::validate(&schema, &answer) {
            panic!("{} breaks its schema: {error}\n{answer:#}", tool.name());
        }
        let steps = answer["next_steps"].as_array().cloned().unwrap_or_default();
        for step in steps {
            let step = step.as_str().expect("a step is a text").to_owned();
            let named = tools::ALL.iter().any(|tool| step.contains(tool.name()));
            assert!(named, "{}: `{step}` names no tool", tool.name());
        }
        Ok(answer)
    }

    /// Call a tool by the command line
    pub(crate) async fn typed(&self, tool: &str, words: &[&str]) -> Result<Answer, ToolError> {
        self.typed_with(&self.cx, tool, words).await
    }

    /// Calls a tool by the command line with another context, such as piped input
    pub(crate) async fn typed_with(
        &self,
        cx: &Cx,
        tool: &str,
        words: &[&str],
    ) -> Result<Answer, ToolError> {
        let tool = tools::find(tool).unwrap_or_else(|| panic!("there is no `{tool}`"));
        let whole = self.whole();
        let words = ["verb", "-R", &whole]
            .into_iter()
            .chain(words.iter().copied());
        let args = tool.command().try_get_matches_from(words);
        tool.call_args(cx, &args.unwrap_or_else(|error| panic!("{error}")))
            .await
    }

    /// Call a tool that must fail
    pub(crate) async fn refused(&self, tool: &str, args: Value) -> ToolError {
        match self.call(tool, args.clone()).await {
            Ok(answer) => panic!("{tool} {args} was not refused: {answer:#}"),
            Err(error) => error,
        }
    }

    /// What every tool owes: 404 for a repository that is not there, and a clear word on bad input
    pub(crate) async fn owes(&self, tool: &str, good: Value) {
        let mut nowhere = good.clone();
        nowhere["name"] = json!("no-such-repository");
        let error = self.refused(tool, nowhere).await;
        assert_eq!(error.code, ErrorCode::NotFound, "{error:?}");
        let said = format!("repository `{}/no-such-repository` not found", self.owner);
        assert!(error.message.starts_with(&said), "{error:?}");
        let mut odd = good;
        odd["ownr"] = json!("x");
        let error = self.refused(tool, odd).await;
        assert_eq!(error.message, format!("{tool} has no argument `ownr`"));
        assert_eq!(error.hint.as_deref(), Some("did you mean `owner`?"));
    }
}
