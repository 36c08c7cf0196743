//! A broker in front of a sandbox forge

use std::{path::Path, sync::Arc, time::Duration};

use axum::{body::Body, http::Request, response::Response};
use blue_broker::{
    Backend, Broker, Build, Caller, Parts, SystemRng,
    config::{Config, Given},
};
use blue_core::{clock::ManualClock, http::HttpConfig};
use blue_sandbox::{Sandbox, Seed};
use jiff::Timestamp;

/// Everything that a test speaks to
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) broker: Broker,
    pub(crate) sandbox: Sandbox,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) http: reqwest::Client,
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
        let clock = Arc::new(ManualClock::at(
            Timestamp::from_second(1_800_000_000).unwrap(),
        ));
        let parts = Parts {
            clock: Arc::clone(&clock) as _,
            rng: Arc::new(SystemRng::default()),
            http: HttpConfig::default(),
            build: Build {
                version: "1.2.3".to_owned(),
                git: "abc".to_owned(),
            },
            backend: Arc::new(Echo),
        };
        let broker = Broker::build(config, parts).await.unwrap();
        Self {
            broker,
            sandbox,
            clock,
            http: client(),
            _dir: dir,
        }
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

/// A back end that says who called, and with what
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
        .tls_certs_only([])
        .build()
        .unwrap()
}
