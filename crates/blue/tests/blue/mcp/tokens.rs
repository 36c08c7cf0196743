//! Where a token goes when a call names the host

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

use super::{Forge, Server};
use crate::cli::Blue;

/// A server that says it is a Gitea, and keeps the head of every request
struct Hostile {
    address: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Hostile {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heads);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || answer(stream, &kept));
            }
        });
        Self { address, heads }
    }

    /// How many requests came, and how many with a token
    fn got(&self) -> (usize, usize) {
        let heads = self.heads.lock().unwrap();
        let with = |head: &&String| head.to_lowercase().contains("authorization:");
        (heads.len(), heads.iter().filter(with).count())
    }
}

fn answer(mut stream: TcpStream, kept: &Mutex<Vec<String>>) {
    let mut head = String::new();
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    while !head.ends_with("\r\n\r\n") {
        if lines.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let version = head.starts_with("GET /api/v1/version ");
    kept.lock().unwrap().push(head);
    let body = if version {
        r#"{"version":"1.26.0"}"#
    } else {
        "{}"
    };
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
}

fn read_on(host: &str) -> Value {
    json!({"name": "file_read", "arguments":
        {"owner": "acme", "name": "storefront", "path": "README.md", "host": host}})
}

fn error_of(answer: &Value) -> Value {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    serde_json::from_str::<Value>(text).unwrap()["error"].clone()
}

#[test]
fn a_host_in_the_arguments_gets_no_token() {
    for name in ["GITEA_TOKEN", "FORGEJO_TOKEN", "GITHUB_TOKEN"] {
        let evil = Hostile::start();
        let home = tempfile::tempdir().unwrap();
        let blue = Blue::new()
            .var(name, "hunter2")
            .var("BLUE_HOME", home.path().to_str().unwrap())
            .var("BLUE_GIT_CREDENTIALS", "off");
        let mut server = Server::start(&blue, &[]);
        let answer = server.ask(1, "tools/call", &read_on(&evil.address));
        let (requests, with_token) = evil.got();
        assert!(requests > 0, "{name}: it was not even asked what it is");
        assert_eq!(with_token, 0, "{name}: {answer}");
        assert!(!home.path().join("hosts.yaml").exists(), "{name}");
        if name == "GITHUB_TOKEN" {
            continue;
        }
        let error = error_of(&answer);
        assert_eq!(error["code"], "token_host", "{error}");
        let hint = error["hint"].as_str().unwrap();
        let trust = format!("`blue forge trust {}`", evil.address);
        assert!(
            hint.contains(&trust) && hint.contains("FORGEJO_URL"),
            "{hint}"
        );
    }
}

#[test]
fn a_host_that_its_person_named_gets_it_and_that_is_said() {
    let forge = Forge::start();
    let host = forge.url().strip_prefix("http://").unwrap().to_owned();
    let blue = Blue::new()
        .var("GITEA_TOKEN", forge.token())
        .var("BLUE_GIT_CREDENTIALS", "off");
    // Typed on the command line it is a person's word, which counts for a server too.
    let ran = blue.run(&[
        "file",
        "read",
        "README.md",
        "-R",
        &format!("{host}/acme/storefront"),
    ]);
    assert!(ran.to_string().contains("its first host"), "{ran}");
    let mut server = Server::start(&blue, &[]);
    let answer = server.ask(1, "tools/call", &read_on(&host));
    assert!(
        answer["result"]["structuredContent"].is_object(),
        "{answer}"
    );
    let evil = Hostile::start();
    let answer = server.ask(2, "tools/call", &read_on(&evil.address));
    assert_eq!(error_of(&answer)["code"], "token_host", "{answer}");
    assert_eq!(evil.got().1, 0);
}

#[test]
fn where_a_token_belongs_from_now_on_is_said_unasked() {
    let forge = Forge::start();
    let blue = Blue::new()
        .var("GITEA_TOKEN", forge.token())
        .var("BLUE_GIT_CREDENTIALS", "off");
    let clone = tempfile::tempdir().unwrap();
    let remote = format!("{}/acme/storefront.git", forge.url());
    for args in [&["init", "-q"][..], &["remote", "add", "origin", &remote]] {
        let ran = std::process::Command::new("git")
            .current_dir(clone.path())
            .args(args)
            .status();
        assert!(ran.unwrap().success());
    }
    let mut child = blue
        .command(&["mcp", "-C", clone.path().to_str().unwrap()])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "branch_list", "arguments": {}}});
    writeln!(child.stdin.as_mut().unwrap(), "{call}").unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    assert!(
        line.contains("WARN") && line.contains("its first host"),
        "{line}"
    );
    drop(child.stdin.take());
    let mut rest = String::new();
    log.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(rest, "", "it is said once");
}
