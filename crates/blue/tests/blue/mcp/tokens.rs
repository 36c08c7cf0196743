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

fn git(dir: &std::path::Path, args: &[&str]) {
    let ran = std::process::Command::new("git")
        .current_dir(dir)
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(args)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{args:?}: {ran:?}");
}

/// A clone below the home of `blue`, with a `.blue/config.yaml` that git tracks
fn clone(blue: &Blue, remote: Option<&str>, host: &str, owner: &str) {
    let dir = blue.home().join("clone");
    std::fs::create_dir_all(dir.join(".blue")).unwrap();
    git(&dir, &["init", "-q"]);
    if let Some(remote) = remote {
        git(&dir, &["remote", "add", "origin", remote]);
    }
    let text = format!(
        "forge:\n  type: gitea\n  host: \"{host}\"\n  owner: {owner}\n  repo: storefront\n"
    );
    std::fs::write(dir.join(".blue/config.yaml"), text).unwrap();
    git(&dir, &["add", "."]);
    git(&dir, &["commit", "-q", "-m", "settings"]);
}

/// Git with a helper that gives its password to any host, and leaves a file where it ran
fn helper(blue: &Blue) -> std::path::PathBuf {
    let log = blue.home().join("helper-ran");
    let text = format!(
        "[credential]\n\thelper = \"!f() {{ echo ran >>'{}'; echo username=x; echo password=hunter2; }}; f\"\n",
        log.display()
    );
    std::fs::write(blue.home().join(".gitconfig"), text).unwrap();
    log
}

#[cfg(unix)]
#[test]
fn a_cloned_file_gets_nothing_from_gits_helper() {
    let evil = Hostile::start();
    let blue = Blue::new();
    let log = helper(&blue);
    clone(&blue, None, &evil.address, "acme");
    let ran = blue.run(&["-C", "clone", "repo", "status", "--json"]);
    let notes = ran.json()["error"]["notes"].to_string();
    assert!(notes.contains("for reading only"), "{ran}");
    let mut server = Server::start(&blue, &["-C", "clone"]);
    let call = json!({"name": "branch_list", "arguments": {}});
    let answer = server.ask(1, "tools/call", &call).to_string();
    assert!(answer.contains("blue forge trust"), "{answer}");
    let (requests, with_token) = evil.got();
    assert!(requests > 0, "it was not even asked");
    assert_eq!(with_token, 0);
    assert!(!log.exists(), "the helper was run");
}

#[cfg(unix)]
#[test]
fn a_bare_repository_in_a_clone_does_not_run_its_helper() {
    let evil = Hostile::start();
    let blue = Blue::new();
    clone(&blue, None, &evil.address, "acme");
    let bare = blue.home().join("clone/vendor.git");
    std::fs::create_dir(&bare).unwrap();
    git(&bare, &["init", "-q", "--bare"]);
    let log = blue.home().join("helper-ran");
    let command = format!(
        "!f() {{ echo ran >>'{}'; echo password=x; }}; f",
        log.display()
    );
    git(&bare, &["config", "credential.helper", &command]);
    let remote = format!("http://{}/acme/storefront", evil.address);
    git(&bare, &["remote", "add", "origin", &remote]);
    let whole = format!("{}/acme/storefront", evil.address);
    for args in [
        &["-C", "clone/vendor.git", "repo", "status"][..],
        &["-C", "clone/vendor.git", "repo", "status", "-R", &whole],
    ] {
        let ran = blue.run(args);
        assert_eq!(ran.code, Some(1), "{ran}");
    }
    assert!(!log.exists(), "the helper of the inner repository was run");
}

#[test]
fn a_write_is_refused_while_a_tracked_file_names_another_repository() {
    let forge = Forge::start();
    let host = forge.url().strip_prefix("http://").unwrap().to_owned();
    let blue = Blue::new()
        .var("GITEA_TOKEN", forge.token())
        .var("GITEA_URL", forge.url())
        .var("BLUE_GIT_CREDENTIALS", "off");
    let remote = format!("{}/acme/storefront.git", forge.url());
    clone(&blue, Some(&remote), &host, "alice");
    let mut server = Server::start(&blue, &["-C", "clone"]);
    let write = |more: Value| {
        let mut arguments =
            json!({"branch": "topic", "path": "a.txt", "content": "a", "message": "m"});
        let (all, more) = (arguments.as_object_mut().unwrap(), more);
        all.extend(more.as_object().unwrap().clone());
        json!({"name": "file_write_branch", "arguments": arguments})
    };
    for id in 1..=2 {
        let answer = server.ask(id, "tools/call", &write(json!({})));
        let error = error_of(&answer);
        assert_eq!(error["code"], "ambiguous", "{answer}");
        assert!(error["hint"].to_string().contains("`owner` and `name`"));
        assert!(error["notes"].to_string().contains("alice/storefront"));
    }
    // A read follows the remote, and says so.
    let read = json!({"name": "branch_list", "arguments": {}});
    let answer = server.ask(3, "tools/call", &read);
    let notes = &answer["result"]["structuredContent"]["notes"];
    assert!(notes.to_string().contains("which is used"), "{answer}");
    // Followed, the hint works.
    let named = write(json!({"owner": "acme", "name": "storefront"}));
    let answer = server.ask(4, "tools/call", &named);
    let written = &answer["result"]["structuredContent"];
    assert_eq!(written["repository"], "acme/storefront", "{answer}");
    let write = ["-C", "clone", "file", "write", "b.txt", "--branch", "topic"];
    let words = [&write[..], &["--content", "b", "-m", "m"]].concat();
    let ran = blue.run(&words);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stderr.contains("`-R OWNER/NAME`"), "{ran}");
    let ran = blue.run(&[&words[..], &["-R", "acme/storefront", "--json"]].concat());
    assert_eq!(ran.success().json()["repository"], "acme/storefront");
}

#[test]
fn every_command_names_the_type_that_the_server_reports() {
    let forge = Forge::start();
    let blue = Blue::new()
        .var("FORGEJO_TOKEN", forge.token())
        .var("FORGEJO_URL", forge.url())
        .var("BLUE_GIT_CREDENTIALS", "off");
    let remote = format!("{}/acme/storefront.git", forge.url());
    let dir = blue.home().join("clone");
    git(blue.home(), &["init", "-q", "clone"]);
    git(&dir, &["remote", "add", "origin", &remote]);
    let kind = |args: &[&str]| blue.run(args).success().json()["type"].clone();
    let reported = kind(&["-C", "clone", "forge", "status", "--json"]);
    assert_eq!(kind(&["forge", "detect", &remote, "--json"]), reported);
    assert_eq!(
        kind(&["-C", "clone", "forge", "detect", "--json"]),
        reported
    );
    let file = std::fs::read_to_string(dir.join(".blue/config.yaml")).unwrap();
    let line = format!("type: {}\n", reported.as_str().unwrap());
    assert!(file.contains(&line), "{file}");
    let text = ["--content", "a", "-m", "Add a", "--json"];
    let repo = ["-R", "acme/storefront"];
    let write = ["file", "write", "a.txt", "--branch", "topic"];
    blue.run(&[&write[..], &text, &repo].concat()).success();
    let create = ["pr", "create", "--head", "topic", "--title", "A", "--json"];
    let made = blue.run(&[&create[..], &repo].concat()).success().json();
    assert_eq!(made["forge"], reported, "{made}");
    // Blue's cache is not a change of the clone.
    let status = std::process::Command::new("git")
        .current_dir(&dir)
        .args(["status", "--porcelain"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&status.stdout), "");
}
