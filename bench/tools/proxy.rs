//! A proxy that counts: every request with its time, between a program and the forge

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Result;
use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request as Incoming, State},
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
    serve::ListenerExt as _,
};
use reqwest::{Client, redirect};
use tokio::net::TcpListener;
use url::Url;

/// Largest body that is passed on
const MOST: usize = 64 << 20;

/// One request as it passed, from its arrival until its answer was whole
#[derive(Debug, Clone)]
pub(crate) struct Passed {
    pub(crate) method: String,
    /// With the query
    pub(crate) path: String,
    pub(crate) status: u16,
    pub(crate) begun: Instant,
    pub(crate) done: Instant,
}

impl Passed {
    pub(crate) fn took(&self) -> Duration {
        self.done - self.begun
    }
}

/// In front of one server as long as the runtime lives
#[derive(Debug)]
pub(crate) struct Proxy {
    /// Its root, with a slash at the end
    pub(crate) url: Url,
    passage: Passage,
}

#[derive(Debug, Clone)]
struct Passage {
    client: Client,
    upstream: Url,
    passed: Arc<Mutex<Vec<Passed>>>,
}

impl Proxy {
    pub(crate) async fn start(upstream: &Url) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = Url::parse(&format!("http://{}/", listener.local_addr()?))?;
        let passage = Passage {
            // What a program asked for is what it gets: no unpacking here.
            client: Client::builder()
                .redirect(redirect::Policy::none())
                .no_proxy()
                .no_gzip()
                .build()?,
            upstream: upstream.clone(),
            passed: Arc::default(),
        };
        let router = Router::new().fallback(pass).with_state(passage.clone());
        // A small packet that waits for company would be told as the program's own time.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        tokio::spawn(async move { drop(axum::serve(listener, router).await) });
        Ok(Self { url, passage })
    }

    /// What passed since this was last asked
    pub(crate) fn take(&self) -> Vec<Passed> {
        let mut passed = self
            .passage
            .passed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut passed)
    }
}

/// How long the forge was at work: what ran at the same time counts once
pub(crate) fn busy(passed: &[Passed]) -> Duration {
    let mut spans: Vec<_> = passed.iter().map(|one| (one.begun, one.done)).collect();
    spans.sort_unstable();
    let mut sum = Duration::ZERO;
    let mut until: Option<Instant> = None;
    for (begun, done) in spans {
        let from = until.map_or(begun, |until| until.max(begun));
        sum += done.saturating_duration_since(from);
        until = Some(until.map_or(done, |until| until.max(done)));
    }
    sum
}

async fn pass(State(passage): State<Passage>, incoming: Incoming) -> Response {
    match passage.forward(incoming).await {
        Ok(response) => response,
        Err(error) => (StatusCode::BAD_GATEWAY, format!("{error:#}")).into_response(),
    }
}

impl Passage {
    async fn forward(&self, incoming: Incoming) -> Result<Response> {
        let begun = Instant::now();
        let (mut parts, body) = incoming.into_parts();
        let body = to_bytes(body, MOST).await?;
        let mut url = self.upstream.clone();
        url.set_path(parts.uri.path());
        url.set_query(parts.uri.query());
        for own in [
            header::HOST,
            header::CONTENT_LENGTH,
            header::TRANSFER_ENCODING,
        ] {
            parts.headers.remove(own);
        }
        let asked = self
            .client
            .request(parts.method.clone(), url)
            .headers(parts.headers)
            .body(body);
        let answer = asked.send().await?;
        let (status, mut headers) = (answer.status(), answer.headers().clone());
        let bytes = answer.bytes().await?;
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
        let path = parts
            .uri
            .path_and_query()
            .map_or_else(String::new, ToString::to_string);
        self.passed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Passed {
                method: parts.method.to_string(),
                path,
                status: status.as_u16(),
                begun,
                done: Instant::now(),
            });
        Ok(response)
    }
}
