//! A person with a browser, and their client; both meet a broker that may be gone at any moment

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use serde_json::Value;
use url::{Url, form_urlencoded::Serializer};

use super::{
    forge::{Forge, client, form_headers},
    process::Place,
};

pub(super) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
pub(super) const REDIRECT: &str = "http://127.0.0.1:4711/callback";

/// How many requests were begun so far
pub(super) static BEGUN: AtomicUsize = AtomicUsize::new(0);

/// The request got no response, or one that does not belong to a sign-in
#[derive(Debug)]
pub(super) struct BrokenOff;

impl From<reqwest::Error> for BrokenOff {
    fn from(_: reqwest::Error) -> Self {
        Self
    }
}

type Outcome<T> = Result<T, BrokenOff>;

/// Cookies of one browser
pub(super) struct Visitor {
    http: reqwest::Client,
    login: String,
    /// Broker and forge are the same host, as cookies see it
    cookies: BTreeMap<String, String>,
    secrets: Vec<String>,
}

struct Page {
    url: Url,
    to: Option<Url>,
    body: String,
}

impl Visitor {
    pub(super) fn new(login: &str) -> Self {
        Self {
            http: client(),
            login: login.to_owned(),
            cookies: BTreeMap::new(),
            secrets: Vec::new(),
        }
    }

    /// Every cookie that was ever set, and what may be secret in forms that were sent
    pub(super) fn secrets(&self) -> Vec<String> {
        // Once the page was answered, the cookie has a word behind its secret.
        let bare = |value: &str| value.strip_suffix(".answered").map(str::to_owned);
        let bare = self.secrets.iter().filter_map(|value| bare(value));
        bare.chain(self.secrets.iter().cloned()).collect()
    }

    async fn send(&mut self, request: reqwest::RequestBuilder) -> Outcome<Page> {
        let pairs = self.cookies.iter();
        let cookies: Vec<_> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let request = request.header("cookie", cookies.join("; "));
        let answer = patiently(&request).await?;
        for line in answer.headers().get_all("set-cookie") {
            let pair = line.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            self.cookies.insert(name.to_owned(), value.to_owned());
            self.secrets.push(value.to_owned());
        }
        let url = answer.url().clone();
        let to = answer.headers().get("location");
        let to = to.map(|to| url.join(to.to_str().unwrap()).unwrap());
        let body = answer.text().await?;
        let on = || {
            let (_, rest) = body.split_once("content=\"0;url=")?;
            let to = rest.split('"').next()?.replace("&amp;", "&");
            Url::parse(&to).ok()
        };
        let to = to.or_else(on);
        Ok(Page { url, to, body })
    }

    async fn post(&mut self, url: &Url, page: &Page, more: &[(&str, &str)]) -> Outcome<Page> {
        // Of several forms on the page, the first.
        let mut names = BTreeSet::new();
        let mut hidden = hidden(&page.body);
        hidden.retain(|(name, _)| names.insert(name.clone()));
        let tokens = hidden.iter().filter(|(name, _)| name == "token");
        self.secrets.extend(tokens.map(|(_, value)| value.clone()));
        let body = Serializer::new(String::new())
            .extend_pairs(&hidden)
            .extend_pairs(more)
            .finish();
        let origin = url.origin().ascii_serialization();
        let request = self.http.post(url.clone()).headers(form_headers());
        self.send(request.header("origin", origin).body(body)).await
    }

    /// Say yes and sign in, up to the code that the client is called with
    pub(super) async fn code(&mut self, place: &Place, forge: &Forge, id: &str) -> Outcome<String> {
        let query = Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", id)
            .append_pair("redirect_uri", REDIRECT)
            .append_pair("code_challenge", CHALLENGE)
            .append_pair("code_challenge_method", "S256")
            .append_pair("state", "s")
            .finish();
        let start = place.at(&format!("/oauth/authorize?{query}"));
        let page = self.send(self.http.get(start)).await?;
        let end = self.follow(place, forge, page).await?;
        let to = end.to.filter(|to| to.as_str().starts_with(REDIRECT));
        let to = to.ok_or(BrokenOff)?;
        let code = to.query_pairs().find(|(name, _)| name == "code");
        code.map(|(_, code)| code.into_owned()).ok_or(BrokenOff)
    }

    /// Look at one's own connections and sign out again; gives what was to be seen
    pub(super) async fn connections(&mut self, place: &Place, forge: &Forge) -> Outcome<String> {
        let url = Url::parse(&place.at("/connections")).unwrap();
        let page = self.send(self.http.get(url.clone())).await?;
        let page = self.post(&url, &page, &[("do", "sign-in")]).await?;
        let page = self.follow(place, forge, page).await?;
        self.post(&url, &page, &[("do", "sign-out")]).await?;
        Ok(page.body)
    }

    /// Go on from page to page, saying yes and signing in, up to one that leads nowhere or out
    async fn follow(&mut self, place: &Place, forge: &Forge, mut page: Page) -> Outcome<Page> {
        let password = format!("{}-password", self.login);
        let login = self.login.clone();
        for _ in 0..20 {
            let path = page.url.path().to_owned();
            page = match (&page.to, path.as_str()) {
                (Some(to), _) if to.as_str().starts_with(REDIRECT) => return Ok(page),
                (Some(to), _) => {
                    let request = self.http.get(to.clone());
                    self.send(request).await?
                }
                (None, "/oauth/consent") => {
                    let url = Url::parse(&place.at("/oauth/consent")).unwrap();
                    self.post(&url, &page, &[("answer", "approve")]).await?
                }
                (None, "/user/login") => {
                    let name = [("user_name", login.as_str()), ("password", &password)];
                    let url = page.url.clone();
                    self.post(&url, &page, &name).await?
                }
                (None, "/login/oauth/authorize") => {
                    let url = Url::parse(&format!("{}/login/oauth/grant", forge.url)).unwrap();
                    self.post(&url, &page, &[("granted", "true")]).await?
                }
                _ => return Ok(page),
            };
        }
        Err(BrokenOff)
    }
}

/// Retries while there is no response, like a user that reloads the page
async fn patiently(request: &reqwest::RequestBuilder) -> Outcome<reqwest::Response> {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        BEGUN.fetch_add(1, Ordering::SeqCst);
        let again = request.try_clone().unwrap();
        match again.send().await {
            Err(_) if Instant::now() < until => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            sent => return Ok(sent?),
        }
    }
}

fn hidden(body: &str) -> Vec<(String, String)> {
    let attribute = |tag: &str, name: &str| {
        let (_, rest) = tag.split_once(&format!("{name}=\""))?;
        Some(rest.split('"').next()?.replace("&amp;", "&"))
    };
    let tags = body.split("<input ").skip(1);
    tags.filter_map(|rest| rest.split('>').next())
        .filter(|tag| tag.contains("type=\"hidden\""))
        .filter_map(|tag| Some((attribute(tag, "name")?, attribute(tag, "value")?)))
        .collect()
}

/// A client, as far as it needs no browser
pub(super) struct Client {
    http: reqwest::Client,
    pub(super) id: String,
    pub(super) secret: Option<String>,
}

/// What a client was answered
pub(super) type Answer = (u16, Value);

impl Client {
    pub(super) async fn register(place: &Place, name: &str) -> Self {
        Self::register_as(place, name, "none").await
    }

    /// Registers a client with this `token_endpoint_auth_method`
    pub(super) async fn register_as(place: &Place, name: &str, method: &str) -> Self {
        let http = client();
        let said = serde_json::json!({
            "client_name": name,
            "redirect_uris": [REDIRECT],
            "token_endpoint_auth_method": method,
        });
        let request = http.post(place.at("/oauth/register"));
        let request = request.header("content-type", "application/json");
        let answer = request.body(said.to_string()).send().await.unwrap();
        let made: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        let text = |key: &str| made[key].as_str().map(str::to_owned);
        Self {
            http,
            id: text("client_id").unwrap(),
            secret: text("client_secret"),
        }
    }

    async fn form(&self, url: String, form: &[(&str, &str)]) -> Outcome<Answer> {
        let secret = self.secret.as_ref().map(|secret| ("client_secret", secret));
        let body = Serializer::new(String::new())
            .extend_pairs(form)
            .append_pair("client_id", &self.id)
            .extend_pairs(secret)
            .finish();
        let request = self.http.post(url).headers(form_headers()).body(body);
        BEGUN.fetch_add(1, Ordering::SeqCst);
        let answer = request.send().await?;
        let status = answer.status().as_u16();
        let body = serde_json::from_str(&answer.text().await?).map_err(|_| BrokenOff)?;
        Ok((status, body))
    }

    pub(super) async fn exchange(&self, place: &Place, code: &str) -> Outcome<Answer> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
        ];
        self.form(place.at("/oauth/token"), &form).await
    }

    pub(super) async fn refresh(&self, place: &Place, token: &str) -> Outcome<Answer> {
        let form = [("grant_type", "refresh_token"), ("refresh_token", token)];
        self.form(place.at("/oauth/token"), &form).await
    }

    pub(super) async fn revoke(&self, place: &Place, token: &str) -> Outcome<Answer> {
        self.form(place.at("/oauth/revoke"), &[("token", token)])
            .await
    }

    /// List the tools
    pub(super) async fn call(&self, place: &Place, access: &str) -> Outcome<Answer> {
        let list = serde_json::json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {},
        });
        let request = self.http.post(place.at("/mcp")).bearer_auth(access);
        let request = request
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-06-18")
            .body(list.to_string());
        BEGUN.fetch_add(1, Ordering::SeqCst);
        let answer = request.send().await?;
        let status = answer.status().as_u16();
        let text = answer.text().await?;
        Ok((
            status,
            serde_json::from_str(&text).unwrap_or(Value::String(text)),
        ))
    }
}
