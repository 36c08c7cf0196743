//! A server that sends exactly the bytes it is told to

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

pub(super) struct Server {
    pub(super) addr: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

/// What to do after the bytes are sent
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Close,
    /// Keep the connection open and say no more
    Hang,
}

impl Server {
    /// Answer the n-th request (from 0) with what `answer` gives; one request per connection
    pub(super) async fn start(
        answer: impl Fn(usize) -> (Vec<u8>, Then) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let answer = Arc::new(answer);
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                tokio::spawn(async move {
                    let head = read_head(&mut stream).await;
                    let n = {
                        let mut log = log.lock().unwrap();
                        log.push(head);
                        log.len() - 1
                    };
                    let (bytes, then) = answer(n);
                    let _ = stream.write_all(&bytes).await;
                    if then == Then::Hang {
                        let _ = stream.read(&mut [0; 1]).await;
                    }
                });
            }
        });
        Self { addr, seen, task }
    }

    pub(super) async fn texts(answers: &'static [&'static str]) -> Self {
        Self::start(|n| (answers[n.min(answers.len() - 1)].into(), Then::Close)).await
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// The heads of all requests so far
    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(super) async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte).await {
            Ok(1) => head.push(byte[0]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

pub(super) const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfine";
