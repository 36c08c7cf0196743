//! Tokens from the inside: a broker on a port of its own, in front of a forge that only has tokens

mod bounds;
mod cimd;
mod fresh;
mod keyed;
mod mcp;
mod measure;
mod reach;
mod sweep;
mod token;

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderMap, Request, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use blue_base::{clock::ManualClock, http::HttpConfig, secret::Secret};
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::watch,
};

use crate::{
    Backend, Broker, Build, Caller, Ended, Parts, SystemRng,
    app::App,
    config::{Config, Given},
    oauth::form::Params,
    store::{AuthMethod, Client, ClientKind, Code},
    token::{Kind, Token, TokenHash},
    upstream::{self, ForgeAccount, SignIn, Tokens},
};

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const REDIRECT: &str = "http://127.0.0.1:7777/callback";

/// A back end that echoes its caller, and records which grants were revoked
#[derive(Debug, Default)]
struct Echo {
    ended: Mutex<Vec<Ended>>,
}

#[async_trait]
impl Backend for Echo {
    async fn answer(&self, caller: Caller, request: Request<Body>) -> Response {
        if request.headers().contains_key("x-forge-says-401") {
            caller.refused.tell();
        }
        let names: Vec<_> = request.headers().keys().map(ToString::to_string).collect();
        let said = json!({
            "login": caller.login,
            "grant": caller.grant,
            "forge_token": caller.forge_token.expose(),
            "scopes": caller.scopes,
            "headers": names,
        });
        Response::new(Body::from(said.to_string()))
    }

    fn ended(&self, ended: &Ended) {
        self.ended.lock().unwrap().push(ended.clone());
    }
}

/// How the forge answers a refresh
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    /// A refresh token is good once
    Rotating,
    Refusing(&'static str),
    Broken,
    /// It gives again what it gave before
    Same,
    /// It issues no new refresh token, and an access token for a minute and a half
    Terse,
}

/// A forge that only refreshes
#[derive(Debug)]
struct Forge {
    mood: Mutex<Mood>,
    /// Number of the refresh token that is valid
    current: Mutex<u32>,
    asked: Mutex<u32>,
    /// Whether it answers 401 to requests for the user's account
    closed: Mutex<bool>,
    /// Whether it sends its responses to refreshes and to requests for the account, or holds them
    /// back
    answers: watch::Sender<bool>,
    says_who: watch::Sender<bool>,
    /// How it answers what else it is asked, one after the other
    doors: Mutex<Vec<u16>>,
}

async fn once(open: &watch::Sender<bool>) {
    open.subscribe().wait_for(|open| *open).await.unwrap();
}

async fn who(State(forge): State<Arc<Forge>>) -> Response {
    once(&forge.says_who).await;
    if *forge.closed.lock().unwrap() {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let body = json!({ "sub": "1", "preferred_username": "login-1" });
    body.to_string().into_response()
}

async fn granted() -> String {
    json!({ "active": true, "scope": "write:repository read:user" }).to_string()
}

async fn door(State(forge): State<Arc<Forge>>) -> StatusCode {
    let status = forge.doors.lock().unwrap().remove(0);
    StatusCode::from_u16(status).unwrap()
}

async fn refreshed(
    State(forge): State<Arc<Forge>>,
    headers: HeaderMap,
    body: axum::body::Bytes,
) -> Response {
    *forge.asked.lock().unwrap() += 1;
    // Long enough for others to come meanwhile.
    tokio::time::sleep(Duration::from_millis(30)).await;
    let answer = forge.refresh(&headers, &body);
    once(&forge.answers).await;
    answer
}

impl Forge {
    fn refresh(&self, headers: &HeaderMap, body: &[u8]) -> Response {
        let params = Params::form(headers, body).unwrap();
        assert_eq!(params.get("client_secret"), Some("gto_secret"));
        let refused = |error: &str| {
            let body = json!({ "error": error, "error_description": "token was already used" });
            (StatusCode::BAD_REQUEST, body.to_string()).into_response()
        };
        let mood = *self.mood.lock().unwrap();
        let mut current = self.current.lock().unwrap();
        let good = params.get("refresh_token") == Some(&format!("refresh-{current}"));
        match mood {
            Mood::Refusing(error) => return refused(error),
            Mood::Broken => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            _ if !good => return refused("unauthorized_client"),
            Mood::Terse => {
                let body = json!({ "access_token": "access-terse", "expires_in": "90" });
                return body.to_string().into_response();
            }
            Mood::Rotating => *current += 1,
            Mood::Same => {}
        }
        let body = json!({
            "access_token": format!("access-{current}"),
            "refresh_token": format!("refresh-{current}"),
            "token_type": "bearer",
            "expires_in": 3600,
        });
        body.to_string().into_response()
    }
}

/// Wait until a condition holds
async fn until<F: Future<Output = bool>>(what: &str, so: impl Fn() -> F) {
    let end = Instant::now() + Duration::from_secs(10);
    while !so().await {
        assert!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The version; slow, so that concurrent requests overlap
async fn version(State(forge): State<Arc<Forge>>) -> Response {
    *forge.asked.lock().unwrap() += 1;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mood = *forge.mood.lock().unwrap();
    match mood {
        Mood::Broken => StatusCode::BAD_GATEWAY.into_response(),
        _ => "{}".into_response(),
    }
}

struct World {
    broker: Broker,
    clock: Arc<ManualClock>,
    echo: Arc<Echo>,
    forge: Arc<Forge>,
    http: reqwest::Client,
    dir: tempfile::TempDir,
}

impl World {
    async fn start() -> Self {
        let forge = Arc::new(Forge {
            mood: Mutex::new(Mood::Rotating),
            current: Mutex::new(0),
            asked: Mutex::new(0),
            closed: Mutex::new(false),
            answers: watch::Sender::new(true),
            says_who: watch::Sender::new(true),
            doors: Mutex::default(),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/login/oauth/access_token", post(refreshed))
            .route("/login/oauth/userinfo", get(who))
            .route("/api/v1/version", get(version))
            .route("/login/oauth/introspect", post(granted))
            .fallback(door)
            .with_state(Arc::clone(&forge));
        tokio::spawn(axum::serve(listener, router).into_future());

        let dir = tempfile::tempdir().unwrap();
        let start = Timestamp::from_second(1_800_000_000).unwrap();
        let (clock, echo) = (Arc::new(ManualClock::at(start)), Arc::new(Echo::default()));
        let broker = broker(&format!("http://{address}"), dir.path(), &clock, &echo).await;
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .timeout(Duration::from_secs(30))
            .no_proxy()
            .tls_certs_only([])
            .build();
        let world = Self {
            broker,
            clock,
            echo,
            forge,
            http: http.unwrap(),
            dir,
        };
        world.client("tool", None).await;
        world
    }

    /// Another process on the same database, with a clock of its own
    async fn replica(&self, clock: &Arc<ManualClock>) -> Broker {
        let forge = self.app().config.forge.url().as_str();
        let (config, parts) = settings(forge, self.dir.path(), clock, &self.echo);
        Broker::build_replica(config, parts).await.unwrap()
    }

    fn app(&self) -> &Arc<App> {
        self.broker.app()
    }

    /// The database, as another process on the machine writes to it
    async fn database(&self) -> SqliteConnection {
        let file = self.dir.path().join("data").join("broker.db");
        let options = SqliteConnectOptions::new().filename(file);
        SqliteConnection::connect_with(&options).await.unwrap()
    }

    /// Number of refreshes that the forge received
    fn asked(&self) -> u32 {
        *self.forge.asked.lock().unwrap()
    }

    async fn client(&self, id: &str, secret: Option<&str>) {
        let client = Client {
            id: id.to_owned(),
            kind: ClientKind::Dynamic,
            name: id.to_owned(),
            redirect_uris: vec![REDIRECT.to_owned()],
            auth_method: AuthMethod::None,
            secret: secret.map(|secret| {
                let hash = TokenHash::of(secret);
                self.app().store.keyed(&hash).unwrap()
            }),
            metadata: json!({}),
            fingerprint: None,
            created_at: self.app().now(),
            last_used_at: None,
        };
        assert!(self.app().store.put_client(&client).await.unwrap());
    }

    /// Sign a user in at the forge; returns their id at the broker
    async fn sign_in(&self, account: &str) -> String {
        let current = *self.forge.current.lock().unwrap();
        let tokens = Tokens {
            access: Secret::new(format!("access-{current}")),
            refresh: Secret::new(format!("refresh-{current}")),
            expires_in: Duration::from_hours(1),
        };
        let account = ForgeAccount {
            id: account.to_owned(),
            login: format!("login-{account}"),
        };
        let new = SignIn {
            account: &account,
            scope: "read:user write:repository",
            tokens,
            // No other sign-in took place meanwhile.
            since: Timestamp::MAX,
        };
        upstream::sign_in(self.app(), new).await.unwrap()
    }

    /// A code, as the end of an authorization gives it
    async fn code(&self, client: &str, user: &str) -> String {
        let (app, code) = (self.app(), Token::new(Kind::Code, &*self.app().rng));
        let row = Code {
            client_id: client.to_owned(),
            user: user.to_owned(),
            redirect_uri: REDIRECT.to_owned(),
            challenge: URL_SAFE_NO_PAD.encode(digest(&SHA256, VERIFIER.as_bytes())),
            resource: app.config.public_url.resource(),
            scope: "mcp".to_owned(),
            expires_at: app.now() + Duration::from_mins(1),
        };
        let stored = app.store.put_code(&code.hash(), &row, app.now()).await;
        stored.unwrap();
        code.expose().to_owned()
    }

    async fn post(&self, path: &str, form: &[(&str, &str)]) -> (u16, Value) {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let request = self
            .http
            .post(self.app().config.public_url.at(path))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body);
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        assert_eq!(answer.headers()["cache-control"], "no-store");
        let text = answer.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap())
    }

    /// Post as the client `tool`, and disconnect when all is sent
    async fn hang_up(&self, path: &str, form: &[(&str, &str)]) {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .append_pair("client_id", "tool")
            .finish();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\
             Content-Type: application/x-www-form-urlencoded\r\n\r\n",
            body.len()
        );
        let mut socket = TcpStream::connect(self.broker.address()).await.unwrap();
        socket.write_all(head.as_bytes()).await.unwrap();
        // It has begun, and waits for the rest.
        let mut go_on = [0; 25];
        socket.read_exact(&mut go_on).await.unwrap();
        assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
        socket.write_all(body.as_bytes()).await.unwrap();
    }

    async fn exchange(&self, client: &str, code: &str) -> (u16, Value) {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", client),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
        ];
        self.post("/oauth/token", &form).await
    }

    async fn refresh(&self, client: &str, token: &Value) -> (u16, Value) {
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", token.as_str().unwrap()),
            ("client_id", client),
            ("scope", "mcp offline_access"),
        ];
        self.post("/oauth/token", &form).await
    }

    /// Issue tokens of a client for a user
    async fn tokens(&self, client: &str, user: &str) -> Value {
        let code = self.code(client, user).await;
        let (status, tokens) = self.exchange(client, &code).await;
        assert_eq!(status, 200, "{tokens}");
        tokens
    }

    async fn call(&self, access: &Value) -> (u16, Value) {
        let url = self.app().config.public_url.resource();
        let request = self.http.post(url).bearer_auth(access.as_str().unwrap());
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap())
    }
}

async fn broker(forge: &str, dir: &Path, clock: &Arc<ManualClock>, echo: &Arc<Echo>) -> Broker {
    let (config, parts) = settings(forge, dir, clock, echo);
    Broker::build(config, parts).await.unwrap()
}

fn settings(
    forge: &str,
    dir: &Path,
    clock: &Arc<ManualClock>,
    echo: &Arc<Echo>,
) -> (Config, Parts) {
    let vars = [
        ("PUBLIC_URL", "http://127.0.0.1:0"),
        ("FORGE_URL", forge),
        ("CLIENT_ID", "client"),
        ("CLIENT_SECRET", "gto_secret"),
        ("LISTEN", "127.0.0.1:0"),
        ("ORIGINS", "https://page.example.org"),
    ];
    let vars = vars.map(|(name, value)| (format!("BLUE_BROKER_{name}"), value.to_owned()));
    let given = Given {
        vars: vars.to_vec(),
        cwd: dir.to_owned(),
        ..Given::default()
    };
    let config = Config::read(&given, &dir.join("data")).unwrap();
    let parts = Parts {
        clock: Arc::clone(clock) as _,
        rng: Arc::new(SystemRng::default()),
        http: HttpConfig::default(),
        build: Build {
            version: "1".to_owned(),
            git: String::new(),
        },
        backend: Arc::clone(echo) as _,
        max_open_files: None,
    };
    (config, parts)
}
