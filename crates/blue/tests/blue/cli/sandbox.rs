//! `blue sandbox`, `blue up`, and `blue forge status` on one

use std::{
    io::{BufRead, BufReader, Read, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
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

/// Makes a token with these scopes for the first user
fn token_with(running: &Running, scopes: &[&str]) -> String {
    let user = &running.ready["users"][0];
    let text = |key: &str| user[key].as_str().unwrap();
    let pair = STANDARD.encode(format!("{}:{}", text("login"), text("password")));
    let body = json!({"name": "narrow", "scopes": scopes}).to_string();
    let mut stream = TcpStream::connect(running.address()).unwrap();
    write!(
        stream,
        "POST /api/v1/users/{}/tokens HTTP/1.0\r\nHost: {}\r\nAuthorization: Basic {pair}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        text("login"),
        running.address(),
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let made: Value = serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {answer}"));
    made["sha1"].as_str().unwrap().to_owned()
}

#[test]
fn status_shows_rights_as_far_as_the_token_reaches() {
    for flavor in ["gitea", "forgejo", "forgejo-15"] {
        let blue = Blue::new();
        let args = ["sandbox", "--json", "--seed", "demo", "--flavor", flavor];
        let running = Running::start(&blue, &args);
        let narrow = token_with(&running, &["read:user", "read:repository"]);
        git(blue.home(), &["init", "-q", "clone"]);
        let remote = format!("{}/acme/storefront.git", running.url());
        let clone = blue.home().join("clone");
        git(&clone, &["remote", "add", "origin", &remote]);
        let whole = running.token(0).to_owned();
        let mut blue = blue.var("GITEA_URL", running.url());
        for (token, push) in [(whole, true), (narrow, false)] {
            blue = blue.var("GITEA_TOKEN", &token);
            let status = blue.run(&["-C", "clone", "forge", "status", "--json"]);
            let status = status.json();
            assert_eq!(status["permissions"]["push"], push, "{flavor}: {status}");
            assert_eq!(status["permissions"]["pull"], true, "{flavor}: {status}");
            let scopes = status["token"]["scopes"].to_string();
            let writes = scopes.contains("write:repository") || scopes.contains("all");
            assert_eq!(writes, push, "{flavor}: {status}");
        }
    }
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
fn up_keeps_data_tokens_and_ports_in_its_folder() {
    let blue = Blue::new();
    let up = || Running::start(&blue, &["up", "--json", "--dir", "forge"]);
    let first = up();
    let told = first.ready().clone();
    let (address, token) = (first.address().to_owned(), first.token(0).to_owned());
    let made = call(
        &address,
        &token,
        "POST",
        "/api/v1/user/repos",
        "{\"name\":\"kept\"}",
    );
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    drop(first);
    let second = up();
    assert_eq!(*second.ready(), told, "address, broker, users and tokens");
    let login = told["users"][0]["login"].as_str().unwrap();
    let path = format!("/api/v1/repos/{login}/kept");
    let found = call(&address, &token, "GET", &path, "");
    assert!(found.starts_with("HTTP/1.1 200"), "{found}");
}

#[test]
fn up_takes_another_port_where_the_usual_one_is_taken() {
    let blue = Blue::new();
    let one = Running::start(&blue, &["up", "--json"]);
    let two = Running::start(&blue, &["up", "--json"]);
    assert_ne!(one.url(), two.url());
    assert_ne!(one.ready()["mcp_url"], two.ready()["mcp_url"]);
}

/// One request by hand; returns the whole answer
fn call(address: &str, token: &str, method: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: token {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[expect(clippy::print_stdout, reason = "a test says why it is skipped")]
/// The words of a shell that run a program with a small file system at `$1`, where that is possible
fn with_small_disk(blue: &Blue, size: &str, args: &[&str]) -> Option<Command> {
    let script = r#"mount -t tmpfs -o size="$2" none "$1" && shift 2 && exec "$@""#;
    let dir = blue.home().join("small");
    std::fs::create_dir_all(&dir).unwrap();
    let shell = |flags: &[&str], words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(flags).args(["sh", "-c", script, "sh"]);
        command.arg(&dir).arg(size).args(words);
        command
    };
    let can_mount = |flags: &[&str]| {
        let tried = shell(flags, &["true"]).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    };
    let flags = [&["-m"][..], &["-r", "-m"]]
        .into_iter()
        .find(|f| can_mount(f));
    let Some(flags) = flags else {
        println!("skipped: no small file system can be mounted here");
        return None;
    };
    let inner = blue.command(args);
    let mut words = vec![inner.get_program().to_str().unwrap().to_owned()];
    words.extend(inner.get_args().map(|arg| arg.to_str().unwrap().to_owned()));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command = shell(flags, &words);
    command.current_dir(inner.get_current_dir().unwrap_or(blue.home()));
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Some(command)
}

#[test]
fn a_full_disk_is_called_a_full_disk_at_the_start() {
    let blue = Blue::new();
    let dir = blue.home().join("small").display().to_string();
    for args in [["up", "--dir", &dir], ["sandbox", "--dir", &dir]] {
        let args = [&args[..], &["--json"]].concat();
        let size = if args[0] == "up" { "400k" } else { "100k" };
        let Some(mut command) = with_small_disk(&blue, size, &args) else {
            return;
        };
        let out = command.output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(!out.status.success(), "{text}");
        assert!(text.contains("no space left"), "{text}");
        assert!(text.contains("free some space"), "{text}");
    }
}

#[test]
fn a_full_disk_is_called_a_full_disk_at_a_later_write() {
    let blue = Blue::new();
    let dir = blue.home().join("small").display().to_string();
    let args = ["sandbox", "--json", "--dir", &dir];
    let Some(mut command) = with_small_disk(&blue, "3m", &args) else {
        return;
    };
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let stdout = child.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    let ready = serde_json::from_str(&line).unwrap();
    let running = Running { child, ready };
    let (address, token) = (running.address(), running.token(0));
    let body = "{\"name\":\"r\",\"auto_init\":true}";
    let made = call(address, token, "POST", "/api/v1/user/repos", body);
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    let login = running.ready()["users"][0]["login"].as_str().unwrap();
    let mut answer = String::new();
    // Bytes that do not compress, until there is no more room.
    let mut state = 1_u64;
    for n in 0..20 {
        let mut bytes = Vec::with_capacity(300_000);
        while bytes.len() < 300_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            bytes.extend_from_slice(&state.to_be_bytes());
        }
        let body = json!({"content": STANDARD.encode(bytes), "message": "m"}).to_string();
        let path = format!("/api/v1/repos/{login}/r/contents/{n}.bin");
        answer = call(address, token, "POST", &path, &body);
        if !answer.starts_with("HTTP/1.1 201") {
            break;
        }
    }
    assert!(answer.starts_with("HTTP/1.1 507"), "{answer}");
    assert!(answer.contains("no space left on the disk"), "{answer}");
}

#[test]
fn verbose_shows_the_requests() {
    let blue = Blue::new();
    let running = Running::start(&blue, &["sandbox", "--json"]);
    let blue = blue
        .var("GITEA_URL", running.url())
        .var("GITEA_TOKEN", running.token(0));
    let ran = blue.run(&["-v", "forge", "status"]).success();
    assert!(ran.stderr.contains("path=\"/api/v1/user\""), "{ran}");
    assert!(ran.stderr.contains("status=200"), "{ran}");
    assert!(!ran.stderr.contains(running.token(0)), "{ran}");
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
