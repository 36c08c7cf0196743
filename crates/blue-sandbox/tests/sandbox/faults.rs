//! Faults on request, each kind

use std::time::{Duration, Instant};

use blue_sandbox::{Config, Sandbox};
use reqwest::Method;
use serde_json::{Value, json};

use crate::visitor::{Visitor, client, start};

const ADMIN: &str = "/-/sandbox/faults";
const TARGET: &str = "/.well-known/openid-configuration";

async fn faulty() -> (Sandbox, Visitor) {
    let sandbox = start(Config {
        faults: true,
        ..Config::default()
    })
    .await;
    let web = Visitor::new(&sandbox);
    (sandbox, web)
}

async fn order(web: &mut Visitor, rule: Value) -> Value {
    let request = web
        .request(Method::POST, ADMIN)
        .header("content-type", "application/json")
        .body(rule.to_string());
    let made = web.send(request).await;
    assert_eq!(made.status, 201, "{made:?}");
    made.json()
}

#[tokio::test]
async fn off_unless_asked_for() {
    let sandbox = start(Config::default()).await;
    let mut web = Visitor::new(&sandbox);
    for method in [Method::GET, Method::POST, Method::DELETE] {
        let request = web
            .request(method, ADMIN)
            .body(r#"{"path":"*","drop":true}"#);
        assert_eq!(web.send(request).await.status, 404);
    }
    assert_eq!(web.get(TARGET).await.status, 200);
}

#[tokio::test]
async fn a_status_with_headers_strikes_as_often_as_said() {
    let (_sandbox, mut web) = faulty().await;
    let rule = json!({"path": "/.well-known/*", "method": "GET", "count": 2, "status": 429,
                      "headers": {"Retry-After": "7"}, "body": {"message": "slow down"}});
    let made = order(&mut web, rule).await;
    assert_eq!(
        (made["id"].as_u64(), made["left"].as_u64()),
        (Some(1), Some(2))
    );
    for _ in 0..2 {
        let struck = web.get(TARGET).await;
        assert_eq!((struck.status, struck.header("retry-after")), (429, "7"));
        assert_eq!(struck.json(), json!({"message": "slow down"}));
    }
    assert_eq!(web.get(TARGET).await.status, 200);
    assert_eq!(web.get(ADMIN).await.json(), json!([]));
}

#[tokio::test]
async fn a_delay_waits_and_then_answers() {
    let (_sandbox, mut web) = faulty().await;
    order(
        &mut web,
        json!({"path": TARGET, "count": 1, "delay_ms": 150}),
    )
    .await;
    let began = Instant::now();
    assert_eq!(web.get(TARGET).await.status, 200);
    assert!(began.elapsed() >= Duration::from_millis(150));
}

#[tokio::test]
async fn a_dropped_connection_gives_no_answer_and_the_next_works() {
    let (sandbox, mut web) = faulty().await;
    order(&mut web, json!({"path": TARGET, "count": 1, "drop": true})).await;
    let url = format!("{}{TARGET}", sandbox.url());
    // A client with idle connections might try again by itself; this one has none.
    assert!(client().get(&url).send().await.is_err());
    assert_eq!(web.get(TARGET).await.status, 200);
}

#[tokio::test]
async fn a_truncated_body_has_the_full_length_and_only_its_start() {
    let (sandbox, mut web) = faulty().await;
    let whole = web.get(TARGET).await.text;
    order(&mut web, json!({"path": TARGET, "truncate": 10})).await;
    let url = format!("{}{TARGET}", sandbox.url());
    let mut cut = client().get(&url).send().await.unwrap();
    assert_eq!(cut.status(), 200);
    assert_eq!(cut.content_length(), Some(whole.len() as u64));
    let first = cut.chunk().await.unwrap().unwrap();
    assert_eq!(first, whole.as_bytes()[..10]);
    assert!(cut.chunk().await.is_err());

    let rules = web.get(ADMIN).await.json();
    assert_eq!(rules[0]["hits"], 1);
    let id = rules[0]["id"].clone();
    let request = web.request(Method::DELETE, &format!("{ADMIN}/{id}"));
    assert_eq!(web.send(request).await.status, 204);
    assert_eq!(web.get(TARGET).await.text, whole);
}

#[tokio::test]
async fn a_rule_with_a_fault_is_refused_by_name() {
    let (_sandbox, mut web) = faulty().await;
    let request = web
        .request(Method::POST, ADMIN)
        .body(r#"{"path":"*","stauts":500}"#);
    let refused = web.send(request).await;
    assert_eq!(refused.status, 422);
    assert!(
        refused.text.contains("unknown field `stauts`"),
        "{refused:?}"
    );
}
