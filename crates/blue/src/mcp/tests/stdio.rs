//! Lines in, lines out

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{call, cancel, error_of, initialize, modern, probe, request, server, until};
use blue_mcp::stdio;

/// The far end of a server's stdin and stdout
struct Wire {
    input: Option<DuplexStream>,
    output: Lines<BufReader<DuplexStream>>,
    served: JoinHandle<()>,
    stop: CancellationToken,
}

impl Wire {
    fn open(read_only: bool) -> Self {
        Self::with_room(read_only, 1 << 20)
    }

    /// So many bytes can be written before some are read
    fn with_room(read_only: bool, room: usize) -> Self {
        let (input, theirs) = tokio::io::duplex(1 << 16);
        let (mine, output) = tokio::io::duplex(room);
        let stop = CancellationToken::new();
        let served = stdio::serve(server(read_only), theirs, output, stop.clone());
        Self {
            input: Some(input),
            output: BufReader::new(mine).lines(),
            served: tokio::spawn(served),
            stop,
        }
    }

    async fn line(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).await.unwrap();
        input.write_all(b"\n").await.unwrap();
    }

    async fn send(&mut self, message: &Value) {
        self.line(&message.to_string()).await;
    }

    async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(20), self.output.next_line());
        let line = line.await.expect("an answer").unwrap().expect("a line");
        serde_json::from_str(&line).unwrap()
    }

    async fn ask(&mut self, message: &Value) -> Value {
        self.send(message).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], message["id"], "{answer}");
        answer
    }

    /// Close the input; the server must end by itself
    async fn end(mut self) {
        drop(self.input.take());
        let ended = tokio::time::timeout(Duration::from_secs(20), self.served);
        ended.await.expect("it ends").unwrap();
    }
}

#[tokio::test]
async fn what_comes_before_the_handshake_ends_nothing() {
    let mut wire = Wire::open(false);
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    wire.send(&cancel(99)).await;
    // Some clients write null for nothing; and whatever is wrong with a notification, it has no answer.
    let note =
        |params| json!({"jsonrpc": "2.0", "method": "notifications/initialized", "params": params});
    wire.send(&note(Value::Null)).await;
    wire.send(&note(json!([]))).await;
    let answer = wire.ask(&request(4, "tools/list", Value::Null)).await;
    assert!(answer["result"]["tools"].is_array(), "{answer}");
    wire.line("").await;
    wire.line("garbage").await;
    assert_eq!(wire.next().await["error"]["code"], -32700);
    wire.line("{\"jsonrpc\":\"2.0\",\"id\":5}").await;
    let answer = wire.next().await;
    assert_eq!(
        (&answer["error"]["code"], &answer["id"]),
        (&json!(-32600), &json!(5))
    );
    let bare = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
    let error = wire.ask(&request(1, "initialize", bare)).await["error"].clone();
    assert_eq!(error["code"], -32602);
    let said = error["message"].as_str().unwrap();
    assert!(said.ends_with("missing field `clientInfo`"), "{said}");
    let answer = wire.ask(&initialize(1, "2025-06-18")).await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answer["result"]["serverInfo"]["name"], "blue");
    assert_eq!(answer["result"]["capabilities"], json!({"tools": {}}));
    wire.end().await;
}

#[tokio::test]
async fn each_revision_gets_the_shape_it_knows() {
    let mut wire = Wire::open(false);
    let answer = wire.ask(&modern(0, "server/discover", json!({}))).await;
    let result = &answer["result"];
    assert_eq!(
        result["supportedVersions"],
        json!(["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])
    );
    assert_eq!(result["resultType"], "complete");
    assert!(result["ttlMs"].is_u64() && result["cacheScope"] == "private");
    for (asked, agreed) in [
        ("2025-03-26", "2025-03-26"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let answer = wire.ask(&initialize(1, asked)).await;
        assert_eq!(answer["result"]["protocolVersion"], agreed, "{asked}");
    }
    // After that handshake a plain request is of the older kind, whatever was asked for.
    let answer = wire.ask(&request(2, "tools/list", json!({}))).await;
    let result = answer["result"].as_object().unwrap();
    assert_eq!(result.keys().collect::<Vec<_>>(), ["tools"]);
    assert_eq!(
        wire.ask(&request(3, "ping", json!({}))).await["result"],
        json!({})
    );
    // And one that carries its version is of the newer kind, on the same connection.
    let answer = wire.ask(&modern(4, "tools/list", json!({}))).await;
    let result = &answer["result"];
    let about = "io.modelcontextprotocol/serverInfo";
    assert_eq!(result["_meta"][about]["name"], "blue");
    assert_eq!(result["resultType"], "complete");
    assert!(result["ttlMs"].is_u64() && result["cacheScope"] == "private");
    for gone in [
        "ping",
        "initialize",
        "logging/setLevel",
        "resources/subscribe",
    ] {
        let answer = wire.ask(&modern(5, gone, json!({}))).await;
        assert_eq!(answer["error"]["code"], -32601, "{gone}");
    }
    let mut bare = modern(6, "tools/list", json!({}));
    let meta = bare["params"]["_meta"].as_object_mut().unwrap();
    meta.remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(wire.ask(&bare).await["error"]["code"], -32602);
    wire.end().await;
}

#[tokio::test]
async fn what_is_not_offered_is_not_there() {
    let mut wire = Wire::open(false);
    for method in [
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "completion/complete",
        "logging/setLevel",
        "subscriptions/listen",
        "tasks/get",
        "no/such",
    ] {
        for message in [request(1, method, json!({})), modern(1, method, json!({}))] {
            let answer = wire.ask(&message).await;
            assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
        }
    }
    let answer = wire
        .ask(&request(2, "tools/list", json!({"cursor": "x"})))
        .await;
    assert_eq!(answer["error"]["code"], -32602);
    wire.end().await;
}

#[tokio::test]
async fn a_call_is_answered_as_object_and_as_text() {
    let mut wire = Wire::open(false);
    let answer = wire.ask(&call(1, "hello", "")).await;
    let result = &answer["result"];
    let object = json!({"said": "hello", "next_steps": ["Look with probe_run"]});
    assert_eq!(result["structuredContent"], object);
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, object);

    let mut long = call(2, "hello", "");
    long["params"]["name"] = json!("blue_probe_run");
    assert!(wire.ask(&long).await["result"]["structuredContent"].is_object());
    long["params"]["name"] = json!("probe_rum");
    let error = wire.ask(&long).await["error"].clone();
    assert_eq!(error["code"], -32602);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .ends_with("did you mean `probe_run`?")
    );

    long["params"]["name"] = json!("probe_\u{200b}run");
    let error = wire.ask(&long).await["error"].clone();
    let said = error["message"].as_str().unwrap();
    assert!(said.contains(r"`probe_\u{200b}run`"), "{said}");

    // Comparing takes time, and this is nothing that was mistyped.
    long["params"]["name"] = json!(format!("probe_run{}", "x".repeat(200)));
    let error = wire.ask(&long).await["error"].clone();
    assert!(!error["message"].as_str().unwrap().contains("did you mean"));

    let bad = request(
        3,
        "tools/call",
        json!({"name": "probe_run", "arguments": {"wat": 1}}),
    );
    let error = error_of(&wire.ask(&bad).await["result"]);
    assert_eq!(error["code"], "invalid");
    assert_eq!(error["hint"], "did you mean `what`?");
    for odd in [
        json!({}),
        json!({"name": 5}),
        json!({"name": "probe_run", "arguments": "x"}),
    ] {
        let answer = wire.ask(&request(4, "tools/call", odd)).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let error = error_of(&wire.ask(&call(5, "big", "")).await["result"]);
    assert_eq!(error["code"], "too_large");
    wire.end().await;
}

#[tokio::test]
async fn an_answer_is_measured_as_it_travels() {
    let mut wire = Wire::open(false);
    // One is two bytes in the object, and four in its text. Of 60,000 bytes 3,000 are kept for notes.
    for message in [
        call(1, "quotes", "9350"),
        modern(1, "tools/call", call(1, "quotes", "9350")["params"].clone()),
    ] {
        let answer = wire.ask(&message).await;
        let size = answer["result"].to_string().len();
        assert!(size > 56_000 && size <= 57_000, "{size}");
    }
    // Without them both copies are of one size.
    let answer = wire.ask(&call(1, "plain", "28100")).await;
    let size = answer["result"].to_string().len();
    assert!(size > 56_000 && size <= 57_000, "{size}");
    let error = error_of(&wire.ask(&call(2, "quotes", "9450")).await["result"]);
    assert_eq!(error["code"], "too_large");
    wire.end().await;
}

#[tokio::test]
async fn a_panic_is_the_end_of_its_call_only() {
    let mut wire = Wire::open(false);
    let error = error_of(&wire.ask(&call(1, "panic", "")).await["result"]);
    assert_eq!(error["code"], "internal");
    assert!(wire.ask(&call(2, "hello", "")).await["result"]["structuredContent"].is_object());
    wire.end().await;
}

#[tokio::test]
async fn read_only_hides_and_refuses() {
    let mut wire = Wire::open(true);
    let answer = wire.ask(&request(1, "tools/list", json!({}))).await;
    let tools = answer["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1, "{answer}");
    let change = json!({"name": "probe_change", "arguments": {"what": "x"}});
    let answer = wire.ask(&request(2, "tools/call", change)).await;
    assert_eq!(error_of(&answer["result"])["code"], "read_only");
    wire.end().await;
}

#[tokio::test]
async fn progress_grows_and_comes_before_the_answer() {
    let mut wire = Wire::open(false);
    let mut message = call(1, "progress", "");
    message["params"]["_meta"]["progressToken"] = json!("t");
    wire.send(&message).await;
    let mut seen = Vec::new();
    let answer = loop {
        let next = wire.next().await;
        if next["id"] == 1 {
            break next;
        }
        assert_eq!(next["method"], "notifications/progress");
        assert_eq!(next["params"]["progressToken"], "t");
        assert_eq!(next["params"]["total"], 2.0);
        seen.push(next["params"]["progress"].as_f64().unwrap());
    };
    assert_eq!(seen, [0.0, 1.0, 2.0], "each larger than the one before");
    assert_eq!(answer["result"]["structuredContent"]["said"], "done");
    // Without a progress token there are no notifications.
    let answer = wire.ask(&call(2, "progress", "")).await;
    assert_eq!(answer["result"]["structuredContent"]["said"], "done");
    wire.end().await;
}

#[tokio::test]
async fn a_call_that_is_called_off_is_dropped_and_never_answered() {
    let mut wire = Wire::open(false);
    wire.send(&call(1, "wait", "called-off")).await;
    until("it runs", || probe::begun("called-off")).await;
    // Others do not wait for it.
    wire.ask(&call(2, "hello", "")).await;
    wire.send(&cancel(1)).await;
    until("it is dropped", || probe::gone("called-off")).await;
    wire.ask(&request(3, "ping", json!({}))).await;
    wire.end().await;
}

#[tokio::test]
async fn a_client_that_does_not_read_can_still_call_off() {
    let mut wire = Wire::with_room(false, 1 << 10);
    let mut message = call(1, "tell", "not-read");
    message["params"]["_meta"]["progressToken"] = json!(1);
    wire.send(&message).await;
    until("it has told much", || probe::begun("not-read")).await;
    wire.send(&cancel(1)).await;
    until("it is dropped", || probe::gone("not-read")).await;
}

#[tokio::test]
async fn batches_are_for_the_oldest_revision() {
    let mut wire = Wire::open(false);
    wire.ask(&initialize(1, "2025-03-26")).await;
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let batch = json!([
        call(2, "a", ""),
        note,
        call(3, "b", ""),
        7,
        initialize(4, "2025-03-26")
    ]);
    wire.send(&batch).await;
    let answers = wire.next().await;
    let answers = answers.as_array().unwrap();
    let with = |id: i64| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert_eq!(answers.len(), 4, "{answers:?}");
    assert_eq!(with(2)["result"]["structuredContent"]["said"], "a");
    assert_eq!(with(3)["result"]["structuredContent"]["said"], "b");
    assert_eq!(with(4)["error"]["code"], -32600);
    // A batch is complete without what was called off.
    wire.send(&json!([call(5, "wait", "in-batch"), call(6, "c", "")]))
        .await;
    until("it runs", || probe::begun("in-batch")).await;
    wire.send(&cancel(5)).await;
    let answers = wire.next().await;
    assert_eq!(answers.as_array().unwrap().len(), 1);
    assert_eq!(answers[0]["id"], 6);
    wire.send(&json!([])).await;
    assert_eq!(wire.next().await["error"]["code"], -32600);

    wire.ask(&initialize(7, "2025-06-18")).await;
    wire.send(&json!([call(8, "a", "")])).await;
    let answer = wire.next().await;
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    wire.end().await;
}

#[tokio::test]
async fn an_id_is_of_one_request_at_a_time() {
    let mut wire = Wire::open(false);
    wire.ask(&initialize(1, "2025-03-26")).await;
    let ping = |id| request(id, "ping", json!({}));
    wire.send(&json!([ping(10), ping(10), ping(11)])).await;
    let answers = wire.next().await;
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 3, "{answers:?}");
    let errors: Vec<_> = answers.iter().filter_map(|a| a.get("error")).collect();
    assert_eq!(errors.len(), 1, "{answers:?}");
    assert_eq!(errors[0]["code"], -32600);

    wire.send(&call(20, "wait", "first-of-20")).await;
    until("it runs", || probe::begun("first-of-20")).await;
    let answer = wire.ask(&call(20, "wait", "second-of-20")).await;
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert!(!probe::begun("second-of-20"));
    wire.send(&cancel(20)).await;
    until("it is dropped", || probe::gone("first-of-20")).await;
    // The end of a call that is called off is not taken for that of the next with its id.
    for _ in 0..20 {
        wire.send(&call(20, "wait", "again-20")).await;
        wire.send(&cancel(20)).await;
        let answer = wire.ask(&call(20, "hello", "")).await;
        assert_eq!(
            answer["result"]["structuredContent"]["said"], "hello",
            "{answer}"
        );
    }
    // What was answered or called off leaves its id to others.
    for _ in 0..2 {
        let answer = wire.ask(&call(20, "hello", "")).await;
        assert!(
            answer["result"]["structuredContent"].is_object(),
            "{answer}"
        );
    }
    wire.end().await;
}

#[tokio::test]
async fn an_unknown_method_is_not_repeated_at_length() {
    let mut wire = Wire::open(false);
    let answer = wire.ask(&request(1, &"m".repeat(100_000), json!({}))).await;
    assert_eq!(answer["error"]["code"], -32601);
    assert!(answer.to_string().len() < 300);
    wire.end().await;
}

#[tokio::test]
async fn the_end_of_the_input_ends_calls_too() {
    let mut wire = Wire::open(false);
    wire.send(&call(1, "wait", "at-the-end")).await;
    until("it runs", || probe::begun("at-the-end")).await;
    wire.end().await;
    assert!(probe::gone("at-the-end"));
}

#[tokio::test]
async fn what_was_asked_before_the_end_is_still_answered() {
    let mut wire = Wire::open(false);
    // As in `printf … | blue mcp`; the last line has no end.
    let text = format!("{}\n{}", initialize(1, "2025-11-25"), call(2, "late", ""));
    let mut input = wire.input.take().unwrap();
    input.write_all(text.as_bytes()).await.unwrap();
    drop(input);
    assert_eq!(wire.next().await["id"], 1);
    let answer = wire.next().await;
    assert_eq!(answer["result"]["structuredContent"]["said"], "late");
    wire.end().await;
}

#[tokio::test]
async fn being_told_to_stop_ends_calls() {
    let mut wire = Wire::open(false);
    wire.send(&call(1, "wait", "stopped")).await;
    until("it runs", || probe::begun("stopped")).await;
    wire.stop.cancel();
    let served = tokio::time::timeout(Duration::from_secs(20), &mut wire.served);
    served.await.expect("it ends").unwrap();
    assert!(probe::gone("stopped"));
}
