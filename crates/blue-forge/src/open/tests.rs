use std::{fs, path::Path, sync::Arc, time::Duration};

use super::*;
use crate::{
    ForgeError,
    detect::FoundBy,
    stub::Stub,
    token::{Binding, TokenError},
};
use blue_base::{
    clock::ManualClock,
    http::{Method, Request},
};
use blue_testkit::GitRepo as Repo;

/// A repository, a folder for Blue and variables
pub(super) struct Bench {
    pub(super) repo: Repo,
    vars: Vec<(String, String)>,
    allow: Allow,
    pub(super) git_credentials: bool,
    pub(super) read_only: bool,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self {
            repo: Repo::new(),
            vars: Vec::new(),
            allow: Allow::everything(),
            git_credentials: false,
            read_only: false,
        }
    }

    pub(super) fn cloned_from(url: &str) -> Self {
        let bench = Self::new();
        bench.repo.git(&["remote", "add", "origin", url]);
        bench
    }

    pub(super) fn var(mut self, name: &str, value: &str) -> Self {
        self.vars.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn config(&self, text: &str) {
        fs::create_dir_all(self.repo.path().join(".blue")).unwrap();
        fs::write(self.config_path(), text).unwrap();
    }

    pub(super) fn config_path(&self) -> PathBuf {
        self.repo.path().join(".blue/config.yaml")
    }

    pub(super) fn hosts(self, text: &str) -> Self {
        fs::create_dir_all(self.repo.home()).unwrap();
        fs::write(self.repo.home().join("hosts.yaml"), text).unwrap();
        self
    }

    pub(super) fn hosts_text(&self) -> String {
        fs::read_to_string(self.repo.home().join("hosts.yaml")).unwrap_or_default()
    }

    pub(super) fn forges(&self) -> Forges {
        self.forges_in(&self.repo.path())
    }

    pub(super) fn forges_in(&self, cwd: &Path) -> Forges {
        let settings = Settings {
            home: self.repo.home(),
            vars: self.vars.iter().cloned().collect(),
            http: HttpConfig {
                retries: 0,
                read_only: self.read_only,
                connect_timeout: Duration::from_millis(300),
                ..HttpConfig::default()
            },
            cache: true,
            git_credentials: self.git_credentials,
            ssh_aliases: true,
            allow: self.allow.clone(),
        };
        let clock = ManualClock::at(jiff::Timestamp::UNIX_EPOCH);
        Forges::new(settings, cwd, Arc::new(clock)).with_git(self.repo.program())
    }

    pub(super) async fn locate(&self, ask: Ask) -> Result<Located, OpenError> {
        self.forges().locate(&ask).await
    }

    /// Locate, and send a request with whatever token was found
    pub(super) async fn call(&self, ask: Ask) -> Result<Located, OpenError> {
        let located = self.locate(ask).await?;
        let url = located.endpoint.api.join("user").unwrap();
        let mut request = Request::new(Method::GET, url);
        request.credential.clone_from(&located.credential);
        located.http.send(request).await.unwrap();
        Ok(located)
    }
}

pub(super) fn host(text: &str) -> Host {
    Host::parse(text).unwrap()
}

/// The error without what was noticed before it
pub(super) fn plain(error: &OpenError) -> &OpenError {
    match error {
        OpenError::Noticed { error, .. } => error,
        error => error,
    }
}

pub(super) fn named() -> Ask {
    Ask {
        owner: Some("alice".into()),
        name: Some("demo".into()),
        ..Ask::default()
    }
}

pub(super) fn on(host: &Host) -> Ask {
    Ask {
        host: Some(host.clone()),
        ..named()
    }
}

#[tokio::test]
async fn the_forge_of_a_clone_is_found_kept_and_read_again() {
    let gitea = Stub::gitea().await;
    let bench = Bench::cloned_from(&gitea.url("/alice/demo.git"));
    let sub = bench.repo.path().join("a/b");
    fs::create_dir_all(&sub).unwrap();
    let here = bench.forges_in(&sub).detect_here(None).await.unwrap();
    assert_eq!(here.found.kind, DetectedType::Gitea);
    assert_eq!(here.found.found_by, Some(FoundBy::Probe));
    assert_eq!(here.remote.as_deref(), Some("origin"));
    let kept = fs::read_to_string(bench.config_path()).unwrap();
    assert_eq!(
        kept,
        format!(
            "forge:\n  type: gitea\n  host: \"{}\"\n  owner: alice\n  repo: demo\n",
            gitea.host()
        )
    );
    let asked = gitea.seen().len();
    let again = bench.forges().detect_here(None).await.unwrap();
    assert_eq!(again.found.found_by, Some(FoundBy::Config));
    assert_eq!(again.found.api_url, here.found.api_url);
    assert_eq!(again.notices, Vec::<String>::new());
    assert_eq!(gitea.seen().len(), asked);
}

#[tokio::test]
async fn a_guess_is_not_kept() {
    let other = Stub::start(|_| (404, None, String::new())).await;
    let bench = Bench::cloned_from(&other.url("/o/r"));
    let here = bench.forges().detect_here(None).await.unwrap();
    assert!(here.found.guess);
    assert!(!bench.repo.path().join(".blue").exists());
}

#[tokio::test]
async fn folders_without_a_forge() {
    let bench = Bench::new();
    let outside = bench.repo.path().parent().unwrap().to_owned();
    for dir in [bench.repo.path(), outside] {
        let here = bench.forges_in(&dir).detect_here(None).await.unwrap();
        assert_eq!(here.found, Detection::none());
        let json = serde_json::to_value(&here.found).unwrap();
        assert_eq!(json["type"], "none");
        assert_eq!(json["host"], serde_json::Value::Null);
    }
    let bench = Bench::cloned_from("/srv/git/x.git");
    let here = bench.forges().detect_here(None).await.unwrap();
    assert_eq!(here.found, Detection::none());
    assert_eq!(here.remote.as_deref(), Some("origin"));
    let error = bench.locate(Ask::default()).await.unwrap_err();
    assert!(matches!(error, OpenError::Local { .. }));
    bench.config("forge:\n  type: none\n");
    let here = bench.forges().detect_here(None).await.unwrap();
    assert_eq!(here.found.kind, DetectedType::None);
    let url = bench.forges().detect_url("file:///x").await.unwrap();
    assert_eq!(url, Detection::none());
}

#[tokio::test]
async fn several_remotes_are_never_chosen_from_silently() {
    let bench = Bench::new();
    for (name, url) in [
        ("fork", "git@github.com:me/r.git"),
        ("up", "https://github.com/o/r"),
    ] {
        bench.repo.git(&["remote", "add", name, url]);
    }
    let error = bench.forges().detect_here(None).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "several remotes could be meant: fork, up"
    );
    let fork = bench.forges().detect_here(Some("fork")).await.unwrap();
    assert_eq!(fork.found.owner.as_deref(), Some("me"));
    let error = bench.forges().detect_here(Some("gone")).await.unwrap_err();
    assert!(matches!(error, OpenError::NoSuchRemote { .. }));
    // The host is clear, so a named repository needs no choice.
    let located = bench.locate(named()).await.unwrap();
    assert_eq!(located.endpoint.host, host("github.com"));
    assert!(!bench.config_path().exists());

    bench.repo.git(&["config", "branch.main.remote", "up"]);
    let here = bench.forges().detect_here(None).await.unwrap();
    assert_eq!(here.remote.as_deref(), Some("up"));
    assert!(here.notices[0].contains("fork, up"), "{:?}", here.notices);
    fs::remove_file(bench.config_path()).unwrap();

    bench
        .repo
        .git(&["remote", "add", "origin", "https://codeberg.org/x/y"]);
    let here = bench.forges().detect_here(None).await.unwrap();
    assert_eq!(here.found.host, Some(host("codeberg.org")));
}

#[tokio::test]
async fn the_file_decides_between_remotes() {
    let bench = Bench::new();
    bench
        .repo
        .git(&["remote", "add", "a", "https://github.com/a/r"]);
    bench
        .repo
        .git(&["remote", "add", "b", "https://github.com/b/r"]);
    bench.config("forge: {type: github, host: github.com, owner: b, repo: r}\n");
    let here = bench.forges().detect_here(None).await.unwrap();
    assert_eq!(here.found.owner.as_deref(), Some("b"));
}

#[tokio::test]
async fn a_file_that_names_a_part_is_held_against_the_remote() {
    let text = "# mine\nforge:\n  owner: someone # else\n";
    let bench = Bench::cloned_from("https://github.com/alice/demo");
    bench.config(text);
    let here = bench.forges().detect_here(None).await.unwrap();
    assert_eq!(here.found.owner.as_deref(), Some("alice"));
    assert_eq!(here.found.repo.as_deref(), Some("demo"));
    assert!(
        here.notices[0].contains("github.com alice/demo"),
        "{:?}",
        here.notices
    );
    bench.config("forge: [\n");
    assert!(matches!(
        bench.forges().detect_here(None).await,
        Err(OpenError::Config(_))
    ));
}

#[tokio::test]
async fn a_linked_work_tree_has_its_own_file() {
    let bench = Bench::cloned_from("https://github.com/alice/demo");
    bench
        .repo
        .git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    bench
        .repo
        .git(&["worktree", "add", "-q", "../linked", "-b", "two"]);
    let linked = bench.repo.path().parent().unwrap().join("linked");
    bench.forges_in(&linked).detect_here(None).await.unwrap();
    assert!(linked.join(".blue/config.yaml").exists());
    assert!(!bench.config_path().exists());
    bench.repo.git(&["init", "-q", "--bare", "../bare"]);
    let bare = bench.repo.path().parent().unwrap().join("bare");
    bench.repo.git_in(
        &bare,
        &["remote", "add", "origin", "https://github.com/o/r"],
    );
    let here = bench.forges_in(&bare).detect_here(None).await.unwrap();
    assert_eq!(here.found.owner.as_deref(), Some("o"));
    assert!(!bare.join(".blue").exists());
}

#[cfg(unix)]
#[tokio::test]
async fn an_ssh_alias_is_looked_through() {
    let bench = Bench::cloned_from("git@work:o/r.git");
    bench.repo.ssh_says("hostname ssh.github.com\nport 443");
    let here = bench.forges().detect_here(None).await.unwrap();
    assert_eq!(here.found.host, Some(host("github.com")));
    assert_eq!(here.found.found_by, Some(FoundBy::KnownHost));
}

#[tokio::test]
async fn an_ssh_remote_takes_the_web_port_that_the_user_told() {
    let gitea = Stub::gitea().await;
    let bench =
        Bench::cloned_from("ssh://git@127.0.0.1:2222/o/r.git").var("GITEA_URL", &gitea.url("/"));
    let here = bench.forges().detect_here(None).await.unwrap();
    assert_eq!(here.found.host, Some(gitea.host()));
    assert_eq!(here.found.api_url.unwrap().as_str(), gitea.url("/api/v1/"));
    let bench = Bench::cloned_from("ssh://git@git.example.org:2222/git/o/r.git")
        .hosts("git.example.org:\n  type: gitea\n  api_url: https://git.example.org/git/api/v1\n");
    let here = bench.forges().detect_here(None).await.unwrap();
    assert_eq!(
        here.found.api_url.unwrap().as_str(),
        "https://git.example.org/git/api/v1/"
    );
    assert_eq!(here.found.found_by, Some(FoundBy::Config));
}

#[tokio::test]
async fn which_forge_when_only_the_repository_is_named() {
    let which = async |bench: Bench| match bench.locate(named()).await {
        Ok(located) => Ok(located.endpoint.api.to_string()),
        Err(e) => Err(e.to_string()),
    };
    let none = Err("there is no forge to ask".to_owned());
    assert_eq!(which(Bench::new()).await, none);
    assert_eq!(which(Bench::new().var("FORGEJO_TOKEN", "x")).await, none);
    let github = Ok("https://api.github.com/".to_owned());
    assert_eq!(which(Bench::new().var("GH_TOKEN", "x")).await, github);
    let entry = "codeberg.org:\n  token_env: X\n";
    let codeberg = Ok("https://codeberg.org/api/v1/".to_owned());
    let only = Bench::new().var("GH_TOKEN", "x").var("X", "x").hosts(entry);
    assert_eq!(which(only).await, codeberg);
    let two = format!("{entry}github.com:\n");
    let several = Err("several forges match: codeberg.org, github.com".to_owned());
    assert_eq!(which(Bench::new().hosts(&two)).await, several);
    let by_variable = Bench::new()
        .hosts(&two)
        .var("FORGEJO_URL", "https://f.example");
    assert_eq!(
        which(by_variable).await,
        Ok("https://f.example/api/v1/".to_owned())
    );
    let ghes = Bench::new()
        .var("GITHUB_SERVER_URL", "https://ghes.example")
        .var("GITHUB_API_URL", "https://ghes.example/api/v3");
    assert_eq!(
        which(ghes).await,
        Ok("https://ghes.example/api/v3/".to_owned())
    );
    let both = Bench::new()
        .var("GITEA_URL", "https://codeberg.org")
        .var("GITHUB_SERVER_URL", "https://github.com");
    assert_eq!(which(both).await, several);
    let clone = Bench::cloned_from("git@github.com:o/r").var("FORGEJO_URL", "https://f.example");
    assert_eq!(which(clone).await, github);
    let located = Bench::cloned_from("git@github.com:o/r")
        .locate(on(&host("codeberg.org")))
        .await
        .unwrap();
    assert_eq!(located.endpoint.host, host("codeberg.org"));
    assert_eq!(located.repo.to_string(), "alice/demo");
    let nothing = Bench::new()
        .var("GH_TOKEN", "x")
        .locate(Ask::default())
        .await;
    assert!(matches!(nothing, Err(OpenError::NoRepository { .. })));
}

#[tokio::test]
async fn a_token_goes_to_its_first_host_and_no_other() {
    let (gitea, other) = (Stub::gitea().await, Stub::gitea().await);
    let bench = Bench::cloned_from(&gitea.url("/alice/demo")).var("FORGEJO_TOKEN", "hunter2");
    let first = bench.call(Ask::default()).await.unwrap();
    assert_eq!(first.notices.len(), 1, "{:?}", first.notices);
    assert_eq!(first.token.unwrap().to_string(), "`FORGEJO_TOKEN`");
    assert!(gitea.got_token());
    assert!(
        gitea
            .seen()
            .iter()
            .all(|s| (s.path == "/api/v1/user") == s.authorization.is_some())
    );
    assert_eq!(
        bench.call(Ask::default()).await.unwrap().notices,
        Vec::<String>::new()
    );

    let error = bench.call(on(&other.host())).await.unwrap_err();
    assert!(error.to_string().contains(gitea.host().as_str()), "{error}");
    assert!(!other.got_token());
    assert!(bench.forges().trust(&other.host()).await.unwrap());
    bench.call(on(&other.host())).await.unwrap();
    assert!(other.got_token());
    let hosts = bench.forges().hosts().unwrap();
    assert!(
        hosts
            .iter()
            .all(|h| h.kind == Some(DetectedType::Gitea) && h.trusted.is_some())
    );
    assert_eq!(hosts.len(), 2);
}

/// The arguments of a call are a model's words, and perhaps those of a text that it read
#[tokio::test]
async fn a_host_that_a_call_names_is_never_the_first_of_a_token() {
    let (good, evil) = (Stub::gitea().await, Stub::gitea().await);
    let elsewhere = || Bench::cloned_from(&good.url("/alice/demo"));
    for (bench, name) in [
        (Bench::new(), "GITEA_TOKEN"),
        (elsewhere(), "FORGEJO_TOKEN"),
    ] {
        let bench = bench.var(name, "hunter2");
        let error = bench.call(on(&evil.host())).await.unwrap_err();
        assert!(
            matches!(&error, OpenError::Token(TokenError::Refused { bound, .. }) if bound.is_empty()),
            "{error}"
        );
        assert_eq!(bench.hosts_text(), "");
        assert!(!evil.got_token());
    }
    // The file of the clone says the same as the call; together they are no better.
    let bench = elsewhere()
        .var("GITHUB_TOKEN", "hunter2")
        .var("FORGEJO_TOKEN", "hunter2");
    for kind in ["github", "gitea"] {
        bench.config(&format!(
            "forge: {{type: {kind}, host: \"{}\"}}\n",
            evil.host()
        ));
        let error = bench.call(on(&evil.host())).await.unwrap_err();
        assert!(matches!(error, OpenError::Token(_)), "{kind}: {error}");
    }
    assert_eq!(bench.hosts_text(), "");
    assert!(!evil.got_token());

    // What the user cloned from, trusts or typed is another matter.
    let bench = elsewhere().var("FORGEJO_TOKEN", "hunter2");
    bench.call(on(&good.host())).await.unwrap();
    assert!(good.got_token());
    let bench = Bench::new().var("FORGEJO_TOKEN", "hunter2");
    bench.forges().trust(&evil.host()).await.unwrap();
    bench.call(on(&evil.host())).await.unwrap();
    let bench = Bench::new().var("FORGEJO_TOKEN", "hunter2");
    let forges = bench.forges().typed();
    let typed = forges.locate(&on(&evil.host())).await.unwrap();
    assert!(typed.credential.is_some());
    let bench = Bench::new().var("GITHUB_TOKEN", "hunter2");
    let github = bench.locate(on(&host("github.com"))).await.unwrap();
    assert!(github.credential.is_some());
}

/// Many a helper says the same word to everybody
#[cfg(unix)]
#[tokio::test]
async fn gits_helpers_are_not_asked_for_a_host_that_a_call_names() {
    let (good, evil) = (Stub::gitea().await, Stub::gitea().await);
    let mut bench = Bench::cloned_from(&good.url("/alice/demo"));
    bench.git_credentials = true;
    let helper = "!f() { echo username=alice; echo password=hunter2; }; f";
    bench
        .repo
        .git(&["config", "--global", "credential.helper", helper]);
    let located = bench.call(on(&evil.host())).await.unwrap();
    assert!(!evil.got_token());
    assert!(
        located.notices[0].contains("blue forge trust"),
        "{:?}",
        located.notices
    );
    for ask in [Ask::default(), on(&good.host())] {
        assert!(bench.call(ask).await.unwrap().credential.is_some());
    }
    let typed = bench.forges().typed();
    let typed = typed.locate(&on(&evil.host())).await.unwrap();
    assert!(typed.credential.is_some());
    bench.forges().trust(&evil.host()).await.unwrap();
    bench.call(on(&evil.host())).await.unwrap();
    assert!(evil.got_token());
}

/// The files of a clone are its author's words, not the user's
#[tokio::test]
async fn the_file_of_a_clone_cannot_move_a_token() {
    let (good, evil) = (Stub::gitea().await, Stub::gitea().await);
    for kind in ["gitea", "forgejo", "github"] {
        let bench = Bench::cloned_from(&good.url("/alice/demo"))
            .var("FORGEJO_TOKEN", "hunter2")
            .var("GITHUB_TOKEN", "hunter2");
        bench.config(&format!(
            "forge:\n  type: {kind}\n  host: \"{}\"\n  owner: alice\n  repo: demo\n",
            evil.host()
        ));
        let located = bench.call(Ask::default()).await.unwrap();
        assert_eq!(located.endpoint.host, good.host(), "{kind}");
        assert!(!bench.hosts_text().contains(evil.host().as_str()));
        // Without a remote the file is all there is, and gets nothing.
        let alone = Bench::new()
            .var("FORGEJO_TOKEN", "hunter2")
            .var("GITHUB_TOKEN", "hunter2");
        alone.config(&format!(
            "forge:\n  type: {kind}\n  host: \"{}\"\n  owner: alice\n  repo: demo\n",
            evil.host()
        ));
        let error = alone.call(Ask::default()).await.unwrap_err();
        assert!(
            matches!(plain(&error), OpenError::Token(TokenError::Refused { .. })),
            "{kind}: {error}"
        );
        assert_eq!(alone.hosts_text(), "");
    }
    // After the right host is known, too, and by binding variables.
    let bench = Bench::new()
        .var("FORGEJO_TOKEN", "hunter2")
        .var("FORGEJO_URL", &good.url("/"));
    bench.call(named()).await.unwrap();
    bench.config(&format!(
        "forge: {{type: gitea, host: \"{}\", owner: alice, repo: demo}}\n",
        evil.host()
    ));
    let error = bench.call(Ask::default()).await.unwrap_err();
    let OpenError::Token(TokenError::Refused { by, bound, .. }) = plain(&error) else {
        panic!("{error}");
    };
    assert_eq!(*by, Binding::Variable("FORGEJO_URL".into()));
    assert_eq!(*bound, [good.host()]);
    assert!(good.got_token());
    assert!(!evil.got_token());
}

/// A host that is GitHub only by the word of the file gets no GitHub token, cloned from or not
#[tokio::test]
async fn a_guessed_or_claimed_github_gets_no_token() {
    let evil = Stub::start(|_| (404, None, "{}".into())).await;
    let bench = Bench::cloned_from(&evil.url("/alice/demo")).var("GITHUB_TOKEN", "hunter2");
    assert!(matches!(
        bench.call(Ask::default()).await,
        Err(OpenError::Token(_))
    ));
    bench.config("forge:\n  type: github\n");
    assert!(matches!(
        bench.call(Ask::default()).await,
        Err(OpenError::Token(_))
    ));
    assert!(!evil.got_token());
    bench.forges().trust(&evil.host()).await.unwrap();
    bench.call(Ask::default()).await.unwrap();
    assert!(evil.got_token());
}

#[tokio::test]
async fn no_redirect_and_no_link_moves_a_token() {
    let evil = Stub::gitea().await;
    let (to, link) = (evil.url("/api/v1/user"), evil.url("/api/v1/user?page=2"));
    let good = Stub::start(move |path| match path {
        "/api/v1/version" => (200, None, r#"{"version":"1.26.0"}"#.into()),
        "/api/v1/user" => (302, Some(("location", to.clone())), String::new()),
        "/api/v1/list" => (
            200,
            Some(("link", format!("<{link}>; rel=\"next\""))),
            "[]".into(),
        ),
        _ => (404, None, String::new()),
    })
    .await;
    let bench = Bench::cloned_from(&good.url("/alice/demo")).var("GITEA_TOKEN", "hunter2");
    let located = bench.call(Ask::default()).await.unwrap();
    assert!(good.got_token());
    let opened = bench.forges().open(&Ask::default()).await.unwrap();
    assert_eq!(opened.forge.host(), &good.host());
    assert!(opened.forge.whoami().await.is_err());
    assert!(opened.forge.all_branches(&opened.repo).await.is_err());
    assert_eq!(evil.seen(), []);
    // A request that is built from such a link by hand is refused as well.
    let mut request = Request::new(
        Method::GET,
        evil.url("/api/v1/user?page=2").parse().unwrap(),
    );
    request.credential = located.credential;
    assert!(located.http.send(request).await.is_err());
    assert_eq!(evil.seen(), []);
}

#[tokio::test]
async fn a_plain_address_is_only_for_whom_the_user_wrote_it() {
    let bench = Bench::new().var("FORGEJO_URL", "http://git.example.org:3000");
    let located = bench.locate(named()).await.unwrap();
    assert_eq!(
        located.endpoint.api.as_str(),
        "http://git.example.org:3000/api/v1/"
    );
    let bench = Bench::cloned_from("http://gitea.example.org:3000/o/r");
    let located = bench.locate(Ask::default()).await.unwrap();
    assert_eq!(
        located.endpoint.api.as_str(),
        "https://gitea.example.org:3000/api/v1/"
    );
}

#[tokio::test]
async fn what_is_not_allowed_is_not_opened() {
    let gitea = Stub::gitea().await;
    let mut bench = Bench::cloned_from(&gitea.url("/mallory/demo.git"))
        .var("FORGEJO_URL", &gitea.url("/"))
        .var("FORGEJO_TOKEN", "t");
    bench.allow = Allow::parse(&format!("{}/alice, mallory/site", gitea.host())).unwrap();
    let error = bench.locate(Ask::default()).await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("`mallory/demo` is not among the allowed repositories (`BLUE_ALLOW`"),
        "{error}"
    );
    let located = bench.locate(named()).await.unwrap();
    assert_eq!(located.repo.to_string(), "alice/demo");
    // What is reached by other ways than `open` is held to the list too.
    let before = gitea.seen().len();
    let other = RepoId::parse("mallory", "demo").unwrap();
    let survey = bench.forges().survey(&Ask::default()).await.unwrap();
    for forge in [located.forge(), survey.forge(), survey.anonymous()] {
        let error = forge.get_branch(&other, "main").await.unwrap_err();
        assert!(matches!(error, ForgeError::NotAllowed(_)), "{error}");
    }
    assert_eq!(gitea.seen().len(), before);
}

#[cfg(unix)]
#[tokio::test]
async fn a_clone_says_what_the_default_branch_was() {
    let bench = Bench::cloned_from("https://github.com/alice/site.git");
    let said = async |ask| bench.locate(ask).await.unwrap().default_branch;
    assert_eq!(said(Ask::default()).await, None);
    let head = "refs/remotes/origin/HEAD";
    let to = "refs/remotes/origin/rel/1";
    bench.repo.git(&["symbolic-ref", head, to]);
    assert_eq!(said(Ask::default()).await.as_deref(), Some("rel/1"));
    assert_eq!(said(named()).await, None, "it is another repository");
}

#[tokio::test]
async fn what_was_opened_is_not_looked_for_again() {
    let gitea = Stub::gitea().await;
    let bench = Bench::cloned_from(&gitea.url("/alice/demo.git"));
    // What was found is written down at the first time.
    bench.forges().detect_here(None).await.unwrap();
    let calls = bench.repo.path().with_file_name("calls");
    let forges = bench.forges().with_git(bench.repo.counted(&calls));
    let children = || fs::read_to_string(&calls).unwrap_or_default().len();
    let first = forges.open(&Ask::default()).await.unwrap();
    first.forge.about().await.unwrap();
    let (asked, ran) = (gitea.seen().len(), children());
    assert!(ran > 0);
    let again = forges.open(&Ask::default()).await.unwrap();
    again.forge.about().await.unwrap();
    assert_eq!((gitea.seen().len(), children()), (asked, ran));
    assert!(Arc::ptr_eq(&first.forge, &again.forge));
    // Another repository is another question, but the server is known.
    let other = forges.open(&on(&gitea.host())).await.unwrap();
    assert!(Arc::ptr_eq(&first.forge, &other.forge));

    bench
        .repo
        .git(&["remote", "set-url", "origin", &gitea.url("/bob/site.git")]);
    bench.config("{}");
    let moved = forges.open(&Ask::default()).await.unwrap();
    assert_eq!(moved.repo.to_string(), "bob/site");
}

#[tokio::test]
async fn a_changed_token_is_seen_at_once() {
    let gitea = Stub::gitea().await;
    let bench = Bench::cloned_from(&gitea.url("/alice/demo.git"));
    let token = bench.repo.path().join("token");
    fs::write(&token, "one").unwrap();
    let entry = format!(
        "\"{}\":\n  type: gitea\n  token_file: {}\n",
        gitea.host(),
        token.display()
    );
    let bench = bench.hosts(&entry);
    let forges = bench.forges();
    bench.forges().detect_here(None).await.unwrap();
    for text in ["one", "two"] {
        fs::write(&token, text).unwrap();
        for _ in 0..2 {
            let opened = forges.open(&Ask::default()).await.unwrap();
            let _ = opened.forge.whoami().await;
            let tokens: Vec<_> = gitea
                .seen()
                .into_iter()
                .filter_map(|s| s.authorization)
                .collect();
            assert_eq!(tokens.last().unwrap(), &format!("token {text}"));
        }
    }
    // Without the entry there is no token any more.
    fs::write(bench.repo.home().join("hosts.yaml"), "{}\n").unwrap();
    let opened = forges.open(&Ask::default()).await.unwrap();
    assert!(opened.token.is_none());
}
