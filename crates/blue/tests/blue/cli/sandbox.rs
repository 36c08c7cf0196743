//! `blue sandbox`, `blue up`, and `blue forge status` on one

use std::{
    io::{BufRead, BufReader, Read},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use super::{Blue, detect::git};

/// A sandbox that is killed when the test ends
pub(crate) struct Running {
    child: Child,
    ready: Value,
}

impl Running {
    pub(crate) fn start(blue: &Blue, args: &[&str]) -> Self {
        let mut child = blue.command(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let ready = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        Self { child, ready }
    }

    pub(crate) fn ready(&self) -> &Value {
        &self.ready
    }

    pub(crate) fn url(&self) -> &str {
        self.ready["url"].as_str().unwrap()
    }

    pub(crate) fn address(&self) -> &str {
        self.url().strip_prefix("http://").unwrap()
    }

    pub(crate) fn token(&self, user: usize) -> &str {
        self.ready["users"][user]["token"].as_str().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn ready_is_one_object_with_users() {
    let blue = Blue::new();
    let running = Running::start(&blue, &["sandbox", "--json"]);
    let ready = running.ready.as_object().unwrap();
    let keys: Vec<_> = ready.keys().collect();
    assert_eq!(keys, ["url", "gitea_api", "github_api", "users"]);
    assert_eq!(ready["gitea_api"], format!("{}/api/v1", running.url()));
    assert_eq!(ready["github_api"], format!("{}/api/v3", running.url()));
    let first = ready["users"][0].as_object().unwrap();
    let keys: Vec<_> = first.keys().collect();
    assert_eq!(keys, ["login", "password", "token", "admin"]);
    assert_eq!(first["admin"], true);
    assert!(
        running.address().starts_with("127.0.0.1:"),
        "loopback unless told otherwise"
    );
    TcpStream::connect(running.address()).unwrap();
}

#[test]
#[cfg(unix)]
fn polite_signals_end_it_well_and_the_temporary_folder_goes() {
    for signal in ["INT", "TERM", "HUP"] {
        let blue = Blue::new();
        let temporary = blue.home().join("tmp");
        std::fs::create_dir(&temporary).unwrap();
        let blue = blue.var("TMPDIR", "tmp");
        let mut running = Running::start(&blue, &["sandbox", "--json"]);
        let left = || std::fs::read_dir(blue.home().join("tmp")).unwrap().count();
        assert!(left() > 0);
        let pid = running.child.id().to_string();
        Command::new("kill")
            .args(["-s", signal, &pid])
            .status()
            .unwrap();
        assert_eq!(running.child.wait().unwrap().code(), Some(0), "{signal}");
        assert_eq!(left(), 0, "{signal}");
    }
}

#[test]
fn a_folder_keeps_its_users_and_is_used_once() {
    let blue = Blue::new();
    let running = Running::start(&blue, &["sandbox", "--json", "--dir", "forge"]);
    let token = running.token(0).to_owned();
    let twice = blue.run(&["sandbox", "--dir", "forge", "--json"]);
    assert_eq!(twice.code, Some(1), "{twice}");
    assert_eq!(twice.json()["error"]["code"], "io");
    drop(running);
    let again = Running::start(&blue, &["sandbox", "--json", "--dir", "forge"]);
    assert_eq!(again.token(0), token);
}

#[test]
fn an_address_for_everybody_is_warned_about() {
    let blue = Blue::new();
    let mut child = blue
        .command(&["sandbox", "--json", "--listen", "0.0.0.0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert!(stderr.starts_with("warning: anyone"), "{stderr}");
    assert!(line.starts_with('{'), "{line}");
}

#[test]
fn a_port_that_is_taken_is_a_failure_with_a_hint() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = Blue::new().run(&["sandbox", "--listen", &address]);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(
        ran.stderr
            .starts_with(&format!("error: cannot listen on `{address}`: ")),
        "{ran}"
    );
    assert!(ran.stderr.contains("hint: choose another address"), "{ran}");
}

#[test]
fn status_outside_of_a_repository() {
    let blue = Blue::new();
    let ran = blue.run(&["forge", "status"]);
    insta::assert_snapshot!(ran, @r"
    error: there is no forge to ask
    hint: run it in a clone of a repository, or set `FORGEJO_URL` or `GITHUB_SERVER_URL`
    exit 1
    ");
    let running = Running::start(&blue, &["sandbox", "--json"]);
    let blue = blue
        .var("GITEA_URL", running.url())
        .var("GITEA_TOKEN", running.token(0));
    let status = blue.run(&["forge", "status", "--json"]).success().json();
    assert_eq!(status["type"], "gitea", "{status}");
    assert_eq!(status["host"], running.address(), "{status}");
    assert_eq!(
        status["user"]["login"], running.ready["users"][0]["login"],
        "{status}"
    );
    assert_eq!(status["token"]["source"], "`GITEA_TOKEN`", "{status}");
    assert!(
        status["version"].as_str().unwrap().starts_with("1."),
        "{status}"
    );
    assert_eq!(status["problems"], json!([]), "{status}");
    let page = blue.run(&["forge", "status"]).success();
    assert!(
        page.stdout.contains("Token from     `GITEA_TOKEN`\n"),
        "{page}"
    );
    assert!(!page.to_string().contains(running.token(0)), "{page}");
}

#[test]
fn a_part_that_fails_leaves_the_others() {
    let blue = Blue::new();
    let running = Running::start(&blue, &["sandbox", "--json"]);
    git(blue.home(), &["init", "-q", "clone"]);
    let remote = format!("{}/nobody/nothing.git", running.url());
    git(
        &blue.home().join("clone"),
        &["remote", "add", "origin", &remote],
    );
    let blue = blue
        .var("GITEA_URL", running.url())
        .var("GITEA_TOKEN", "wrong");
    let ran = blue.run(&["-C", "clone", "forge", "status", "--json"]);
    let status = ran.json();
    assert_eq!(ran.code, Some(1), "{status}");
    assert_eq!(status["owner"], "nobody", "{status}");
    assert!(status["version"].is_string(), "{status}");
    let parts: Vec<_> = status["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| &p["part"])
        .collect();
    assert!(parts.contains(&&json!("user")), "{status}");
    assert!(status["user"].is_null(), "{status}");
    let page = blue.run(&["-C", "clone", "forge", "status"]);
    assert!(
        page.stdout.contains("Repository     nobody/nothing: "),
        "{page}"
    );
}

#[test]
fn the_server_knows_best_what_it_is() {
    let blue = Blue::new();
    let running = Running::start(&blue, &["sandbox", "--json", "--flavor", "gitea"]);
    let blue = blue.var("FORGEJO_URL", running.url());
    let status = blue.run(&["forge", "status", "--json"]).success().json();
    assert_eq!(status["type"], "gitea", "{status}");
}

#[test]
fn a_token_of_another_host_is_not_sent() {
    let blue = Blue::new();
    let running = Running::start(&blue, &["sandbox", "--json"]);
    git(blue.home(), &["init", "-q", "clone"]);
    let remote = format!("{}/alice/demo.git", running.url());
    git(
        &blue.home().join("clone"),
        &["remote", "add", "origin", &remote],
    );
    let blue = blue
        .var("FORGEJO_URL", "https://git.example.org")
        .var("FORGEJO_TOKEN", "hunter2");
    let ran = blue.run(&["-C", "clone", "forge", "status", "--json"]);
    let status = ran.json();
    let token = status["problems"]
        .as_array()
        .unwrap()
        .iter()
        .find(|p| p["part"] == "token");
    assert_eq!(token.unwrap()["code"], "token_host", "{status}");
    assert!(
        token.unwrap()["hint"]
            .as_str()
            .unwrap()
            .contains("blue forge trust 127.0.0.1:")
    );
    assert!(
        status["version"].is_string(),
        "asked without the token: {status}"
    );
    assert!(!ran.to_string().contains("hunter2"));
}

#[test]
fn up_says_what_to_try() {
    let blue = Blue::new();
    let mut child = blue
        .command(&["up"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let _running = Running {
        child,
        ready: Value::Null,
    };
    let page: Vec<String> = lines
        .by_ref()
        .take_while(|line| !line.starts_with("Ctrl-C"))
        .collect();
    let token = page
        .iter()
        .find_map(|line| line.split("FORGEJO_TOKEN=").nth(1))
        .unwrap()
        .to_owned();
    let url = page[0].split_whitespace().last().unwrap().to_owned();
    let clone = page.iter().find(|line| line.contains("git clone")).unwrap();
    let remote = clone.split_whitespace().nth(2).unwrap();
    // The lines work as they stand, also for who has another forge.
    git(blue.home(), &["clone", "-q", remote, "demo"]);
    let blue = blue
        .var("GITEA_TOKEN", "of another forge")
        .var("FORGEJO_URL", &url)
        .var("FORGEJO_TOKEN", &token);
    let status = blue
        .run(&["-C", "demo", "forge", "status", "--json"])
        .success()
        .json();
    assert_eq!(status["problems"], json!([]), "{status}");
    assert!(status["permissions"]["pull"].as_bool().unwrap(), "{status}");
}

#[test]
fn a_port_that_is_taken_names_the_option_of_the_broker() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = Blue::new().run(&["up", "--broker", &address]);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(
        ran.stderr
            .contains("hint: choose another address with `--broker`"),
        "{ran}"
    );
}

#[test]
fn without_git_or_a_place_for_files_it_says_so() {
    let blue = Blue::new().var("PATH", "/nowhere");
    let ran = blue.run(&["up"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(
        ran.stderr
            .starts_with("error: git cannot be used: could not run `git`"),
        "{ran}"
    );
    assert!(
        ran.stderr.contains("hint: install git 2.38 or newer"),
        "{ran}"
    );
    let blue = Blue::new().var("TMPDIR", "/nowhere");
    let ran = blue.run(&["up"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(
        ran.stderr
            .starts_with("error: cannot make a temporary folder: "),
        "{ran}"
    );
    assert!(ran.stderr.contains("hint: set `TMPDIR`"), "{ran}");
}
