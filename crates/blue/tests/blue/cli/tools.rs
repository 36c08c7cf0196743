//! The tools as commands

use std::sync::Arc;

use blue_core::{
    clock::SystemClock,
    forge::{
        allow::Allow,
        open::{Forges, Settings},
        token::Vars,
    },
    http::HttpConfig,
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

/// The same call by JSON, as a model makes it
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
        assert_eq!(ran.code == Some(0), sent.get("error").is_none(), "{ran}");
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
    error: invalid value `x` for `--limit <LIMIT>`: a whole number is needed
    hint: see `blue branch list --help`
    exit 2
    ");
    assert_snapshot!(blue.run(&["branch", "list", "-R", "storefront"]), @r"
    error: `storefront` is not a repository
    hint: write `owner/name`, or `host/owner/name`
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
fn a_noun_alone_shows_its_verbs() {
    let ran = Blue::new().run(&["branch"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.stderr.starts_with("List and delete branches"), "{ran}");
    assert!(ran.stderr.contains("  list  "), "{ran}");
}

#[test]
fn shells_get_their_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = Blue::new().run(&["completions", shell]).success();
        for word in ["blue", "branch", "list", "limit", "read-only"] {
            assert!(ran.stdout.contains(word), "{shell}: {word}");
        }
        let json = Blue::new().run(&["completions", shell, "--json"]).json();
        assert_eq!(json["script"], ran.stdout.as_str());
    }
}

#[test]
fn there_is_a_man_page_for_every_command() {
    let blue = Blue::new();
    let page = blue.run(&["man"]).success();
    assert!(page.stdout.contains("\n.TH blue 1"), "{page}");
    let written = blue.run(&["man", "pages/man1", "--json"]).success().json();
    let pages = written["pages"].as_array().unwrap();
    for tool in tools::ALL {
        let name = format!("blue-{}-{}.1", tool.noun(), tool.verb());
        assert!(pages.contains(&json!(name)), "{name}");
    }
    for page in pages {
        let file = blue.home().join("pages/man1").join(page.as_str().unwrap());
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
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
    error: `--yes` is needed to delete file Makefile: nobody can be asked here
    hint: add `--yes` if it is meant
    exit 2
    ");
    let json = blue.run(&[&delete[..], &["--json"]].concat());
    assert_eq!(json.json()["error"]["code"], "usage", "{json}");
    // What is refused anyway is refused for its own reason.
    let refused = blue.run(&[&delete[..], &["--read-only", "--json"]].concat());
    assert_eq!(refused.json()["error"]["code"], "read_only", "{refused}");
    let seen = blue
        .run(&["dir", "list", "-R", "acme/storefront"])
        .success();
    assert!(seen.stdout.contains("Makefile"), "{seen}");
}
