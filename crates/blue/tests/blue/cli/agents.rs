//! The lines of `blue up` that add it to agents: pasted into a shell, and then obeyed

use std::{
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{Blue, sandbox::Running};

/// What an agent would start
#[derive(Debug)]
struct Start {
    command: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

#[test]
fn each_line_adds_a_server_that_works() {
    let blue = Blue::new();
    let running = Running::start(&blue, &["up", "--json"]);
    let lines = running.ready()["add_to"].as_object().unwrap().clone();
    let names: Vec<_> = lines.keys().collect();
    assert_eq!(names, ["claude_code", "codex", "cursor", "vscode"]);
    for (agent, line) in &lines {
        let words = pasted(blue.home(), line.as_str().unwrap());
        let start = match agent.as_str() {
            "claude_code" => after_dashes(&words, &["mcp", "add", "blue"], "-e"),
            "codex" => after_dashes(&words, &["mcp", "add", "blue"], "--env"),
            "vscode" => {
                assert_eq!(words[0], "--add-mcp");
                let config: Value = serde_json::from_str(&words[1]).unwrap();
                assert_eq!(config["name"], "blue");
                configured(&config)
            }
            _ => {
                let (_, config) = words[0].split_once("name=blue&config=").unwrap();
                let config = config
                    .replace("%2B", "+")
                    .replace("%2F", "/")
                    .replace("%3D", "=");
                let config = STANDARD.decode(config).unwrap();
                configured(&serde_json::from_slice(&config).unwrap())
            }
        };
        works(&blue, agent, &start);
    }
}

/// Let a shell run the line where every agent is a script that keeps its arguments
fn pasted(home: &Path, line: &str) -> Vec<String> {
    let (bin, kept) = (home.join("bin"), home.join("kept"));
    std::fs::create_dir_all(&bin).unwrap();
    for agent in ["claude", "codex", "code", "xdg-open"] {
        let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > '{}'\n", kept.display());
        let file = bin.join(agent);
        std::fs::write(&file, script).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let status = Command::new("/bin/sh")
        .args(["-c", line])
        .env_clear()
        .env("PATH", &bin)
        .status()
        .unwrap();
    assert!(status.success(), "{line}");
    let words = std::fs::read_to_string(kept).unwrap();
    words.lines().map(str::to_owned).collect()
}

fn after_dashes(words: &[String], first: &[&str], flag: &str) -> Start {
    assert_eq!(words[..first.len()], *first);
    let dashes = words.iter().position(|word| word == "--").unwrap();
    let env = words[first.len()..dashes].chunks(2).map(|two| {
        assert_eq!(two[0], flag);
        let (name, value) = two[1].split_once('=').unwrap();
        (name.to_owned(), value.to_owned())
    });
    Start {
        command: words[dashes + 1].clone(),
        args: words[dashes + 2..].to_vec(),
        env: env.collect(),
    }
}

fn configured(config: &Value) -> Start {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    Start {
        command: text(&config["command"]),
        args: config["args"]
            .as_array()
            .unwrap()
            .iter()
            .map(text)
            .collect(),
        env: config["env"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), text(value)))
            .collect(),
    }
}

/// Start it as an agent does and ask it about a repository
fn works(blue: &Blue, agent: &str, start: &Start) {
    let mut child = Command::new(&start.command)
        .args(&start.args)
        .env_clear()
        .env("HOME", blue.home())
        .envs(start.env.iter().cloned())
        .current_dir(blue.home())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}
    });
    let call = json!({
        "name": "repo_status", "arguments": {"owner": "acme", "name": "storefront"}
    });
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ] {
        writeln!(stdin, "{message}").unwrap();
    }
    let mut answers =
        std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let answer = loop {
        let line = answers.next().unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["id"] == 2 {
            break message;
        }
    };
    drop(stdin);
    let result = &answer["result"];
    assert_ne!(result["isError"], true, "{agent}: {answer}");
    assert_eq!(
        result["structuredContent"]["default_branch"], "main",
        "{agent}: {answer}"
    );
    assert!(child.wait().unwrap().success(), "{agent}");
}
