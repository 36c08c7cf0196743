//! Health checks, headers, unknown paths, and shutdown

use std::time::{Duration, Instant};

use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use crate::setup::Setup;

#[tokio::test(flavor = "multi_thread")]
async fn healthz_says_which_build_it_is() {
    let setup = Setup::start().await;
    setup.clock.advance(Duration::from_hours(24));
    let answer = setup.get("/healthz").await;
    assert_eq!(answer.status(), 200);
    let headers = answer.headers().clone();
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(headers["x-frame-options"], "DENY");
    assert_eq!(headers["referrer-policy"], "no-referrer");
    assert!(headers["x-request-id"].len() > 20);
    assert_eq!(
        answer.text().await.unwrap(),
        r#"{"status":"ok","version":"1.2.3","git":"abc"}"#
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn readyz_looks_at_database_and_forge() {
    let setup = Setup::start().await;
    let answer = setup.get("/readyz").await;
    assert_eq!(answer.status(), 200);
    let url = setup.at("/readyz");
    setup.sandbox.shutdown().await;
    // A good result is cached for a moment, however often it is requested.
    let until = Instant::now() + Duration::from_secs(10);
    let answer = loop {
        let answer = setup.http.get(&url).send().await.unwrap();
        if answer.status() != 200 {
            break answer;
        }
        assert!(Instant::now() < until, "nobody noticed");
    };
    assert_eq!(answer.status(), 503);
    assert_eq!(
        answer.text().await.unwrap(),
        r#"{"status":"unavailable","database":"ok","forge":"failed"}"#
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_a_quick_404_in_json() {
    let setup = Setup::start().await;
    for path in ["/.well-known/openid-configuration", "/x?token=1"] {
        let answer = setup.get(path).await;
        assert_eq!(answer.status(), 404, "{path}");
        assert_eq!(answer.headers()["content-type"], "application/json");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_stops_within_two_seconds_whatever_clients_do() {
    let setup = Setup::start().await;
    let address = setup.broker.address();
    // Half of a head, half of a body: their senders may never send the rest.
    let mut open = Vec::new();
    for half in [
        "GET /healthz HTTP/1.1\r\nHost: x\r\n",
        "POST /token HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\na=",
        "",
    ] {
        let mut slow = TcpStream::connect(address).await.unwrap();
        slow.write_all(half.as_bytes()).await.unwrap();
        open.push(slow);
    }
    let start = Instant::now();
    setup.broker.shutdown().await;
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
    assert!(
        TcpStream::connect(address).await.is_err(),
        "the port is closed"
    );
}
