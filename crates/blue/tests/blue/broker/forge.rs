//! A sandbox that takes a refresh token once, behind a proxy that notes what tokens it gave

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    response::Response,
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use blue_sandbox::{Config, Flavor, Sandbox, Seed};
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};

/// The forge as the broker and browsers reach it
pub(super) struct Forge {
    pub(super) url: String,
    sandbox: Sandbox,
    notes: Arc<Notes>,
}

/// What the proxy knows
pub(super) struct Notes {
    http: reqwest::Client,
    /// The sandbox itself
    behind: String,
    /// Whose tokens live an hour; those of others end at once
    quiet: &'static str,
    given: Mutex<Vec<Given>>,
    /// Users whose refresh token was refused after its successor was lost with a killed broker
    died: Mutex<Vec<String>>,
    secrets: Mutex<Vec<String>>,
    /// How many brokers came before the one that asks
    generation: AtomicUsize,
    /// How many ask for tokens right now
    asking: AtomicUsize,
}

/// Tokens that the broker was answered
struct Given {
    login: String,
    refresh: String,
    /// The forge's count, by which it knows what it gave last
    count: i64,
    /// The broker that asked
    generation: usize,
    /// The refresh token came back, so the broker had kept it
    kept: bool,
}

/// A client that follows nothing and asks no proxy
pub(super) fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(20))
        .no_gzip()
        .no_proxy()
        .tls_certs_only([])
        .build()
        .unwrap()
}

impl Forge {
    pub(super) async fn start(quiet: &'static str) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let sandbox = Sandbox::start(Config {
            seed: Seed::Demo,
            flavor: Flavor::Forgejo,
            root_url: Some(url.clone()),
            ..Config::default()
        })
        .await
        .unwrap();
        let notes = Arc::new(Notes {
            http: client(),
            behind: format!("http://{}", sandbox.address()),
            quiet,
            given: Mutex::default(),
            died: Mutex::default(),
            secrets: Mutex::default(),
            generation: AtomicUsize::new(0),
            asking: AtomicUsize::new(0),
        });
        let router = Router::new().fallback(whole).with_state(Arc::clone(&notes));
        tokio::spawn(axum::serve(listener, router).into_future());
        Self {
            url,
            sandbox,
            notes,
        }
    }

    /// Adds a user; the password is `<login>-password`, as for every user here
    pub(super) async fn add(&self, login: &str) {
        let user = json!({
            "username": login,
            "email": format!("{login}@example.org"),
            "password": format!("{login}-password"),
            "must_change_password": false,
        });
        let made = client()
            .post(format!("{}/api/v1/admin/users", self.url))
            .header("content-type", "application/json")
            .bearer_auth(self.sandbox.users()[0].token.expose())
            .body(user.to_string())
            .send()
            .await
            .unwrap();
        assert_eq!(made.status(), 201);
    }

    /// Makes a repository with one commit
    pub(super) async fn repository(&self, owner: &str, name: &str) {
        let body = json!({ "name": name, "auto_init": true, "default_branch": "main" });
        self.post_as(owner, "user/repos", &body).await;
    }

    /// Commits a file to the default branch
    pub(super) async fn file(&self, owner: &str, name: &str, path: &str, text: &str) {
        let body = json!({ "content": STANDARD.encode(text), "message": "a file" });
        let path = format!("repos/{owner}/{name}/contents/{path}");
        self.post_as(owner, &path, &body).await;
    }

    async fn post_as(&self, login: &str, path: &str, body: &Value) {
        let users = self.sandbox.users();
        let user = users.iter().find(|user| user.login == login).unwrap();
        let made = client()
            .post(format!("{}/api/v1/{path}", self.notes.behind))
            .header("content-type", "application/json")
            .bearer_auth(user.token.expose())
            .body(body.to_string())
            .send()
            .await
            .unwrap();
        assert_eq!(made.status(), 201, "{path}");
    }

    /// Make the application of a broker; gives its id and secret
    pub(super) async fn application(&self, redirect: &str) -> (String, String) {
        let app = json!({
            "name": "Broker",
            "confidential_client": true,
            "redirect_uris": [redirect],
        });
        let made = client()
            .post(format!("{}/api/v1/user/applications/oauth2", self.url))
            .header("content-type", "application/json")
            .bearer_auth(self.sandbox.users()[0].token.expose())
            .body(app.to_string())
            .send()
            .await
            .unwrap();
        let made: Value = serde_json::from_str(&made.text().await.unwrap()).unwrap();
        let text = |key: &str| made[key].as_str().unwrap().to_owned();
        (text("client_id"), text("client_secret"))
    }

    /// The broker was killed: who asks from now on is another one
    pub(super) async fn killed(&self) {
        // What it sent last comes in first, and is still of its own time.
        let version = format!("{}/api/v1/version", self.url);
        client().get(version).send().await.unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while self.notes.asking.load(Ordering::SeqCst) > 0 {
            assert!(Instant::now() < until, "the forge does not answer");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        self.notes.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// How often the user's refresh token was refused because its successor was lost with a killed
    /// broker
    pub(super) fn died(&self, login: &str) -> usize {
        let died = self.notes.died.lock().unwrap();
        died.iter().filter(|of| *of == login).count()
    }

    /// Every token that was given to the broker, and every code
    pub(super) fn secrets(&self) -> Vec<String> {
        self.notes.secrets.lock().unwrap().clone()
    }
}

/// To its end, also when the broker is killed meanwhile: what the forge did is to be noted
async fn whole(State(notes): State<Arc<Notes>>, request: Request) -> Response {
    let asks = request.uri().path() == "/login/oauth/access_token";
    let pass = async move {
        if !asks {
            return pass_on(&notes, request, None).await;
        }
        notes.asking.fetch_add(1, Ordering::SeqCst);
        let generation = notes.generation.load(Ordering::SeqCst);
        let answer = pass_on(&notes, request, Some(generation)).await;
        notes.asking.fetch_sub(1, Ordering::SeqCst);
        answer
    };
    tokio::spawn(pass).await.unwrap()
}

/// Ask the sandbox; `asking` is the broker that asks for tokens, if it does
async fn pass_on(notes: &Notes, request: Request, asking: Option<usize>) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, 64 << 20).await else {
        return plain(StatusCode::BAD_REQUEST);
    };
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let with = asking.and_then(|_| sees(notes, &body));
    let mut headers = parts.headers;
    for name in [header::HOST, header::CONTENT_LENGTH, header::CONNECTION] {
        headers.remove(name);
    }
    let sent = notes
        .http
        .request(parts.method, format!("{}{path}", notes.behind))
        .headers(headers)
        .body(body)
        .send()
        .await;
    let Ok(answer) = sent else {
        return plain(StatusCode::BAD_GATEWAY);
    };
    let (status, mut headers) = (answer.status(), answer.headers().clone());
    let Ok(mut body) = answer.bytes().await else {
        return plain(StatusCode::BAD_GATEWAY);
    };
    match (asking, with) {
        (Some(generation), _) if status == StatusCode::OK => {
            body = noted(notes, &body, generation).await;
        }
        (Some(generation), Some(token)) if status == StatusCode::BAD_REQUEST => {
            refused(notes, &token, generation);
        }
        _ => {}
    }
    for name in [header::CONTENT_LENGTH, header::TRANSFER_ENCODING] {
        headers.remove(name);
    }
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn plain(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Note which refresh token comes back, and give it
fn sees(notes: &Notes, body: &[u8]) -> Option<String> {
    let form: BTreeMap<_, _> = url::form_urlencoded::parse(body).collect();
    let token = form.get("refresh_token")?;
    for given in notes.given.lock().unwrap().iter_mut() {
        given.kept |= *token == given.refresh;
    }
    Some(token.to_string())
}

/// Note whether a refresh token is refused because its successor died
///
/// If the broker that was given it still runs, it is about to write it down.
fn refused(notes: &Notes, token: &str, generation: usize) {
    let given = notes.given.lock().unwrap();
    let of = given.iter().find(|given| given.refresh == token).unwrap();
    let theirs = given.iter().filter(|given| given.login == of.login);
    let last = theirs.max_by_key(|given| given.count).unwrap();
    if last.generation < generation && !last.kept {
        notes.died.lock().unwrap().push(of.login.clone());
    }
}

/// Note whose tokens these are, and let those of all but one end at once
async fn noted(notes: &Notes, body: &[u8], generation: usize) -> Bytes {
    let mut tokens: Value = serde_json::from_slice(body).unwrap();
    let access = tokens["access_token"].as_str().unwrap().to_owned();
    let refresh = tokens["refresh_token"].as_str().unwrap().to_owned();
    let who = notes
        .http
        .get(format!("{}/login/oauth/userinfo", notes.behind));
    let who = who.bearer_auth(&access).send().await.unwrap();
    let who: Value = serde_json::from_str(&who.text().await.unwrap()).unwrap();
    let login = who["preferred_username"].as_str().unwrap().to_owned();
    if login != notes.quiet {
        tokens["expires_in"] = json!(1);
    }
    notes
        .secrets
        .lock()
        .unwrap()
        .extend([access, refresh.clone()]);
    notes.given.lock().unwrap().push(Given {
        login,
        count: count(&refresh),
        refresh,
        generation,
        kept: false,
    });
    Bytes::from(tokens.to_string())
}

/// The forge's count in a refresh token
fn count(refresh: &str) -> i64 {
    let claims = refresh.split('.').nth(1).unwrap();
    let claims = URL_SAFE_NO_PAD.decode(claims).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    claims["cnt"].as_i64().unwrap()
}

/// Headers without what would let a cache answer
pub(super) fn form_headers() -> HeaderMap {
    let kind = header::HeaderValue::from_static("application/x-www-form-urlencoded");
    HeaderMap::from_iter([(header::CONTENT_TYPE, kind)])
}
