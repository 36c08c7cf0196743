//! A server with tools made for it, by clients and by hand

mod choice;
mod http;
mod load;
mod probe;
mod stdio;

use std::{sync::Arc, time::Duration};

use blue_base::clock::SystemClock;
use blue_forge::open::Forges;
use blue_tools::Cx;
use serde_json::{Value, json};

use super::{Choice, Server, Toolbox};
use crate::env::Env;

const MODERN: &str = "2026-07-28";

fn server(read_only: bool) -> Server {
    let choice = Choice {
        read_only,
        ..Choice::default()
    };
    let tools = Toolbox::new(probe::ALL, &choice).unwrap();
    let settings = Env::of(&[("HOME", "/nowhere")]).forges().unwrap();
    let clock = Arc::new(SystemClock);
    let forges = Arc::new(Forges::new(settings, "/nowhere", clock.clone()));
    let cx = Cx::new(forges, clock, "/nowhere").read_only(read_only);
    Server::new(tools, Arc::new(move |_| Ok(cx.clone())))
}

/// A request of the newest revision
fn modern(id: i64, method: &str, mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    request(id, method, params)
}

fn request(id: i64, method: &str, params: Value) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
    message["params"] = params;
    message
}

fn call(id: i64, what: &str, key: &str) -> Value {
    let arguments = json!({"what": what, "key": key});
    request(
        id,
        "tools/call",
        json!({"name": "probe_run", "arguments": arguments}),
    )
}

fn initialize(id: i64, version: &str) -> Value {
    let client = json!({"name": "test", "version": "1"});
    request(
        id,
        "initialize",
        json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client}),
    )
}

fn cancel(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

/// The failure in a result
fn error_of(result: &Value) -> Value {
    assert_eq!(result["isError"], true, "{result}");
    assert!(result.get("structuredContent").is_none(), "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    serde_json::from_str::<Value>(text).unwrap()["error"].clone()
}

async fn until(what: &str, there: impl Fn() -> bool) {
    let looked = async {
        while !there() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let looked = tokio::time::timeout(Duration::from_secs(20), looked).await;
    assert!(looked.is_ok(), "never came true: {what}");
}
