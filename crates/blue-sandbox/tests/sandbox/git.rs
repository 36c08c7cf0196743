//! The real git client against the sandbox

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use blue_sandbox::{Config, Sandbox, Seed};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::visitor::{Visitor, start};

const SEED: &str = r#"
users:
  - { login: alice, token: token-of-alice, admin: true }
  - { login: bob, token: token-of-bob }
  - { login: carol, token: token-of-carol }
orgs:
  - { name: acme, owners: [alice] }
repositories:
  - owner: alice
    name: app
    collaborators: { bob: write, carol: read }
    files: { README.md: "hello\n", src/a.txt: "a\n" }
    branches: [{ name: side }, { name: open }]
    protections:
      - { branch: main }
      - { branch: open, push: [bob] }
    pulls: []
  - { owner: alice, name: hidden, private: true, files: { secret.txt: "s\n" } }
  - { owner: alice, name: empty }
  - { owner: alice, name: old, archived: true, files: { a: "a\n" } }
"#;

struct Bench {
    sandbox: Sandbox,
    folder: tempfile::TempDir,
}

/// What git said, both channels together
struct Said {
    good: bool,
    text: String,
}

impl Bench {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let seed = folder.path().join("seed.yaml");
        fs::write(&seed, SEED).unwrap();
        let sandbox = start(Config {
            seed: Seed::File(seed),
            ..Config::default()
        })
        .await;
        Self { sandbox, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn url(&self, credentials: &str, repo: &str) -> String {
        let host = self.sandbox.url().strip_prefix("http://").unwrap();
        match credentials {
            "" => format!("http://{host}/{repo}.git"),
            some => format!("http://{some}@{host}/{repo}.git"),
        }
    }

    async fn git(&self, folder: &Path, args: &[&str]) -> Said {
        let output = Command::new("git")
            .args(["-c", "user.name=T", "-c", "user.email=t@example.org"])
            .args(["-c", "protocol.version=2", "-c", "http.lowSpeedTime=60"])
            .args(args)
            .current_dir(folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .output()
            .await
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        Said {
            good: output.status.success(),
            text,
        }
    }

    async fn good(&self, folder: &Path, args: &[&str]) -> String {
        let said = self.git(folder, args).await;
        assert!(said.good, "git {args:?}: {}", said.text);
        said.text
    }

    async fn bad(&self, folder: &Path, args: &[&str]) -> String {
        let said = self.git(folder, args).await;
        assert!(!said.good, "git {args:?} should fail: {}", said.text);
        said.text
    }

    /// Clone into a folder of that name
    async fn clone(&self, credentials: &str, repo: &str, name: &str) -> PathBuf {
        let url = self.url(credentials, repo);
        self.good(self.folder.path(), &["clone", "-q", &url, name])
            .await;
        self.path(name)
    }

    async fn commit(&self, work: &Path, file: &str, text: &str) {
        fs::write(work.join(file), text).unwrap();
        self.good(work, &["add", "-A"]).await;
        self.good(work, &["commit", "-q", "-m", &format!("change {file}")])
            .await;
    }

    /// Ask the Gitea door as alice
    async fn api(&self, method: Method, path: &str, body: Value) -> Value {
        let mut web = Visitor::new(&self.sandbox);
        let request = web
            .request(method, &format!("/api/v1{path}"))
            .header("authorization", "token token-of-alice")
            .header("content-type", "application/json")
            .body(body.to_string());
        let answer = web.send(request).await;
        assert!(answer.status < 300, "{path}: {answer:?}");
        answer.json()
    }

    async fn remote(&self, repo: &str) -> String {
        let url = self.url("alice:token-of-alice", repo);
        self.good(self.folder.path(), &["ls-remote", &url]).await
    }
}

#[tokio::test]
async fn clone_push_and_fetch_with_every_kind_of_credential() {
    let bench = Bench::new().await;
    let anonymous = bench.clone("", "alice/app", "anonymous").await;
    assert_eq!(
        fs::read_to_string(anonymous.join("README.md")).unwrap(),
        "hello\n"
    );

    let kinds = [
        "bob:bob-password",
        "bob:token-of-bob",
        "oauth2:token-of-bob",
        "token-of-bob:x-oauth-basic",
    ];
    for (at, credentials) in kinds.iter().enumerate() {
        let name = format!("work{at}");
        let work = bench.clone(credentials, "alice/app", &name).await;
        let branch = format!("refs/heads/by-{at}");
        bench.commit(&work, "new.txt", &format!("{at}\n")).await;
        bench
            .good(&work, &["push", "-q", "origin", &format!("HEAD:{branch}")])
            .await;
        let tip = bench.good(&work, &["rev-parse", "HEAD"]).await;
        assert!(
            bench
                .remote("alice/app")
                .await
                .contains(&format!("{}\t{branch}", tip.trim()))
        );
    }
    let bearer = "http.extraHeader=Authorization: Bearer token-of-bob";
    let url = bench.url("", "alice/hidden");
    let said = bench
        .bad(
            bench.folder.path(),
            &["-c", bearer, "clone", "-q", &url, "no"],
        )
        .await;
    assert!(said.contains("Repository not found"), "{said}");
    let bearer = "http.extraHeader=Authorization: Bearer token-of-alice";
    bench
        .good(
            bench.folder.path(),
            &["-c", bearer, "clone", "-q", &url, "yes"],
        )
        .await;

    bench.good(&anonymous, &["fetch", "-q"]).await;
    assert!(
        bench
            .good(&anonymous, &["branch", "-r"])
            .await
            .contains("origin/by-3")
    );
    bench
        .good(
            bench.folder.path(),
            &[
                "clone",
                "-q",
                "--depth=1",
                "--branch=by-0",
                &bench.url("", "alice/app"),
                "shallow",
            ],
        )
        .await;
    // The older protocol and a URL without `.git` work as well.
    let plain = bench.url("", "alice/app");
    let plain = plain.strip_suffix(".git").unwrap();
    bench
        .good(
            bench.folder.path(),
            &[
                "-c",
                "protocol.version=0",
                "clone",
                "-q",
                plain,
                "old-protocol",
            ],
        )
        .await;
}

#[tokio::test]
async fn who_may_not_is_told_so_in_the_forges_words() {
    let bench = Bench::new().await;
    let here = bench.folder.path();
    let said = bench
        .bad(here, &["clone", &bench.url("", "alice/hidden"), "x"])
        .await;
    assert!(said.contains("could not read Username"), "{said}");
    let said = bench
        .bad(
            here,
            &["clone", &bench.url("bob:wrong", "alice/hidden"), "x"],
        )
        .await;
    assert!(said.contains("Authentication failed"), "{said}");
    let said = bench
        .bad(
            here,
            &["clone", &bench.url("bob:token-of-bob", "alice/hidden"), "x"],
        )
        .await;
    assert!(said.contains("Repository not found"), "{said}");

    let work = bench
        .clone("carol:token-of-carol", "alice/app", "reader")
        .await;
    bench.commit(&work, "x", "x").await;
    let said = bench
        .bad(&work, &["push", "origin", "HEAD:refs/heads/x"])
        .await;
    assert!(
        said.contains("error: User permission denied for writing."),
        "{said}"
    );

    let work = bench
        .clone("alice:token-of-alice", "alice/old", "archived")
        .await;
    bench.commit(&work, "x", "x").await;
    let said = bench.bad(&work, &["push", "origin", "HEAD"]).await;
    assert!(said.contains("This repo is archived"), "{said}");

    let url = bench.url("alice:token-of-alice", "alice/none");
    let said = bench.bad(&work, &["push", &url, "HEAD"]).await;
    assert!(
        said.contains("Push to create is not enabled for users."),
        "{said}"
    );

    let mut web = Visitor::new(&bench.sandbox);
    let none = web
        .get("/alice/hidden.git/info/refs?service=git-upload-pack")
        .await;
    assert_eq!(
        (none.status, none.header("www-authenticate")),
        (401, "Basic realm=\"Gitea\"")
    );
    let nobody = web
        .get("/nobody/x.git/info/refs?service=git-upload-pack")
        .await;
    assert_eq!((nobody.status, nobody.text.as_str()), (404, "Not found.\n"));
    assert_eq!(
        web.get("/alice/app.git/info/refs?service=git-foo")
            .await
            .status,
        400
    );
    let request = web
        .request(Method::POST, "/alice/app.git/git-upload-pack")
        .body("x");
    assert_eq!(web.send(request).await.status, 400);
}

#[tokio::test]
async fn protected_branches_refuse_the_whole_push() {
    let bench = Bench::new().await;
    let work = bench
        .clone("alice:token-of-alice", "alice/app", "work")
        .await;
    let before = bench.remote("alice/app").await;
    bench.commit(&work, "x", "x").await;
    let said = bench
        .bad(&work, &["push", "origin", "HEAD:main", "HEAD:side"])
        .await;
    assert!(
        said.contains("remote: error: Not allowed to push to protected branch main"),
        "{said}"
    );
    assert_eq!(
        said.matches("(pre-receive hook declined)").count(),
        2,
        "{said}"
    );
    let said = bench.bad(&work, &["push", "origin", ":main"]).await;
    assert!(
        said.contains("branch main is the default branch and cannot be deleted"),
        "{said}"
    );
    let said = bench.bad(&work, &["push", "origin", ":open"]).await;
    assert!(
        said.contains("branch open is protected from deletion"),
        "{said}"
    );
    let said = bench
        .bad(&work, &["push", "origin", "HEAD:refs/pull/1/head"])
        .await;
    assert!(said.contains("(hook declined)"), "{said}");
    assert_eq!(bench.remote("alice/app").await, before);

    let work = bench.clone("bob:token-of-bob", "alice/app", "bob").await;
    bench.good(&work, &["switch", "-q", "open"]).await;
    bench.commit(&work, "y", "y").await;
    bench.good(&work, &["push", "-q", "origin", "open"]).await;
    bench
        .good(&work, &["commit", "-q", "--amend", "-m", "rewritten"])
        .await;
    let said = bench
        .bad(&work, &["push", "--force", "origin", "open"])
        .await;
    assert!(
        said.contains("branch open is protected from force push"),
        "{said}"
    );
    // Elsewhere history may be rewritten, and branches may go.
    bench
        .good(&work, &["push", "-q", "--force", "origin", "HEAD:side"])
        .await;
    bench.good(&work, &["push", "-q", "origin", ":side"]).await;
    assert!(!bench.remote("alice/app").await.contains("refs/heads/side"));
}

#[tokio::test]
async fn the_first_push_makes_the_default_branch() {
    let bench = Bench::new().await;
    let work = bench.path("fresh");
    bench
        .good(bench.folder.path(), &["init", "-q", "-b", "trunk", "fresh"])
        .await;
    bench.commit(&work, "a", "a").await;
    let url = bench.url("alice:token-of-alice", "alice/empty");
    bench.good(&work, &["push", "-q", &url, "trunk"]).await;
    let cloned = bench.clone("", "alice/empty", "cloned").await;
    assert_eq!(
        bench
            .good(&cloned, &["branch", "--show-current"])
            .await
            .trim(),
        "trunk"
    );
}

#[tokio::test]
async fn a_big_push_and_a_long_negotiation_go_through() {
    let bench = Bench::new().await;
    let work = bench.clone("bob:token-of-bob", "alice/app", "work").await;
    // 20 MB that do not compress.
    let mut file = fs::File::create(work.join("big.bin")).unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut block = Vec::with_capacity(1 << 20);
    for _ in 0..20 {
        block.clear();
        while block.len() < 1 << 20 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            block.extend_from_slice(&state.to_le_bytes());
        }
        file.write_all(&block).unwrap();
    }
    drop(file);
    bench.good(&work, &["add", "-A"]).await;
    bench.good(&work, &["commit", "-q", "-m", "big"]).await;
    bench
        .good(&work, &["push", "-q", "origin", "HEAD:refs/heads/big"])
        .await;
    let other = bench.clone("", "alice/app", "other").await;
    bench.good(&other, &["checkout", "-q", "big"]).await;
    assert_eq!(
        fs::read(other.join("big.bin")).unwrap(),
        fs::read(work.join("big.bin")).unwrap()
    );

    // Many commits the server does not have: git gzips what it says about them.
    let script: Vec<String> = (0..400)
        .map(|at| {
            let when = 1_700_000_000 + at;
            format!(
                "commit refs/heads/local\ncommitter T <t@example.org> {when} +0000\ndata 2\nx\n\
                 M 100644 inline f\ndata 4\n{at:03}\n\n"
            )
        })
        .collect();
    let import = bench.path("import");
    fs::write(&import, script.concat()).unwrap();
    let mut git = Command::new("git")
        .args(["fast-import", "--quiet"])
        .current_dir(&other)
        .stdin(fs::File::open(&import).unwrap())
        .spawn()
        .unwrap();
    assert!(git.wait().await.unwrap().success());
    bench.commit(&work, "after", "after").await;
    bench
        .good(&work, &["push", "-q", "origin", "HEAD:refs/heads/big"])
        .await;
    bench.good(&other, &["fetch", "-q", "origin"]).await;
    let tips = bench.good(&other, &["rev-parse", "origin/big"]).await;
    assert_eq!(tips, bench.good(&work, &["rev-parse", "HEAD"]).await);
}

#[tokio::test]
async fn when_a_push_has_returned_the_forge_knows() {
    let bench = Bench::new().await;
    let work = bench.clone("bob:token-of-bob", "alice/app", "work").await;
    bench.commit(&work, "x", "one").await;
    bench
        .good(&work, &["push", "-q", "origin", "HEAD:refs/heads/topic"])
        .await;
    let new = json!({"head": "topic", "base": "main", "title": "Topic"});
    let made = bench.api(Method::POST, "/repos/alice/app/pulls", new).await;
    assert_eq!(
        made["head"]["sha"],
        bench.good(&work, &["rev-parse", "HEAD"]).await.trim()
    );

    let rule = "workflows: [{ on: [push], jobs: [{ name: build, context: ci/build }] }]\n";
    fs::create_dir(work.join(".sandbox")).unwrap();
    bench.commit(&work, ".sandbox/ci.yaml", rule).await;
    bench
        .good(&work, &["push", "-q", "origin", "HEAD:topic"])
        .await;
    let tip = bench.good(&work, &["rev-parse", "HEAD"]).await;
    let pull = bench
        .api(Method::GET, "/repos/alice/app/pulls/1", Value::Null)
        .await;
    assert_eq!(pull["head"]["sha"], tip.trim());
    let runs = bench
        .api(Method::GET, "/repos/alice/app/actions/runs", Value::Null)
        .await;
    assert_eq!(runs["workflow_runs"][0]["head_sha"], tip.trim(), "{runs}");

    bench.good(&work, &["push", "-q", "origin", ":topic"]).await;
    let pull = bench
        .api(Method::GET, "/repos/alice/app/pulls/1", Value::Null)
        .await;
    assert_eq!(
        (&pull["state"], &pull["merged"]),
        (&json!("closed"), &json!(false))
    );
}

#[tokio::test]
async fn a_renamed_repository_is_found_under_its_old_name() {
    let bench = Bench::new().await;
    let work = bench.clone("bob:token-of-bob", "alice/app", "work").await;
    bench
        .api(
            Method::PATCH,
            "/repos/alice/app",
            json!({"name": "renamed"}),
        )
        .await;
    bench.commit(&work, "x", "x").await;
    bench.good(&work, &["fetch", "-q"]).await;
    bench
        .good(&work, &["push", "-q", "origin", "HEAD:refs/heads/after"])
        .await;
    assert!(
        bench
            .remote("alice/renamed")
            .await
            .contains("refs/heads/after")
    );
    let mut web = Visitor::new(&bench.sandbox);
    let moved = web
        .get("/alice/app.git/info/refs?service=git-upload-pack")
        .await;
    let there = "/alice/renamed/info/refs?service=git-upload-pack";
    assert_eq!((moved.status, moved.location.as_str()), (301, there));
}

#[tokio::test]
async fn protected_files_stay_as_they_are() {
    let bench = Bench::new().await;
    let rule = json!({"rule_name": "side", "enable_push": true, "protected_file_patterns": "src/**;*.lock"});
    bench
        .api(Method::POST, "/repos/alice/app/branch_protections", rule)
        .await;
    let work = bench.clone("bob:token-of-bob", "alice/app", "work").await;
    bench.good(&work, &["switch", "-q", "side"]).await;
    bench.commit(&work, "free.txt", "x").await;
    bench.good(&work, &["push", "-q", "origin", "side"]).await;
    for file in ["src/a.txt", "x.lock"] {
        bench.commit(&work, file, "changed").await;
        let said = bench.bad(&work, &["push", "origin", "side"]).await;
        let words = format!("branch side is protected from changing file {file}");
        assert!(said.contains(&words), "{said}");
        bench
            .good(&work, &["reset", "-q", "--hard", "HEAD~1"])
            .await;
    }
}
