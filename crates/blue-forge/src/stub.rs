//! A server for tests that answers as told and remembers what it was asked

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{Router, extract::Request, response::Response};
use tokio::task::JoinHandle;

use super::model::Host;

pub(crate) struct Stub {
    addr: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
}

impl Stub {
    /// Answer each path as `answer` says: status, `Location` or `Link`, body
    pub(crate) async fn start(
        answer: impl Fn(&str) -> (u16, Option<(&'static str, String)>, String) + Send + Sync + 'static,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, answer) = (Arc::clone(&seen), Arc::new(answer));
        let app = Router::new().fallback(move |request: Request| {
            let path = request.uri().to_string();
            let authorization = request
                .headers()
                .get("authorization")
                .map(|v| v.to_str().unwrap().to_owned());
            let (status, header, body) = answer(&path);
            log.lock().unwrap().push(Seen {
                path,
                authorization,
            });
            async move {
                let mut response = Response::builder().status(status);
                if let Some((name, value)) = header {
                    response = response.header(name, value);
                }
                response.body(body).unwrap()
            }
        });
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { addr, seen, task }
    }

    /// A Gitea, as far as the probe can tell
    pub(crate) async fn gitea() -> Self {
        Self::start(|path| match path {
            "/api/v1/version" => (200, None, r#"{"version":"1.26.0"}"#.to_owned()),
            _ => (404, None, "Not found.\n".to_owned()),
        })
        .await
    }

    pub(crate) fn host(&self) -> Host {
        Host::parse(&self.addr.to_string()).unwrap()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Whether any request carried any token
    pub(crate) fn got_token(&self) -> bool {
        self.seen().iter().any(|s| s.authorization.is_some())
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.task.abort();
    }
}
