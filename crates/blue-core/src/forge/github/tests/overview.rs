use super::*;

fn start(fake: &Fake, default: &str, branches: &Value) {
    fake.json(
        "GET /repos/o/r",
        &json!({"name": "r", "owner": {"login": "o"}, "default_branch": default, "size": 0}),
    )
    .json("GET /repos/o/r/branches", branches)
    .json("GET /repos/o/r/pulls", &json!([pull(&json!({}))]));
}

fn branch(name: &str, protected: bool) -> Value {
    json!({"name": name, "commit": {"sha": A}, "protected": protected})
}

#[tokio::test]
async fn the_usual_name_is_guessed() {
    let fake = Fake::start().await;
    start(
        &fake,
        "main",
        &json!([branch("a", false), branch("main", true)]),
    );
    fake.json("GET /repos/o/r/rules/branches/main", &json!([]));
    fake.json(
        "GET /repos/o/r/branches/main/protection",
        &json!({"required_pull_request_reviews": {"required_approving_review_count": 1}}),
    );
    let found = github(&fake).overview(&repo(), None).await.unwrap();
    assert_eq!(found.branch, "main");
    assert_eq!(found.tip.unwrap().name, "main");
    assert_eq!(found.protection.required_approvals, 1);
    assert_eq!(found.prs.unwrap().items.len(), 1);
    assert!(!found.repository.empty);
}

#[tokio::test]
async fn another_name_is_asked_for_and_the_guess_is_forgotten() {
    let fake = Fake::start().await;
    start(
        &fake,
        "trunk",
        &json!([branch("main", true), branch("trunk", false)]),
    );
    for name in ["main", "trunk"] {
        let rule = json!([{"type": "merge_queue"}]);
        let rules = if name == "main" { rule } else { json!([]) };
        fake.json(&format!("GET /repos/o/r/rules/branches/{name}"), &rules);
        fake.json(
            &format!("GET /repos/o/r/branches/{name}/protection"),
            &json!({"required_pull_request_reviews": {"required_approving_review_count": 9}}),
        );
    }
    let found = github(&fake).overview(&repo(), None).await.unwrap();
    assert_eq!(found.branch, "trunk");
    assert_eq!(found.protection, Protection::none());
}

#[tokio::test]
async fn a_branch_that_is_not_there_is_an_error_but_for_an_empty_repository() {
    let fake = Fake::start().await;
    start(&fake, "main", &json!([branch("main", false)]));
    fake.json("GET /repos/o/r/rules/branches/x", &json!([]));
    let error = github(&fake)
        .overview(&repo(), Some("x"))
        .await
        .unwrap_err();
    assert!(matches!(error, ForgeError::NotFound { what, .. } if what.contains("branch `x`")));
    let fake = Fake::start().await;
    start(&fake, "main", &json!([]));
    fake.json("GET /repos/o/r/rules/branches/x", &json!([]));
    let found = github(&fake).overview(&repo(), Some("x")).await.unwrap();
    assert!(found.repository.empty && found.tip.is_none());
}
