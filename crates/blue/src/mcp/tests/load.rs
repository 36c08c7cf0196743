//! Limits of what one user may have open and running

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::Extension;
use blue_base::load::{Load, LoadLimits};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{
    call, error_of,
    http::{LEGACY, begin, post},
    probe, server, until,
};
use blue_mcp::http::{Guard, router};

const BATCH: &[(&str, &str)] = &[("MCP-Protocol-Version", "2025-03-26")];

/// Waits are over at once, so that what does not fit is refused
fn limits() -> LoadLimits {
    LoadLimits {
        call_wait: Duration::ZERO,
        heavy_wait: Duration::ZERO,
        ..LoadLimits::default()
    }
}

/// A server whose clients are all those of one user
async fn start(load: &Arc<Load>, user: &str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = router(
        server(false),
        Guard::loopback(None),
        CancellationToken::new(),
    );
    let router = router.layer(Extension(load.user(user)));
    tokio::spawn(axum::serve(listener, router).into_future());
    address
}

fn batch(items: &[Value]) -> String {
    Value::from(items.to_vec()).to_string()
}

#[tokio::test]
async fn calls_beyond_the_limit_of_a_user_are_busy_and_items_of_a_batch_count() {
    let load = Load::new(LoadLimits {
        calls_per_user: 2,
        ..limits()
    });
    let (alice, bob) = (start(&load, "alice").await, start(&load, "bob").await);
    let waits = batch(&[
        call(1, "wait", "load-first"),
        call(2, "wait", "load-second"),
    ]);
    let running = begin(alice, BATCH, &waits).await;
    let both = || probe::begun("load-first") && probe::begun("load-second");
    until("two items of a batch run", both).await;

    let answer = post(alice, LEGACY, &call(3, "hello", "").to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let error = error_of(&answer.json()["result"]);
    assert_eq!(error["code"], "busy");
    assert_eq!(error["retryable"], true);
    let again = batch(&[call(4, "hello", ""), call(5, "hello", "")]);
    let answer = post(alice, BATCH, &again).await;
    for item in answer.json().as_array().unwrap() {
        assert_eq!(error_of(&item["result"])["code"], "busy", "{item}");
    }
    let answer = post(bob, LEGACY, &call(6, "hello", "").to_string()).await;
    assert_eq!(answer.json()["result"]["isError"], json!(false));

    drop(running);
    until("the first call is gone", || probe::gone("load-first")).await;
    until("the second call is gone", || probe::gone("load-second")).await;
    let answer = post(alice, LEGACY, &call(7, "hello", "").to_string()).await;
    assert_eq!(answer.json()["result"]["isError"], json!(false));
}

#[tokio::test]
async fn a_request_beyond_the_limit_of_open_requests_is_429() {
    let load = Load::new(LoadLimits {
        requests_per_user: 1,
        ..limits()
    });
    let alice = start(&load, "alice").await;
    let waits = call(1, "wait", "load-open").to_string();
    let running = begin(alice, LEGACY, &waits).await;
    until("a call runs", || probe::begun("load-open")).await;
    let answer = post(alice, LEGACY, &call(2, "hello", "").to_string()).await;
    assert_eq!(answer.status, 429, "{answer:?}");
    assert!(answer.head.contains("retry-after: "), "{answer:?}");
    assert!(answer.json()["error"].is_object(), "{answer:?}");
    drop(running);
}

#[tokio::test]
async fn a_large_message_is_read_only_where_its_user_has_no_other_heavy_request() {
    let load = Load::new(limits());
    let alice = start(&load, "alice").await;
    let large = call(1, "hello", &"x".repeat(300 * 1024)).to_string();
    let mut many = call(2, "hello", "");
    many["params"]["arguments"]["more"] = Value::from(vec![0; 6_000]);
    let many = many.to_string();

    let heavy = load.user("alice").heavy_request().await.unwrap();
    for message in [&large, &many] {
        let answer = post(alice, LEGACY, message).await;
        assert_eq!(answer.status, 429, "{answer:?}");
    }
    let small = post(alice, LEGACY, &call(3, "hello", "").to_string()).await;
    assert_eq!(small.status, 200);
    drop(heavy);
    for message in [&large, &many] {
        let answer = post(alice, LEGACY, message).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}
