//! A browser without a screen: keeps cookies, follows nothing by itself

use std::collections::BTreeMap;

use blue_sandbox::{Config, Sandbox, UserInfo};
use reqwest::{Client, Method, RequestBuilder, Response, redirect};
use serde_json::Value;

pub(crate) fn client() -> Client {
    // Fails if a provider is installed already; that is fine, because every test installs this one.
    drop(rustls::crypto::ring::default_provider().install_default());
    Client::builder()
        .redirect(redirect::Policy::none())
        .build()
        .unwrap()
}

pub(crate) async fn start(config: Config) -> Sandbox {
    Sandbox::start(config).await.unwrap()
}

#[derive(Debug)]
pub(crate) struct Visitor {
    pub(crate) url: String,
    client: Client,
    cookies: BTreeMap<String, String>,
}

/// What came back, with the body read
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) location: String,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    async fn read(response: Response) -> Self {
        let headers = response.headers().clone();
        let location = headers
            .get("location")
            .map_or("", |value| value.to_str().unwrap())
            .to_owned();
        let status = response.status().as_u16();
        Self {
            status,
            location,
            headers,
            text: response.text().await.unwrap(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// A value from the query of the address it leads to
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let url = url::Url::parse(&self.location).ok()?;
        let found = url.query_pairs().find(|(key, _)| key == name)?;
        Some(found.1.into_owned())
    }

    /// The value of a hidden field
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        let start = format!("name=\"{name}\" value=\"");
        let from = self.text.find(&start)? + start.len();
        let value = &self.text[from..from + self.text[from..].find('"')?];
        Some(
            value
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&quot;", "\"")
                .replace("&amp;", "&"),
        )
    }
}

impl Visitor {
    pub(crate) fn new(sandbox: &Sandbox) -> Self {
        Self {
            url: sandbox.url().to_owned(),
            client: client(),
            cookies: BTreeMap::new(),
        }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = if path.starts_with("http") {
            path.to_owned()
        } else {
            self.url.clone() + path
        };
        self.client.request(method, url)
    }

    pub(crate) async fn send(&mut self, request: RequestBuilder) -> Answer {
        let cookies: Vec<String> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let request = match cookies.as_slice() {
            [] => request,
            some => request.header("cookie", some.join("; ")),
        };
        let answer = Answer::read(request.send().await.unwrap()).await;
        for line in answer.headers.get_all("set-cookie") {
            let (name, rest) = line.to_str().unwrap().split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            if value.is_empty() {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        let request = self.request(Method::GET, path);
        self.send(request).await
    }

    pub(crate) async fn post(&mut self, path: &str, form: &[(&str, &str)]) -> Answer {
        let request = self
            .request(Method::POST, path)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(encode(form));
        self.send(request).await
    }

    /// Fill in the sign-in form
    pub(crate) async fn sign_in(&mut self, user: &UserInfo) -> Answer {
        let form = self.get("/user/login").await;
        let csrf = form.field("_csrf").unwrap_or_default();
        let fields = [
            ("user_name", user.login.as_str()),
            ("password", user.password.expose()),
            ("_csrf", &csrf),
        ];
        let answer = self.post("/user/login", &fields).await;
        assert_eq!(answer.status, 303, "{answer:?}");
        answer
    }
}

pub(crate) fn encode(form: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(form)
        .finish()
}
