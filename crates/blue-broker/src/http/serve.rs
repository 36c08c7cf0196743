//! Connections: accepted, bounded in time and size, closed
//!
//! A client that sends its request byte by byte must not hold a connection for ever, and one that
//! sends an endless head must not fill the memory.

use std::{io, net::SocketAddr, pin::pin, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{Request, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::connection_limits::ConnectionLimits;

/// Longest time a client may take to send the head of a request, and to begin the next request
pub const HEAD: Duration = Duration::from_secs(30);

/// Largest head of a request: line and headers, with room for every cookie that a browser keeps
const LARGEST: usize = 64 * 1024;

/// Serve until `stop`, then let requests in progress complete; when dropped, all connections are
/// cut
pub async fn serve(listener: TcpListener, router: Router, head: Duration, stop: CancellationToken) {
    let limits = ConnectionLimits::new(None, &[]);
    serve_within(listener, router, head, limits, stop).await;
}

/// Like [`serve`], with limits to the number of connections
///
/// At the limit, the next connection waits in the accept queue of the operating system until
/// another one closes; idle ones are closed after `head`. A connection of an address that has too
/// many is closed at once.
pub(crate) async fn serve_within(
    listener: TcpListener,
    router: Router,
    head: Duration,
    limits: ConnectionLimits,
    stop: CancellationToken,
) {
    let mut open = JoinSet::new();
    let mut told_full = false;
    loop {
        let is_full = limits.free() == 0;
        if is_full && !told_full {
            tracing::warn!("as many connections are open as there may be");
        }
        told_full = is_full;
        let next = async {
            let permit = limits.room().await;
            let (socket, from) = listener.accept().await?;
            io::Result::Ok((socket, from, permit))
        };
        let taken = tokio::select! {
            () = stop.cancelled() => break,
            // Finished connections are removed, or the set would grow until the shutdown.
            Some(_) = open.join_next() => continue,
            taken = next => taken,
        };
        match taken {
            Ok((socket, from, permit)) => {
                let Some(counted) = limits.count(permit, from.ip()) else {
                    tracing::debug!(%from, "too many connections of one address");
                    continue;
                };
                // Small answers must not wait for more to send; a socket that refuses is only slower.
                let _ = socket.set_nodelay(true);
                let connection = connection(socket, from, router.clone(), head, stop.clone());
                open.spawn(async move {
                    connection.await;
                    drop(counted);
                });
            }
            // Most likely out of file descriptors: some will be closed.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop(listener);
    while open.join_next().await.is_some() {}
}

async fn connection(
    socket: TcpStream,
    from: SocketAddr,
    router: Router,
    head: Duration,
    stop: CancellationToken,
) {
    let inner = TowerToHyperService::new(router);
    let service = service_fn(move |request: Request<Incoming>| {
        let is_too_large = head_size(&request) > LARGEST;
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(from));
        let answer = (!is_too_large).then(|| hyper::service::Service::call(&inner, request));
        async move {
            match answer {
                Some(answer) => answer.await,
                None => Ok(too_large()),
            }
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_buf_size(LARGEST)
        .serve_connection(TokioIo::new(socket), service);
    let mut connection = pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return noted(ended),
        () = stop.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    noted(connection.await);
}

/// Size of a head in bytes, about as it was received
///
/// The buffer that hyper reads into may hold twice its limit when a head is complete, so the head
/// is measured again: a method has no limit of its own, and could take all the space that is left.
fn head_size(request: &Request<Incoming>) -> usize {
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    let uri = request.uri();
    let uri = uri.path().len()
        + uri.query().map_or(0, str::len)
        + uri
            .authority()
            .map_or(0, |authority| authority.as_str().len());
    request.method().as_str().len() + uri + headers.sum::<usize>()
}

/// The answer to a head that is too large, after which the connection is closed
fn too_large() -> Response {
    let close = [(header::CONNECTION, "close")];
    (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, close).into_response()
}

/// Clients break off all the time
fn noted(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke off");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    async fn started(head: Duration) -> (SocketAddr, CancellationToken) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let from = |ConnectInfo(from): ConnectInfo<SocketAddr>| async move { from.to_string() };
        let router = Router::new().route("/", get(from));
        tokio::spawn(serve(listener, router, head, stop.clone()));
        (address, stop)
    }

    #[tokio::test]
    async fn a_head_that_comes_byte_by_byte_is_cut_off() {
        let (address, _stop) = started(Duration::from_millis(200)).await;
        let (mut read, mut write) = TcpStream::connect(address).await.unwrap().into_split();
        let start = Instant::now();
        write.write_all(b"GET / HTTP/1.1\r\nX: ").await.unwrap();
        // It never stops, and never is silent for as long as the whole head may take.
        let sending = async {
            let mut tick = tokio::time::interval(Duration::from_millis(20));
            while write.write_all(b"x").await.is_ok() {
                tick.tick().await;
            }
        };
        let mut said = Vec::new();
        // Closed by the server, with a response or without.
        let reading = read.read_to_end(&mut said);
        let both = futures_util::future::join(sending, reading);
        let ended = tokio::time::timeout(Duration::from_secs(10), both).await;
        assert!(ended.is_ok(), "it goes on");
        assert!(start.elapsed() >= Duration::from_millis(150), "too early");
        assert!(!said.starts_with(b"HTTP/1.1 200"), "{said:?}");
    }

    #[tokio::test]
    async fn a_head_is_not_larger_than_a_browser_sends() {
        let (address, _stop) = started(HEAD).await;
        let said = async |cookies: usize| {
            let mut socket = TcpStream::connect(address).await.unwrap();
            let cookies = "x".repeat(cookies);
            let head =
                format!("GET / HTTP/1.1\r\nCookie: a={cookies}\r\nConnection: close\r\n\r\n");
            // A client that is still sending when the connection is closed may not receive the
            // reason.
            let _ = socket.write_all(head.as_bytes()).await;
            let mut said = Vec::new();
            let _ = socket.read_to_end(&mut said).await;
            String::from_utf8_lossy(&said).starts_with("HTTP/1.1 200")
        };
        assert!(said(40_000).await);
        assert!(!said(200_000).await);
    }

    #[tokio::test]
    async fn a_method_of_100_kb_is_refused_with_the_head_limit() {
        let (address, _stop) = started(HEAD).await;
        for (method, expected) in [(100_000, "HTTP/1.1 431"), (30_000, "HTTP/1.1 405")] {
            let mut socket = TcpStream::connect(address).await.unwrap();
            let method = "X".repeat(method);
            let head = format!("{method} / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
            let _ = socket.write_all(head.as_bytes()).await;
            let mut said = Vec::new();
            let _ = socket.read_to_end(&mut said).await;
            let said = String::from_utf8_lossy(&said);
            assert!(said.starts_with(expected), "{said}");
        }
    }

    #[tokio::test]
    async fn connections_over_the_cap_wait_until_another_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let limits = ConnectionLimits::new(Some(0), &[]);
        let router = Router::new().route("/", get(async || "ok"));
        let stop = CancellationToken::new();
        let mut idle = Vec::new();
        // They are taken in this order.
        for _ in 0..limits.free() {
            idle.push(TcpStream::connect(address).await.unwrap());
        }
        tokio::spawn(serve_within(listener, router, HEAD, limits, stop.clone()));
        let mut socket = TcpStream::connect(address).await.unwrap();
        let request = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        socket.write_all(request).await.unwrap();
        let mut said = String::new();
        {
            let waiting = socket.read_to_string(&mut said);
            let waiting = tokio::time::timeout(Duration::from_millis(100), waiting);
            assert!(waiting.await.is_err(), "it was taken over the cap");
        }
        // Whatever waits before it in the queue of the system ends with them.
        idle.clear();
        socket.read_to_string(&mut said).await.unwrap();
        assert!(said.ends_with("ok"), "{said}");
        stop.cancel();
    }

    #[tokio::test]
    async fn a_whole_request_is_answered_and_knows_who_asks() {
        let (address, stop) = started(HEAD).await;
        let mut socket = TcpStream::connect(address).await.unwrap();
        let own = socket.local_addr().unwrap().to_string();
        socket
            .write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            .await
            .unwrap();
        let mut said = String::new();
        socket.read_to_string(&mut said).await.unwrap();
        assert!(said.ends_with(&own), "{said}");
        stop.cancel();
    }
}
