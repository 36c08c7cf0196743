use super::{
    server::{Server, Then},
    *,
};
use crate::{host::Host, secret::Secret};

/// Gives a body once per caller and confirms it afterwards
async fn tagged() -> Server {
    Server::start(|n| {
        let text = match n {
            0 => "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nX-Left: 9\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfine",
            _ => "HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nX-Left: 8\r\nConnection: close\r\n\r\n",
        };
        (text.into(), Then::Close)
    })
    .await
}

fn cached(url: &str, token: Option<&str>, bound: &Server) -> Request {
    let mut request = get(url);
    request.cache = true;
    request.credential = token.map(|token| Credential {
        host: Host::parse(&bound.addr.to_string()).unwrap(),
        scheme: AuthScheme::Token,
        token: Secret::new(token),
    });
    request
}

#[tokio::test]
async fn a_confirmed_answer_is_the_kept_one_with_new_headers() {
    let server = tagged().await;
    let http = Http::new(quick());
    let first = http
        .send(cached(&server.url("/"), None, &server))
        .await
        .unwrap();
    let second = http
        .send(cached(&server.url("/"), None, &server))
        .await
        .unwrap();
    assert_eq!(
        (first.status, &first.body[..]),
        (StatusCode::OK, &b"fine"[..])
    );
    assert_eq!(
        (second.status, &second.body[..]),
        (StatusCode::OK, &b"fine"[..])
    );
    assert_eq!(second.headers["x-left"], "8");
    let seen = server.seen();
    assert!(!seen[0].contains("if-none-match"));
    assert!(seen[1].contains("if-none-match: \"v1\""));
}

#[tokio::test]
async fn another_user_type_or_unasked_request_shares_nothing() {
    let server = tagged().await;
    let http = Http::new(quick());
    let url = server.url("/");
    http.send(cached(&url, Some("one"), &server)).await.unwrap();
    let mut other_type = cached(&url, Some("one"), &server);
    other_type
        .headers
        .insert(http::header::ACCEPT, HeaderValue::from_static("text/plain"));
    let mut unasked = cached(&url, Some("one"), &server);
    unasked.cache = false;
    let anonymous = cached(&url, None, &server);
    let other_user = cached(&url, Some("two"), &server);
    for request in [other_type, unasked, anonymous, other_user] {
        assert_eq!(http.send(request).await.unwrap().status, 304);
    }
    assert!(
        server
            .seen()
            .iter()
            .all(|head| !head.contains("if-none-match"))
    );
    let again = http.send(cached(&url, Some("one"), &server)).await.unwrap();
    assert_eq!(again.status, 200);
}
