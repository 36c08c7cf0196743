//! The tools as commands

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};

use blue_base::{clock::SystemClock, http::HttpConfig};
use blue_forge::{
    allow::Allow,
    open::{Forges, Settings},
    token::Vars,
};
use blue_tools::{Cx, tools};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Blue, sandbox::Running};

/// The program as alice has it, with the demo forge
pub(super) fn alice() -> (Blue, Running) {
    let blue = Blue::new();
    let running = Running::start(&blue, &["up", "--json"]);
    let blue = blue
        .var("GITEA_URL", running.url())
        .var("GITEA_TOKEN", running.token(0));
    (blue, running)
}

pub(super) fn git(dir: &Path, args: &[&str]) {
    let done = Command::new("git")
        .current_dir(dir)
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(args)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", dir.join("none"))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// Calls a tool with JSON arguments, as a model does
fn by_json(running: &Running, tool: &str, args: &Value) -> Value {
    let home = tempfile::tempdir().unwrap();
    let vars = [
        ("GITEA_URL", running.url()),
        ("GITEA_TOKEN", running.token(0)),
    ];
    let settings = Settings {
        home: home.path().to_owned(),
        vars: Vars::from_iter(vars),
        http: HttpConfig::default(),
        cache: false,
        git_credentials: false,
        ssh_aliases: false,
        allow: Allow::everything(),
    };
    let forges = Forges::new(settings, home.path(), Arc::new(SystemClock));
    let cx = Cx::new(Arc::new(forges), Arc::new(SystemClock), home.path());
    let tool = tools::find(tool).unwrap();
    let args = args.as_object().unwrap().clone();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    match runtime.block_on(tool.call_json(&cx, args)) {
        Ok(answer) => Value::Object(answer),
        Err(error) => json!({ "error": error.json() }),
    }
}

const STOREFRONT: [&str; 2] = ["-R", "acme/storefront"];

/// Exit code of an answer: a verdict is 0 if green, 1 if red or blocked, 8 if pending or unknown
fn exit_code(tool: &str, answer: &Value) -> i32 {
    let waits = |row: &Value| {
        matches!(
            row["code"].as_str(),
            Some("checks_pending" | "checks_missing")
        )
    };
    let blockers = answer["blockers"].as_array();
    match (tool, answer["state"].as_str(), answer["can_merge"].as_str()) {
        _ if answer.get("error").is_some() => 1,
        ("workflow_run_status", Some("failure"), _) => 1,
        ("pr_verify", _, Some("no")) if !blockers.unwrap().iter().all(waits) => 1,
        ("workflow_run_status", Some("success"), _)
        | ("pr_verify", Some("merged"), _)
        | ("pr_verify", _, Some("yes")) => 0,
        ("workflow_run_status" | "pr_verify", ..) => 8,
        _ => 0,
    }
}

#[test]
fn the_exit_code_of_a_verdict_is_green_red_or_pending() {
    let (blue, _running) = alice();
    let run = |words: &[&str]| blue.run(&[words, &STOREFRONT].concat());
    let write = [
        "file",
        "write",
        "exit.txt",
        "--content",
        "x",
        "-m",
        "m",
        "--branch",
        "exit",
    ];
    run(&write).success();
    run(&["pr", "create", "--title", "Exit", "--head", "exit"]).success();
    let list = run(&["pr", "list", "--head", "exit", "--json"]);
    let number = list.json()["prs"][0]["number"].to_string();
    // The base of the demo wants an approval: blocked.
    for words in [
        &["pr", "verify", &number][..],
        &["pr", "verify", &number, "--json"],
    ] {
        let ran = run(words);
        assert_eq!(ran.code, Some(1), "{ran}");
        assert!(!ran.stdout.is_empty(), "{ran}");
    }
    assert_eq!(run(&["pr", "view", &number]).code, Some(0));
    assert_eq!(run(&["pr", "view", &number, "--json"]).code, Some(0));
    // Nothing has run for the branch.
    let ran = run(&["workflow", "run-status", "exit", "--json"]);
    assert_eq!(
        ran.code,
        Some(exit_code("workflow_run_status", &ran.json())),
        "{ran}"
    );
    let failed = run(&["pr", "verify", "9999", "--json"]);
    assert_eq!(failed.code, Some(1), "{failed}");
    assert_eq!(failed.json()["error"]["code"], "not_found");
}

#[test]
fn typed_and_sent_calls_get_the_same_answer() {
    let (blue, running) = alice();
    let calls: &[(&str, &str, Value)] = &[
        ("repo status", "repo_status", json!({})),
        (
            "repo status --branch euros",
            "repo_status",
            json!({"branch": "euros"}),
        ),
        ("branch list --limit 1", "branch_list", json!({"limit": 1})),
        (
            "branch protection-get main",
            "branch_protection_get",
            json!({"branch": "main"}),
        ),
        (
            "branch protection euros",
            "branch_protection_get",
            json!({"branch": "euros"}),
        ),
        (
            "pr list --state all --base main",
            "pr_list",
            json!({"state": "all", "base": "main"}),
        ),
        ("pr verify 1", "pr_verify", json!({"index": "#1"})),
        ("pr verify #1", "pr_verify", json!({"index": 1})),
        ("pr verify 99", "pr_verify", json!({"number": 99})),
        ("dir list src/shop", "dir_list", json!({"path": "src/shop"})),
        (
            "dir list README.md",
            "dir_list",
            json!({"path": "README.md"}),
        ),
        (
            "file read README.md --lines 1-3 --ref euros",
            "file_read",
            json!({"path": "README.md", "lines": "1-3", "ref": "euros"}),
        ),
        ("file read nope.md", "file_read", json!({"path": "nope.md"})),
        (
            "workflow status main",
            "workflow_run_status",
            json!({"branch": "main"}),
        ),
        // Twice: the second finds the tag of the first.
        (
            "tag create v9 main",
            "tag_create",
            json!({"tag": "v9", "target": "main"}),
        ),
        (
            "branch delete euros --yes",
            "branch_delete",
            json!({"branch": "euros"}),
        ),
    ];
    for (typed, tool, args) in calls {
        let words: Vec<&str> = typed.split(' ').collect();
        if *tool == "tag_create" {
            blue.run(&[&words[..], &STOREFRONT].concat()).success();
        }
        let ran = blue.run(&[&words[..], &STOREFRONT, &["--json"]].concat());
        let mut args = args.clone();
        args["owner"] = "acme".into();
        args["name"] = "storefront".into();
        let sent = by_json(&running, tool, &args);
        assert_eq!(ran.json(), sent, "{typed}");
        assert_eq!(ran.code, Some(exit_code(tool, &sent)), "{ran}");
    }
}

#[test]
fn the_list_of_owners_holds() {
    let (blue, _running) = alice();
    let list = ["branch", "list", "-R", "acme/storefront"];
    let refused = blue.run(&[&list[..], &["--allow", "bob,alice/*", "--json"]].concat());
    assert_eq!(refused.code, Some(1), "{refused}");
    assert_eq!(refused.json()["error"]["code"], "not_allowed");
    blue.run(&[&list[..], &["--allow", "acme"]].concat())
        .success();
    let blue = blue.var("BLUE_ALLOW", "bob");
    let refused = blue.run(&list);
    assert!(refused.stderr.contains("`acme`"), "{refused}");
    assert!(refused.stderr.contains("BLUE_ALLOW"), "{refused}");
    // What is typed wins.
    blue.run(&[&list[..], &["--allow", "acme"]].concat())
        .success();
    let empty = blue.var("BLUE_ALLOW", "").run(&list);
    assert_eq!(empty.code, Some(64), "{empty}");
}

#[test]
fn mistakes_say_what_is_right() {
    let blue = Blue::new();
    assert_snapshot!(blue.run(&["branch", "lst"]), @r"
    error: unrecognized subcommand `lst`
    hint: a similar subcommand exists: `list`; see `blue branch --help`
    exit 2
    ");
    assert_snapshot!(blue.run(&["branch", "list", "--limit", "x"]), @r"
    error: invalid value `x` for `--limit <LIMIT>`: expected a whole number
    hint: see `blue branch list --help`
    exit 2
    ");
    assert_snapshot!(blue.run(&["branch", "list", "--limit", "0"]), @r"
    error: invalid value `0` for `--limit <LIMIT>`: it must be from 1 to 100
    hint: see `blue branch list --help`
    exit 2
    ");
    assert_snapshot!(blue.run(&["pr", "merge", "99999999999999999999"]), @r"
    error: `99999999999999999999` is too large for the number of a pull request
    exit 2
    ");
    for wait in [&["workflow", "status"][..], &["pr", "verify", "1"]] {
        let ran = blue.run(&[wait, &["--wait", "301"]].concat());
        assert_eq!(ran.code, Some(2), "{ran}");
        assert!(ran.stderr.contains("it must be at most 300"), "{ran}");
    }
    assert_snapshot!(blue.run(&["branch", "delete", "topic", "--force"]), @r"
    error: the following required arguments were not provided: --sha <SHA>
    hint: see `blue branch delete --help`
    exit 2
    ");
    assert_snapshot!(blue.run(&["file", "read", "a", "--lines", "x"]), @r"
    error: invalid value `x` for `--lines <LINES>`: write `10-40`, `10-`, or `-20` for the last 20
    hint: see `blue file read --help`
    exit 2
    ");
    assert_snapshot!(blue.run(&["workflow", "run-status", "main", "--sha", "abc"]), @r"
    error: the argument `[BRANCH]` cannot be used with `--sha <SHA>`
    hint: see `blue workflow run-status --help`
    exit 2
    ");
    assert_snapshot!(blue.run(&["branch", "list", "-R", "storefront"]), @r"
    error: `storefront` is not a repository
    hint: write `owner/name`, `host/owner/name` or its URL
    exit 2
    ");
    assert_snapshot!(blue.run(&["branch", "list"]), @r"
    error: there is no forge to ask
    hint: run it in a clone of a repository, or set `FORGEJO_URL` or `GITHUB_SERVER_URL`
    exit 1
    ");
}

#[test]
fn what_has_a_place_can_be_named_too() {
    let (blue, _running) = alice();
    let whole = |args: &[&str]| {
        let args = [args, &["-R", "acme/storefront", "--json"]].concat();
        blue.run(&args).json()
    };
    let placed = whole(&["pr", "verify", "1"]);
    assert_eq!(placed["state"], "open", "{placed}");
    assert_eq!(whole(&["pr", "verify", "--index", "1"]), placed);
    assert_eq!(whole(&["pr", "verify", "--index=1"]), placed);
    let tag = whole(&["tag", "create", "v7", "--target", "main"]);
    let both = ["tag", "create", "--target", "main", "--tag", "v7"];
    assert_eq!(whole(&both)["commit_sha"], tag["commit_sha"]);
    assert_eq!(whole(&both)["existing"], true);
    let half = whole(&["tag", "create", "--tag", "v7"]);
    let said = half["error"]["message"].as_str().unwrap();
    assert!(said.ends_with("not provided: <TARGET>"), "{half}");
    let wrong = whole(&["pr", "verify", "--indx", "1"]);
    assert_eq!(wrong["error"]["code"], "usage", "{wrong}");
}

#[test]
fn limits_may_stand_before_the_noun() {
    let (blue, _running) = alice();
    let tail = ["-R", "acme/storefront", "--json"];
    let ran = |words: &[&str]| blue.run(&[words, &tail].concat());
    let refused = ran(&["--read-only", "pr", "merge", "1"]);
    assert_eq!(refused.json()["error"]["code"], "read_only", "{refused}");
    let refused = ran(&["--allow", "bob", "branch", "list"]);
    assert_eq!(refused.json()["error"]["code"], "not_allowed", "{refused}");
    ran(&["file", "write", "gone.md", "-b", "topic", "--content", "x"]).success();
    ran(&["--yes", "file", "delete", "gone.md", "-b", "topic"]).success();
    let wrong = ran(&["--yes", "branch", "list"]);
    assert_eq!(wrong.json()["error"]["code"], "usage", "{wrong}");
    assert!(wrong.stdout.contains("blue branch list --help"), "{wrong}");
}

#[test]
fn a_repository_can_be_named_by_its_url() {
    let (blue, running) = alice();
    let host = running.url().strip_prefix("http://").unwrap();
    for whole in [
        format!("{}/acme/storefront", running.url()),
        format!("{}/acme/storefront.git", running.url()),
        format!("{host}/acme/storefront"),
    ] {
        let ran = blue.run(&["branch", "list", "-R", &whole]).success();
        assert!(ran.stdout.contains("main"), "{whole}: {ran}");
    }
    let deep = blue.run(&["branch", "list", "-R", "https://a.example/b/c/d/e"]);
    assert_eq!(deep.code, Some(1), "{deep}");
}

#[test]
fn what_is_read_into_a_pipe_is_the_file() {
    let (blue, _running) = alice();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    std::fs::write(blue.home().join("local"), &bytes).unwrap();
    let place = ["-R", "acme/storefront"];
    let write = ["file", "write", "a.bin", "-b", "topic", "--from", "local"];
    blue.run(&[&write[..], &place].concat()).success();
    let read = ["file", "read", "a.bin", "--ref", "topic"];
    let output = blue.command(&[&read[..], &place].concat()).output();
    let output = output.unwrap();
    assert!(output.stdout == bytes, "{} bytes", output.stdout.len());
    assert!(output.stderr.is_empty() && output.status.success());
    // And back: what is piped in need not be a text.
    let mut child = blue
        .command(
            &[
                &["file", "write", "b.bin", "-b", "topic", "--from", "-"][..],
                &place,
            ]
            .concat(),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    assert!(child.wait().unwrap().success());
    let back = ["file", "read", "b.bin", "--ref", "topic"];
    let output = blue.command(&[&back[..], &place].concat()).output();
    assert!(output.unwrap().stdout == bytes);
    // A model's answer stays as small as it is for a model.
    let json = blue.run(&[&read[..], &place, &["--json"]].concat());
    assert_eq!(json.json()["error"]["code"], "too_large", "{json}");
}

#[test]
fn advice_can_be_typed() {
    let (blue, running) = alice();
    let place = ["-R", "acme/inventory"];
    let write = ["file", "write", "new.md", "-b", "topic", "--content", "x"];
    blue.run(&[&write[..], &place].concat()).success();
    let create = ["pr", "create", "--head", "topic", "--title", "New"];
    blue.run(&[&create[..], &place].concat()).success();
    let verified = blue.run(&[&["pr", "view", "2"][..], &place].concat());
    let url = format!("\n{}/acme/inventory/pulls/2\n", running.url());
    assert!(verified.stdout.contains(&url), "{verified}");
    let merge = verified.stderr.split('`').nth(1);
    let merge: Vec<&str> = merge.unwrap_or_default().split(' ').collect();
    assert_eq!(
        merge[..7],
        ["blue", "pr", "merge", "2", "--style", "merge", "--head-sha"],
        "{verified}"
    );
    let merged = blue.run(&merge[1..]).success();
    assert!(merged.stdout.contains("#2 is merged"), "{merged}");
    assert_snapshot!(blue.run(&["mcp", "--tools", "nope", "--exclude", "pr"]).code.unwrap(), @"2");
    let tools = blue.run(&["mcp", "--tools", "nope"]);
    assert!(
        tools.stderr.contains("branch_delete, branch_list"),
        "{tools}"
    );
}

#[test]
fn who_sent_no_token_is_told_so() {
    let (blue, _running) = alice();
    let blue = blue.var("GITEA_TOKEN", "");
    let ran = blue.run(&["pr", "merge", "1", "-R", "acme/storefront"]);
    assert!(ran.stderr.contains(" wants a token: "), "{ran}");
    assert!(ran.stderr.contains("hint: no token was sent; set"), "{ran}");
}

#[test]
fn what_a_clone_leaves_open_is_named_by_r() {
    let (blue, running) = alice();
    let clone = blue.home();
    git(clone, &["init", "-q"]);
    let none = blue.run(&["pr", "list"]);
    assert!(none.stderr.contains("`-R OWNER/NAME`"), "{none}");
    git(clone, &["remote", "add", "local", "/srv/git/x"]);
    let local = blue.run(&["pr", "list"]);
    assert!(local.stderr.contains("`-R OWNER/NAME`"), "{local}");
    for name in ["a", "b"] {
        let url = format!("{}/acme/storefront", running.url());
        git(clone, &["remote", "add", name, &url]);
    }
    git(clone, &["remote", "remove", "local"]);
    let several = blue.run(&["pr", "list"]);
    assert_snapshot!(several, @r"
    error: several remotes could be meant: a, b
    hint: name the repository with `-R OWNER/NAME`, or write `forge:` into `.blue/config.yaml`
    exit 1
    ");
    blue.run(&["pr", "list", "-R", "acme/storefront"]).success();
}

#[test]
fn a_branch_that_is_not_pushed_is_to_be_pushed() {
    let (blue, running) = alice();
    let url = format!("{}/acme/storefront.git", running.url());
    git(blue.home(), &["clone", "-q", &url, "clone"]);
    let create = |args: &[&str]| {
        let args = [&["-C", "clone", "pr", "create"], args].concat();
        blue.run(&args)
    };
    let itself = create(&["--fill"]);
    assert_snapshot!(itself, @r"
    error: `main` cannot be merged into itself
    hint: give the branch with the changes as `--head`
    exit 1
    ");
    git(
        &blue.home().join("clone"),
        &["checkout", "-q", "-b", "topic"],
    );
    for args in [&["--fill"][..], &[], &["--title", "T"]] {
        let ran = create(args);
        assert_eq!(ran.code, Some(1), "{args:?}: {ran}");
        assert!(
            ran.stderr
                .contains("hint: the branch must be on the forge: push it"),
            "{args:?}: {ran}"
        );
    }
}

#[test]
fn what_cannot_be_reached_is_said_in_few_words() {
    let blue = Blue::new().var("GITEA_TOKEN", "t");
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let ran = blue
        .var("GITEA_URL", &format!("http://127.0.0.1:{port}"))
        .run(&["pr", "list", "-R", "a/b"]);
    let start = format!("error: could not reach 127.0.0.1:{port}: Connection refused");
    assert!(ran.stderr.starts_with(&start), "{ran}");
    let (_, running) = alice();
    let tls = running.url().replace("http:", "https:");
    let ran = Blue::new()
        .var("GITEA_URL", &tls)
        .run(&["pr", "list", "-R", "a/b"]);
    assert!(
        ran.stderr
            .contains(": it does not speak TLS; is it plain HTTP?\n"),
        "{ran}"
    );
}

#[test]
fn a_commit_that_is_not_pushed_is_not_the_title() {
    let (blue, running) = alice();
    let place = ["-R", "acme/storefront"];
    let write = ["file", "write", "a", "-b", "topic", "--content", "a"];
    let message = ["-m", "Pushed\n\nWith a text"];
    blue.run(&[&write[..], &message, &place].concat()).success();
    let clone = blue.home().join("clone");
    let (token, host) = (running.token(0), running.address());
    let url = format!("http://alice:{token}@{host}/acme/storefront.git");
    git(blue.home(), &["clone", "-q", "-b", "topic", &url, "clone"]);
    let create = |args: &[&str]| {
        let args = [&["-C", "clone", "pr", "create"], args].concat();
        blue.run(&args).success()
    };
    git(
        &clone,
        &["commit", "-q", "--allow-empty", "-m", "Not pushed"],
    );
    let made = create(&[]);
    assert!(
        made.stderr.contains("note: the local `topic` is at "),
        "{made}"
    );
    assert!(made.stderr.contains("(Pushed)"), "{made}");
    let seen = blue.run(&[&["pr", "list", "--head", "topic"], &place[..]].concat());
    assert!(
        seen.stdout.contains("Pushed") && !seen.stdout.contains("Not pushed"),
        "{seen}"
    );
    git(&clone, &["reset", "-q", "--hard", "HEAD~1"]);
    assert!(!create(&[]).stderr.contains("note:"));
}

#[test]
fn a_noun_alone_shows_its_verbs() {
    let ran = Blue::new().run(&["branch"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.stderr.starts_with("List and delete branches"), "{ran}");
    assert!(ran.stderr.contains("  list  "), "{ran}");
}

#[test]
fn what_takes_something_away_needs_a_yes() {
    let (blue, _running) = alice();
    let delete = [
        "file",
        "delete",
        "Makefile",
        "-b",
        "main",
        "-R",
        "acme/storefront",
    ];
    assert_snapshot!(blue.run(&delete), @r"
    error: will not delete file Makefile without confirmation
    hint: add `--yes`; the question is asked only on a terminal, and without `--json`
    exit 2
    ");
    let json = blue.run(&[&delete[..], &["--json"]].concat());
    assert_eq!(json.json()["error"]["code"], "usage", "{json}");
    // What is refused anyway is refused for its own reason.
    let refused = blue.run(&[&delete[..], &["--read-only", "--json"]].concat());
    assert_eq!(refused.json()["error"]["code"], "read_only", "{refused}");
    let write = ["file", "write", "-b", "main", "--delete", "Makefile"];
    let write = [&write[..], &["-R", "acme/storefront"]].concat();
    assert_snapshot!(blue.run(&write), @r"
    error: will not delete file Makefile without confirmation
    hint: add `--yes`; the question is asked only on a terminal, and without `--json`
    exit 2
    ");
    let seen = blue
        .run(&["dir", "list", "-R", "acme/storefront"])
        .success();
    assert!(seen.stdout.contains("Makefile"), "{seen}");
    let place = ["-b", "topic", "-R", "acme/storefront"];
    let make = ["file", "write", "gone.md", "--content", "x"];
    blue.run(&[&make[..], &place].concat()).success();
    let delete = ["file", "write", "--delete", "gone.md", "--yes"];
    let gone = blue.run(&[&delete[..], &place].concat()).success();
    assert!(gone.stdout.contains("gone.md  deleted"), "{gone}");
}
