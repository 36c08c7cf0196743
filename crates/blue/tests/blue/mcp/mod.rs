//! `blue mcp` as clients start it

mod clients;
mod http;
mod stdio;
mod tokens;

use std::{
    io::{BufRead, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::cli::Blue;

/// The program with its pipes; killed when the test ends
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(blue: &Blue, args: &[&str]) -> Self {
        Self::start_logging(blue, args, Stdio::null())
    }

    fn start_logging(blue: &Blue, args: &[&str], log: Stdio) -> Self {
        let mut child = blue
            .command(&[&["mcp"], args].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            input,
            output,
        }
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"))
    }

    fn ask(&mut self, id: i64, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Wait for the end of the program, not for ever
    fn ended(&mut self) -> ExitStatus {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[cfg(unix)]
    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = std::process::Command::new("kill")
            .args(["-s", name, &pid])
            .status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A sandbox that can go wrong, and whose first user is its admin
struct Forge {
    child: Child,
    ready: Value,
    /// Its folder is where the sandbox keeps everything
    _blue: Blue,
}

impl Forge {
    fn start() -> Self {
        let blue = Blue::new();
        let mut child = blue
            .command(&["sandbox", "--json", "--faults", "--seed", "demo"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let ready = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        Self {
            child,
            ready,
            _blue: blue,
        }
    }

    fn url(&self) -> &str {
        self.ready["url"].as_str().unwrap()
    }

    fn token(&self) -> &str {
        self.ready["users"][0]["token"].as_str().unwrap()
    }

    /// What a client's environment names
    fn for_client(&self) -> Blue {
        Blue::new()
            .var("FORGEJO_URL", self.url())
            .var("FORGEJO_TOKEN", self.token())
            .var("BLUE_GIT_CREDENTIALS", "off")
    }

    fn faults(&self, method: &str, body: &str) -> Value {
        let address = self.url().strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "{method} /-/sandbox/faults HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Authorization: token {}\r\nContent-Length: {}\r\n\r\n{body}",
            self.token(),
            body.len()
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (_, body) = text.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {text}"))
    }

    /// Let the next matching request wait for a minute
    fn hold(&self, path: &str) {
        let rule = json!({"path": path, "delay_ms": 60_000, "count": 1});
        self.faults("POST", &rule.to_string());
    }

    /// Wait until a request is held, and the rule so used up
    fn holds(&self) {
        let end = Instant::now() + Duration::from_secs(20);
        while self.faults("GET", "") != json!([]) {
            assert!(Instant::now() < end, "no request came");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Forge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn initialize() -> Value {
    json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}
    })
}

fn branches() -> Value {
    json!({"name": "branch_list", "arguments": {"owner": "acme", "name": "storefront"}})
}
