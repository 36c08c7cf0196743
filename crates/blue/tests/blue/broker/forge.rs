//! A sandbox that takes a refresh token once, behind a proxy that notes what tokens it gave

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    response::Response,
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
    secrets: Mutex<Vec<String>>,
}

/// Tokens that the broker was answered
struct Given {
    login: String,
    access: String,
    refresh: String,
    /// For a refresh token, which was good no longer
    renewed: bool,
    /// One of them came back, so the broker has them
    seen: bool,
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
            secrets: Mutex::default(),
        });
        let router = Router::new()
            .fallback(pass_on)
            .with_state(Arc::clone(&notes));
        tokio::spawn(axum::serve(listener, router).into_future());
        Self {
            url,
            sandbox,
            notes,
        }
    }

    /// Let somebody more in, with the password that everybody here has
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

    /// How often somebody's new tokens may have died with a broker: it never came with them
    pub(super) fn lost(&self, login: &str) -> usize {
        let given = self.notes.given.lock().unwrap();
        let lost = |given: &&Given| given.login == login && given.renewed && !given.seen;
        given.iter().filter(lost).count()
    }

    /// Every token that was given to the broker, and every code
    pub(super) fn secrets(&self) -> Vec<String> {
        self.notes.secrets.lock().unwrap().clone()
    }
}

async fn pass_on(State(notes): State<Arc<Notes>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let behind = &notes.behind;
    let renewed = sees(&notes, &parts.headers, &body);
    let mut headers = parts.headers;
    for name in [header::HOST, header::CONTENT_LENGTH, header::CONNECTION] {
        headers.remove(name);
    }
    let sent = notes
        .http
        .request(parts.method, format!("{behind}{path}"))
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
    if path == "/login/oauth/access_token" && status == StatusCode::OK {
        body = noted(&notes, &body, renewed).await;
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

/// Note which tokens come back; gives whether it is a refresh token that asks for new ones
fn sees(notes: &Notes, headers: &HeaderMap, body: &[u8]) -> bool {
    let bearer = headers.get(header::AUTHORIZATION);
    let bearer = bearer.and_then(|value| value.to_str().ok()?.split_once(' '));
    let form: BTreeMap<_, _> = url::form_urlencoded::parse(body).collect();
    let refresh = form.get("refresh_token");
    for given in notes.given.lock().unwrap().iter_mut() {
        let access = bearer.is_some_and(|(_, token)| token == given.access);
        given.seen |= access || refresh.is_some_and(|token| *token == given.refresh);
    }
    refresh.is_some()
}

/// Note whose tokens these are, and let those of all but one end at once
async fn noted(notes: &Notes, body: &[u8], renewed: bool) -> Bytes {
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
        .extend([access.clone(), refresh.clone()]);
    notes.given.lock().unwrap().push(Given {
        login,
        access,
        refresh,
        renewed,
        seen: false,
    });
    Bytes::from(tokens.to_string())
}

/// Headers without what would let a cache answer
pub(super) fn form_headers() -> HeaderMap {
    let kind = header::HeaderValue::from_static("application/x-www-form-urlencoded");
    HeaderMap::from_iter([(header::CONTENT_TYPE, kind)])
}
