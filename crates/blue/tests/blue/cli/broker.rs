//! `blue broker` from nothing to a server that answers, and the broker of `blue up`

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{Blue, sandbox::Running};

#[test]
fn all_faults_are_said_in_one_go_and_nothing_is_made() {
    let blue = Blue::new()
        .var("BLUE_BROKER_PUBLIK_URL", "https://broker.example.org")
        .var("BLUE_CA_FILE", "/nowhere/ca.pem")
        .var("BLUE_ALLOW", "");
    let args = ["broker", "--listen", "nonsense", "--forge-scopes", "admin"];
    let ran = blue.run(&args);
    assert_eq!(ran.code, Some(64), "{ran}");
    for fault in [
        "BLUE_BROKER_PUBLIK_URL: there is no such setting",
        "BLUE_BROKER_PUBLIC_URL: missing",
        "BLUE_BROKER_FORGE_URL: missing",
        "BLUE_BROKER_CLIENT_ID: missing",
        "BLUE_BROKER_CLIENT_SECRET: missing",
        "--listen: an address is like",
        "--forge-scopes: `admin` is not a scope",
        "BLUE_CA_FILE: `/nowhere/ca.pem` is not a file",
        "BLUE_ALLOW: ",
    ] {
        let line = |line: &str| line.trim_start().starts_with(fault);
        assert!(ran.stderr.lines().any(line), "{fault}: {ran}");
    }
    assert!(ran.stderr.contains("hint: `--config FILE`"), "{ran}");
    assert!(!blue.home().join(".blue").exists());
}

#[test]
fn an_admin_goes_from_nothing_to_a_broker_that_answers() {
    let blue = Blue::new();
    let forge = Running::start(&blue, &["sandbox", "--json", "--seed", "demo"]);
    std::fs::write(blue.home().join("token"), forge.token(0)).unwrap();
    let public = format!("http://127.0.0.1:{}", free_port());
    let setup = ["broker", "setup", "--admin-token-file", "token", "--json"];
    let address = ["--forge", forge.url(), "--public-url", &public];
    let made = blue.run(&[&setup[..], &address].concat()).success().json();
    assert_eq!(made["redirect_uri"], format!("{public}/oauth/callback"));
    let secret = std::fs::metadata(blue.home().join("broker.secret")).unwrap();
    assert_eq!(secret.permissions().mode() & 0o777, 0o600);
    let again = blue.run(&[&setup[..], &address].concat());
    assert_eq!(again.code, Some(1), "files are not overwritten: {again}");

    let with = |args: &[&str]| {
        let file = ["--config", "broker.toml", "--json"];
        blue.run(&[&["broker"], args, &file].concat())
    };
    with(&["--check"]).success();
    assert!(
        !blue.home().join(".blue/broker").exists(),
        "a check makes nothing"
    );
    let serve = ["broker", "--config", "broker.toml", "--json"];
    let broker = Running::start(&blue, &serve);
    assert_eq!(broker.url(), public);
    let health = get(broker.address(), "/healthz");
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");

    let doctor = with(&["doctor"]).success().json();
    let checks = doctor["checks"].as_array().unwrap();
    assert!(
        checks.iter().all(|check| check["state"] != "failed"),
        "{doctor}"
    );
    for list in ["clients", "users", "grants"] {
        let rows = with(&[list, "list"]).success().json();
        assert_eq!(rows[list], Value::Array(Vec::new()), "{rows}");
    }
}

#[test]
fn setup_reads_every_setting_before_it_makes_anything() {
    let blue = Blue::new();
    std::fs::write(blue.home().join("token"), "t").unwrap();
    let ran = blue.run(&[
        "broker",
        "setup",
        "--admin-token-file",
        "token",
        "--forge",
        "nonsense",
        "--public-url",
        "ftp://broker.example.org",
        "--access-ttl",
        "5s",
        "--forge-scopes",
        "read:users",
        "--listen",
        "foo",
        "--client-id",
        "mine",
        "--config",
        "mine.toml",
        "--out",
        "mine.secret",
    ]);
    assert_eq!(ran.code, Some(64), "{ran}");
    for fault in [
        "--config: leave it out",
        "--out: the secret itself",
        "--client-id: leave it out",
        "--forge: not an absolute URL",
        "--public-url: not an http",
        "--access-ttl: must be from 10s",
        "--forge-scopes: `read:users` is not a scope",
        "--listen: an address is like",
    ] {
        let line = |line: &str| line.trim_start().starts_with(fault);
        assert!(ran.stderr.lines().any(line), "{fault}: {ran}");
    }
    assert!(!blue.home().join("mine.secret").exists());
}

#[test]
fn setup_sends_nothing_but_a_token() {
    let blue = Blue::new();
    // No server listens there: no request may be sent.
    let address = [
        "--forge",
        "http://127.0.0.1:1",
        "--public-url",
        "http://127.0.0.1:2",
    ];
    for (text, said) in [
        ("", "is empty"),
        ("\n", "is empty"),
        ("t0ken\nt0ken\n", "holds more than a token"),
        ("token: t0ken", "holds more than a token"),
    ] {
        std::fs::write(blue.home().join("token"), text).unwrap();
        let setup = ["broker", "setup", "--admin-token-file", "token"];
        let ran = blue.run(&[&setup[..], &address].concat());
        assert_eq!(ran.code, Some(64), "{text:?}: {ran}");
        assert!(ran.stderr.contains(said), "{text:?}: {ran}");
        assert!(!ran.stderr.contains("t0ken"), "{ran}");
        assert!(!blue.home().join("broker.toml").exists(), "{ran}");
    }
}

/// The state, what was found and the advice of one row of `doctor`
fn row(doctor: &Value, name: &str) -> (String, String) {
    let checks = doctor["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == name);
    let check = check.unwrap_or_else(|| panic!("{name}: {doctor}"));
    let text = |key: &str| check[key].as_str().unwrap_or_default().to_owned();
    (
        text("state"),
        format!("{}: {}", text("found"), text("advice")),
    )
}

#[test]
fn doctor_tells_what_would_keep_people_out() {
    let blue = Blue::new();
    let forge = Running::start(&blue, &["sandbox", "--json", "--seed", "demo"]);
    std::fs::write(blue.home().join("token"), forge.token(0)).unwrap();
    let public = format!("http://127.0.0.1:{}", free_port());
    let address = ["--forge", forge.url(), "--public-url", &public];
    let setup = ["broker", "setup", "--admin-token-file", "token"];
    blue.run(&[&setup[..], &address].concat()).success();
    let doctor = |more: &[&str]| {
        let args = ["broker", "doctor", "--config", "broker.toml", "--json"];
        blue.run(&[&args[..], more].concat()).json()
    };
    let good = format!("{public}/oauth/callback is registered: ");
    assert_eq!(row(&doctor(&[]), "Redirect URI"), ("ok".to_owned(), good));
    let moved = doctor(&["--public-url", "http://127.0.0.1:1"]);
    let (state, said) = row(&moved, "Redirect URI");
    assert_eq!(state, "failed", "{said}");
    assert!(said.contains("not registered for http://127.0.0.1:1/oauth/callback"));
    // A web site that is no forge, and answers every path with 200.
    let site = site("<h1>Welcome</h1>");
    let found = doctor(&["--forge-url", &site]);
    assert_eq!(found["ok"], false, "{found}");
    for name in ["OAuth", "Application"] {
        assert_eq!(row(&found, name).0, "failed", "{found}");
    }
    assert!(!blue.home().join(".blue").exists(), "nothing was made");

    let secret = blue.home().join("broker.secret");
    assert_eq!(row(&doctor(&[]), "Secret").0, "ok");
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&secret, open).unwrap();
    let (state, said) = row(&doctor(&[]), "Secret");
    assert_eq!(state, "warning", "{said}");
    let advice = format!(
        "has mode 644: others can read it: chmod 600 {}",
        secret.display()
    );
    assert!(said.ends_with(&advice), "{said}");

    // Each of these keeps a broker from starting, or would.
    let data = blue.home().join("data");
    std::fs::create_dir(&data).unwrap();
    for (text, state, part) in [
        ("", "failed", "holds no key"),
        ("hunter2\n", "failed", "line 1 of the key file"),
    ] {
        std::fs::write(data.join("keys"), text).unwrap();
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(data.join("keys"), mode).unwrap();
        let found = row(&doctor(&["--data", "data"]), "Key file");
        assert!(found.0 == state && found.1.contains(part), "{found:?}");
    }
    std::fs::remove_file(data.join("keys")).unwrap();
    std::fs::create_dir(data.join("keys")).unwrap();
    let found = row(&doctor(&["--data", "data"]), "Key file");
    assert!(found.1.contains("is a folder"), "{found:?}");
    std::fs::write(data.join("broker.db"), "").unwrap();
    let found = row(&doctor(&["--data", "data"]), "Database");
    assert_eq!(found.0, "warning", "{found:?}");
    assert!(found.1.contains("has no tables of a broker"), "{found:?}");
    let empty = std::fs::metadata(data.join("broker.db")).unwrap().len();
    assert_eq!(empty, 0, "no table is made");
    std::fs::write(data.join("broker.db"), "this is no database, by far").unwrap();
    let found = row(&doctor(&["--data", "data"]), "Database");
    assert_eq!(found.0, "failed", "{found:?}");
}

/// Forgejo 7 takes no application for introspection, only users
#[test]
fn doctor_knows_a_good_secret_where_introspection_refuses_it() {
    let blue = Blue::new();
    let forge = Running::start(
        &blue,
        &[
            "sandbox",
            "--json",
            "--seed",
            "demo",
            "--flavor",
            "forgejo-7",
        ],
    );
    std::fs::write(blue.home().join("token"), forge.token(0)).unwrap();
    let public = format!("http://127.0.0.1:{}", free_port());
    let address = ["--forge", forge.url(), "--public-url", &public];
    let setup = ["broker", "setup", "--admin-token-file", "token"];
    blue.run(&[&setup[..], &address].concat()).success();
    let doctor = || {
        let args = ["broker", "doctor", "--config", "broker.toml", "--json"];
        blue.run(&args).json()
    };
    let found = doctor();
    assert_eq!(row(&found, "Application").0, "ok", "{found}");
    assert_eq!(row(&found, "Redirect URI").0, "ok", "{found}");
    // Its tokens open everything, and that is still said.
    assert_eq!(row(&found, "Forge").0, "failed", "{found}");
    std::fs::write(blue.home().join("broker.secret"), "gto_wrong").unwrap();
    let found = doctor();
    assert_eq!(row(&found, "Application").0, "failed", "{found}");
}

#[test]
fn a_check_looks_at_how_the_forge_is_reached() {
    let blue = good().var("BLUE_CA_FILE", "/nowhere/ca.pem");
    let ran = blue.run(&["broker", "--check"]);
    assert_eq!(ran.code, Some(64), "{ran}");
    assert!(ran.stderr.contains("BLUE_CA_FILE"), "{ran}");
    let ran = blue.var("BLUE_ALLOW", "").run(&["broker", "--check"]);
    assert_eq!(ran.code, Some(64), "{ran}");
    for name in ["BLUE_CA_FILE: ", "BLUE_ALLOW: "] {
        assert!(ran.stderr.contains(name), "{name}: {ran}");
    }
}

/// One whose settings are good
fn good() -> Blue {
    Blue::new()
        .var("BLUE_BROKER_PUBLIC_URL", "https://broker.example.org")
        .var("BLUE_BROKER_FORGE_URL", "https://git.example.org")
        .var("BLUE_BROKER_CLIENT_ID", "x")
        .var("BLUE_BROKER_CLIENT_SECRET", "x")
        .var("BLUE_BROKER_DATA", "data")
}

#[test]
fn where_another_listens_nothing_is_made_or_changed() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let blue = good().var("BLUE_BROKER_LISTEN", &address);
    let ran = blue.run(&["broker"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    let said = format!("could not listen on {address}");
    assert!(ran.stderr.contains(&said), "{ran}");
    assert!(!blue.home().join("data").exists(), "{ran}");
}

#[test]
fn a_database_that_does_not_answer_does_not_hold_up_the_end() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://{}/x", silent.local_addr().unwrap());
    let blue = good()
        .var("BLUE_BROKER_LISTEN", "0")
        .var("BLUE_BROKER_DB", &url);
    let mut broker = blue.command(&["broker"]).spawn().unwrap();
    // It is there, and waits for an answer.
    let _asked = silent.accept().unwrap();
    let start = Instant::now();
    let id = broker.id().to_string();
    let asked = Command::new("kill").args(["-s", "TERM", &id]).status();
    assert!(asked.unwrap().success());
    let ended = broker.wait().unwrap();
    assert_eq!(ended.code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn an_id_may_begin_with_a_dash() {
    let blue = Blue::new();
    let ran = blue.run(&["broker", "grants", "revoke", "-Om1", "--yes"]);
    // The settings are missing, and nothing is said of `-O`.
    assert_eq!(ran.code, Some(64), "{ran}");
}

#[test]
fn up_starts_a_broker_that_clients_find_by_themselves() {
    let blue = Blue::new();
    let up = Running::start(&blue, &["up", "--json"]);
    let url = up.ready()["mcp_url"].as_str().unwrap();
    let address = url.strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/mcp").unwrap();
    let refused = get(address, "/mcp");
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    let (_, metadata) = refused.split_once("resource_metadata=\"").unwrap();
    let (metadata, _) = metadata.split_once('"').unwrap();
    let path = metadata.strip_prefix(&format!("http://{address}")).unwrap();
    let answer = get(address, path);
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["resource"], url);
    let ready = get(address, "/readyz");
    assert!(
        ready.starts_with("HTTP/1.1 200"),
        "the forge is reached: {ready}"
    );
}

#[test]
fn the_broker_of_up_stays_on_this_machine() {
    let ran = Blue::new().run(&["up", "--broker", "0.0.0.0:0"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.stderr.contains("on loopback only"), "{ran}");
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// A web server with one page, which is its answer to everything; it ends with the process
fn site(page: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                let head = line.to_lowercase();
                if let Some(value) = head.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            std::io::copy(&mut stream.by_ref().take(length), &mut std::io::sink()).unwrap();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close";
            let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{page}", page.len());
            let _ = stream.get_mut().write_all(answer.as_bytes());
        }
    });
    url
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
