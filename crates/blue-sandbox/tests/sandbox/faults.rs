//! Faults on request, each kind

use std::time::{Duration, Instant};

use blue_sandbox::{Config, Sandbox, Seed};
use reqwest::Method;
use serde_json::{Value, json};

use crate::visitor::{Answer, Visitor, client, start};

const ADMIN: &str = "/-/sandbox/faults";
const TARGET: &str = "/.well-known/openid-configuration";

async fn faulty() -> (Sandbox, Visitor) {
    let sandbox = start(Config {
        faults: true,
        seed: Seed::Demo,
        ..Config::default()
    })
    .await;
    let web = Visitor::new(&sandbox);
    (sandbox, web)
}

/// What the route says to someone of the sandbox
async fn ask(
    (sandbox, web): &mut (Sandbox, Visitor),
    admin: bool,
    (method, path): (Method, &str),
    body: &str,
) -> Answer {
    let who = sandbox.users().iter().find(|user| user.admin == admin);
    let token = who.unwrap().token.expose().to_owned();
    let request = web
        .request(method, path)
        .header("authorization", format!("token {token}"))
        .header("content-type", "application/json")
        .body(body.to_owned());
    web.send(request).await
}

async fn order(at: &mut (Sandbox, Visitor), rule: Value) -> Value {
    let made = ask(at, true, (Method::POST, ADMIN), &rule.to_string()).await;
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
    let mut at = faulty().await;
    let rule = json!({"path": "/.well-known/*", "method": "GET", "count": 2, "status": 429,
                      "headers": {"Retry-After": "7"}, "body": {"message": "slow down"}});
    let made = order(&mut at, rule).await;
    assert_eq!(
        (made["id"].as_u64(), made["left"].as_u64()),
        (Some(1), Some(2))
    );
    for _ in 0..2 {
        let struck = at.1.get(TARGET).await;
        assert_eq!((struck.status, struck.header("retry-after")), (429, "7"));
        assert_eq!(struck.json(), json!({"message": "slow down"}));
    }
    assert_eq!(at.1.get(TARGET).await.status, 200);
    assert_eq!(
        ask(&mut at, true, (Method::GET, ADMIN), "").await.json(),
        json!([])
    );
}

#[tokio::test]
async fn a_delay_waits_and_then_answers() {
    let mut at = faulty().await;
    order(
        &mut at,
        json!({"path": TARGET, "count": 1, "delay_ms": 150}),
    )
    .await;
    let began = Instant::now();
    assert_eq!(at.1.get(TARGET).await.status, 200);
    assert!(began.elapsed() >= Duration::from_millis(150));
}

#[tokio::test]
async fn a_dropped_connection_gives_no_answer_and_the_next_works() {
    let mut at = faulty().await;
    order(&mut at, json!({"path": TARGET, "count": 1, "drop": true})).await;
    let url = format!("{}{TARGET}", at.0.url());
    // A client with idle connections might try again by itself; this one has none.
    assert!(client().get(&url).send().await.is_err());
    assert_eq!(at.1.get(TARGET).await.status, 200);
}

#[tokio::test]
async fn a_truncated_body_has_the_full_length_and_only_its_start() {
    let mut at = faulty().await;
    let whole = at.1.get(TARGET).await.text;
    order(&mut at, json!({"path": TARGET, "truncate": 10})).await;
    let url = format!("{}{TARGET}", at.0.url());
    let mut cut = client().get(&url).send().await.unwrap();
    assert_eq!(cut.status(), 200);
    assert_eq!(cut.content_length(), Some(whole.len() as u64));
    let first = cut.chunk().await.unwrap().unwrap();
    assert_eq!(first, whole.as_bytes()[..10]);
    assert!(cut.chunk().await.is_err());

    let rules = ask(&mut at, true, (Method::GET, ADMIN), "").await.json();
    assert_eq!(rules[0]["hits"], 1);
    let id = rules[0]["id"].clone();
    let one = format!("{ADMIN}/{id}");
    let gone = ask(&mut at, true, (Method::DELETE, one.as_str()), "").await;
    assert_eq!(gone.status, 204);
    assert_eq!(at.1.get(TARGET).await.text, whole);
}

#[tokio::test]
async fn a_rule_with_a_fault_is_refused_by_name() {
    let mut at = faulty().await;
    let rule = r#"{"path":"*","stauts":500}"#;
    let refused = ask(&mut at, true, (Method::POST, ADMIN), rule).await;
    assert_eq!(refused.status, 422);
    assert!(
        refused.text.contains("unknown field `stauts`"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn only_an_administrator_orders_faults() {
    let mut at = faulty().await;
    let rule = r#"{"path":"*","drop":true}"#;
    let one = format!("{ADMIN}/1");
    let asked = [
        (Method::GET, ADMIN),
        (Method::POST, ADMIN),
        (Method::DELETE, ADMIN),
        (Method::DELETE, one.as_str()),
    ];
    for (method, path) in asked {
        let nobody = at.1.request(method.clone(), path).body(rule);
        assert_eq!(at.1.send(nobody).await.status, 401, "{method}");
        let stale = at.1.request(method.clone(), path).body(rule);
        let stale = stale.header("authorization", "token 0123");
        assert_eq!(at.1.send(stale).await.status, 401, "{method}");
        let other = ask(&mut at, false, (method.clone(), path), rule).await;
        assert_eq!(other.status, 403, "{method} {other:?}");
    }
    assert_eq!(at.1.get(TARGET).await.status, 200);
}
