//! A sandbox that is killed in the middle of its work

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use blue_sandbox::{Config, Sandbox, Timing};
use serde_json::{Value, json};

use crate::api::{Api, git};

/// The other half of the test below: a sandbox on the current folder, until it is killed
#[tokio::test]
#[ignore = "run as a child of the crash test"]
async fn serve_here() {
    let dir = std::env::current_dir().unwrap();
    let config = Config {
        dir: Some(dir.join("state")),
        timing: Timing::INSTANT,
        ..Config::default()
    };
    let sandbox = Sandbox::start(config).await.unwrap();
    let line = format!("{} {}", sandbox.url(), sandbox.users()[0].token.expose());
    fs::write(dir.join("ready.new"), line).unwrap();
    fs::rename(dir.join("ready.new"), dir.join("ready")).unwrap();
    std::future::pending::<()>().await;
}

#[expect(
    clippy::zombie_processes,
    reason = "the test ends and awaits every child"
)]
fn spawn(dir: &Path) -> (Child, Api) {
    drop(fs::remove_file(dir.join("ready")));
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "crash::serve_here"])
        .current_dir(dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Ok(line) = fs::read_to_string(dir.join("ready")) {
            let (url, token) = line.split_once(' ').unwrap();
            return (child, Api::new(url, token));
        }
        assert!(Instant::now() < deadline, "the child did not start");
        std::thread::yield_now();
    }
}

/// What the server said yes to before it was killed
#[derive(Default)]
struct Promised {
    pulls: Vec<i64>,
    merged: Vec<i64>,
}

/// Commit, open and merge until the server is gone; `begun` counts the requests that were sent
async fn work(api: Api, round: usize, begun: Arc<AtomicUsize>) -> Promised {
    let mut promised = Promised::default();
    for turn in 0.. {
        let branch = format!("b{round}-{turn}");
        let commit = json!({"content": "eA==", "branch": "main", "new_branch": branch});
        begun.fetch_add(1, Ordering::SeqCst);
        let path = format!("repos/admin/r/contents/f{round}-{turn}");
        if api.try_call("POST", &path, commit).await.is_err() {
            break;
        }
        let body = json!({"title": branch, "head": branch, "base": "main"});
        begun.fetch_add(1, Ordering::SeqCst);
        let Ok((201, pull)) = api.try_call("POST", "repos/admin/r/pulls", body).await else {
            break;
        };
        let number = pull["number"].as_i64().unwrap();
        promised.pulls.push(number);
        let style = ["merge", "squash", "rebase"][turn % 3];
        begun.fetch_add(1, Ordering::SeqCst);
        let path = format!("repos/admin/r/pulls/{number}/merge");
        match api.try_call("POST", &path, json!({"Do": style})).await {
            Ok((200, _)) => promised.merged.push(number),
            Ok((status, answer)) => panic!("merge of {number}: {status} {answer}"),
            Err(_) => break,
        }
    }
    promised
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_sandbox_comes_back_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, mut api) = spawn(dir.path());
    api.post("user/repos", json!({"name": "r", "auto_init": true}))
        .await;
    for (round, kill_after) in [1, 5, 9, 14, 6, 11].into_iter().enumerate() {
        let begun = Arc::new(AtomicUsize::new(0));
        let worker = tokio::spawn(work(api.clone(), round, Arc::clone(&begun)));
        while begun.load(Ordering::SeqCst) < kill_after {
            tokio::task::yield_now().await;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let promised = worker.await.unwrap();
        (child, api) = spawn(dir.path());
        check(&api, &dir.path().join("state"), &promised).await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

async fn check(api: &Api, state: &Path, promised: &Promised) {
    git(state, &["fsck", "--strict", "--full"]);
    let mut pulls = Vec::new();
    for page in 1.. {
        let rows = api
            .get(&format!(
                "repos/admin/r/pulls?state=all&limit=50&page={page}"
            ))
            .await;
        let rows = rows.as_array().unwrap().clone();
        if rows.is_empty() {
            break;
        }
        pulls.extend(rows);
    }
    let numbers: Vec<i64> = pulls
        .iter()
        .map(|pull| pull["number"].as_i64().unwrap())
        .collect();
    let refs = git(state, &["for-each-ref", "--format=%(refname)", "refs/pull"]);
    for number in &numbers {
        assert!(
            refs.lines()
                .any(|name| name == format!("refs/pull/{number}/head")),
            "#{number} lacks its ref"
        );
    }
    assert_eq!(
        refs.lines().count(),
        numbers.len(),
        "a ref without a pull request"
    );
    for pull in &pulls {
        let number = pull["number"].as_i64().unwrap();
        api.get(&format!("repos/admin/r/pulls/{number}")).await;
        if pull["merged"] == true {
            let commit = pull["merge_commit_sha"].as_str().unwrap();
            git(state, &["merge-base", "--is-ancestor", commit, "main"]);
        } else {
            let file = pull["title"].as_str().unwrap().replacen('b', "f", 1);
            let path = format!("repos/admin/r/contents/{file}");
            let (status, _) = api.call("GET", &path, Value::Null).await;
            assert_eq!(
                status, 404,
                "#{number} is not merged but its file is in main"
            );
        }
    }
    for number in &promised.pulls {
        assert!(numbers.contains(number), "#{number} was promised");
    }
    for number in &promised.merged {
        let (status, _) = api
            .call(
                "GET",
                &format!("repos/admin/r/pulls/{number}/merge"),
                Value::Null,
            )
            .await;
        assert_eq!(status, 204, "the merge of #{number} was promised");
    }
}
