//! Answers that lie, from a server that a test controls

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Json, Router,
    http::StatusCode,
    routing::{get, post},
};
use serde_json::{Value, json};

use super::Forgejo;
use crate::{
    ConflictKind, Endpoint, Flavor, Forge, ForgeError, Result,
    model::{
        CommitOpts, Expect, FileChange, MergeOpts, MergeOutcome, Mergeability, Page, PrFilter,
        RepoId, RunFilter, Sha,
    },
};
use blue_base::{
    host::Host,
    http::{Http, HttpConfig},
};

async fn forge(router: Router) -> Forgejo {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/api/v1/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let api = url::Url::parse(&url).unwrap();
    let host = Host::of_url(&api).unwrap();
    let http = Arc::new(Http::new(HttpConfig::default()));
    Forgejo::new(http, Endpoint { host, api }, None)
}

fn pull(number: u64, head: &str, merged: bool) -> Value {
    let side = |name: &str| {
        json!({"ref": name, "label": name, "sha": "a".repeat(40),
               "repo": {"owner": {"login": "a"}, "name": "b"}})
    };
    json!({
        "number": number, "title": "t", "state": if merged { "closed" } else { "open" },
        "merged": merged, "mergeable": true, "changed_files": 1,
        "merge_commit_sha": merged.then(|| "b".repeat(40)),
        "head": side(head), "base": side("main"),
    })
}

fn repo() -> RepoId {
    RepoId::parse("a", "b").unwrap()
}

/// A pull request that is merged by the time the merge is answered with `status` and `said`
async fn merged_meanwhile(status: u16, said: &'static str) -> Result<MergeOutcome> {
    let merged = Arc::new(AtomicBool::new(false));
    let (now, then) = (merged.clone(), merged.clone());
    let router = Router::new()
        .route(
            "/api/v1/repos/a/b/pulls/1",
            get(async move || Json(pull(1, "x", now.load(Ordering::SeqCst)))),
        )
        .route(
            "/api/v1/repos/a/b/pulls/1/merge",
            post(async move || {
                then.store(true, Ordering::SeqCst);
                let status = StatusCode::from_u16(status).unwrap();
                (status, Json(json!({"message": said})))
            }),
        );
    let forge = forge(router).await;
    forge.merge_pr(&repo(), 1, &MergeOpts::default()).await
}

#[tokio::test]
async fn a_merge_that_happened_is_no_error_whatever_was_answered() {
    for (status, said, expected) in [
        // It may have been this call that merged.
        (500, "", false),
        (502, "", false),
        (504, "", false),
        // Another client was faster.
        (405, "The PR is already merged", true),
        (405, "Please try again later", true),
        (409, "merge push out of date", true),
        (403, "no", true),
    ] {
        let outcome = merged_meanwhile(status, said).await;
        let Ok(MergeOutcome::Merged {
            sha: Some(_),
            already,
            ..
        }) = outcome
        else {
            panic!("{status} {said}: {outcome:?}");
        };
        assert_eq!(already, expected, "{status} {said}");
    }
}

#[tokio::test]
async fn a_branch_with_commits_that_were_not_merged_is_not_deleted() {
    let head = pull(1, "x", false)["head"]["sha"]
        .as_str()
        .unwrap()
        .to_owned();
    for (tip, deleted) in [(head.clone(), true), ("d".repeat(40), false)] {
        let merged = Arc::new(AtomicBool::new(false));
        let gone = Arc::new(AtomicBool::new(false));
        let sent = Arc::new(Mutex::new(Value::Null));
        let (now, then, body, deletion) = (merged.clone(), merged, sent.clone(), gone.clone());
        let router = Router::new()
            .route(
                "/api/v1/repos/a/b/pulls/1",
                get(async move || Json(pull(1, "x", now.load(Ordering::SeqCst)))),
            )
            .route(
                "/api/v1/repos/a/b/pulls/1/merge",
                post(async move |Json(told): Json<Value>| {
                    *body.lock().unwrap() = told;
                    then.store(true, Ordering::SeqCst);
                }),
            )
            .route(
                "/api/v1/repos/a/b/branches/x",
                get(async move || Json(json!({"name": "x", "commit": {"id": tip}}))).delete(
                    async move || {
                        deletion.store(true, Ordering::SeqCst);
                        StatusCode::NO_CONTENT
                    },
                ),
            );
        let opts = MergeOpts {
            delete_branch: true,
            ..MergeOpts::default()
        };
        let outcome = forge(router).await.merge_pr(&repo(), 1, &opts).await;
        let Ok(MergeOutcome::Merged {
            branch_deleted,
            branch_moved,
            own_branch,
            ..
        }) = outcome
        else {
            panic!("{outcome:?}");
        };
        assert_eq!((branch_deleted, branch_moved), (deleted, !deleted));
        // No caller is told to delete a branch with work on it.
        assert_eq!(own_branch.is_some(), deleted);
        assert_eq!(gone.load(Ordering::SeqCst), deleted);
        // The server would delete it wherever it is, and merge whatever is there.
        let sent = sent.lock().unwrap();
        assert_eq!(sent["delete_branch_after_merge"], false);
        assert_eq!(sent["head_commit_id"], head.as_str());
    }
}

/// Another process may write between the look at the branch and the write
#[tokio::test]
async fn a_commit_that_landed_on_a_moved_branch_is_told_as_one_that_exists() {
    let (seen, theirs, mine) = ("a".repeat(40), "b".repeat(40), "c".repeat(40));
    let branch = json!({"name": "main", "commit": {"id": seen}});
    let made = json!({"commit": {"sha": mine, "parents": [{"sha": theirs}]}, "files": []});
    let router = Router::new()
        .route(
            "/api/v1/repos/a/b/branches/main",
            get(async move || Json(branch)),
        )
        .route(
            "/api/v1/repos/a/b/contents",
            post(async move || (StatusCode::CREATED, Json(made))),
        );
    let opts = CommitOpts {
        branch: "main".to_owned(),
        base: None,
        message: "m".to_owned(),
        changes: vec![FileChange::Write {
            path: "x".to_owned(),
            content: b"x".to_vec(),
            expect: Expect::Any,
        }],
        expected_head: Sha::parse(&seen).ok(),
    };
    let error = forge(router).await.commit_files(&repo(), &opts).await;
    let Err(ForgeError::Conflict {
        kind: ConflictKind::Landed { commit },
        message,
        ..
    }) = error
    else {
        panic!("{error:?}")
    };
    assert_eq!(commit.as_str(), mine);
    for sha in [seen, theirs, mine] {
        assert!(message.contains(&sha), "{message}");
    }
}

/// The branch that another process makes is on the disk at once, and in the list of branches later
#[tokio::test]
async fn a_branch_that_is_not_listed_yet_is_waited_for() {
    let posts = Arc::new(AtomicUsize::new(0));
    let (sent, seen) = (posts.clone(), posts.clone());
    let branch = json!({"name": "topic", "commit": {"id": "a".repeat(40)}});
    let made = json!({"commit": {"sha": "c".repeat(40), "parents": []}, "files": []});
    let router = Router::new()
        .route(
            "/api/v1/repos/a/b",
            get(async || {
                let found = json!({"name": "b", "owner": {"login": "a"}, "full_name": "a/b",
                    "default_branch": "main", "empty": false});
                Json(found)
            }),
        )
        .route(
            "/api/v1/repos/a/b/branches/topic",
            get(async move || match seen.load(Ordering::SeqCst) {
                0 | 1 => (StatusCode::NOT_FOUND, Json(json!({"message": "not found"}))),
                _ => (StatusCode::OK, Json(branch)),
            }),
        )
        .route(
            "/api/v1/repos/a/b/contents",
            post(async move || match sent.fetch_add(1, Ordering::SeqCst) {
                0 | 1 => {
                    let words = "cannot lock ref 'refs/heads/topic': reference already exists";
                    (StatusCode::FORBIDDEN, Json(json!({"message": words})))
                }
                _ => (StatusCode::CREATED, Json(made)),
            }),
        );
    let opts = CommitOpts {
        branch: "topic".to_owned(),
        base: Some("HEAD".to_owned()),
        message: "m".to_owned(),
        changes: vec![FileChange::Write {
            path: "x".to_owned(),
            content: b"x".to_vec(),
            expect: Expect::Any,
        }],
        expected_head: None,
    };
    let made = forge(router).await.commit_files(&repo(), &opts).await;
    let made = made.unwrap();
    assert_eq!(
        (made.sha.as_str(), made.branch_created),
        (&*"c".repeat(40), false)
    );
    assert_eq!(posts.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_yes_is_believed_at_once_where_nothing_was_pushed_lately() {
    let judged = async |pr: &str, head: &str, base: &str, made: &str| {
        let mut pull = pull(1, "x", false);
        pull["updated_at"] = pr.into();
        pull["head"]["repo"]["updated_at"] = head.into();
        pull["base"]["repo"]["updated_at"] = base.into();
        let by = json!({"name": "a", "date": made});
        let author = json!({"name": "a", "date": "2020-01-02T03:04:05Z"});
        let commit = json!({"author": author, "committer": by});
        let commit = json!({"sha": "a".repeat(40), "commit": commit});
        let router = Router::new()
            .route(
                "/api/v1/repos/a/b/pulls/1",
                get(async move || Json(pull.clone())),
            )
            .route(
                "/api/v1/repos/a/b/git/commits/{id}",
                get(async move || Json(commit.clone())),
            );
        let forge = forge(router).await;
        let pr = forge.get_pr(&repo(), 1).await.unwrap();
        forge.judge(&repo(), pr, Duration::ZERO).await.unwrap().0
    };
    let old = "2020-01-02T03:04:05Z";
    let late = "2999-01-02T03:04:05Z";
    assert_eq!(judged(old, old, old, old).await, Mergeability::Clean);
    for (pr, head, base, made) in [
        (late, old, old, old),
        (old, late, old, old),
        (old, old, late, old),
        (old, old, "", old),
        // The server shows what was pushed before it knows that something was.
        (old, old, old, late),
    ] {
        let verdict = judged(pr, head, base, made).await;
        assert_eq!(verdict, Mergeability::Checking, "{pr} {head} {base} {made}");
    }
}

#[tokio::test]
async fn a_created_answer_is_only_a_promise() {
    let router = Router::new()
        .route(
            "/api/v1/repos/a/b/pulls/1",
            get(async || Json(pull(1, "x", false))),
        )
        .route(
            "/api/v1/repos/a/b/pulls/1/merge",
            post(async || StatusCode::CREATED),
        );
    let outcome = forge(router)
        .await
        .merge_pr(&repo(), 1, &MergeOpts::default())
        .await;
    assert!(
        matches!(outcome, Ok(MergeOutcome::Scheduled)),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn filters_that_the_server_ignores_hold_all_the_same() {
    let router = Router::new().route(
        "/api/v1/repos/a/b/pulls",
        get(async || {
            let rows = json!([pull(1, "x", false), null, pull(2, "y", false)]);
            ([("x-total-count", "2")], Json(rows))
        }),
    );
    let forge = forge(router).await;
    let filter = PrFilter {
        head: Some("y".to_owned()),
        ..PrFilter::default()
    };
    let found = forge.list_prs(&repo(), &filter, Page::default()).await;
    let numbers: Vec<u64> = found.unwrap().items.iter().map(|pr| pr.number).collect();
    assert_eq!(numbers, [2]);
}

#[tokio::test]
async fn the_flavour_is_told_by_forgejos_own_route() {
    let version = |text: &'static str| get(async move || Json(json!({ "version": text })));
    let gitea = Router::new().route("/api/v1/version", version("development"));
    let about = forge(gitea).await.about().await.unwrap();
    assert_eq!((about.flavor, about.page_limit), (Flavor::Gitea, 50));
    let forgejo = Router::new()
        .route("/api/v1/version", version("development"))
        .route("/api/forgejo/v1/version", version("11.0.15"))
        .route(
            "/api/v1/settings/api",
            get(async || r#"{"max_response_items":20}"#),
        );
    let about = forge(forgejo).await.about().await.unwrap();
    assert_eq!((about.flavor, about.page_limit), (Flavor::Forgejo, 20));
}

#[tokio::test]
async fn a_forbidden_rule_is_not_an_absent_one() {
    let branch = json!({
        "name": "main", "commit": {"id": "a".repeat(40)}, "protected": true,
        "required_approvals": 2, "enable_status_check": true, "status_check_contexts": ["ci/*"],
        "user_can_push": false, "user_can_merge": true, "effective_branch_protection_name": "",
    });
    let router = Router::new()
        .route(
            "/api/v1/repos/a/b/branches/main",
            get(async move || Json(branch)),
        )
        .route(
            "/api/v1/repos/a/b/branch_protections",
            get(async || StatusCode::FORBIDDEN),
        );
    let rule = forge(router)
        .await
        .protection(&repo(), "main")
        .await
        .unwrap();
    assert!(rule.protected && rule.partial);
    assert_eq!((rule.required_approvals, rule.can_push), (2, Some(false)));
    assert_eq!(rule.required_checks, ["ci/*"]);
}

#[tokio::test]
async fn a_server_without_runs_says_so() {
    let router = Router::new().route(
        "/api/v1/repos/a/b",
        get(async || Json(json!({"owner": {"login": "a"}, "name": "b"}))),
    );
    let (forge, filter) = (forge(router).await, RunFilter::default());
    let runs = forge.list_runs(&repo(), &filter, Page::default()).await;
    assert!(matches!(runs, Err(ForgeError::Unsupported { .. })));
}

#[tokio::test]
async fn a_writer_without_rights_does_not_hold_up_one_who_may_push() {
    use blue_base::http::{AuthScheme, Credential};

    // Requests of Bob's never end, except for the one that tells what he may do.
    let (asks, mut asked) = tokio::sync::mpsc::unbounded_channel();
    let router = Router::new().fallback(move |request: axum::extract::Request| {
        let sent = request.headers()["authorization"].to_str().unwrap();
        let is_alice = sent.ends_with("alice");
        let path = request.uri().path().to_owned();
        let asks = asks.clone();
        async move {
            let is_repository = path.ends_with("/repos/a/b");
            asks.send((is_alice, path)).unwrap();
            if !is_repository {
                std::future::pending::<()>().await;
            }
            Json(
                json!({"owner": {"login": "a"}, "name": "b", "default_branch": "main",
                "permissions": {"admin": false, "push": is_alice, "pull": true}}),
            )
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let api = format!("http://{}/api/v1/", listener.local_addr().unwrap());
    let api = url::Url::parse(&api).unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let host = Host::of_url(&api).unwrap();
    let http = Arc::new(Http::new(HttpConfig::default()));
    let write = |user: &str| {
        let credential = Credential {
            host: host.clone(),
            scheme: AuthScheme::Bearer,
            token: blue_base::secret::Secret::new(user),
        };
        let endpoint = Endpoint {
            host: host.clone(),
            api: api.clone(),
        };
        let forge = Forgejo::new(http.clone(), endpoint, Some(credential));
        let opts = CommitOpts {
            branch: "main".to_owned(),
            base: None,
            message: "m".to_owned(),
            changes: vec![FileChange::Write {
                path: "f".to_owned(),
                content: b"x".to_vec(),
                expect: Expect::Any,
            }],
            expected_head: None,
        };
        tokio::spawn(async move { forge.commit_files(&repo(), &opts).await })
    };
    let deadline = Duration::from_secs(20);
    let mut next = async || {
        let next = tokio::time::timeout(deadline, asked.recv());
        next.await.expect("a request comes").unwrap()
    };
    let bob = write("bob");
    let (is_alice, path) = next().await;
    assert!(!is_alice && path.contains("/branches/"), "{path}");
    let alice = write("alice");
    let (is_alice, path) = next().await;
    assert!(is_alice && path.ends_with("/repos/a/b"), "{path}");
    let (is_alice, path) = next().await;
    assert!(!is_alice && path.ends_with("/repos/a/b"), "{path}");
    let (is_alice, path) = next().await;
    assert!(is_alice && path.contains("/branches/"), "{path}");
    let refused = bob.await.unwrap().unwrap_err();
    assert!(matches!(refused, ForgeError::Busy { .. }), "{refused}");
    alice.abort();
}

/// A pull request behind its base, read with a `Date` that is `age` seconds after the last push; `ours` and
/// `theirs` are the paths that each side changed
fn behind(mergeable: bool, age: i64, ours: &'static str, theirs: &'static str) -> Router {
    let pushed = jiff::Timestamp::from_second(1_800_000_000).unwrap();
    let now = pushed + jiff::SignedDuration::from_secs(age);
    let date = jiff::fmt::rfc2822::DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&now)
        .unwrap();
    let mut pull = pull(1, "x", false);
    pull["mergeable"] = mergeable.into();
    pull["merge_base"] = "c".repeat(40).into();
    pull["base"]["sha"] = "b".repeat(40).into();
    pull["updated_at"] = pushed.to_string().into();
    for side in ["head", "base"] {
        pull[side]["repo"]["updated_at"] = pushed.to_string().into();
    }
    let by = json!({"name": "a", "date": pushed.to_string()});
    let commit = json!({"author": by, "committer": by, "message": "m"});
    let commit = json!({
        "sha": "b".repeat(40), "commit": commit, "files": [{"filename": theirs, "status": "modified"}],
    });
    let compared = json!({"total_commits": 1, "commits": [commit]});
    Router::new()
        .route(
            "/api/v1/repos/a/b/pulls/1",
            get(async move || ([("date", date)], Json(pull))),
        )
        .route(
            "/api/v1/repos/a/b/pulls/1/files",
            get(async move || Json(json!([{"filename": ours, "status": "changed"}]))),
        )
        .route(
            "/api/v1/repos/a/b/git/commits/{id}",
            get(
                async move |axum::extract::Path(id): axum::extract::Path<String>| {
                    let mut commit = commit;
                    commit["sha"] = id.into();
                    Json(commit)
                },
            ),
        )
        .route(
            "/api/v1/repos/a/b/compare/{range}",
            get(async move || Json(compared)),
        )
}

/// Without patience the first look decides, or nothing does
async fn judged(router: Router, patience: Duration) -> Mergeability {
    let forge = forge(router).await;
    let pr = forge.get_pr(&repo(), 1).await.unwrap();
    forge.judge(&repo(), pr, patience).await.unwrap().0
}

#[tokio::test]
async fn a_conflict_is_told_at_once_where_flag_path_and_time_of_the_push_agree() {
    let first_look = Duration::ZERO;
    for (mergeable, age, theirs, verdict) in [
        (false, 10, "a", Mergeability::Conflict),
        (false, 9, "a", Mergeability::Checking),
        (false, 3_600, "b", Mergeability::Checking),
        // A common path alone is no conflict.
        (true, 10, "a", Mergeability::Checking),
        (true, 20, "a", Mergeability::Clean),
    ] {
        let found = judged(behind(mergeable, age, "a", theirs), first_look).await;
        assert_eq!(found, verdict, "{mergeable} {age} {theirs}");
    }
}

#[tokio::test]
async fn a_yes_with_a_common_path_is_unknown_until_ten_seconds_after_the_push() {
    let settled = Duration::from_secs(4);
    for (age, theirs, verdict) in [
        (5, "a", Mergeability::Checking),
        (10, "a", Mergeability::Clean),
        (5, "b", Mergeability::Clean),
    ] {
        let found = judged(behind(true, age, "a", theirs), settled).await;
        assert_eq!(found, verdict, "{age} {theirs}");
    }
}

#[tokio::test]
async fn the_type_of_the_server_is_asked_for_once() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let router = Router::new().route(
        "/api/v1/version",
        get(async move || {
            count.fetch_add(1, Ordering::SeqCst);
            Json(json!({"version": "11.0.15+gitea-1.22.0"}))
        }),
    );
    let forge = forge(router).await;
    for _ in 0..3 {
        assert_eq!(forge.flavor().await.unwrap(), Flavor::Forgejo);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}
