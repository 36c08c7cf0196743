//! A passage to a server that counts what goes through, and takes its time

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use blue_testkit::Result;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use url::Url;

/// What went through
#[derive(Default)]
pub(crate) struct Seen {
    /// `GET /path`
    pub(crate) requests: Vec<String>,
    /// How many of them had come before the first was passed on
    pub(crate) first_round: Option<usize>,
}

pub(crate) struct Proxy {
    pub(crate) url: Url,
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Each request waits for `delay` first
    pub(crate) async fn start(server: &Url, delay: Duration) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = Url::parse(&format!("http://{}/", listener.local_addr()?))?;
        let to = server.socket_addrs(|| None)?[0];
        let seen = Arc::new(Mutex::new(Seen::default()));
        let log = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, to, delay, Arc::clone(&log)));
            }
        });
        Ok(Self { url, seen, task })
    }

    /// What went through since this was last asked
    pub(crate) fn take(&self) -> Seen {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(client: TcpStream, to: SocketAddr, delay: Duration, log: Arc<Mutex<Seen>>) {
    let Ok(server) = TcpStream::connect(to).await else {
        return;
    };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let back = tokio::spawn(async move {
        drop(tokio::io::copy(&mut from_server, &mut to_client).await);
        to_client.shutdown().await
    });
    let mut buffer = vec![0; 64 << 10];
    while let Ok(size @ 1..) = from_client.read(&mut buffer).await {
        let chunk = &buffer[..size];
        let text = String::from_utf8_lossy(chunk);
        for line in text.lines().filter(|line| line.ends_with(" HTTP/1.1")) {
            let request = line.trim_end_matches(" HTTP/1.1").to_owned();
            log.lock().unwrap().requests.push(request);
            tokio::time::sleep(delay).await;
            let mut seen = log.lock().unwrap();
            let so_far = seen.requests.len();
            seen.first_round.get_or_insert(so_far);
        }
        if to_server.write_all(chunk).await.is_err() {
            break;
        }
    }
    drop(to_server.shutdown().await);
    drop(back.await);
}
