//! `blue forge detect`, `hosts` and `trust`

use std::{path::Path, process::Command};

use insta::assert_snapshot;
use serde_json::json;

use super::Blue;

#[test]
fn urls_of_many_kinds() {
    let blue = Blue::new();
    for (url, kind, host, repo, found_by) in [
        (
            "https://github.com/alice/demo",
            "github",
            "github.com",
            "demo",
            "known_host",
        ),
        (
            "git@github.com:alice/demo.git",
            "github",
            "github.com",
            "demo",
            "known_host",
        ),
        (
            "ssh://git@github.com/alice/demo.git/",
            "github",
            "github.com",
            "demo",
            "known_host",
        ),
        (
            "https://acme.ghe.com/alice/demo",
            "github",
            "acme.ghe.com",
            "demo",
            "known_host",
        ),
        (
            "https://codeberg.org/alice/demo.git",
            "forgejo",
            "codeberg.org",
            "demo",
            "known_host",
        ),
        (
            "git@codeberg.org:alice/demo",
            "forgejo",
            "codeberg.org",
            "demo",
            "known_host",
        ),
        (
            "https://gitea.example.org/alice/demo",
            "gitea",
            "gitea.example.org",
            "demo",
            "name",
        ),
        (
            "https://gitea.example.org:8443/alice/demo",
            "gitea",
            "gitea.example.org:8443",
            "demo",
            "name",
        ),
        (
            "git@forgejo.example.org:alice/demo.js",
            "forgejo",
            "forgejo.example.org",
            "demo.js",
            "name",
        ),
    ] {
        let found = blue
            .run(&["forge", "detect", url, "--json"])
            .success()
            .json();
        assert_eq!(found["type"], kind, "{url}: {found}");
        assert_eq!(found["host"], host, "{url}: {found}");
        assert_eq!(found["owner"], "alice", "{url}: {found}");
        assert_eq!(found["repo"], repo, "{url}: {found}");
        assert_eq!(found["found_by"], found_by, "{url}: {found}");
        assert_eq!(found["guess"], false, "{url}: {found}");
        // Where the network is out of reach, that is noted of hosts that are known by their name.
        let keys = found.as_object().unwrap().keys();
        let keys: Vec<_> = keys.filter(|key| *key != "notes").collect();
        assert_eq!(
            keys,
            [
                "type", "host", "owner", "repo", "api_url", "found_by", "guess"
            ]
        );
    }
}

#[test]
fn no_forge_is_an_answer() {
    let blue = Blue::new();
    for args in [
        &["forge", "detect", "--json"][..],
        &["forge", "detect", "./somewhere", "--json"],
        &["forge", "detect", "file:///srv/git/demo.git", "--json"],
    ] {
        let found = blue.run(args).success().json();
        assert_eq!(found["type"], "none", "{args:?}");
        assert!(
            found["host"].is_null() && found["guess"] == false,
            "{args:?}"
        );
    }
}

#[test]
fn dangerous_and_hopeless_urls_are_refused() {
    let blue = Blue::new();
    for url in [
        "ext::sh -c true",
        "https://git.example.org/a/b/c/d",
        "https://git.example.org/",
        "gopher://git.example.org/alice/demo",
        r"https://evil.com\@github.com/a/b",
        "nonsense",
    ] {
        let ran = blue.run(&["forge", "detect", "--json", "--", url]);
        assert_eq!(ran.code, Some(1), "{url}: {ran}");
        assert_eq!(ran.json()["error"]["code"], "invalid", "{url}: {ran}");
    }
    let ran = blue.run(&[
        "forge",
        "detect",
        "--",
        "https://alice:hunter2@git.example.org/a/b/c/d",
    ]);
    assert!(
        ran.code == Some(1) && !ran.to_string().contains("hunter2"),
        "{ran}"
    );
}

#[test]
fn a_website_and_a_dead_host_are_no_forge() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let blue = Blue::new();
    let dead = blue.home().join("dead");
    git(blue.home(), &["init", "-q", "dead"]);
    let url = format!("http://{address}/alice/demo");
    git(&dead, &["remote", "add", "origin", &url]);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            use std::io::{Read as _, Write as _};
            let mut stream = stream;
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(
                b"HTTP/1.1 404 Not Found\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>",
            );
        }
    });
    for args in [
        &["forge", "detect", &url, "--json"][..],
        &["-C", "dead", "forge", "detect", "--json"],
    ] {
        let ran = blue.run(args);
        let error = &ran.json()["error"];
        assert_eq!(
            (ran.code, &error["code"]),
            (Some(1), &json!("no_forge")),
            "{ran}"
        );
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("is not a forge"), "{message}");
        assert!(message.contains("/api/v3/meta: 404"), "{message}");
    }
    let status = Blue::new()
        .var("FORGEJO_URL", &format!("http://{address}"))
        .run(&["forge", "status"]);
    assert_eq!(status.code, Some(1), "{status}");
    assert!(status.stdout.contains("is not a forge"), "{status}");
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/alice/demo", gone.local_addr().unwrap());
    drop(gone);
    let ran = blue.run(&["forge", "detect", &url, "--json"]);
    let error = &ran.json()["error"];
    assert_eq!(
        (ran.code, &error["code"]),
        (Some(1), &json!("unreachable")),
        "{ran}"
    );
    assert!(
        error["message"].to_string().contains("could not reach"),
        "{ran}"
    );
}

#[test]
fn the_page_for_people() {
    assert_snapshot!(Blue::new().run(&["forge", "detect", "git@github.com:alice/demo.git"]), @r"
    Type        github
    Found by    a host that Blue knows
    Host        github.com
    Repository  alice/demo
    API         https://api.github.com
    exit 0
    ");
}

#[test]
fn the_remote_of_a_clone_also_from_below_and_from_elsewhere() {
    let blue = Blue::new();
    let clone = blue.home().join("clone");
    git(blue.home(), &["init", "-q", "clone"]);
    git(
        &clone,
        &["remote", "add", "origin", "git@codeberg.org:alice/demo.git"],
    );
    std::fs::create_dir_all(clone.join("deep/down")).unwrap();
    for place in ["clone", "clone/deep/down"] {
        let found = blue
            .run(&["-C", place, "forge", "detect", "--json"])
            .success()
            .json();
        assert_eq!(
            (&found["type"], &found["repo"]),
            (&json!("forgejo"), &json!("demo")),
            "{place}"
        );
    }
    git(&clone, &["remote", "rename", "origin", "one"]);
    git(
        &clone,
        &["remote", "add", "two", "git@github.com:bob/other.git"],
    );
    std::fs::remove_dir_all(clone.join(".blue")).ok();
    let ran = blue.run(&["-C", "clone", "forge", "detect"]);
    assert_snapshot!(ran, @r"
    error: several remotes could be meant: one, two
    hint: say which with `--remote`, or write `forge:` into `.blue/config.yaml`
    exit 1
    ");
    let found = blue.run(&[
        "-C", "clone", "forge", "detect", "--remote", "two", "--json",
    ]);
    assert_eq!(found.success().json()["repo"], "other");
}

#[test]
fn trust_is_kept_and_listed() {
    let blue = Blue::new();
    let none = blue.run(&["forge", "hosts", "--json"]).success().json();
    assert_eq!(none["hosts"], json!([]));
    for changed in [true, false] {
        let said = blue
            .run(&["forge", "trust", "Git.Example.org", "--json"])
            .success()
            .json();
        assert_eq!(
            said,
            json!({"host": "git.example.org", "trusted": true, "changed": changed})
        );
    }
    let hosts = blue.run(&["forge", "hosts", "--json"]).success().json();
    assert_eq!(hosts["hosts"][0]["host"], "git.example.org");
    assert!(hosts["hosts"][0]["trusted"].is_string(), "{hosts}");
    let file = blue.home().join(".blue/hosts.yaml");
    assert_eq!(hosts["file"], file.to_str().unwrap());
    assert!(file.is_file());
    let page = blue.run(&["forge", "hosts"]).success();
    assert!(
        page.stdout.starts_with("Host             Type  Token"),
        "{page}"
    );
    let ran = blue.run(&["forge", "trust", "not/a host"]);
    assert_snapshot!(ran, @r"
    error: `not/a host` is not a host name
    exit 1
    ");
}

#[test]
fn hosts_named_by_variables_are_listed_too() {
    let blue = Blue::new().var("FORGEJO_URL", "https://git.example.org/forge");
    let hosts = blue.run(&["forge", "hosts", "--json"]).success().json();
    assert_eq!(hosts["hosts"][0]["named_by"], "FORGEJO_URL", "{hosts}");
    let wrong = Blue::new()
        .var("FORGEJO_URL", "git.example.org")
        .run(&["forge", "hosts"]);
    assert_snapshot!(wrong, @r"
    error: `FORGEJO_URL` is not the URL of a forge
    hint: write it like `https://git.example.org`, without user, query or fragment
    exit 64
    ");
}

pub(super) fn git(dir: &Path, args: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "init.defaultBranch=main"])
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
}
