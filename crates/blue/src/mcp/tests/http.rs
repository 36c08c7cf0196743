//! One address, clients of both eras

use std::{fmt::Write as _, net::SocketAddr, time::Duration};

use blue_base::secret::Secret;
use rmcp::{
    ClientLifecycleMode, ClientServiceExt as _,
    model::{CallToolRequestParams, ProtocolVersion},
    transport::StreamableHttpClientTransport,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tokio_util::sync::CancellationToken;

use super::{MODERN, call, cancel, error_of, initialize, modern, probe, request, server, until};
use blue_mcp::http::{self, Guard};

async fn start(guard: Guard) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = http::router(server(false), guard, CancellationToken::new());
    tokio::spawn(axum::serve(listener, router).into_future());
    address
}

async fn open() -> SocketAddr {
    start(Guard::loopback(None)).await
}

/// An answer as it came
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    body: String,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }
}

pub(super) const LEGACY: &[(&str, &str)] = &[("MCP-Protocol-Version", "2025-11-25")];

/// Send a request and leave the connection to the caller
pub(super) async fn begin(address: SocketAddr, headers: &[(&str, &str)], body: &str) -> TcpStream {
    let mut head = "POST /mcp HTTP/1.1\r\nConnection: close\r\n".to_owned();
    let mut all = vec![
        ("Host", "127.0.0.1"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    all.retain(|(name, _)| !headers.iter().any(|(h, _)| h.eq_ignore_ascii_case(name)));
    all.extend(headers);
    for (name, value) in all {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    if !headers.iter().any(|(name, _)| *name == "Transfer-Encoding") {
        write!(head, "Content-Length: {}\r\n", body.len()).unwrap();
    }
    write!(head, "\r\n{body}").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

pub(super) async fn post(address: SocketAddr, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = begin(address, headers, body).await;
    let mut text = String::new();
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_string(&mut text));
    read.await.expect("an answer").unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    Answer {
        status: head[9..12].parse().unwrap(),
        head: head.to_lowercase(),
        body: body.to_owned(),
    }
}

/// With the headers that the newest revision wants
async fn ask_modern(address: SocketAddr, message: &Value) -> Answer {
    let method = message["method"].as_str().unwrap();
    let mut headers = vec![("MCP-Protocol-Version", MODERN), ("Mcp-Method", method)];
    if let Some(name) = message["params"]["name"].as_str() {
        headers.push(("Mcp-Name", name));
    }
    post(address, &headers, &message.to_string()).await
}

fn modern_call(id: i64, what: &str, key: &str) -> Value {
    modern(id, "tools/call", call(id, what, key)["params"].clone())
}

#[tokio::test]
async fn clients_of_both_eras_share_one_address() {
    // The client's own HTTP layer wants to know whose cryptography to use, even without TLS.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let address = open().await;
    for lifecycle in [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    ] {
        let transport = StreamableHttpClientTransport::from_uri(format!("http://{address}/mcp"));
        let client = ().serve_with_lifecycle(transport, lifecycle).await.unwrap();
        let tools = client.list_all_tools().await.unwrap();
        assert_eq!(tools.len(), 2);
        let arguments = json!({"what": "hello"}).as_object().cloned();
        let mut params = CallToolRequestParams::new("probe_run");
        params.arguments = arguments;
        let result = client.call_tool(params).await.unwrap();
        assert_eq!(result.structured_content.unwrap()["said"], "hello");
        client.cancel().await.unwrap();
    }
}

#[tokio::test]
async fn answers_are_json_unless_there_is_progress() {
    let address = open().await;
    let answer = ask_modern(address, &modern_call(1, "hello", "")).await;
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("content-type: application/json"));
    assert_eq!(
        answer.json()["result"]["structuredContent"]["said"],
        "hello"
    );
    assert!(!answer.head.contains("mcp-session-id"), "no sessions");

    let mut message = modern_call(2, "progress", "");
    message["params"]["_meta"]["progressToken"] = json!(7);
    let answer = ask_modern(address, &message).await;
    assert!(answer.head.contains("text/event-stream"), "{answer:?}");
    assert_eq!(answer.body.matches("notifications/progress").count(), 3);
    assert!(answer.body.contains("\"said\":\"done\""));

    let error = error_of(
        &ask_modern(address, &modern_call(3, "panic", ""))
            .await
            .json()["result"],
    );
    assert_eq!(error["code"], "internal");
    let answer = post(address, &[], &initialize(1, "2025-06-18").to_string()).await;
    assert_eq!(answer.json()["result"]["protocolVersion"], "2025-06-18");
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let answer = post(address, LEGACY, note).await;
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
}

#[tokio::test]
async fn kinds_are_read_as_http_writes_them() {
    let address = open().await;
    let body = request(1, "ping", json!({})).to_string();
    for (name, value, status) in [
        ("Accept", "*/*", 200),
        ("Accept", "*/*;q=0.8", 200),
        ("Accept", "application/*, text/*", 200),
        ("Accept", "Application/JSON; q=1, Text/Event-Stream", 200),
        ("Accept", "text/html", 406),
        ("Content-Type", "Application/JSON", 200),
        ("Content-Type", "application/json; charset=utf-8", 200),
        ("Content-Type", "application/json-evil", 415),
        ("Content-Type", "text/plain", 415),
    ] {
        let answer = post(address, &[(name, value)], &body).await;
        assert_eq!(answer.status, status, "{name}: {value}: {answer:?}");
    }
    let marked = post(address, &[], &format!("\u{feff}{body}")).await;
    assert_eq!((marked.status, &marked.json()["id"]), (200, &json!(1)));
}

#[tokio::test]
async fn what_may_come_once_is_refused_when_it_comes_twice() {
    let address = open().await;
    let listed = modern(7, "tools/list", json!({})).to_string();
    let version = ("MCP-Protocol-Version", MODERN);
    let method = ("Mcp-Method", "tools/list");
    for second in [("MCP-Protocol-Version", "2025-11-25"), version, method] {
        let answer = post(address, &[version, method, second], &listed).await;
        assert_eq!(answer.status, 400, "{second:?}");
        let answer = answer.json();
        assert_eq!(answer["error"]["code"], -32020, "{second:?}");
        assert_eq!(answer["id"], 7);
    }
    let two = [("Host", "localhost"), ("Host", "localhost")];
    assert_eq!(post(address, &two, &listed).await.status, 400);
    let two = [
        ("Origin", "http://localhost"),
        ("Origin", "http://evil.com"),
    ];
    assert_eq!(post(address, &two, &listed).await.status, 403);
}

#[tokio::test]
async fn mistakes_get_the_status_and_the_code_they_have() {
    let address = open().await;
    for (body, code) in [
        ("{", -32700),
        ("", -32700),
        ("5", -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        ("[]", -32600),
    ] {
        let answer = post(address, &[], body).await;
        assert_eq!(answer.status, 400, "{body}");
        assert_eq!(answer.json()["error"]["code"], code, "{body}");
        assert!(answer.head.contains("content-type: application/json"));
    }
    let whole = request(1, "ping", json!({})).to_string();
    let half = [("Transfer-Encoding", "chunked")];
    let answer = post(address, &half, "zz\r\n").await;
    assert_eq!(answer.status, 400, "{answer:?}");
    let null = whole.replace("{}", "null");
    assert_eq!(post(address, &[], &null).await.status, 200);
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":null}"#;
    assert_eq!(post(address, &[], note).await.status, 202);
    let bare = request(1, "server/discover", json!({})).to_string();
    let answer = post(address, &[], &bare).await;
    assert_eq!(
        (answer.status, &answer.json()["error"]["code"]),
        (400, &json!(-32602))
    );
    for (message, status, code) in [
        (modern(1, "prompts/list", json!({})), 404, -32601),
        (modern(1, "initialize", json!({})), 404, -32601),
        (modern(1, "ping", json!({})), 404, -32601),
        (modern(1, "no/such", json!({})), 404, -32601),
        (modern(1, "tools/list", json!({"cursor": "x"})), 200, -32602),
        (
            modern(1, "tools/call", json!({"name": "nope"})),
            200,
            -32602,
        ),
    ] {
        let answer = ask_modern(address, &message).await;
        assert_eq!(answer.status, status, "{message}");
        assert_eq!(answer.json()["error"]["code"], code, "{message}");
        assert_eq!(answer.json()["id"], 1, "{message}");
    }
    let listed = modern(1, "tools/list", json!({}));
    for headers in [
        &[][..],
        &[("MCP-Protocol-Version", MODERN)],
        &[
            ("MCP-Protocol-Version", MODERN),
            ("Mcp-Method", "tools/call"),
        ],
        &[
            ("MCP-Protocol-Version", "2025-11-25"),
            ("Mcp-Method", "tools/list"),
        ],
    ] {
        let answer = post(address, headers, &listed.to_string()).await;
        assert_eq!(answer.status, 400, "{headers:?}");
        assert_eq!(answer.json()["error"]["code"], -32020, "{headers:?}");
    }
}

#[tokio::test]
async fn what_the_newest_revision_has_not_is_said_first() {
    let address = open().await;
    let mut future = modern(1, "tools/list", json!({}));
    future["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let version = ("MCP-Protocol-Version", "2099-01-01");
    // The headers that an unknown revision requires are unknown, so the version is checked first.
    for headers in [&[version][..], &[version, ("Mcp-Method", "tools/list")]] {
        let answer = post(address, headers, &future.to_string()).await;
        assert_eq!(answer.status, 400, "{headers:?}");
        let error = &answer.json()["error"];
        assert_eq!(error["code"], -32022, "{headers:?}");
        assert_eq!(error["data"]["requested"], "2099-01-01");
        assert_eq!(error["data"]["supported"].as_array().unwrap().len(), 4);
    }
    let newest = [("MCP-Protocol-Version", MODERN)];
    let answer = post(address, &newest, &future.to_string()).await;
    assert_eq!(answer.json()["error"]["code"], -32020, "it says two things");

    // As the older revisions have them, with all that they want.
    let begin = initialize(1, "2025-11-25")["params"].clone();
    for (method, params) in [
        ("initialize", begin),
        ("resources/subscribe", json!({"uri": "file:///x"})),
        ("resources/unsubscribe", json!({"uri": "file:///x"})),
        ("logging/setLevel", json!({"level": "info"})),
    ] {
        let message = modern(1, method, params);
        let answer = ask_modern(address, &message).await;
        assert_eq!(answer.status, 404, "{method}");
        assert_eq!(answer.json()["error"]["code"], -32601, "{method}");
        let wrong = [newest[0], ("Mcp-Method", "tools/list")];
        let answer = post(address, &wrong, &message.to_string()).await;
        assert_eq!(answer.status, 400, "{method}");
    }
}

#[tokio::test]
async fn batches_are_for_the_oldest_revision() {
    let address = open().await;
    let mut told = call(1, "progress", "");
    told["params"]["_meta"]["progressToken"] = json!(1);
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let batch = json!(
        [told, note, call(2, "b", ""), initialize(3, "2025-03-26"), {
        }]
    );
    for headers in [&[][..], &[("MCP-Protocol-Version", "2025-03-26")]] {
        let answer = post(address, headers, &batch.to_string()).await;
        assert_eq!(answer.status, 200);
        let answers = answer.json();
        assert_eq!(answers.as_array().unwrap().len(), 4, "{answers}");
        assert_eq!(answers[0]["result"]["structuredContent"]["said"], "done");
        assert_eq!(answers[1]["result"]["structuredContent"]["said"], "b");
        assert_eq!(answers[2]["error"]["code"], -32600);
        assert_eq!(answers[3]["error"]["code"], -32600);
    }
    let notes = json!([note, note]).to_string();
    assert_eq!(post(address, &[], &notes).await.status, 202);
    let answer = post(address, LEGACY, &batch.to_string()).await;
    assert_eq!(
        (answer.status, &answer.json()["error"]["code"]),
        (400, &json!(-32600))
    );
}

#[tokio::test]
async fn strangers_are_kept_out_before_anything_is_read() {
    let address = open().await;
    let ping = request(1, "ping", json!({})).to_string();
    assert_eq!(
        post(address, &[("Host", "localhost:1")], &ping)
            .await
            .status,
        200
    );
    assert_eq!(
        post(address, &[("Host", "evil.example")], &ping)
            .await
            .status,
        403
    );
    assert_eq!(
        post(address, &[("Origin", "https://evil.example")], &ping)
            .await
            .status,
        403
    );
    assert_eq!(
        post(address, &[("Origin", "http://localhost:1")], &ping)
            .await
            .status,
        200
    );

    let address = start(Guard::loopback(Some(Secret::new("s3cret")))).await;
    let answer = post(address, &[], "{").await;
    assert_eq!(answer.status, 401);
    assert!(
        answer.head.contains("www-authenticate: bearer"),
        "{answer:?}"
    );
    let sent = |value| [("Authorization", value)];
    assert_eq!(
        post(address, &sent("Bearer wrong"), &ping).await.status,
        401
    );
    assert_eq!(
        post(address, &sent("Bearer s3cret"), &ping).await.status,
        200
    );
}

#[tokio::test]
async fn there_is_one_way_in() {
    let address = open().await;
    for method in ["GET", "DELETE", "HEAD", "PUT"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let text =
            format!("{method} /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 405"), "{method}: {answer}");
        assert!(answer.to_lowercase().contains("allow: post"), "{answer}");
    }
    let mut stream = TcpStream::connect(address).await.unwrap();
    let text = "GET /sse HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    assert!(answer.ends_with("MCP is served at /mcp\n"), "{answer}");
}

#[tokio::test]
async fn a_lost_connection_ends_a_call() {
    let address = open().await;
    let newest = [
        ("MCP-Protocol-Version", MODERN),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "probe_run"),
    ];
    for (headers, key, message) in [
        (
            &newest[..],
            "lost-modern",
            modern_call(1, "wait", "lost-modern"),
        ),
        (LEGACY, "lost-legacy", call(1, "wait", "lost-legacy")),
        (
            &[],
            "lost-in-batch",
            json!([call(1, "hello", ""), call(2, "wait", "lost-in-batch")]),
        ),
    ] {
        let stream = begin(address, headers, &message.to_string()).await;
        until("it runs", || probe::begun(key)).await;
        drop(stream);
        until("it is dropped", || probe::gone(key)).await;
    }
}

#[tokio::test]
async fn an_older_client_may_say_that_it_wants_no_answer() {
    let address = open().await;
    let agent = |name| [("MCP-Protocol-Version", "2025-11-25"), ("User-Agent", name)];
    let message = call(1, "wait", "http-legacy").to_string();
    let stream = begin(address, &agent("mine"), &message).await;
    until("it runs", || probe::begun("http-legacy")).await;
    // A cancellation by another client does not match a call with the same id.
    let other = agent("other");
    assert_eq!(
        post(address, &other, &cancel(1).to_string()).await.status,
        202
    );
    post(address, &other, &request(2, "ping", json!({})).to_string()).await;
    assert!(!probe::gone("http-legacy"));
    let mine = agent("mine");
    assert_eq!(
        post(address, &mine, &cancel(1).to_string()).await.status,
        202
    );
    until("it is dropped", || probe::gone("http-legacy")).await;
    drop(stream);
}

#[tokio::test]
async fn a_call_that_the_end_of_the_server_cuts_off_is_told_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let router = http::router(server(false), Guard::loopback(None), stop.clone());
    tokio::spawn(axum::serve(listener, router).into_future());
    let message = call(1, "wait", "http-stopped").to_string();
    let answer = tokio::spawn(async move { post(address, LEGACY, &message).await });
    until("it runs", || probe::begun("http-stopped")).await;
    stop.cancel();
    let answer = answer.await.unwrap();
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(answer.body.contains("may have been done"), "{answer:?}");
}
