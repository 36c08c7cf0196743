use super::{
    server::{OK, Server, Then},
    *,
};
use crate::{host::Host, secret::Secret};

fn with_token(url: &str, bound: &str) -> Request {
    let mut request = get(url);
    request.credential = Some(Credential {
        host: Host::parse(bound).unwrap(),
        scheme: AuthScheme::Bearer,
        token: Secret::new("hunter2"),
    });
    request
}

#[tokio::test]
async fn a_redirect_is_given_back_and_nobody_else_hears_of_the_token() {
    let thief = Server::texts(&[OK]).await;
    let to = thief.url("/steal");
    let server = Server::start(move |_| {
        let text = format!(
            "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        (text.into_bytes(), Then::Close)
    })
    .await;
    let request = with_token(&server.url("/"), &server.addr.to_string());
    let answer = Http::new(quick()).send(request).await.unwrap();
    assert_eq!(answer.status, 302);
    assert!(server.seen()[0].contains("authorization: Bearer hunter2"));
    assert!(thief.seen().is_empty());
}

#[tokio::test]
async fn a_token_for_another_port_is_not_sent() {
    let server = Server::texts(&[OK]).await;
    let refused = Http::new(quick())
        .send(with_token(&server.url("/"), "127.0.0.1:1"))
        .await
        .unwrap_err();
    assert!(matches!(refused, HttpError::TokenHost { .. }), "{refused}");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn read_only_opens_no_connection_for_a_write() {
    let server = Server::texts(&[OK]).await;
    let http = Http::new(HttpConfig {
        read_only: true,
        ..quick()
    });
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let refused = http
            .send(Request::new(
                method.clone(),
                server.url("/").parse().unwrap(),
            ))
            .await
            .unwrap_err();
        assert!(matches!(refused, HttpError::ReadOnly { .. }), "{method}");
    }
    assert!(server.seen().is_empty());
    assert_eq!(http.send(get(&server.url("/"))).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_token_that_is_refused_is_told() {
    const UNAUTHORIZED: &str =
        "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let server = Server::texts(&[OK, UNAUTHORIZED, UNAUTHORIZED]).await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let http = Http::new(HttpConfig {
        refused: Some(Refused(Arc::new(move |token: &Secret| {
            heard.lock().unwrap().push(token.expose().to_owned());
        }))),
        ..quick()
    });
    let bound = server.addr.to_string();
    http.send(with_token(&server.url("/"), &bound))
        .await
        .unwrap();
    assert!(told.lock().unwrap().is_empty());
    let answer = http.send(with_token(&server.url("/"), &bound)).await;
    assert_eq!(answer.unwrap().status, 401);
    http.send(get(&server.url("/"))).await.unwrap();
    assert_eq!(
        *told.lock().unwrap(),
        ["hunter2"],
        "without a token nothing is told"
    );
}

#[tokio::test]
async fn errors_and_debug_output_hold_no_token_and_no_query() {
    let request = with_token("http://127.0.0.1:1/x?sig=hunter2", "127.0.0.1:1");
    assert!(!format!("{:?}", request.credential).contains("hunter2"));
    let http = Http::new(HttpConfig {
        retries: 0,
        ..quick()
    });
    let error = http.send(request).await.unwrap_err();
    assert!(
        !format!("{error:?} {error}").contains("hunter2"),
        "{error:?}"
    );
}
