//! At an address

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::Stdio,
};

use serde_json::{Value, json};

use super::Server;
use crate::cli::Blue;

/// Where it listens, as it says itself
fn start(blue: &Blue, args: &[&str]) -> (Server, String) {
    let (server, address, _) = start_ready(blue, args);
    (server, address)
}

/// Starts the server; also returns the JSON object that it prints at the start
fn start_ready(blue: &Blue, args: &[&str]) -> (Server, String, Value) {
    let mut child = blue
        .command(&[&["mcp", "--json", "--http"], args].concat())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let url = ready["url"].as_str().unwrap();
    let address = url.strip_prefix("http://").unwrap().strip_suffix("/mcp");
    let address = address.unwrap().to_owned();
    let server = Server {
        child,
        input: None,
        output,
    };
    (server, address, ready)
}

fn ping(address: &str, extra: &str) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{extra}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
#[cfg(unix)]
fn it_says_where_it_is_and_ends_politely() {
    let blue = Blue::new();
    let (mut server, address) = start(&blue, &["127.0.0.1:0", "--no-bearer"]);
    assert!(ping(&address, "").starts_with("HTTP/1.1 200"));
    // A connection that stays open keeps nothing.
    let _idle = TcpStream::connect(&address).unwrap();
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
fn a_token_from_a_file_is_asked_for() {
    let blue = Blue::new();
    std::fs::write(blue.home().join("token"), "s3cret\n").unwrap();
    let (_server, address, ready) = start_ready(&blue, &["127.0.0.1:0", "--bearer-file", "token"]);
    assert_eq!(ready["token"], Value::Null, "it is the user's own: {ready}");
    assert!(ping(&address, "").starts_with("HTTP/1.1 401"));
    let with = "Authorization: Bearer s3cret\r\n";
    assert!(ping(&address, with).starts_with("HTTP/1.1 200"));
    let wrong = "Authorization: Bearer other\r\n";
    assert!(ping(&address, wrong).starts_with("HTTP/1.1 401"));
}

#[test]
fn a_token_is_made_once_and_asked_for_where_none_is_given() {
    let blue = Blue::new();
    let (first, address, ready) = start_ready(&blue, &["127.0.0.1:0"]);
    let token = ready["token"].as_str().unwrap().to_owned();
    assert!(ping(&address, "").starts_with("HTTP/1.1 401"));
    let with = format!("Authorization: Bearer {token}\r\n");
    assert!(ping(&address, &with).starts_with("HTTP/1.1 200"));
    let file = std::path::PathBuf::from(ready["token_file"].as_str().unwrap());
    assert_eq!(std::fs::read_to_string(&file).unwrap().trim(), token);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    drop(first);
    // Clients keep what they were given: the next start asks for the same.
    let (_second, _, ready) = start_ready(&blue, &["127.0.0.1:0"]);
    assert_eq!(ready["token"], token.as_str());
}

#[test]
fn no_token_is_asked_for_only_on_loopback_and_where_the_user_says_so() {
    let blue = Blue::new();
    let ran = blue.run(&["mcp", "--json", "--http", "0.0.0.0:0", "--no-bearer"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    let hint = ran.json()["error"]["hint"].clone();
    assert!(hint.as_str().unwrap().contains("`--no-bearer`"), "{ran}");
    for args in [
        &["mcp", "--no-bearer"][..],
        &["mcp", "--http", "0", "--no-bearer", "--bearer-file", "x"],
    ] {
        assert_eq!(blue.run(args).code, Some(2), "{args:?}");
    }
    let (_server, _, ready) = start_ready(&blue, &["127.0.0.1:0", "--no-bearer"]);
    assert_eq!(ready["token"], Value::Null);
    assert!(!blue.home().join(".blue").join("mcp-token").exists());
}

#[test]
#[cfg(unix)]
fn a_token_that_others_can_read_is_warned_of() {
    use std::os::unix::fs::PermissionsExt as _;

    let blue = Blue::new();
    let file = blue.home().join("token");
    std::fs::write(&file, "s3cret\n").unwrap();
    for (mode, warned) in [(0o644, true), (0o640, true), (0o600, false)] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        // No machine has this address: it ends where it would begin to listen.
        let ran = blue.run(&["mcp", "--http", "192.0.2.1:9", "--bearer-file", "token"]);
        assert_eq!(ran.code, Some(1), "{ran}");
        assert_eq!(ran.stderr.contains("chmod 600"), warned, "{mode:o}: {ran}");
        assert!(!ran.stderr.contains("s3cret"), "{ran}");
    }
}
