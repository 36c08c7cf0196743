use std::time::Duration;

use super::{
    server::{OK, Server, Then},
    *,
};

const BUSY: &str =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy";
const LIMITED: &str = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const LIMITED_LONG: &str = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 90\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
/// The largest number there is: nothing can be added to it
const LIMITED_FOR_EVER: &str = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 18446744073709551615\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const SECONDARY: &str = "HTTP/1.1 403 Forbidden\r\nContent-Length: 54\r\nConnection: close\r\n\r\n{\"message\":\"You have exceeded a secondary rate limit\"}";

const SECONDARY_AS_429: &str = "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 54\r\nConnection: close\r\n\r\n{\"message\":\"You have exceeded a secondary rate limit\"}";

fn post(url: &str) -> Request {
    let mut request = Request::new(Method::POST, url.parse().unwrap());
    request.body = Some("{}".into());
    request
}

#[tokio::test]
async fn unavailable_twice_then_fine() {
    let server = Server::texts(&[BUSY, BUSY, OK]).await;
    let answer = Http::new(quick())
        .send(get(&server.url("/")))
        .await
        .unwrap();
    assert_eq!(&answer.body[..], b"fine");
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn unavailable_for_good_is_given_back() {
    let server = Server::texts(&[BUSY]).await;
    let answer = Http::new(quick())
        .send(get(&server.url("/")))
        .await
        .unwrap();
    assert_eq!(answer.status, 503);
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_write_is_sent_once_whatever_the_answer() {
    for (text, status) in [(BUSY, Some(503)), (LIMITED, None)] {
        let server = Server::start(move |_| (text.into(), Then::Close)).await;
        let outcome = Http::new(quick()).send(post(&server.url("/"))).await;
        assert_eq!(outcome.ok().map(|a| a.status.as_u16()), status);
        assert_eq!(server.seen().len(), 1);
    }
    let dropped = Server::start(|_| (Vec::new(), Then::Close)).await;
    let outcome = Http::new(quick()).send(post(&dropped.url("/"))).await;
    assert!(matches!(outcome, Err(HttpError::Unreachable { .. })));
    assert_eq!(dropped.seen().len(), 1);
}

#[tokio::test]
async fn a_read_is_sent_again_when_the_connection_is_dropped() {
    let server = Server::start(|n| match n {
        0 => (Vec::new(), Then::Close),
        _ => (OK.into(), Then::Close),
    })
    .await;
    let answer = Http::new(quick())
        .send(get(&server.url("/")))
        .await
        .unwrap();
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn a_write_is_tried_again_when_no_connection_was_made() {
    // The port is free until the task below takes it.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    let config = HttpConfig {
        retries: 100,
        backoff: Duration::from_millis(5),
        max_wait: Duration::from_millis(50),
        ..HttpConfig::default()
    };
    let http = Arc::new(Http::new(config));
    let client = Arc::clone(&http);
    let sent = tokio::spawn(async move { client.send(post(&format!("http://{addr}/"))).await });
    tokio::task::yield_now().await;
    let listener = tokio::net::TcpListener::bind(addr).await.unwrap();
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        server::read_head(&mut stream).await;
        tokio::io::AsyncWriteExt::write_all(&mut stream, OK.as_bytes())
            .await
            .unwrap();
        stream
    };
    let (answer, _stream) = tokio::join!(sent, serve);
    assert_eq!(answer.unwrap().unwrap().status, 200);
}

#[tokio::test]
async fn a_short_limit_is_waited_for_and_a_long_one_is_told() {
    let server = Server::texts(&[LIMITED, OK]).await;
    let answer = Http::new(quick())
        .send(get(&server.url("/")))
        .await
        .unwrap();
    assert_eq!(answer.status, 200);

    for (text, seconds) in [
        (LIMITED_LONG, 90),
        (LIMITED_FOR_EVER, u64::MAX),
        (SECONDARY, 60),
        (SECONDARY_AS_429, 60),
    ] {
        let server = Server::start(move |_| (text.into(), Then::Close)).await;
        let error = Http::new(quick())
            .send(get(&server.url("/")))
            .await
            .unwrap_err();
        let HttpError::RateLimited { retry_after, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(retry_after, Some(Duration::from_secs(seconds)));
        assert_eq!(server.seen().len(), 1);
    }
}

fn signed(mut request: Request, token: &str) -> Request {
    request.credential = Some(Credential {
        host: crate::host::Host::of_url(&request.url).unwrap(),
        scheme: AuthScheme::Bearer,
        token: crate::secret::Secret::new(token),
    });
    request
}

#[tokio::test]
async fn a_limit_holds_back_every_request_with_the_same_token() {
    let server = Server::texts(&[SECONDARY_AS_429, OK]).await;
    let http = Http::new(quick());
    let url = server.url("/");
    for request in [get(&url), get(&server.url("/other")), post(&url)] {
        let error = http.send(signed(request, "a")).await.unwrap_err();
        let HttpError::RateLimited {
            retry_after,
            status,
            body,
            ..
        } = error
        else {
            panic!("{error}");
        };
        assert!(retry_after.is_some_and(|wait| wait > Duration::from_secs(50)));
        assert_eq!(status, 429);
        assert!(String::from_utf8_lossy(&body).contains("secondary"));
    }
    assert_eq!(server.seen().len(), 1, "only the first one was sent");
    // Another user's token has a limit of its own, and so has no token.
    assert_eq!(http.send(signed(get(&url), "b")).await.unwrap().status, 200);
    assert_eq!(http.send(get(&url)).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_write_waits_for_a_short_limit_that_another_request_met() {
    let limited = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let server = Server::start(move |n| match n {
        0 => (limited.into(), Then::Close),
        _ => (OK.into(), Then::Close),
    })
    .await;
    let http = Http::new(quick());
    let refused = http.send(post(&server.url("/"))).await.unwrap_err();
    assert!(matches!(refused, HttpError::RateLimited { .. }));
    // It was not sent before, so that nothing can happen twice.
    assert_eq!(http.send(post(&server.url("/"))).await.unwrap().status, 200);
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_read_whose_answer_breaks_off_is_sent_again() {
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this";
    let server = Server::start(move |n| match n {
        0 => (cut.into(), Then::Close),
        _ => (OK.into(), Then::Close),
    })
    .await;
    let http = Http::new(quick());
    let answer = http.send(get(&server.url("/"))).await.unwrap();
    assert_eq!(&answer.body[..], b"fine");
    assert_eq!(server.seen().len(), 2);

    let server = Server::start(move |_| (cut.into(), Then::Close)).await;
    let broken = Http::new(quick()).send(post(&server.url("/"))).await;
    assert!(matches!(broken, Err(HttpError::Broken { .. })));
    assert_eq!(server.seen().len(), 1, "a write is not");
}

#[tokio::test]
async fn further_tries_stay_within_the_time_limit() {
    let server = Server::texts(&[BUSY]).await;
    let config = HttpConfig {
        timeout: Duration::from_millis(300),
        backoff: Duration::from_secs(20),
        ..HttpConfig::default()
    };
    let start = Instant::now();
    let answer = Http::new(config).send(get(&server.url("/"))).await.unwrap();
    assert_eq!(answer.status, 503);
    assert!(start.elapsed() < Duration::from_secs(5));
}
