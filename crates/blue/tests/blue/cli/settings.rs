//! Invalid settings: a plain error message, exit code 64, and no wait for a request

use std::{fs, net::TcpListener, path::Path, time::Instant};

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Blue, Ran, detect::git};

const TOKEN: &str = "GITEA_TOKEN";

/// Makes a clone of a forge that is not running: its port is free
fn clone(blue: &Blue) -> String {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = free.local_addr().unwrap().to_string();
    let dir = blue.home().join("clone");
    fs::create_dir(&dir).unwrap();
    git(&dir, &["init", "-q"]);
    let url = format!("http://{host}/alice/demo");
    git(&dir, &["remote", "add", "origin", &url]);
    write(&dir.join(".blue/config.yaml"), "forge:\n  type: gitea\n");
    host
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn status(blue: &Blue) -> Ran {
    blue.run(&["-C", "clone", "forge", "status", "--json"])
}

/// What is wrong with the token
fn token_problem(ran: &Ran) -> Value {
    let problems = ran.json()["problems"].clone();
    let all = problems.as_array().unwrap();
    let found = all.iter().find(|p| p["part"] == "token");
    found.unwrap_or_else(|| panic!("{ran}")).clone()
}

#[test]
fn a_token_that_no_header_can_carry_is_a_wrong_setting() {
    for token in ["hunter1\nhunter2", "hunter\u{f6}"] {
        let blue = Blue::new().var(TOKEN, token);
        clone(&blue);
        let ran = status(&blue);
        assert_eq!(ran.code, Some(64), "{ran}");
        let problem = token_problem(&ran);
        assert_eq!(problem["code"], "config");
        assert!(!ran.stdout.contains(token.lines().last().unwrap()), "{ran}");
        assert!(
            problem["message"]
                .as_str()
                .unwrap()
                .contains("`GITEA_TOKEN`")
        );
    }
}

#[test]
fn a_token_file_that_is_not_there_is_a_wrong_setting() {
    let blue = Blue::new().var("GITEA_TOKEN_FILE", "/nowhere/token");
    clone(&blue);
    let ran = status(&blue);
    assert_eq!(ran.code, Some(64), "{ran}");
    let message = token_problem(&ran)["message"].clone();
    assert_snapshot!(message.as_str().unwrap(), @"could not read the token file `/nowhere/token` of `GITEA_TOKEN_FILE`: there is no such file");
}

#[test]
fn token_commands_that_misbehave_are_told_and_end() {
    for (command, said) in [
        ("exit 3", "exit status: 3"),
        ("echo out of order >&2; false", "out of order"),
        ("yes token", "printed more than"),
        ("true", "it printed nothing"),
    ] {
        let blue = Blue::new();
        let host = clone(&blue);
        let entry = format!("\"{host}\":\n  token_command: \"{command}\"\n");
        write(&blue.home().join(".blue/hosts.yaml"), &entry);
        let start = Instant::now();
        let ran = status(&blue);
        let problem = token_problem(&ran);
        let message = problem["message"].as_str().unwrap();
        assert!(message.contains(said), "{command}: {message}");
        assert_eq!(ran.code, Some(64), "{ran}");
        assert!(start.elapsed().as_secs() < 25, "{command}");
    }
}

#[test]
fn a_token_command_may_leave_a_child_behind() {
    let blue = Blue::new();
    let host = clone(&blue);
    let entry = format!("\"{host}\":\n  token_command: \"sleep 40 & echo word\"\n");
    write(&blue.home().join(".blue/hosts.yaml"), &entry);
    let start = Instant::now();
    let ran = status(&blue);
    assert_eq!(
        ran.json()["token"]["source"],
        "a command, by `hosts.yaml`",
        "{ran}"
    );
    assert!(start.elapsed().as_secs() < 25);
}

#[test]
fn a_token_command_is_text() {
    let blue = Blue::new();
    write(
        &blue.home().join(".blue/hosts.yaml"),
        "git.example.org:\n  token_command: 7.5e3: x\n",
    );
    assert_eq!(blue.run(&["forge", "hosts"]).code, Some(64));
    write(
        &blue.home().join(".blue/hosts.yaml"),
        "git.example.org:\n  token_command: {a: b}\n",
    );
    let ran = blue.run(&["forge", "hosts"]);
    assert_eq!(ran.code, Some(64));
    let said = "`token_command` is neither a line of text nor a list of words";
    assert!(ran.stderr.contains(said), "{ran}");
}

#[test]
fn proxies_and_certificates_are_looked_at_before_anything_is_guessed() {
    let url = "https://127.0.0.1:9/alice/demo";
    let ran = Blue::new()
        .var("https_proxy", "socks5://user:hunter2@127.0.0.1")
        .run(&["forge", "detect", url]);
    assert_snapshot!(ran, @r"
    error: could not set up the HTTP client: the proxy for https is not an http:// or https:// URL
    hint: `BLUE_CA_FILE`, `HTTP_PROXY` and `HTTPS_PROXY` say how forges are reached
    exit 64
    ");
    let blue = Blue::new().var("BLUE_CA_FILE", "ca.pem");
    write(&blue.home().join("ca.pem"), "not a certificate\n");
    let ran = blue.run(&["forge", "detect", url, "--json"]);
    assert_eq!(ran.code, Some(64), "{ran}");
    assert_eq!(ran.json()["error"]["code"], "config");
}

#[test]
fn hosts_of_variables_show_their_token_and_claim_no_flavour() {
    let blue = Blue::new()
        .var("GITEA_URL", "https://git.example.org")
        .var("GITEA_TOKEN_FILE", "token")
        .var("GITHUB_TOKEN", "word");
    let hosts = blue.run(&["forge", "hosts", "--json"]).success().json();
    let row = &hosts["hosts"][0];
    assert_eq!(row["token"], "variable GITEA_TOKEN_FILE", "{hosts}");
    assert_eq!(row["type"], json!(null));
}

#[test]
fn help_is_one_object_too() {
    for args in [&["--json", "--help"][..], &["--json", "help", "forge"]] {
        let help = Blue::new().run(args).success().json();
        assert!(help["help"].as_str().unwrap().contains("Usage: blue"));
    }
}
