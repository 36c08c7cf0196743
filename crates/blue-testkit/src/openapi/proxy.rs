//! A proxy that holds what passes through it to GitHub's description

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::{Context as _, Result};
use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{Request as Incoming, State},
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use reqwest::{Client, redirect};
use tokio::{net::TcpListener, task::JoinHandle};
use url::Url;

use super::{Answer, Description, Request};

/// Largest body that is passed on
const MOST: usize = 256 << 20;

/// In front of a GitHub until it is dropped
#[derive(Debug)]
pub struct Proxy {
    /// Its root, with a slash at the end
    pub url: Url,
    passage: Passage,
    server: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Seen {
    operations: BTreeSet<String>,
    faults: Vec<String>,
}

#[derive(Debug, Clone)]
struct Passage {
    client: Client,
    upstream: Arc<OnceLock<SocketAddr>>,
    seen: Arc<Mutex<Seen>>,
}

impl Proxy {
    /// Listen; the proxy runs on the present runtime and leads nowhere yet
    pub async fn bind() -> Result<Self> {
        // Fails if a provider is installed already; that is fine, because all of Blue installs this one.
        drop(rustls::crypto::ring::default_provider().install_default());
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = Url::parse(&format!("http://{}/", listener.local_addr()?))?;
        let passage = Passage {
            client: Client::builder()
                .redirect(redirect::Policy::none())
                .no_proxy()
                .build()?,
            upstream: Arc::default(),
            seen: Arc::default(),
        };
        let router = Router::new().fallback(pass).with_state(passage.clone());
        let server = tokio::spawn(async move {
            drop(axum::serve(listener, router).await);
        });
        Ok(Self {
            url,
            passage,
            server,
        })
    }

    /// Pass everything to the server there; what is below `/api/v3` is judged
    pub fn lead_to(&self, upstream: SocketAddr) {
        self.passage
            .upstream
            .set(upstream)
            .expect("a proxy is led to one server");
    }

    /// What was wrong since the last time this was asked
    pub fn take_faults(&self) -> Vec<String> {
        let mut seen = self
            .passage
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut seen.faults)
    }

    /// Which operations were used
    pub fn operations(&self) -> BTreeSet<String> {
        let seen = self
            .passage
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        seen.operations.clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn pass(State(passage): State<Passage>, incoming: Incoming) -> Response {
    match passage.forward(incoming).await {
        Ok(response) => response,
        Err(error) => (StatusCode::BAD_GATEWAY, format!("{error:#}")).into_response(),
    }
}

impl Passage {
    async fn forward(&self, incoming: Incoming) -> Result<Response> {
        let (parts, body) = incoming.into_parts();
        let body = to_bytes(body, MOST).await?;
        let query = parts.uri.query().map(|query| format!("?{query}"));
        let (path, query) = (parts.uri.path(), query.unwrap_or_default());
        let upstream = self.upstream.get().context("the proxy leads nowhere yet")?;
        let url = format!("http://{upstream}{path}{query}");
        let mut headers = parts.headers.clone();
        for own in [
            header::HOST,
            header::CONTENT_LENGTH,
            header::TRANSFER_ENCODING,
        ] {
            headers.remove(own);
        }
        let sent = self
            .client
            .request(parts.method.clone(), url)
            .headers(headers)
            .body(body.clone());
        let answer = sent.send().await?;
        let (status, mut headers) = (answer.status(), answer.headers().clone());
        let bytes = answer.bytes().await?;
        if let Some(path) = path.strip_prefix("/api/v3") {
            self.judge(path, &parts, &body, status, &headers, &bytes);
        }
        for own in [
            header::CONTENT_LENGTH,
            header::TRANSFER_ENCODING,
            header::CONNECTION,
        ] {
            headers.remove(own);
        }
        let mut response = Response::new(Body::from(bytes));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }

    fn judge(
        &self,
        path: &str,
        parts: &Parts,
        body: &Bytes,
        status: StatusCode,
        headers: &HeaderMap,
        answer: &Bytes,
    ) {
        // The same things are found under a repository's id, and logs somewhere else altogether:
        // the description has neither.
        if path.starts_with("/repositories/") || path.starts_with("/_logs/") {
            return;
        }
        let description = Description::github();
        let mut faults = Vec::new();
        let request = Request {
            method: parts.method.to_string(),
            path: path.to_owned(),
            query: parts.uri.query().map(str::to_owned),
            body: serde_json::from_slice(body).ok(),
        };
        if !body.is_empty() && request.body.is_none() {
            faults.push(format!("{} {path}: the body is not JSON", parts.method));
        }
        if parts.headers.get("user-agent").is_none() {
            faults.push(format!("{} {path}: no user agent", parts.method));
        }
        faults.extend(description.request_faults(&request));
        let is_json = headers
            .get(header::CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.starts_with("application/json"));
        let answer = Answer {
            status: status.as_u16(),
            body: is_json
                .then(|| serde_json::from_slice(answer).ok())
                .flatten(),
        };
        faults.extend(description.answer_faults(&request, &answer));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((operation, _)) = description.find(&request.method, path) {
            seen.operations.insert(operation.id.clone());
        }
        seen.faults.extend(faults);
    }
}
