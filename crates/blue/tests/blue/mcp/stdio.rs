//! On stdin and stdout

use blue_tools::tools::ALL;
use serde_json::{Value, json};

use super::{Forge, Server, branches, initialize};
use crate::cli::Blue;

#[test]
fn a_session_from_the_first_line_to_the_last() {
    let forge = Forge::start();
    let blue = forge.for_client();
    // However much is logged, stdout has messages only.
    let mut server = Server::start(&blue, &["-vvv"]);
    let answer = server.ask(1, "initialize", &initialize());
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    let instructions = answer["result"]["instructions"].as_str().unwrap();
    assert!(instructions.contains("repo_status") && instructions.len() <= 600);
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let answer = server.ask(2, "tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), ALL.len(), "{answer}");
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{tool}");
    }
    let answer = server.ask(3, "tools/call", &branches());
    let result = &answer["result"];
    assert!(
        result["structuredContent"]["branches"].is_array(),
        "{answer}"
    );
    let text = result["content"][0]["text"].as_str().unwrap();
    let text: Value = serde_json::from_str(text).unwrap();
    assert_eq!(text, result["structuredContent"]);
    drop(server.input.take());
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
fn the_end_of_the_input_is_the_end_of_a_call() {
    let forge = Forge::start();
    let blue = forge.for_client();
    forge.hold("*/branches*");
    let mut server = Server::start(&blue, &[]);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": branches()});
    server.send(&call);
    forge.holds();
    drop(server.input.take());
    assert_eq!(
        server.ended().code(),
        Some(0),
        "long before the forge answers"
    );
}

#[test]
fn a_call_that_is_called_off_leaves_the_forge_alone() {
    let forge = Forge::start();
    let blue = forge.for_client();
    forge.hold("*/branches*");
    let log = blue.home().join("log");
    let stderr = std::fs::File::create(&log).unwrap().into();
    let mut server = Server::start_logging(&blue, &[], stderr);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": branches()});
    server.send(&call);
    forge.holds();
    let cancelled = json!({"requestId": 1, "reason": "enough"});
    server
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}));
    forge.faults("GET", "");
    // The next answer is that of the next request: nothing is said of the first any more.
    let read = json!({"name": "dir_list", "arguments": {"owner": "acme", "name": "storefront"}});
    let answer = server.ask(2, "tools/call", &read);
    assert!(
        answer["result"]["structuredContent"].is_object(),
        "{answer}"
    );
    drop(server.input.take());
    assert_eq!(server.ended().code(), Some(0));
    // Nothing of this is worth a warning.
    assert_eq!(std::fs::read_to_string(log).unwrap(), "");
}

#[test]
#[cfg(unix)]
fn polite_signals_end_it_well() {
    for signal in ["INT", "TERM", "HUP"] {
        let blue = Blue::new();
        let mut server = Server::start(&blue, &[]);
        server.ask(1, "ping", &json!({}));
        server.signal(signal);
        assert_eq!(server.ended().code(), Some(0), "{signal}");
    }
}

#[test]
fn limits_hold() {
    let forge = Forge::start();
    let blue = forge.for_client();
    let mut server = Server::start(&blue, &["--read-only", "--allow", "somebody"]);
    let answer = server.ask(1, "tools/list", &json!({}));
    for tool in answer["result"]["tools"].as_array().unwrap() {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    }
    let code = |answer: &Value| {
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        serde_json::from_str::<Value>(text).unwrap()["error"]["code"].clone()
    };
    let tag = json!({"owner": "acme", "name": "storefront", "tag": "v9", "target": "main"});
    let answer = server.ask(
        2,
        "tools/call",
        &json!({"name": "tag_create", "arguments": tag}),
    );
    assert_eq!(code(&answer), "read_only");
    let answer = server.ask(3, "tools/call", &branches());
    assert_eq!(code(&answer), "not_allowed", "{answer}");
}

#[test]
fn names_that_mean_nothing_are_wrong_usage() {
    for (args, message) in [
        (&["--tools", "pr_marge"][..], "`pr_merge`"),
        (&["--toolset", "branchs"], "`branch`"),
        (&["--exclude", "file_raed"], "`file_read`"),
        (&["--tools", "pr_list", "--exclude", "pr"], "`--read-only`"),
        (&["--http", "0.0.0.0:0", "--no-bearer"], "`--no-bearer`"),
    ] {
        let ran = Blue::new().run(&[&["mcp", "--json"], args].concat());
        assert_eq!(ran.code, Some(2), "{ran}");
        let hint = ran.json()["error"]["hint"].clone();
        assert!(hint.as_str().unwrap().contains(message), "{ran}");
    }
    let mut server = Server::start(&Blue::new(), &["--tools", "pr_list, repo_status"]);
    let answer = server.ask(1, "tools/list", &json!({}));
    assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), 2);
    let ran = Blue::new().var("GITEA_URL", "not a url").run(&["mcp"]);
    assert_eq!(ran.code, Some(64), "{ran}");
    let ran = Blue::new().run(&["mcp", "--http", "0", "--bearer-file", "nothing"]);
    assert_eq!(ran.code, Some(64), "{ran}");
    let ran = Blue::new().run(&["mcp", "--bearer-file", "nothing"]);
    assert_eq!(ran.code, Some(2), "{ran}");
}
