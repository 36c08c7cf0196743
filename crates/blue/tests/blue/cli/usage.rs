//! Mistakes on the command line, and help

use insta::assert_snapshot;

use super::Blue;

fn blue(args: &[&str]) -> super::Ran {
    Blue::new().run(args)
}

#[test]
fn an_unknown_command_gets_a_suggestion() {
    assert_snapshot!(blue(&["frge"]), @r"
    error: unrecognized subcommand `frge`
    hint: a similar subcommand exists: `forge`; see `blue --help`
    exit 2
    ");
    assert_snapshot!(blue(&["forge", "detct"]), @r"
    error: unrecognized subcommand `detct`
    hint: a similar subcommand exists: `detect`; see `blue forge --help`
    exit 2
    ");
}

#[test]
fn a_verb_alone_is_told_its_noun() {
    assert_snapshot!(blue(&["merge", "3"]), @r"
    error: unrecognized subcommand `merge`
    hint: there is `blue pr merge`; see `blue --help`
    exit 2
    ");
    assert_snapshot!(blue(&["status"]), @r"
    error: unrecognized subcommand `status`
    hint: there are `blue repo status`, `blue workflow run-status`, `blue forge status`; see `blue --help`
    exit 2
    ");
    for tool in ["pr_merge", "blue_pr_merge", "pr-merge"] {
        let ran = blue(&[tool, "3"]);
        assert_eq!(ran.code, Some(2), "{ran}");
        assert!(
            ran.stderr.contains("hint: there is `blue pr merge`;"),
            "{ran}"
        );
    }
}

#[test]
fn wrong_values_say_what_is_right() {
    assert_snapshot!(blue(&["sandbox", "--flavor", "gitlab"]), @r"
    error: invalid value `gitlab` for `--flavor <FLAVOR>` [possible values: gitea, forgejo, forgejo-7, forgejo-15]
    hint: a similar value exists: `gitea`; see `blue sandbox --help`
    exit 2
    ");
    assert_snapshot!(blue(&["sandbox", "--listen", "nowhere"]), @r"
    error: invalid value `nowhere` for `--listen <ADDR>`: an address is like `127.0.0.1:3000`, `[::1]:3000` or `3000`
    hint: see `blue sandbox --help`
    exit 2
    ");
    assert_snapshot!(blue(&["sandbox", "--seed", "nope"]), @r"
    error: `nope` is neither `demo` nor `empty` nor a file
    exit 2
    ");
    assert_snapshot!(blue(&["-C", "nowhere-at-all", "forge", "hosts"]).code.unwrap(), @"2");
}

#[test]
fn no_command_is_a_mistake_that_shows_the_help() {
    let ran = blue(&[]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stdout.is_empty(), "{ran}");
    assert!(ran.stderr.contains("Usage: blue"), "{ran}");
    let ran = blue(&["--json"]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(ran.json()["error"]["code"], "usage");
}

#[test]
fn mistakes_are_json_when_json_is_asked_for() {
    for args in [
        &["frge", "--json"][..],
        &["--json", "forge"],
        &["sandbox", "--json", "--flavor", "x"],
        &["sandbox", "--json", "--seed", "nope"],
    ] {
        let ran = blue(args);
        assert_eq!(ran.code, Some(2), "{ran}");
        let error = &ran.json()["error"];
        assert_eq!(error["code"], "usage", "{ran}");
        assert!(
            error["message"].is_string() && error["retryable"] == false,
            "{ran}"
        );
        assert!(error.as_object().unwrap().contains_key("hint"), "{ran}");
        assert!(ran.stderr.is_empty(), "{ran}");
    }
}

#[test]
fn help_is_on_stdout_and_fits_a_terminal() {
    for args in [
        &["--help"][..],
        &["-h"],
        &["help"],
        &["up", "--help"],
        &["forge", "--help"],
        &["help", "forge", "detect"],
        &["sandbox", "-h"],
    ] {
        let ran = blue(args).success();
        assert!(
            ran.stderr.is_empty() && ran.stdout.contains("Usage: blue"),
            "{ran}"
        );
        for line in ran.stdout.lines() {
            assert!(line.chars().count() <= 100, "{args:?}: {line}");
        }
    }
}

#[test]
fn the_version_names_the_commit() {
    let ran = blue(&["--version"]).success();
    let rest = ran
        .stdout
        .strip_prefix(concat!("blue ", env!("CARGO_PKG_VERSION")))
        .unwrap();
    // Outside of a checkout there is none.
    if crate::tidy::root().join(".git").exists() {
        let built = rest.trim().trim_matches(['(', ')']);
        let (commit, date) = built.split_once(' ').unwrap();
        assert!(
            commit.len() >= 10 && commit.bytes().all(|b| b.is_ascii_hexdigit()),
            "{ran}"
        );
        assert_eq!(date.len(), "2026-01-01".len(), "{ran}");
    }
    let json = blue(&["--version", "--json"]).success().json();
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert!(json.as_object().unwrap().contains_key("commit"));
}

#[test]
fn help_is_json_too() {
    for args in [
        &["help", "--json"][..],
        &["help", "pr", "--json"],
        &["--json", "help"],
        &["pr", "--help", "--json"],
        &["pr", "help", "--json"],
        &["pr", "help", "merge", "--json"],
        &["broker", "keys", "help", "--json"],
    ] {
        let help = blue(args).success().json();
        assert!(
            help["help"].as_str().unwrap().contains("Usage: blue"),
            "{args:?}"
        );
    }
}

#[test]
fn a_folder_without_a_repository_has_no_forge() {
    let ran = blue(&["forge", "detect"]).success();
    assert_eq!(
        ran.stdout,
        "no forge: this is not a repository on a server\n"
    );
}
