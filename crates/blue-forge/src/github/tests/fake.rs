//! A server that replays the answers a test scripted, and reports every call without a script

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Method, Response, Uri},
};
use serde_json::Value;
use tokio::task::JoinHandle;

#[derive(Debug, Clone)]
pub(super) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Reply {
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

pub(super) fn reply(status: u16, body: impl Into<Vec<u8>>) -> Reply {
    Reply {
        status,
        headers: Vec::new(),
        body: body.into(),
    }
}

pub(super) fn json_reply(status: u16, body: &Value) -> Reply {
    reply(status, body.to_string()).with("content-type", "application/json; charset=utf-8")
}

#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// `GET /repos/o/r?x=y`, without the prefix of the API
    pub(super) call: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

#[derive(Debug, Default)]
struct Script {
    /// The last reply of a call repeats
    replies: HashMap<String, Vec<Reply>>,
    seen: Vec<Seen>,
}

#[derive(Debug)]
pub(super) struct Fake {
    pub(super) addr: SocketAddr,
    script: Arc<Mutex<Script>>,
    task: JoinHandle<()>,
}

impl Fake {
    pub(super) async fn start() -> Self {
        let script = Arc::new(Mutex::new(Script::default()));
        let app = Router::new().fallback(play).with_state(Arc::clone(&script));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { addr, script, task }
    }

    /// Answer `call` with these, one after the other
    pub(super) fn on(&self, call: &str, replies: impl IntoIterator<Item = Reply>) -> &Self {
        let mut replies: Vec<Reply> = replies.into_iter().collect();
        replies.reverse();
        let mut script = self.script.lock().unwrap();
        script.replies.insert(call.to_owned(), replies);
        drop(script);
        self
    }

    pub(super) fn json(&self, call: &str, body: &Value) -> &Self {
        self.on(call, [json_reply(200, body)])
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.script.lock().unwrap().seen.clone()
    }

    pub(super) fn calls(&self) -> Vec<String> {
        self.seen().into_iter().map(|s| s.call).collect()
    }

    /// The body of the only such call
    pub(super) fn sent(&self, call: &str) -> Value {
        let mut seen = self.seen();
        seen.retain(|s| s.call == call);
        assert_eq!(seen.len(), 1, "{call}");
        seen.remove(0).body
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn play(
    State(script): State<Arc<Mutex<Script>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let path = uri.path().strip_prefix("/api/v3").unwrap_or(uri.path());
    let short = format!("{method} {path}");
    let call = match uri.query() {
        Some(query) => format!("{short}?{query}"),
        None => short.clone(),
    };
    let mut script = script.lock().unwrap();
    script.seen.push(Seen {
        call: call.clone(),
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    });
    let key = if script.replies.contains_key(&call) {
        call.clone()
    } else {
        short
    };
    let reply = match script.replies.get_mut(&key) {
        Some(replies) if replies.len() > 1 => replies.pop().unwrap(),
        Some(replies) => replies[0].clone(),
        None => reply(599, format!("no answer is scripted for {call}")),
    };
    let mut response = Response::builder().status(reply.status);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    response.body(Body::from(reply.body)).unwrap()
}
