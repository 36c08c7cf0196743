//! Merges in every style, looked at with the real git

use serde_json::{Value, json};

use crate::api::Forge;

/// A branch with two commits beside a base that moved on
async fn diverged(forge: &Forge) -> i64 {
    let api = &forge.api;
    api.commit("admin/r", "one.txt", "1\n", "main", "work")
        .await;
    api.commit("admin/r", "two.txt", "2\n", "work", "work")
        .await;
    api.commit("admin/r", "base.txt", "b\n", "main", "main")
        .await;
    let body = json!({"title": "work", "head": "work", "base": "main"});
    api.post("repos/admin/r/pulls", body).await["number"]
        .as_i64()
        .unwrap()
}

async fn merge(forge: &Forge, number: i64, body: Value) -> (u16, Value) {
    forge
        .api
        .call("POST", &format!("repos/admin/r/pulls/{number}/merge"), body)
        .await
}

async fn merged(forge: &Forge, style: &str) -> String {
    let number = diverged(forge).await;
    let (status, answer) = merge(forge, number, json!({"Do": style})).await;
    assert_eq!((status, &answer), (200, &Value::Null), "{style}");
    let pull = forge
        .api
        .get(&format!("repos/admin/r/pulls/{number}"))
        .await;
    assert_eq!(pull["merged"], true);
    let tip = forge.git(&["rev-parse", "main"]);
    assert_eq!(pull["merge_commit_sha"], tip.as_str(), "{style}");
    forge.git(&["fsck", "--strict"]);
    assert_eq!(
        forge.git(&["ls-tree", "--name-only", "main"]),
        "README.md\nbase.txt\none.txt\ntwo.txt",
        "{style}"
    );
    let (status, _) = forge
        .api
        .call(
            "GET",
            &format!("repos/admin/r/pulls/{number}/merge"),
            Value::Null,
        )
        .await;
    assert_eq!(status, 204);
    forge.git(&["log", "--first-parent", "--format=%s", "main"])
}

#[tokio::test]
async fn merge_makes_a_commit_with_two_parents() {
    let forge = Forge::instant().await;
    let log = merged(&forge, "merge").await;
    assert!(
        log.starts_with("Merge pull request 'work' (#1) from work into main\nwrite base.txt"),
        "{log}"
    );
    assert_eq!(
        forge
            .git(&["rev-list", "--parents", "-1", "main"])
            .split(' ')
            .count(),
        3
    );
}

#[tokio::test]
async fn squash_makes_one_commit() {
    let forge = Forge::instant().await;
    let log = merged(&forge, "squash").await;
    assert!(log.starts_with("work (#1)\nwrite base.txt\n"), "{log}");
    assert_eq!(forge.git(&["rev-list", "--count", "main"]), "3");
}

#[tokio::test]
async fn rebase_keeps_the_commits_and_their_messages() {
    let forge = Forge::instant().await;
    let log = merged(&forge, "rebase").await;
    assert!(
        log.starts_with("write two.txt\nwrite one.txt\nwrite base.txt\n"),
        "{log}"
    );
}

#[tokio::test]
async fn rebase_merge_puts_a_merge_commit_on_top() {
    let forge = Forge::instant().await;
    let log = merged(&forge, "rebase-merge").await;
    assert!(
        log.starts_with("Merge pull request 'work' (#1) from work into main\nwrite base.txt"),
        "{log}"
    );
    assert_eq!(
        forge.git(&["log", "--format=%s", "-1", "main^2"]),
        "write two.txt"
    );
    assert_eq!(
        forge.git(&["merge-base", "main^1", "main^2"]),
        forge.git(&["rev-parse", "main^1"])
    );
}

#[tokio::test]
async fn fast_forward_only_moves_the_branch_or_says_why_not() {
    let forge = Forge::instant().await;
    let number = diverged(&forge).await;
    let (status, answer) = merge(&forge, number, json!({"Do": "fast-forward-only"})).await;
    assert_eq!(status, 500);
    assert!(
        answer["message"]
            .as_str()
            .unwrap()
            .contains("DivergingFastForwardOnly"),
        "{answer}"
    );
    forge
        .api
        .post(&format!("repos/admin/r/pulls/{number}/update"), Value::Null)
        .await;
    let head = forge.git(&["rev-parse", "work"]);
    let (status, _) = merge(&forge, number, json!({"do": "fast-forward-only"})).await;
    assert_eq!(status, 200);
    assert_eq!(forge.git(&["rev-parse", "main"]), head);
}

#[tokio::test]
async fn titles_messages_and_the_branch_follow_the_request() {
    let forge = Forge::instant().await;
    let number = diverged(&forge).await;
    let body = json!({
        "Do": "squash", "MergeTitleField": "a title", "MergeMessageField": "a body",
        "delete_branch_after_merge": true,
    });
    assert_eq!(merge(&forge, number, body).await.0, 200);
    assert_eq!(
        forge.git(&["log", "-1", "--format=%B", "main"]),
        "a title\n\na body"
    );
    let (status, _) = forge
        .api
        .call("GET", "repos/admin/r/branches/work", Value::Null)
        .await;
    assert_eq!(status, 404);
    let pull = forge
        .api
        .get(&format!("repos/admin/r/pulls/{number}"))
        .await;
    assert_eq!(pull["head"]["ref"], "refs/pull/1/head");
    assert_eq!(pull["head"]["label"], "work");
    let (status, answer) = merge(&forge, number, json!({"Do": "merge"})).await;
    assert_eq!(
        (status, answer["message"].as_str()),
        (405, Some("The PR is already merged"))
    );
}

#[tokio::test]
async fn a_conflict_is_refused_in_every_style_and_changes_nothing() {
    let forge = Forge::instant().await;
    let api = &forge.api;
    api.commit("admin/r", "same.txt", "ours\n", "main", "left")
        .await;
    api.commit("admin/r", "same.txt", "theirs\n", "main", "main")
        .await;
    let pull = api
        .post(
            "repos/admin/r/pulls",
            json!({"title": "c", "head": "left", "base": "main"}),
        )
        .await;
    assert_eq!(pull["mergeable"], false);
    let before = forge.git(&["rev-parse", "main"]);
    for style in ["merge", "squash", "rebase", "rebase-merge"] {
        let (status, answer) = merge(&forge, 1, json!({"Do": style})).await;
        assert_eq!(
            (status, answer["message"].as_str()),
            (405, Some("Please try again later")),
            "{style}"
        );
    }
    let (status, answer) = api
        .call("POST", "repos/admin/r/pulls/1/update", Value::Null)
        .await;
    assert_eq!(
        (status, answer["message"].as_str()),
        (409, Some("merge failed because of conflict"))
    );
    assert_eq!(forge.git(&["rev-parse", "main"]), before);
}

#[tokio::test]
async fn a_head_pin_that_does_not_match_is_refused() {
    let forge = Forge::instant().await;
    let number = diverged(&forge).await;
    let head = forge.git(&["rev-parse", "work"]);
    for wrong in ["0".repeat(40), head[..10].to_owned(), head.to_uppercase()] {
        let (status, answer) = merge(
            &forge,
            number,
            json!({"Do": "merge", "head_commit_id": wrong}),
        )
        .await;
        assert_eq!(
            (status, answer["message"].as_str()),
            (409, Some("head out of date"))
        );
    }
    let (status, _) = merge(
        &forge,
        number,
        json!({"Do": "merge", "head_commit_id": head}),
    )
    .await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn equal_branches_make_a_pull_request_that_never_merges() {
    let forge = Forge::instant().await;
    forge
        .api
        .post("repos/admin/r/branches", json!({"new_branch_name": "same"}))
        .await;
    let body = json!({"title": "nothing", "head": "same", "base": "main"});
    let pull = forge.api.post("repos/admin/r/pulls", body).await;
    assert_eq!(
        (&pull["changed_files"], &pull["mergeable"]),
        (&json!(0), &json!(true))
    );
    let (status, answer) = merge(&forge, 1, json!({"Do": "merge"})).await;
    assert_eq!(
        (status, answer["message"].as_str()),
        (405, Some("Please try again later"))
    );
}
