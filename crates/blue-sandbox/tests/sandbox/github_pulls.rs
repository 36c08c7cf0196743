//! The GitHub door: pull requests, reviews, protection, checks

use std::{sync::Arc, time::Duration};

use blue_base::clock::ManualClock;
use blue_sandbox::Timing;
use reqwest::Method;
use serde_json::{Value, json};

use super::github_hub::Hub;

#[tokio::test]
async fn from_creation_to_merge() {
    let hub = Hub::start().await;
    let repo = hub.repo("flow").await;
    let number = hub.pull(&repo, "one").await;
    let pulls = format!("{repo}/pulls");
    let at = format!("{pulls}/{number}");
    let seen = hub.get(&at).await;
    assert_eq!(seen.json["mergeable"], true);
    assert_eq!(seen.json["mergeable_state"], "clean");
    assert_eq!(seen.json["head"]["label"], "alice:one");
    assert_eq!(seen.json["commits"], 1);
    let again = json!({"title": "t", "head": "alice:one", "base": "main"});
    hub.post(&pulls, again)
        .await
        .refused(422, "A pull request already exists for alice:one.");
    let files = hub.get(&format!("{at}/files")).await;
    assert_eq!(files.json[0]["status"], "added");
    assert_eq!(
        hub.get(&format!("{at}/commits"))
            .await
            .json
            .as_array()
            .unwrap()
            .len(),
        1
    );
    hub.get(&format!("{at}/merge"))
        .await
        .refused(404, "Not Found");
    let wrong = json!({"sha": "1".repeat(40)});
    hub.put(&format!("{at}/merge"), wrong).await.refused(
        409,
        "Head branch was modified. Review and try the merge again.",
    );
    let merged = hub
        .put(
            &format!("{at}/merge"),
            json!({"sha": seen.json["head"]["sha"]}),
        )
        .await;
    assert_eq!(
        merged.is(200).json["message"],
        "Pull Request successfully merged"
    );
    hub.get(&format!("{at}/merge")).await.is(204);
    let after = hub.get(&at).await;
    assert_eq!(after.json["state"], "closed");
    assert_eq!(after.json["merged"], true);
    assert_eq!(after.json["merge_commit_sha"], merged.json["sha"]);
    assert_eq!(after.json["merged_by"]["login"], "alice");
    let commit = hub.get(&format!("{repo}/commits/main")).await;
    assert_eq!(
        commit.json["commit"]["message"],
        "Merge pull request #1 from alice/one\n\nAdd one"
    );
    hub.put(&format!("{at}/merge"), json!({}))
        .await
        .refused(405, "Pull Request is not mergeable");
    let of = hub
        .get(&format!("{repo}/commits/{}/pulls", merged.sha()))
        .await;
    assert_eq!(of.json[0]["number"], number);
    hub.patch(&at, json!({"state": "open"}))
        .await
        .refused(422, "state");
    hub.finish();
}

#[tokio::test]
async fn squash_and_rebase_have_githubs_words() {
    let hub = Hub::start().await;
    let repo = hub.repo("styles").await;
    let one = hub.pull(&repo, "one").await;
    hub.write(&repo, "one", "more.txt", "1").await;
    hub.put(
        &format!("{repo}/pulls/{one}/merge"),
        json!({"merge_method": "squash"}),
    )
    .await
    .is(200);
    let said = hub.get(&format!("{repo}/commits/main")).await;
    assert_eq!(
        said.json["commit"]["message"],
        format!("Add one (#{one})\n\n* write one.txt\n\n* write more.txt")
    );
    let two = hub.pull(&repo, "two").await;
    let words = json!({"merge_method": "squash", "commit_title": "T", "commit_message": "M"});
    hub.put(&format!("{repo}/pulls/{two}/merge"), words)
        .await
        .is(200);
    assert_eq!(
        hub.get(&format!("{repo}/commits/main")).await.json["commit"]["message"],
        "T\n\nM"
    );
    let three = hub.pull(&repo, "three").await;
    hub.patch(&repo, json!({"allow_rebase_merge": false}))
        .await
        .is(200);
    let rebase = json!({"merge_method": "rebase"});
    let at = format!("{repo}/pulls/{three}/merge");
    hub.put(&at, rebase.clone())
        .await
        .refused(405, "Rebase merges are not allowed on this repository.");
    hub.patch(
        &repo,
        json!({"allow_rebase_merge": true, "delete_branch_on_merge": true}),
    )
    .await
    .is(200);
    hub.put(&at, rebase).await.is(200);
    assert_eq!(
        hub.get(&format!("{repo}/commits/main")).await.json["commit"]["message"],
        "write three.txt"
    );
    hub.get(&format!("{repo}/branches/three")).await.is(404);
    hub.put(&at, json!({"merge_method": "octopus"}))
        .await
        .refused(422, "merge_method");
    hub.finish();
}

#[tokio::test]
async fn what_cannot_be_a_pull_request_is_refused() {
    let hub = Hub::start().await;
    let repo = hub.repo("refused").await;
    let pulls = format!("{repo}/pulls");
    hub.branch(&repo, "same").await;
    let ask = |head: &str, base: &str| json!({"title": "t", "head": head, "base": base});
    hub.post(&pulls, ask("same", "main"))
        .await
        .refused(422, "No commits between main and same");
    hub.post(&pulls, ask("none", "main"))
        .await
        .refused(422, "head | invalid");
    hub.post(&pulls, ask("same", "none"))
        .await
        .refused(422, "base | invalid");
    hub.post(&pulls, ask("zoe:same", "main"))
        .await
        .refused(422, "head | invalid");
    hub.post(&pulls, json!({"head": "same", "base": "main"}))
        .await
        .refused(422, "missing_field");
    hub.post(&pulls, json!({"title": "t", "base": "main"}))
        .await
        .refused(422, "\"head\" wasn't supplied");
    // The author of a pull request needs write access to its head.
    hub.write(&repo, "same", "x", "1").await;
    let other = hub
        .call("bob", Method::POST, &pulls, Some(ask("same", "main")), &[])
        .await;
    other.refused(422, "must be a collaborator");
    hub.get(&format!("{pulls}/99")).await.is(404);
    hub.finish();
}

#[tokio::test]
async fn drafts_are_a_field_here_and_a_prefix_elsewhere() {
    let hub = Hub::start().await;
    let repo = hub.repo("drafts").await;
    hub.branch(&repo, "d").await;
    hub.write(&repo, "d", "d.txt", "1").await;
    let body = json!({"title": "Not yet", "head": "d", "base": "main", "draft": true});
    let made = hub
        .post(&format!("{repo}/pulls"), body)
        .await
        .is(201)
        .clone();
    assert_eq!(made.json["title"], "Not yet");
    assert_eq!(made.json["draft"], true);
    assert_eq!(made.json["mergeable_state"], "draft");
    let at = format!("{repo}/pulls/{}", made.json["number"]);
    hub.put(&format!("{at}/merge"), json!({}))
        .await
        .refused(405, "Pull Request is still a draft");
    let edited = hub
        .patch(&at, json!({"title": "Still not", "body": "b"}))
        .await;
    assert_eq!(edited.json["title"], "Still not");
    assert_eq!(edited.json["draft"], true);
    assert_eq!(edited.json["body"], "b");
    hub.finish();
}

#[tokio::test]
async fn conflicts_and_closing() {
    let hub = Hub::start().await;
    let repo = hub.repo("conflicts").await;
    let number = hub.pull(&repo, "c").await;
    hub.write(&repo, "main", "c.txt", "other").await;
    let at = format!("{repo}/pulls/{number}");
    let seen = hub.get(&at).await;
    assert_eq!(seen.json["mergeable"], false);
    assert_eq!(seen.json["mergeable_state"], "dirty");
    hub.put(&format!("{at}/merge"), json!({}))
        .await
        .refused(405, "Pull Request is not mergeable");
    hub.patch(&at, json!({"state": "closed"})).await.is(200);
    assert_eq!(hub.get(&format!("{repo}/pulls")).await.json, json!([]));
    assert_eq!(
        hub.get(&format!("{repo}/pulls?state=closed")).await.json[0]["number"],
        number
    );
    hub.patch(&at, json!({"state": "open"})).await.is(200);
    let ours = hub
        .get(&format!("{repo}/pulls?head=alice:c&base=main"))
        .await;
    assert_eq!(ours.json[0]["number"], number);
    assert_eq!(
        hub.get(&format!("{repo}/pulls?head=bob:c")).await.json,
        json!([])
    );
    // A head without its owner filters nothing.
    assert_eq!(
        hub.get(&format!("{repo}/pulls?head=zzz")).await.json[0]["number"],
        number
    );
    hub.finish();
}

#[tokio::test]
async fn mergeable_is_null_while_it_is_computed() {
    let slow = Timing {
        checking: Duration::from_mins(10),
        ..Timing::INSTANT
    };
    let hub = Hub::with(slow).await;
    let repo = hub.repo("slow").await;
    let number = hub.pull(&repo, "s").await;
    let at = format!("{repo}/pulls/{number}");
    let seen = hub.get(&at).await;
    assert_eq!(seen.json["mergeable"], Value::Null);
    assert_eq!(seen.json["mergeable_state"], "unknown");
    // A merge does not wait for it.
    hub.put(&format!("{at}/merge"), json!({})).await.is(200);
    hub.finish();
}

/// A repository whose main asks for two checks and an approval, a pull request, and its head
async fn guarded(hub: &Hub) -> (String, i64, String) {
    let repo = hub.repo("guarded").await;
    for (who, right) in [("bob", "push"), ("carol", "pull")] {
        hub.put(
            &format!("{repo}/collaborators/{who}"),
            json!({"permission": right}),
        )
        .await
        .is(201);
    }
    let number = hub.pull(&repo, "g").await;
    let head = hub.tip(&repo, "g").await;
    let guard = format!("{repo}/branches/main/protection");
    hub.get(&guard).await.refused(404, "Branch not protected");
    let rule = json!({
        "required_status_checks": {"strict": true, "contexts": ["ci/test", "ci/lint"]},
        "enforce_admins": true,
        "required_pull_request_reviews": {"required_approving_review_count": 1},
        "restrictions": null,
    });
    hub.put(&guard, json!({"enforce_admins": true}))
        .await
        .refused(422, "wasn't supplied");
    let set = hub.put(&guard, rule).await;
    assert_eq!(
        set.is(200).json["required_status_checks"]["contexts"],
        json!(["ci/test", "ci/lint"])
    );
    assert_eq!(
        hub.get(&guard).await.json["required_pull_request_reviews"]["required_approving_review_count"],
        1
    );
    (repo, number, head)
}

#[tokio::test]
async fn protection_is_told_in_both_shapes() {
    let hub = Hub::start().await;
    let (repo, _, head) = guarded(&hub).await;
    let guard = format!("{repo}/branches/main/protection");
    hub.get_as("bob", &guard).await.refused(404, "Not Found");
    let branch = hub.get_as("carol", &format!("{repo}/branches/main")).await;
    assert_eq!(branch.json["protected"], true);
    assert_eq!(
        branch.json["protection"]["required_status_checks"]["contexts"][0],
        "ci/test"
    );
    let rules = hub
        .get_as("carol", &format!("{repo}/rules/branches/main"))
        .await;
    let kinds: Vec<&str> = rules
        .json
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "deletion",
            "non_fast_forward",
            "pull_request",
            "required_status_checks"
        ]
    );
    assert_eq!(
        hub.get(&format!("{repo}/rules/branches/none")).await.json,
        json!([])
    );
    assert_eq!(
        hub.get(&format!("{repo}/branches?protected=true"))
            .await
            .json
            .as_array()
            .unwrap()
            .len(),
        1
    );

    // No other way of writing bypasses the rule.
    let file = json!({"message": "m", "content": ""});
    hub.put(&format!("{repo}/contents/x"), file)
        .await
        .refused(409, "Changes must be made through a pull request.");
    hub.patch(&format!("{repo}/git/refs/heads/main"), json!({"sha": head}))
        .await
        .refused(422, "rule violations");
    hub.delete(&guard).await.is(204);
    hub.get(&guard).await.refused(404, "Branch not protected");
    hub.finish();
}

#[tokio::test]
async fn checks_and_reviews_hold_a_merge_back() {
    let hub = Hub::start().await;
    let (repo, number, head) = guarded(&hub).await;
    let at = format!("{repo}/pulls/{number}");
    let merge = format!("{at}/merge");
    assert_eq!(hub.get(&at).await.json["mergeable_state"], "blocked");
    hub.put(&merge, json!({})).await.refused(
        405,
        "2 of 2 required status checks have not succeeded: 2 expected.",
    );
    let report = |context: &str, state: &str| json!({"context": context, "state": state, "target_url": "https://ci.example.org/1"});
    let statuses = format!("{repo}/statuses/{head}");
    hub.post(&statuses, report("ci/test", "success"))
        .await
        .is(201);
    hub.post(&statuses, report("ci/lint", "failure"))
        .await
        .is(201);
    hub.put(&merge, json!({}))
        .await
        .refused(405, "Required status check \"ci/lint\" is failing.");
    hub.post(&statuses, report("ci/lint", "success"))
        .await
        .is(201);
    let word = hub.get(&format!("{repo}/commits/g/status")).await;
    assert_eq!(word.json["state"], "success");
    assert_eq!(word.json["total_count"], 2);
    assert_eq!(
        hub.get(&format!("{repo}/commits/g/statuses"))
            .await
            .json
            .as_array()
            .unwrap()
            .len(),
        3
    );
    hub.put(&merge, json!({})).await.refused(
        405,
        "At least 1 approving review is required by reviewers with write access.",
    );

    let reviews = format!("{at}/reviews");
    let approve = Some(json!({"event": "APPROVE"}));
    hub.post(&reviews, json!({"event": "APPROVE"}))
        .await
        .refused(422, "Can not approve your own pull request");
    hub.call("carol", Method::POST, &reviews, approve.clone(), &[])
        .await
        .is(200);
    hub.put(&merge, json!({}))
        .await
        .refused(405, "approving review");
    let no = Some(json!({"event": "REQUEST_CHANGES"}));
    hub.call("bob", Method::POST, &reviews, no, &[])
        .await
        .is(422);
    let done = hub.call("bob", Method::POST, &reviews, approve, &[]).await;
    assert_eq!(done.is(200).json["state"], "APPROVED");
    assert_eq!(hub.get(&reviews).await.json.as_array().unwrap().len(), 2);
    hub.get(&format!("{reviews}/{}", done.json["id"]))
        .await
        .is(200);
    hub.get(&format!("{reviews}/999")).await.is(404);
    assert_eq!(hub.get(&at).await.json["mergeable_state"], "clean");
    hub.put(&merge, json!({})).await.is(200);
    hub.post(&statuses, report("x", "odd"))
        .await
        .refused(422, "state");
    let nowhere = format!("{repo}/statuses/{}", "1".repeat(40));
    hub.post(&nowhere, report("x", "success"))
        .await
        .refused(422, "No commit found");
    hub.finish();
}

#[tokio::test]
async fn a_branch_is_brought_up_to_date() {
    let hub = Hub::start().await;
    let repo = hub.repo("behind").await;
    let number = hub.pull(&repo, "b").await;
    let at = format!("{repo}/pulls/{number}/update-branch");
    hub.put(&at, json!({})).await.refused(422, "no new commits");
    hub.write(&repo, "main", "m.txt", "1").await;
    hub.put(&at, json!({"expected_head_sha": "1".repeat(40)}))
        .await
        .refused(422, "expected head sha");
    hub.put(&at, json!({})).await.is(202);
    assert_eq!(
        hub.get(&format!("{repo}/compare/main...b")).await.json["behind_by"],
        0
    );
    hub.finish();
}

#[tokio::test]
async fn runs_jobs_and_logs() {
    let start = "2026-03-01T10:00:00Z".parse().unwrap();
    let clock = Arc::new(ManualClock::at(start));
    let hub = Hub::at(Arc::<ManualClock>::clone(&clock)).await;
    let repo = hub.repo("ci").await;
    let rules = "workflows:\n  - name: ci.yaml\n    on: [push]\n    jobs:\n      - { name: build, result: success, log: all good, context: ci/build }\n";
    let head = hub.write(&repo, "main", ".sandbox/ci.yaml", rules).await;
    // The job ends by itself, a moment later.
    let until = std::time::Instant::now() + Duration::from_secs(10);
    let run = loop {
        let runs = hub
            .get(&format!(
                "{repo}/actions/runs?branch=main&event=push&head_sha={head}"
            ))
            .await;
        let run = runs.is(200).json["workflow_runs"][0].clone();
        if run["status"] == "completed" {
            break run;
        }
        assert!(std::time::Instant::now() < until, "{run}");
        tokio::task::yield_now().await;
    };
    assert_eq!(run["conclusion"], "success");
    assert_eq!(
        hub.get(&format!("{repo}/actions/runs/{}", run["id"]))
            .await
            .json["id"],
        run["id"]
    );
    let jobs = hub
        .get(&format!("{repo}/actions/runs/{}/jobs", run["id"]))
        .await;
    assert_eq!(jobs.json["total_count"], 1);
    let job = jobs.json["jobs"][0].clone();
    hub.get(&format!("{repo}/actions/jobs/{}", job["id"]))
        .await
        .is(200);
    let checks = hub.get(&format!("{repo}/commits/main/check-runs")).await;
    assert_eq!(checks.json["check_runs"][0]["name"], "ci/build");
    assert_eq!(checks.json["total_count"], 1);
    hub.get(&format!("{repo}/check-runs/{}", job["id"]))
        .await
        .is(200);
    // A job is a check run here and no status as well.
    assert_eq!(
        hub.get(&format!("{repo}/commits/main/status")).await.json["total_count"],
        0
    );
    let link = hub
        .get(&format!("{repo}/actions/jobs/{}/logs", job["id"]))
        .await;
    let to = link.is(302).header("location").to_owned();
    let path = to.strip_prefix(&format!("{}/api/v3", hub.url())).unwrap();
    let log = hub.get_as("", path).await;
    assert_eq!(log.is(200).text, "all good");
    clock.advance(Duration::from_secs(61));
    hub.get_as("", path).await.refused(403, "expired");
    let forged = path.replace("/_logs/", "/_logs/9");
    hub.get_as("", &forged).await.is(404);
    hub.get_as("", &format!("{repo}/actions/jobs/{}/logs", job["id"]))
        .await
        .is(401);
    assert_eq!(
        hub.get(&format!("{repo}/actions/runs?branch=none"))
            .await
            .json["total_count"],
        0
    );
    hub.get(&format!("{repo}/actions/runs/999")).await.is(404);
    hub.finish();
}
