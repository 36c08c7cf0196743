//! One user who asks for as much as possible, and the others meanwhile
//!
//! It takes a while and its times depend on the machine, so it runs by hand:
//! `cargo test -p blue --test blue -- --ignored --nocapture broker::load`.

use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    forge::{Forge, client},
    process::Place,
    visitor::{Client, Visitor},
};

/// A file as large as is edited at all
const LARGE_FILE_BYTES: usize = 16 * 1024 * 1024;
/// Edits that go through 4 GiB of it, one after the other
const EDITS: usize = 255;
const MAX_HEALTH_WAIT: Duration = Duration::from_secs(1);
const MAX_WRITE_TIME: Duration = Duration::from_secs(2);
const MAX_MEMORY_KIB: u64 = 600 * 1000 * 1000 / 1024;

/// Signs a user in; gives the access token
async fn sign_in(place: &Place, forge: &Forge, login: &str) -> String {
    let tool = Client::register(place, "A tool").await;
    let code = Visitor::new(login).code(place, forge, &tool.id).await;
    let (_, tokens) = tool.exchange(place, &code.unwrap()).await.unwrap();
    tokens["access_token"].as_str().unwrap().to_owned()
}

/// Sends messages to `/mcp`; gives status, answer and how long it took
async fn send(place: &Place, access: &str, body: String) -> (u16, String, Duration) {
    let start = Instant::now();
    let request = client().post(place.at("/mcp")).bearer_auth(access);
    let answer = request
        .timeout(Duration::from_mins(2))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-03-26")
        .body(body)
        .send()
        .await
        .unwrap();
    let status = answer.status().as_u16();
    (status, answer.text().await.unwrap(), start.elapsed())
}

fn call(id: usize, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// The most memory that a process has had, where the system tells
fn peak_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Text with a mark for each edit at its very end
fn large_file() -> String {
    let mut text = "all work and no play makes jack a dull boy\n".repeat(LARGE_FILE_BYTES / 43);
    text.truncate(LARGE_FILE_BYTES - EDITS * 8);
    for n in 0..EDITS {
        writeln!(text, "m{n:05}.").unwrap();
    }
    text
}

/// What two attacks of Bob's do to everyone else
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures for a minute; run by hand"]
async fn heavy_calls_of_one_user_leave_the_broker_to_the_others() {
    let forge = Forge::start("alice").await;
    forge.repository("bob", "heavy").await;
    forge.repository("alice", "own").await;
    for n in 0..3 {
        let path = format!("large-{n}.txt");
        forge.file("bob", "heavy", &path, &large_file()).await;
    }
    let place = Arc::new(Place::new(&forge).await);
    let running = place.start().await;
    let bob = sign_in(&place, &forge, "bob").await;
    let alice = sign_in(&place, &forge, "alice").await;

    let slowest = Arc::new(AtomicU64::new(0));
    let over = Arc::new(AtomicBool::new(false));
    let watch = {
        let (place, slowest, over) = (place.clone(), slowest.clone(), over.clone());
        tokio::spawn(async move {
            let http = client();
            while !over.load(Ordering::SeqCst) {
                let start = Instant::now();
                let answer = http.get(place.at("/healthz")).send().await;
                assert_eq!(answer.unwrap().status(), 200);
                let took = u64::try_from(start.elapsed().as_millis()).unwrap();
                slowest.fetch_max(took, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
    };

    let edits: Vec<Value> = (0..EDITS)
        .map(|n| json!({"old": format!("m{n:05}."), "new": "x"}))
        .collect();
    let files: Vec<Value> = (0..3)
        .map(|n| json!({"path": format!("large-{n}.txt"), "edits": edits}))
        .collect();
    let edit = |n: usize| {
        let arguments = json!({"owner": "bob", "name": "heavy", "branch": format!("b{n}"),
            "files": files});
        call(n, "file_write_branch", &arguments).to_string()
    };
    let one = json!({"owner": "bob", "name": "heavy", "branch": "b", "path": "large-0.txt",
        "edits": [{"old": "m00000.", "new": "x"}]});
    let items: Vec<Value> = (0..50)
        .map(|n| call(n, "file_write_branch", &one))
        .collect();
    for (proof, attacks) in [
        ("two calls of many edits", vec![edit(1), edit(2)]),
        ("a batch of edits", vec![Value::Array(items).to_string()]),
    ] {
        slowest.store(0, Ordering::SeqCst);
        let attacks: Vec<_> = attacks
            .into_iter()
            .map(|body| {
                let (place, bob) = (place.clone(), bob.clone());
                tokio::spawn(async move { send(&place, &bob, body).await })
            })
            .collect();
        let mut written = Duration::ZERO;
        for n in 0..5 {
            let arguments = json!({"owner": "alice", "name": "own", "branch": "main",
                "path": "note.md", "content": format!("{proof} {n}")});
            let body = call(n, "file_write_branch", &arguments).to_string();
            let (status, said, took) = send(&place, &alice, body).await;
            assert!(status == 200 && said.contains("commit_sha"), "{said}");
            written = written.max(took);
        }
        for attack in attacks {
            let (status, said, took) = attack.await.unwrap();
            println!("{proof}: {status} after {took:?}: {said:.300}");
        }
        let health = Duration::from_millis(slowest.load(Ordering::SeqCst));
        let memory = peak_kib(running.id());
        println!("{proof}: healthz {health:?}, write {written:?}, memory {memory:?} KiB");
        assert!(health < MAX_HEALTH_WAIT, "{proof}: {health:?}");
        assert!(written < MAX_WRITE_TIME, "{proof}: {written:?}");
        let fits = memory.is_none_or(|memory| memory < MAX_MEMORY_KIB);
        assert!(fits, "{proof}: {memory:?} KiB");
    }
    over.store(true, Ordering::SeqCst);
    watch.await.unwrap();
}
