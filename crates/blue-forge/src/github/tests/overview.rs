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
async fn a_name_that_was_heard_costs_nothing_more() {
    for heard in [Some("trunk"), None] {
        let fake = Fake::start().await;
        start(&fake, "trunk", &json!([branch("trunk", true)]));
        for name in ["main", "trunk"] {
            fake.json(&format!("GET /repos/o/r/rules/branches/{name}"), &json!([]));
            fake.json(
                &format!("GET /repos/o/r/branches/{name}/protection"),
                &json!({"required_pull_request_reviews": {"required_approving_review_count": 1}}),
            );
        }
        let forge = github(&fake);
        if let Some(heard) = heard {
            forge.heard_default(&repo(), heard);
        }
        let found = forge.overview(&repo(), None).await.unwrap();
        assert_eq!(found.protection.required_approvals, 1);
        let asked = if heard.is_some() { 5 } else { 7 };
        assert_eq!(fake.calls().len(), asked, "{:#?}", fake.calls());
    }
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

#[tokio::test]
async fn lists_that_are_cut_have_a_total() {
    let fake = Fake::start().await;
    start(&fake, "main", &json!([]));
    let page = |path: &str, per_page: u32, row: &Value, last: u32| {
        let state = if path == "pulls" { "state=open&" } else { "" };
        let link =
            format!("<http://x/?page=2>; rel=\"next\", <http://x/?page={last}>; rel=\"last\"");
        fake.on(
            &format!("GET /repos/o/r/{path}?{state}page=1&per_page={per_page}"),
            [json_reply(200, &json!([row])).with("link", &link)],
        );
    };
    page("branches", 100, &branch("main", false), 3);
    page("branches", 1, &branch("main", false), 234);
    page("pulls", 50, &pull(&json!({})), 2);
    page("pulls", 1, &pull(&json!({})), 77);
    fake.json("GET /repos/o/r/rules/branches/main", &json!([]));
    fake.on(
        "GET /repos/o/r/branches/main/protection",
        [message(404, "Branch not protected")],
    );
    let found = github(&fake).overview(&repo(), None).await.unwrap();
    assert_eq!(found.branches.total, Some(234));
    assert_eq!(found.prs.unwrap().total, Some(77));
}

#[tokio::test]
async fn pull_requests_are_off_only_where_nothing_says_otherwise() {
    for (told, off) in [
        (json!(null), true),
        (json!(false), true),
        (json!(true), false),
    ] {
        let fake = Fake::start().await;
        start(&fake, "main", &json!([branch("main", false)]));
        fake.json(
            "GET /repos/o/r",
            &json!({"name": "r", "owner": {"login": "o"}, "default_branch": "main",
                "has_pull_requests": told}),
        );
        fake.on("GET /repos/o/r/pulls", [message(404, "Not Found")]);
        fake.json("GET /repos/o/r/rules/branches/main", &json!([]));
        fake.on(
            "GET /repos/o/r/branches/main/protection",
            [message(404, "Branch not protected")],
        );
        let found = github(&fake).overview(&repo(), None).await;
        assert_eq!(found.is_ok_and(|found| found.prs.is_none()), off, "{told}");
    }
}
