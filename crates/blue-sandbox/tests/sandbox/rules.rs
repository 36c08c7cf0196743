//! Rules for branches, checks, and what waits for them

use std::{sync::Arc, time::Duration};

use blue_base::clock::{Clock, ManualClock, SystemClock};
use blue_sandbox::{Config, Flavor, Sandbox, Timing};
use serde_json::{Value, json};

use crate::api::{Api, Forge};

async fn pull(api: &Api) -> Value {
    api.commit("admin/r", "f.txt", "f\n", "main", "work").await;
    api.post(
        "repos/admin/r/pulls",
        json!({"title": "t", "head": "work", "base": "main"}),
    )
    .await
}

async fn refusal(api: &Api, body: Value) -> String {
    let (status, answer) = api.call("POST", "repos/admin/r/pulls/1/merge", body).await;
    assert_eq!(status, 405, "{answer}");
    answer["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn checks_then_approvals_stand_in_the_way() {
    let forge = Forge::instant().await;
    let (api, bob, carol) = (
        &forge.api,
        forge.api.person("bob").await,
        forge.api.person("carol").await,
    );
    api.call(
        "PUT",
        "repos/admin/r/collaborators/bob",
        json!({"permission": "write"}),
    )
    .await;
    let made = pull(api).await;
    let head = made["head"]["sha"].as_str().unwrap();
    let rule = json!({
        "rule_name": "main", "required_approvals": 1,
        "enable_status_check": true, "status_check_contexts": ["ci/*"],
    });
    api.post("repos/admin/r/branch_protections", rule).await;
    let status = |state: &str| json!({"state": state, "context": "ci/build"});
    assert_eq!(
        refusal(api, json!({"Do": "merge"})).await,
        "Not all required status checks successful"
    );
    api.post(&format!("repos/admin/r/statuses/{head}"), status("warning"))
        .await;
    assert_eq!(
        refusal(api, json!({"Do": "merge"})).await,
        "Not all required status checks successful"
    );
    api.post(&format!("repos/admin/r/statuses/{head}"), status("skipped"))
        .await;
    assert_eq!(
        refusal(api, json!({"Do": "merge"})).await,
        "Does not have enough approvals"
    );
    // A reader's approval does not count.
    carol
        .post(
            "repos/admin/r/pulls/1/reviews",
            json!({"event": "APPROVED"}),
        )
        .await;
    assert_eq!(
        refusal(api, json!({"Do": "merge"})).await,
        "Does not have enough approvals"
    );
    assert_eq!(
        refusal(&carol, json!({"Do": "merge"})).await,
        "User not allowed to merge PR"
    );
    assert_eq!(
        refusal(&bob, json!({"Do": "merge", "force_merge": true})).await,
        "Does not have enough approvals"
    );
    bob.post(
        "repos/admin/r/pulls/1/reviews",
        json!({"event": "APPROVED"}),
    )
    .await;
    let (status, _) = api
        .call(
            "POST",
            "repos/admin/r/pulls/1/merge",
            json!({"Do": "merge"}),
        )
        .await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn an_outdated_branch_and_protected_files_block() {
    let forge = Forge::instant().await;
    let api = &forge.api;
    pull(api).await;
    api.commit("admin/r", "later.txt", "l\n", "main", "main")
        .await;
    let rule = json!({"rule_name": "main", "block_on_outdated_branch": true, "enable_push": true});
    api.post("repos/admin/r/branch_protections", rule).await;
    assert_eq!(
        refusal(api, json!({"Do": "merge"})).await,
        "The head branch is behind the base branch"
    );
    let rule = json!({"block_on_outdated_branch": false, "protected_file_patterns": "*.txt"});
    api.call("PATCH", "repos/admin/r/branch_protections/main", rule)
        .await;
    assert_eq!(
        refusal(api, json!({"Do": "merge"})).await,
        "Changed protected files"
    );
    let (status, answer) = api
        .call(
            "POST",
            "repos/admin/r/contents/x.txt",
            json!({"content": ""}),
        )
        .await;
    assert_eq!(status, 403, "{answer}");
    let (status, _) = api
        .call(
            "POST",
            "repos/admin/r/pulls/1/merge",
            json!({"Do": "merge", "force_merge": true}),
        )
        .await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn a_scheduled_merge_happens_when_the_check_succeeds() {
    let forge = Forge::instant().await;
    let api = &forge.api;
    let made = pull(api).await;
    let rule =
        json!({"rule_name": "main", "enable_status_check": true, "status_check_contexts": ["ci"]});
    api.post("repos/admin/r/branch_protections", rule).await;
    let ask = json!({"Do": "squash", "merge_when_checks_succeed": true});
    let (status, _) = api
        .call("POST", "repos/admin/r/pulls/1/merge", ask.clone())
        .await;
    assert_eq!(status, 201);
    let (status, answer) = api.call("POST", "repos/admin/r/pulls/1/merge", ask).await;
    assert_eq!(status, 409, "{answer}");
    assert_eq!(api.get("repos/admin/r/pulls/1").await["merged"], false);
    let head = made["head"]["sha"].as_str().unwrap();
    api.post(
        &format!("repos/admin/r/statuses/{head}"),
        json!({"state": "success", "context": "ci"}),
    )
    .await;
    within(|| async { api.get("repos/admin/r/pulls/1").await["merged"] == true }).await;
}

#[tokio::test]
async fn a_rule_file_drives_runs_statuses_and_logs() {
    let forge = Forge::instant().await;
    let api = &forge.api;
    let rules = "workflows:\n  - name: ci.yaml\n    jobs:\n      - { name: build, context: ci/build, log: built }\n      - { name: test, context: ci/test, result: failure, log: one failed, delay_ms: 5 }\n";
    api.commit("admin/r", ".sandbox/ci.yaml", rules, "main", "main")
        .await;
    within(|| async { api.get("repos/admin/r/commits/main/status").await["state"] == "failure" })
        .await;
    within(|| async {
        let runs = api.get("repos/admin/r/actions/runs").await;
        runs["workflow_runs"][0]["conclusion"] == "failure"
    })
    .await;
    let jobs = api.get("repos/admin/r/actions/runs/1/jobs").await;
    let names: Vec<_> = jobs["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| &job["name"])
        .collect();
    assert_eq!(names, ["build", "test"]);
    let (status, _) = api
        .call("GET", "repos/admin/r/actions/jobs/2/logs", Value::Null)
        .await;
    assert_eq!(status, 200);
}

/// The clock, not the machine, decides when a check is over
#[tokio::test]
async fn mergeable_is_stale_then_false_then_true_after_a_push() {
    let clock = Arc::new(ManualClock::at(SystemClock.now()));
    let timing = Timing {
        stale: Duration::from_secs(10),
        checking: Duration::from_secs(10),
        recheck: Duration::from_secs(5),
        ..Timing::default()
    };
    let config = Config {
        clock: Arc::<ManualClock>::clone(&clock),
        timing,
        ..Config::default()
    };
    let sandbox = Sandbox::start(config).await.unwrap();
    let api = Api::new(sandbox.url(), sandbox.users()[0].token.expose());
    api.post("user/repos", json!({"name": "r", "auto_init": true}))
        .await;
    pull(&api).await;
    clock.advance(Duration::from_secs(30));
    let mergeable = || async {
        api.get("repos/admin/r/pulls/1").await["mergeable"]
            .as_bool()
            .unwrap()
    };
    assert!(mergeable().await);
    // A push that makes the branches conflict is not seen at once.
    api.commit("admin/r", "f.txt", "other\n", "main", "main")
        .await;
    assert!(mergeable().await, "the old answer is still shown");
    clock.advance(Duration::from_secs(11));
    assert!(!mergeable().await, "the check runs");
    assert_eq!(
        refusal(&api, json!({"Do": "merge"})).await,
        "Please try again later"
    );
    clock.advance(Duration::from_secs(10));
    assert!(!mergeable().await, "the branches conflict");
    sandbox.shutdown().await;
}

#[tokio::test]
async fn forgejo_speaks_its_own_way() {
    let forge = Forge::start(Flavor::Forgejo, Timing::default()).await;
    let api = &forge.api;
    assert_eq!(api.get("version").await["version"], "11.0.15+gitea-1.22.0");
    let made = pull(api).await;
    assert_eq!(
        (&made["mergeable"], &made["flow"]),
        (&json!(true), &json!(0))
    );
    assert!(made.get("content_version").is_none());
    let (status, answer) = api
        .call(
            "PUT",
            "repos/admin/r/contents/f2.txt",
            json!({"content": ""}),
        )
        .await;
    assert_eq!(
        (status, answer["message"].as_str()),
        (422, Some("[SHA]: Required"))
    );
    let (status, answer) = api.call("GET", "repos/admin/none", Value::Null).await;
    assert_eq!((status, &answer["errors"]), (404, &json!([])));
    assert_eq!(answer["message"], "The target couldn't be found.");
    assert_eq!(
        api.call("GET", "repos/admin/r/actions/runs", Value::Null)
            .await
            .0,
        404
    );
    assert_eq!(
        api.call("GET", "repos/admin/r/actions/tasks", Value::Null)
            .await
            .0,
        200
    );
    assert_eq!(
        api.call(
            "POST",
            "repos/admin/r/pulls/1/merge",
            json!({"Do": "merge"})
        )
        .await
        .0,
        200
    );
    let (status, answer) = api
        .call(
            "POST",
            "repos/admin/r/pulls/1/merge",
            json!({"Do": "merge"}),
        )
        .await;
    assert_eq!((status, answer["message"].as_str()), (405, Some("")));
}

/// Ask until it is so; a forge that never gets there fails the test
async fn within<F: Future<Output = bool>>(mut ask: impl FnMut() -> F) {
    let polling = async {
        while !ask().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), polling)
        .await
        .expect("it happens in time");
}
