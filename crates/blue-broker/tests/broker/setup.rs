//! A broker in front of a sandbox forge

use std::{path::Path, sync::Arc, time::Duration};

use axum::{body::Body, http::Request, response::Response};
use blue_base::{clock::ManualClock, http::HttpConfig, secret::Secret};
use blue_broker::{
    Backend, Broker, Build, Caller, Parts, SystemRng,
    config::{Config, Database, Given, KeyFile, PublicUrl, StaticClient},
};
use blue_sandbox::{Flavor, Sandbox, Seed};
use jiff::Timestamp;
use reqwest::Method;
use tokio::net::TcpListener;

/// Everything that a test speaks to
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) broker: Broker,
    pub(crate) sandbox: Sandbox,
    /// The forge that the broker speaks to, which need not be the sandbox
    pub(crate) forge: url::Url,
    /// Of people at a forge that is not the sandbox
    password: Option<String>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) http: reqwest::Client,
    config: Config,
    _dir: tempfile::TempDir,
}

impl Setup {
    pub(crate) async fn start() -> Self {
        let sandbox = Sandbox::start(blue_sandbox::Config {
            seed: Seed::Demo,
            ..blue_sandbox::Config::default()
        })
        .await
        .unwrap();
        let dir = tempfile::tempdir().unwrap();
        let config = config(sandbox.url(), dir.path());
        Self::of(sandbox, config, dir).await
    }

    /// A setup with an application at the forge and the clients of [`good`], ready to sign in
    pub(crate) async fn with_app() -> Self {
        Self::with_app_on(Flavor::Gitea).await
    }

    pub(crate) async fn with_app_on(flavor: Flavor) -> Self {
        let sandbox = Sandbox::start(blue_sandbox::Config {
            seed: Seed::Demo,
            flavor,
            faults: true,
            ..blue_sandbox::Config::default()
        })
        .await
        .unwrap();
        let (url, token) = (sandbox.url().to_owned(), sandbox.users()[0].token.clone());
        Self::with_app_at(sandbox, &url, &token).await
    }

    /// In front of a real forge, where all users have this password
    pub(crate) async fn in_front_of(url: &str, admin: &Secret, password: &str) -> Self {
        let sandbox = Sandbox::start(blue_sandbox::Config::default())
            .await
            .unwrap();
        let mut setup = Self::with_app_at(sandbox, url, admin).await;
        setup.password = Some(password.to_owned());
        setup
    }

    /// In front of something that only looks like a forge
    pub(crate) async fn with_forge(url: &str) -> Self {
        let sandbox = Sandbox::start(blue_sandbox::Config::default())
            .await
            .unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut config = config(url, dir.path());
        config.clients = clients();
        Self::of(sandbox, config, dir).await
    }

    async fn with_app_at(sandbox: Sandbox, forge: &str, admin: &Secret) -> Self {
        let forge = forge.trim_end_matches('/');
        let dir = tempfile::tempdir().unwrap();
        let mut config = config(forge, dir.path());
        // The forge must know the address before there is a broker.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        config.listen = listener.local_addr().unwrap();
        config.public_url = PublicUrl::parse(&format!("http://{}", config.listen)).unwrap();
        let app = serde_json::json!({
            "name": "Broker",
            "confidential_client": true,
            "redirect_uris": [config.public_url.at("/oauth/callback")],
        });
        let made = client()
            .post(format!("{forge}/api/v1/user/applications/oauth2"))
            .header("content-type", "application/json")
            .bearer_auth(admin.expose())
            .body(app.to_string())
            .send()
            .await
            .unwrap();
        assert_eq!(made.status(), 201);
        let made: serde_json::Value = serde_json::from_str(&made.text().await.unwrap()).unwrap();
        config.client_id = made["client_id"].as_str().unwrap().to_owned();
        config.client_secret = Secret::new(made["client_secret"].as_str().unwrap());
        config.clients = clients();
        Self::on(listener, sandbox, config, dir).await
    }

    async fn of(sandbox: Sandbox, config: Config, dir: tempfile::TempDir) -> Self {
        let listener = TcpListener::bind(config.listen).await.unwrap();
        Self::on(listener, sandbox, config, dir).await
    }

    async fn on(
        listener: TcpListener,
        sandbox: Sandbox,
        config: Config,
        dir: tempfile::TempDir,
    ) -> Self {
        let forge = config.forge.url().clone();
        let clock = Arc::new(ManualClock::at(
            Timestamp::from_second(1_800_000_000).unwrap(),
        ));
        let parts = parts(&clock);
        let broker = Broker::build_on(listener, config.clone(), parts)
            .await
            .unwrap();
        Self {
            config,
            broker,
            sandbox,
            forge,
            password: None,
            clock,
            http: client(),
            _dir: dir,
        }
    }

    /// Stop the broker and start it again on the same files, with changed settings
    pub(crate) async fn restart(&mut self, change: impl FnOnce(&mut Config)) {
        let mut config = self.config.clone();
        change(&mut config);
        config.listen = self.broker.address();
        config.public_url = self.broker.public_url().clone();
        // The port is free when the old one is gone.
        let mut spare = config.clone();
        spare.listen.set_port(0);
        spare.data = self.dir().join("spare");
        spare.database = Database::Sqlite(spare.data.join("db"));
        spare.key_file = KeyFile::Own(spare.data.join("keys"));
        let spare = Broker::build(spare, parts(&self.clock)).await.unwrap();
        let old = std::mem::replace(&mut self.broker, spare);
        old.shutdown().await;
        let new = Broker::build(config, parts(&self.clock)).await.unwrap();
        let spare = std::mem::replace(&mut self.broker, new);
        spare.shutdown().await;
    }

    /// Sends a request of the sandbox's admin, with a body in JSON; gives what it answered
    pub(crate) async fn at_sandbox(
        &self,
        method: Method,
        path: &str,
        body: &serde_json::Value,
    ) -> serde_json::Value {
        let url = format!("{}{path}", self.sandbox.url().trim_end_matches('/'));
        let request = self.http.request(method, url);
        let request = request.bearer_auth(self.sandbox.users()[0].token.expose());
        let request = request.header("content-type", "application/json");
        let answer = request.body(body.to_string()).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        let text = answer.text().await.unwrap();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Lets the sandbox answer 500 to requests of this path: so many, or all
    pub(crate) async fn break_forge(&self, path: &str, count: Option<u32>) {
        let mut rule = serde_json::json!({ "path": path, "status": 500 });
        if let Some(count) = count {
            rule["count"] = count.into();
        }
        let faults = "/-/sandbox/faults";
        self.at_sandbox(Method::POST, faults, &rule).await;
    }

    pub(crate) async fn mend_forge(&self) {
        let faults = "/-/sandbox/faults";
        let none = serde_json::Value::Null;
        self.at_sandbox(Method::DELETE, faults, &none).await;
    }

    /// Password of a user at the forge
    pub(crate) fn password(&self, login: &str) -> String {
        let own = || format!("{login}-password");
        self.password.clone().unwrap_or_else(own)
    }

    /// The address of a path of the broker
    pub(crate) fn at(&self, path: &str) -> String {
        self.broker.public_url().at(path)
    }

    /// Where the broker keeps its files is below this
    #[expect(clippy::used_underscore_binding, reason = "it is kept to live, too")]
    pub(crate) fn dir(&self) -> &Path {
        self._dir.path()
    }

    pub(crate) async fn get(&self, path: &str) -> reqwest::Response {
        self.http.get(self.at(path)).send().await.unwrap()
    }
}

fn parts(clock: &Arc<ManualClock>) -> Parts {
    Parts {
        clock: Arc::clone(clock) as _,
        rng: Arc::new(SystemRng::default()),
        http: HttpConfig::default(),
        build: Build {
            version: "1.2.3".to_owned(),
            git: "abc".to_owned(),
        },
        backend: Arc::new(Echo),
        max_open_files: None,
    }
}

/// Id, name and redirect URI of clients that the configuration names
const CLIENTS: &[(&str, &str, &str)] = &[
    ("tool", "A tool", "http://127.0.0.1/callback"),
    ("site", "A site", "https://client.example/cb"),
    ("cursor", "An editor", "cursor://editor.example/cb"),
    (
        "hostile",
        "\u{202e}<script>alert(1)</script>",
        "https://client.example/cb",
    ),
];

fn clients() -> Vec<StaticClient> {
    let client = |(id, name, uri): &(&str, &str, &str)| StaticClient {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        redirect_uris: vec![(*uri).to_owned()],
        secret: None,
    };
    CLIENTS.iter().map(client).collect()
}

/// A verifier and its S256 challenge, as in RFC 7636
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// Redirect URI of a client of the configuration
fn redirect_uri(client: &str) -> &'static str {
    if client == "tool" {
        return "http://127.0.0.1:4711/callback";
    }
    let known = CLIENTS.iter().find(|(id, ..)| *id == client);
    known.map_or("https://nobody.example/cb", |(_, _, uri)| *uri)
}

/// The query of a good authorization request
pub(crate) fn good(client: &str) -> String {
    url::form_urlencoded::Serializer::new(String::new())
        .append_pair("response_type", "code")
        .append_pair("client_id", client)
        .append_pair("redirect_uri", redirect_uri(client))
        .append_pair("code_challenge", CHALLENGE)
        .append_pair("code_challenge_method", "S256")
        .append_pair("state", "s&1 \u{e9}")
        .finish()
}

/// Exchange the code that a client was called with; gives its access token
pub(crate) async fn tokens(setup: &Setup, client: &str, called: &url::Url) -> String {
    tokens_of(setup, client, redirect_uri(client), called).await
}

/// Exchanges the code of a client that the configuration does not name; gives its access token
pub(crate) async fn tokens_of(
    setup: &Setup,
    client: &str,
    redirect_uri: &str,
    called: &url::Url,
) -> String {
    let code = crate::browser::param(called, "code").unwrap();
    let form = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", "authorization_code")
        .append_pair("client_id", client)
        .append_pair("code", &code)
        .append_pair("redirect_uri", redirect_uri)
        .append_pair("code_verifier", VERIFIER)
        .finish();
    let request = setup.http.post(setup.at("/oauth/token"));
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let answer = request.body(form).send().await.unwrap();
    assert_eq!(answer.status(), 200, "{:?}", answer.text().await);
    let body: serde_json::Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    body["access_token"].as_str().unwrap().to_owned()
}

/// A back end that echoes its caller and the request
#[derive(Debug)]
struct Echo;

#[async_trait::async_trait]
impl Backend for Echo {
    async fn answer(&self, caller: Caller, request: Request<Body>) -> Response {
        let names: Vec<_> = request.headers().keys().map(ToString::to_string).collect();
        let said = serde_json::json!({
            "login": caller.login,
            "forge": caller.forge.as_str(),
            "forge_token": caller.forge_token.expose(),
            "scopes": caller.scopes,
            "grant": caller.grant,
            "headers": names,
        });
        Response::new(Body::from(said.to_string()))
    }
}

/// A configuration on a free port
pub(crate) fn config(forge: &str, dir: &Path) -> Config {
    let vars = [
        ("PUBLIC_URL", "http://127.0.0.1:0"),
        ("FORGE_URL", forge),
        ("CLIENT_ID", "client"),
        ("CLIENT_SECRET", "gto_secret"),
        ("LISTEN", "127.0.0.1:0"),
    ];
    let vars = vars.map(|(name, value)| (format!("BLUE_BROKER_{name}"), value.to_owned()));
    let given = Given {
        vars: vars.to_vec(),
        cwd: dir.to_owned(),
        ..Given::default()
    };
    Config::read(&given, &dir.join("data")).unwrap()
}

fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(20))
        .no_proxy()
        // A connection that a refusal closed must not be taken again.
        .pool_max_idle_per_host(0)
        .tls_certs_only([])
        .build()
        .unwrap()
}
