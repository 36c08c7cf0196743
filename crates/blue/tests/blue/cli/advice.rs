//! Advice that is followed as the command line shows it, and what users of gh type

use std::path::Path;

use serde_json::Value;

use super::{
    Blue, Ran,
    sandbox::Running,
    tools::{alice, git},
};
use crate::docs::words;

/// What stands in backquotes and begins with `blue`, as words without it
fn commands(text: &str) -> Vec<Vec<String>> {
    let quoted = text.split('`').skip(1).step_by(2);
    let typed = quoted.filter_map(|text| text.strip_prefix("blue "));
    typed.map(words).collect()
}

/// The options in backquotes after `run the same`
fn options(text: &str) -> Vec<String> {
    let (_, rest) = text.split_once("run the same ").unwrap();
    words(rest.split('`').nth(1).unwrap())
}

fn run(blue: &Blue, words: &[String], more: &[&str]) -> Ran {
    let words = words.iter().map(String::as_str);
    let words: Vec<&str> = words.chain(more.iter().copied()).collect();
    blue.run(&words)
}

/// A clone of a repository of the demo, in the folder where the program runs
fn clone(blue: &Blue, running: &Running, name: &str) {
    let token = running.token(0);
    let url = running
        .url()
        .replace("http://", &format!("http://x:{token}@"));
    git(
        blue.home(),
        &["clone", "-q", &format!("{url}/acme/{name}.git"), name],
    );
    let plain = format!("{}/acme/{name}.git", running.url());
    git(
        &blue.home().join(name),
        &["remote", "set-url", "origin", &plain],
    );
}

fn protect(running: &Running, repo: &str) {
    let body = r#"{"rule_name": "main", "enable_push": false, "required_approvals": 1}"#;
    let path = format!("/api/v1/repos/{repo}/branch_protections");
    let answer = post(running, &path, body);
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

/// A request as a plain program sends it
fn post(running: &Running, path: &str, body: &str) -> String {
    use std::io::{Read as _, Write as _};
    let mut socket = std::net::TcpStream::connect(running.address()).unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: token {}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        running.address(),
        running.token(0),
        body.len()
    );
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_protected_branch_leads_to_a_pull_request() {
    let (blue, running) = alice();
    protect(&running, "acme/inventory");
    let write = [
        "file",
        "write",
        "a.md",
        "--content",
        "a",
        "-R",
        "acme/inventory",
    ];
    let refused = blue.run(&[&write[..], &["--branch", "main"]].concat());
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(!refused.stderr.contains("--head main`"), "{refused}");
    let options = options(&refused.stderr);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    blue.run(&[&write[..], &options].concat()).success();
    let [create] = &commands(&refused.stderr)[..] else {
        panic!("{refused}")
    };
    run(&blue, create, &["--title", "As advised"]).success();
}

#[test]
fn a_deletion_on_a_protected_branch_leads_to_a_pull_request() {
    let (blue, running) = alice();
    protect(&running, "acme/inventory");
    let delete = ["file", "delete", "README.md", "--branch", "main", "--yes"];
    let refused = blue.run(&[&delete[..], &["-R", "acme/inventory"]].concat());
    assert_eq!(refused.code, Some(1), "{refused}");
    let [write, create] = &commands(&refused.stderr)[..] else {
        panic!("{refused}")
    };
    run(&blue, write, &["--yes"]).success();
    run(&blue, create, &["--title", "As advised"]).success();
}

#[test]
fn the_name_of_a_remote_is_no_part_of_a_new_branch() {
    let (blue, running) = alice();
    clone(&blue, &running, "inventory");
    git(
        &blue.home().join("inventory"),
        &["remote", "add", "mine", "https://git.example.org/a/b"],
    );
    for branch in ["origin/m1", "mine/m1"] {
        let write = [
            "-C",
            "inventory",
            "file",
            "write",
            "a.md",
            "--content",
            branch,
        ];
        let write = [&write[..], &["-R", "acme/inventory"]].concat();
        let refused = blue.run(&[&write[..], &["--branch", branch]].concat());
        assert_eq!(refused.code, Some(1), "{refused}");
        let options = options(&refused.stderr);
        assert_eq!(options, ["--branch", "m1"], "{refused}");
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let written = blue.run(&[&write[..], &options].concat()).success();
        assert!(written.stdout.contains("m1"), "{written}");
    }
}

#[test]
fn a_new_branch_is_given_as_branch_and_base() {
    let (blue, _running) = alice();
    let write = [
        "file",
        "write",
        "a.md",
        "--content",
        "a",
        "-R",
        "acme/inventory",
    ];
    let wrong = ["--branch", "main", "--new-branch", "m2"];
    let refused = blue.run(&[&write[..], &wrong].concat());
    assert_eq!(refused.code, Some(2), "{refused}");
    let said = "give the new branch as `--branch`, and where it starts as `--base`";
    assert!(refused.stderr.contains(said), "{refused}");
    let right = ["--branch", "m2", "--base", "main"];
    blue.run(&[&write[..], &right].concat()).success();
}

#[test]
fn a_name_that_only_sounds_alike_is_not_proposed() {
    let blue = Blue::new();
    for (args, hint) in [
        (
            &["pr", "comment", "1"][..],
            "hint: Blue has no such command: do it on the page",
        ),
        (
            &["pr", "verify", "1", "--rebase"],
            "hint: see `blue pr verify --help`",
        ),
        (&["pr", "frobnicate"], "hint: see `blue pr --help`"),
        (
            &["pr", "merge", "--stlye", "squash"],
            "hint: a similar argument exists: `--style`;",
        ),
        (&["pr", "lst"], "hint: a similar subcommand exists: `list`;"),
        (
            &["pr", "checks", "1"],
            "hint: there is `blue workflow run-status --pr`;",
        ),
        (
            &["pr", "list", "--json", "number,title"],
            "`--json` takes no fields",
        ),
        (&["pr", "create", "-w"], "Blue opens no browser"),
        (&["pr", "view", "1", "--web"], "Blue opens no browser"),
        (
            &["pr", "list", "--author", "bob"],
            "filter the rows that `--json` prints",
        ),
        (
            &["pr", "merge", "1", "--auto"],
            "leave it out: Blue merges now",
        ),
        (&["workflow", "status", "--watch"], "use `--wait 300`"),
    ] {
        let ran = blue.run(args);
        assert_eq!(ran.code, Some(2), "{ran}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains(hint), "{args:?}: {ran}");
        assert!(!said.contains("--verbose"), "{ran}");
    }
}

#[test]
fn a_title_that_is_not_used_is_told() {
    let (blue, _running) = alice();
    let write = [
        "file",
        "write",
        "a.md",
        "--content",
        "a",
        "-b",
        "hours",
        "-R",
        "acme/inventory",
    ];
    blue.run(&write).success();
    let create = ["pr", "create", "-R", "acme/inventory", "-H", "hours", "-t"];
    blue.run(&[&create[..], &["Old"]].concat()).success();
    let again = blue.run(&[&create[..], &["New"]].concat()).success();
    assert!(
        again
            .stderr
            .contains("its title was not changed: edit it at http://"),
        "{again}"
    );
    let same = blue.run(&[&create[..], &["Old"]].concat()).success();
    assert!(!same.stderr.contains("not changed"), "{same}");
}

/// A pull request of the clone `inventory` from the branch that is checked out there
fn with_pull_request(branch: &str) -> (Blue, Running, u64) {
    let (blue, running) = alice();
    clone(&blue, &running, "inventory");
    let write = [
        "-C",
        "inventory",
        "file",
        "write",
        "a.md",
        "--content",
        "a",
        "-b",
        branch,
    ];
    blue.run(&write).success();
    let dir = blue.home().join("inventory");
    git(&dir, &["fetch", "-q"]);
    git(&dir, &["switch", "-q", branch]);
    let create = [
        "-C",
        "inventory",
        "pr",
        "create",
        "-t",
        "Say when",
        "-b",
        "Open",
        "-d",
    ];
    let made = blue.run(&[&create[..], &["--json"]].concat()).success();
    let number = made.json()["pr_number"].as_u64().unwrap();
    (blue, running, number)
}

fn number_of(ran: &Ran) -> u64 {
    let first = ran.stdout.lines().next().unwrap();
    let number = first.strip_prefix('#').unwrap().split(' ').next().unwrap();
    number.parse().unwrap()
}

#[test]
fn a_pull_request_is_named_as_gh_takes_it() {
    let (blue, running, number) = with_pull_request("hours");
    let url = format!("{}/acme/inventory/pulls/{number}", running.url());
    let (plain, hash) = (number.to_string(), format!("#{number}"));
    for which in ["", &plain, &hash, &url, "hours"] {
        let mut view = vec!["-C", "inventory", "pr", "view", which];
        view.retain(|word| !word.is_empty());
        let ran = blue.run(&view);
        assert_eq!(number_of(&ran), number, "{which}: {ran}");
    }
    for which in [plain.as_str(), &hash, &url, "hours"] {
        let ran = blue.run(&[
            "-C",
            "inventory",
            "workflow",
            "status",
            "--json",
            "--pr",
            which,
        ]);
        assert!(ran.json()["state"].is_string(), "{which}: {ran}");
    }
    // A URL names the repository too.
    let ran = blue.run(&["pr", "view", &url]);
    assert_eq!(number_of(&ran), number, "{ran}");
    let other = blue.run(&["pr", "view", &url, "-R", "acme/storefront"]);
    assert_eq!(other.code, Some(2), "{other}");
    let none = blue.run(&["-C", "inventory", "pr", "view", "nowhere"]);
    assert_eq!(none.code, Some(1), "{none}");
    let [list] = &commands(&none.stderr)[..] else {
        panic!("{none}")
    };
    let listed = run(&blue, list, &["-C", "inventory"]).success();
    assert!(listed.stdout.contains("Say when"), "{listed}");
}

#[test]
fn the_repository_may_stand_anywhere_and_keeps_its_scheme() {
    let (blue, running) = alice();
    let url = format!("{}/acme/inventory", running.url());
    for words in [
        &["-R", "acme/inventory", "pr", "list"][..],
        &["pr", "-R", "acme/inventory", "list"],
        &["pr", "list", "-Racme/inventory"],
        &["--repo=acme/inventory", "--json", "pr", "list"],
        &["-R", &url, "pr", "list", "-s", "all", "-L", "1"],
    ] {
        let ran = blue.run(words).success();
        assert!(ran.stdout.contains("Sell gloves"), "{ran}");
    }
    // Nothing but the URL names the forge, and it says `http`.
    let plain = Blue::new().run(&["pr", "list", "-R", &url]).success();
    assert!(plain.stdout.contains("Sell gloves"), "{plain}");
}

#[test]
fn a_merge_takes_the_flags_of_gh() {
    for (flag, parents) in [
        ("--squash", 1),
        ("-s", 1),
        ("--merge", 2),
        ("-m", 2),
        ("-r", 1),
    ] {
        let (blue, running) = alice();
        let write = [
            "file",
            "write",
            "a.md",
            "--content",
            "a",
            "-b",
            "hours",
            "-R",
            "acme/inventory",
        ];
        blue.run(&write).success();
        let create = [
            "pr",
            "create",
            "-R",
            "acme/inventory",
            "-H",
            "hours",
            "-t",
            "T",
        ];
        let made = blue.run(&[&create[..], &["--json"]].concat()).success();
        let number = made.json()["pr_number"].to_string();
        let merge = ["-R", "acme/inventory", "pr", "merge", &number, flag, "-d"];
        let merged = blue.run(&merge).success();
        assert!(merged.stdout.contains("The branch is deleted"), "{merged}");
        git(blue.home(), &["clone", "-q", &clone_url(&running), "c"]);
        assert_eq!(parents_of_head(&blue.home().join("c")), parents, "{flag}");
    }
    let both = Blue::new().run(&["pr", "merge", "1", "--squash", "--rebase"]);
    assert_eq!(both.code, Some(2), "{both}");
}

fn clone_url(running: &Running) -> String {
    format!("{}/acme/inventory.git", running.url())
}

fn parents_of_head(dir: &Path) -> usize {
    let shown = std::process::Command::new("git")
        .current_dir(dir)
        .args(["show", "-s", "--format=%P", "HEAD"])
        .output()
        .unwrap();
    String::from_utf8(shown.stdout)
        .unwrap()
        .split_whitespace()
        .count()
}

#[test]
fn random_tokens_are_made_unless_the_seed_is_named() {
    let blue = Blue::new();
    let tokens = |args: &[&str]| -> Vec<Value> {
        let running = Running::start(&blue, args);
        let users = running.ready()["users"].as_array().unwrap().clone();
        users.iter().map(|user| user["token"].clone()).collect()
    };
    let named = tokens(&["sandbox", "--json", "--seed", "demo"]);
    assert_eq!(tokens(&["up", "--json", "--seed", "demo"]), named);
    let random = tokens(&["up", "--json"]);
    assert_eq!(random.len(), named.len());
    assert!(
        random.iter().all(|token| !named.contains(token)),
        "{random:?}"
    );
    assert_ne!(tokens(&["up", "--json"]), random);
}
