//! What a person sees on a terminal; `script` from util-linux plays one

use std::{
    io::{Read, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{Blue, sandbox::Running, tools::alice};

/// Run in a terminal of this width and type something into it
fn shown(blue: &Blue, width: usize, line: &str, typed: &str) -> String {
    let program = env!("CARGO_BIN_EXE_blue");
    let inner = format!("stty rows 24 cols {width}; '{program}' {line}; echo exit $?");
    let mut child = terminal(blue, &inner);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    String::from_utf8(output.stdout).unwrap()
}

fn terminal(blue: &Blue, inner: &str) -> Child {
    let like = blue.command(&[]);
    let mut script = Command::new("script");
    script.args(["-q", "-e", "-c", inner, "/dev/null"]);
    script.env_clear().env("TERM", "xterm-256color");
    for (name, value) in like.get_envs() {
        script.env(name, value.unwrap_or_default());
    }
    script
        .current_dir(blue.home())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// A forge that takes its time with branches
fn slow(millis: u64) -> (Blue, Running) {
    let blue = Blue::new();
    let running = Running::start(&blue, &["sandbox", "--seed", "demo", "--faults", "--json"]);
    order(
        &running,
        &json!({"path": "*/branches*", "delay_ms": millis}),
    );
    let blue = blue
        .var("GITEA_URL", running.url())
        .var("GITEA_TOKEN", running.token(0));
    (blue, running)
}

fn order(running: &Running, rule: &Value) {
    let mut stream = TcpStream::connect(running.address()).unwrap();
    let body = rule.to_string();
    let (host, token, length) = (running.address(), running.token(0), body.len());
    write!(
        stream,
        "POST /-/sandbox/faults HTTP/1.1\r\nHost: {host}\r\nAuthorization: token {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

/// Columns that a line takes once colours and links are taken off
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        out += &rest[..at];
        rest = &rest[at + 1..];
        let end = match rest.as_bytes().first() {
            Some(b']') => rest.find("\x1b\\").map_or(rest.len(), |at| at + 2),
            _ => rest
                .find(|c: char| c.is_ascii_alphabetic())
                .map_or(rest.len(), |at| at + 1),
        };
        rest = &rest[end..];
    }
    out + rest
}

#[test]
fn a_table_is_as_wide_as_the_terminal() {
    let (blue, _running) = alice();
    let list = "pr list -R acme/storefront";
    for width in [50, 60, 80, 200] {
        let text = shown(&blue, width, list, "");
        let text = plain(&text);
        assert!(text.contains("exit 0"), "{text}");
        assert!(text.contains("Give a discount"), "{text}");
        for line in text.lines() {
            assert!(line.trim_end().chars().count() <= width, "{width}: {line}");
        }
        assert_eq!(text.contains('…'), width < 71, "{text}");
    }
}

#[test]
fn a_number_is_a_link_where_the_terminal_can_show_one() {
    let (blue, running) = alice();
    let list = "pr list -R acme/storefront";
    let url = format!("\x1b]8;;{}/acme/storefront/pulls/1\x1b\\", running.url());
    assert!(shown(&blue, 80, list, "").contains(&url));
    let blue = blue.var("NO_COLOR", "1");
    assert!(!shown(&blue, 80, list, "").contains('\x1b'));
}

#[test]
fn a_person_is_asked_before_something_goes() {
    let (blue, _running) = alice();
    let delete = "file delete Makefile -b euros -R acme/storefront";
    let is_there = || {
        let ran = blue
            .run(&["dir", "list", "--ref", "euros", "-R", "acme/storefront"])
            .success();
        ran.stdout.contains("Makefile")
    };
    let no = plain(&shown(&blue, 80, delete, "n\n"));
    assert!(
        no.contains("delete file Makefile in acme/storefront (--branch euros)? [y/N]"),
        "{no}"
    );
    assert!(
        no.contains("nothing was changed") && no.contains("exit 1"),
        "{no}"
    );
    let end = plain(&shown(&blue, 80, delete, "\x04"));
    assert!(end.contains("[y/N] \r\nwarning: cancelled"), "{end:?}");
    let nothing = plain(&shown(&blue, 80, delete, "\n"));
    assert!(nothing.contains("exit 1"), "{nothing}");
    assert!(is_there());
    let yes = plain(&shown(&blue, 80, delete, "y\n"));
    assert!(yes.contains("exit 0"), "{yes}");
    assert!(!is_there());
}

#[test]
fn help_hangs_under_its_names() {
    let blue = Blue::new();
    for width in [60, 100] {
        let text = plain(&shown(&blue, width, "--help", ""));
        let (_, variables) = text.split_once("Environment,").unwrap();
        let (variables, _) = variables.rsplit_once("exit 0").unwrap();
        for line in variables.lines().map(str::trim_end) {
            assert!(line.chars().count() <= width, "{width}: {line}");
            let name = line.strip_prefix("  ").unwrap_or_default();
            let first = name.chars().next();
            let upper = |c: char| c.is_ascii_uppercase();
            assert!(
                first.is_none_or(|c| c == ' ' || upper(c)),
                "{width}: {line}"
            );
        }
    }
}

#[test]
fn who_types_a_text_is_told_how_it_ends() {
    let (blue, _running) = alice();
    let create = "pr create --title T --head nowhere --body - -R acme/storefront";
    let text = plain(&shown(&blue, 80, create, "a text\n\x04"));
    assert!(text.contains("note: type the text; end it"), "{text}");
    assert!(text.contains("exit 1"), "{text}");
}

/// Wait until it shows this; what it has shown so far
fn seen(stdout: &mut impl Read, text: &str) -> String {
    let mut seen = String::new();
    let mut bytes = [0; 64];
    while !seen.contains(text) {
        let read = stdout.read(&mut bytes).unwrap();
        assert!(read > 0, "ended too early: {seen:?}");
        seen += &String::from_utf8_lossy(&bytes[..read]);
    }
    seen
}

#[test]
fn ctrl_c_ends_a_text_that_is_typed() {
    let (blue, _running) = alice();
    let program = env!("CARGO_BIN_EXE_blue");
    for command in [
        "pr create --title T --head euros --body -",
        "file write half.md -b euros --from -",
    ] {
        let mut child = terminal(
            &blue,
            &format!("exec '{program}' {command} -R acme/storefront"),
        );
        let mut stdout = child.stdout.take().unwrap();
        seen(&mut stdout, "type the text");
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"half of it\n\x03").unwrap();
        let late = Instant::now() + Duration::from_secs(20);
        let code = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            if Instant::now() > late {
                child.kill().unwrap();
                panic!("{command}: Ctrl-C did not end it");
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(code, Some(130), "{command}: {rest}");
        assert!(
            plain(&rest).contains("warning: interrupted\r\n"),
            "{rest:?}"
        );
    }
    let files = ["dir", "list", "--ref", "euros", "-R", "acme/storefront"];
    assert!(!blue.run(&files).success().stdout.contains("half.md"));
}

#[test]
fn a_wait_shows_a_sign_of_life_that_goes_away() {
    let (blue, running) = slow(1500);
    order(&running, &json!({"path": "*/version*", "delay_ms": 1500}));
    let text = shown(&blue, 80, "forge status", "");
    assert!(text.contains("waiting for the forge"), "{text:?}");
    let text = shown(&blue, 80, "branch list -R acme/storefront", "");
    let (before, after) = text.rsplit_once("\r\x1b[K").unwrap();
    assert!(before.contains("waiting for the forge"), "{text:?}");
    assert!(
        after.contains("main") && after.contains("exit 0"),
        "{text:?}"
    );
    // No terminal: no spinner.
    let quiet = blue
        .run(&["branch", "list", "-R", "acme/storefront"])
        .success();
    assert_eq!(quiet.stderr, "");
}

#[test]
fn ctrl_c_ends_a_wait_cleanly() {
    let (blue, _running) = slow(600_000);
    let program = env!("CARGO_BIN_EXE_blue");
    let inner = format!("stty rows 24 cols 80; exec '{program}' branch list -R acme/storefront");
    let mut child = terminal(&blue, &inner);
    let mut stdout = child.stdout.take().unwrap();
    seen(&mut stdout, "waiting");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"\x03").unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("interrupted"), "{rest:?}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
