use super::*;

const BRANCH: &str = "GET /repos/o/r/branches/main";
const CLASSIC: &str = "GET /repos/o/r/branches/main/protection";
const RULES: &str = "GET /repos/o/r/rules/branches/main";

fn branch(protected: bool) -> Value {
    json!({"name": "main", "commit": {"sha": A}, "protected": protected, "protection": {
        "enabled": protected,
        "required_status_checks": {"enforcement_level": "everyone", "contexts": ["ci"], "checks": []},
    }})
}

#[tokio::test]
async fn a_branch_without_rules_is_free() {
    let fake = Fake::start().await;
    fake.json(BRANCH, &branch(false)).json(RULES, &json!([]));
    let found = github(&fake).protection(&repo(), "main").await.unwrap();
    let free = Protection {
        tip: Some(sha(A)),
        ..Protection::none()
    };
    assert_eq!(found, free);
}

#[tokio::test]
async fn all_three_sources_are_one() {
    let fake = Fake::start().await;
    fake.json(BRANCH, &branch(true));
    fake.json(
        CLASSIC,
        &json!({
            "required_status_checks": {"strict": true, "contexts": ["ci"], "checks": [{"context": "ci", "app_id": 1}, {"context": "lint", "app_id": null}]},
            "required_pull_request_reviews": {"required_approving_review_count": 1},
            "restrictions": {"users": [{"login": "mona"}], "teams": [{"slug": "core"}], "apps": [{"slug": "bot"}]},
        }),
    );
    let rule = |kind: &str, parameters: Value| json!({"type": kind, "ruleset_id": 1, "parameters": parameters});
    fake.json(
        RULES,
        &json!([
            {"type": "deletion", "ruleset_id": 1},
            rule("pull_request", json!({"required_approving_review_count": 2, "dismiss_stale_reviews_on_push": true})),
            rule("required_status_checks", json!({"required_status_checks": [{"context": "scan"}], "strict_required_status_checks_policy": false})),
            rule("merge_queue", json!({"max_entries_to_build": 5})),
        ]),
    );
    let found = github(&fake).protection(&repo(), "main").await.unwrap();
    assert_eq!(
        found,
        Protection {
            protected: true,
            required_approvals: 2,
            check_apps: [("ci".to_owned(), 1)].into(),
            binds_admins: Some(false),
            rulesets: vec![1],
            requires_pr: true,
            push_whitelist: Some(vec![
                "mona".to_owned(),
                "@core".to_owned(),
                "bot".to_owned()
            ]),
            required_checks: vec!["ci".to_owned(), "lint".to_owned(), "scan".to_owned()],
            require_up_to_date: true,
            block_on_rejected_reviews: true,
            merge_queue: true,
            tip: Some(sha(A)),
            ..Protection::none()
        }
    );
}

#[tokio::test]
async fn what_the_token_may_not_see_makes_it_partial_and_never_free() {
    for answer in [
        message(403, "Resource not accessible by personal access token"),
        message(404, "Not Found"),
    ] {
        let fake = Fake::start().await;
        fake.json(BRANCH, &branch(true)).on(CLASSIC, [answer]);
        fake.json(RULES, &json!([]));
        let found = github(&fake).protection(&repo(), "main").await.unwrap();
        assert!(found.protected && found.partial);
        assert_eq!(found.required_checks, ["ci"]);
    }
    let fake = Fake::start().await;
    fake.json(BRANCH, &branch(true));
    fake.on(CLASSIC, [message(404, "Branch not protected")]);
    fake.json(
        RULES,
        &json!([{"type": "non_fast_forward", "ruleset_id": 1}]),
    );
    let found = github(&fake).protection(&repo(), "main").await.unwrap();
    assert!(found.protected && !found.partial);
}

#[tokio::test]
async fn a_missing_branch_may_still_have_rules() {
    let fake = Fake::start().await;
    fake.on(BRANCH, [message(404, "Branch not found")]);
    fake.on(
        RULES,
        [
            json_reply(200, &json!([{"type": "creation"}])),
            json_reply(200, &json!([])),
        ],
    );
    let forge = github(&fake);
    assert!(forge.protection(&repo(), "main").await.unwrap().protected);
    let error = forge.protection(&repo(), "main").await.unwrap_err();
    assert!(matches!(error, ForgeError::NotFound { .. }), "{error}");
}

#[tokio::test]
async fn a_rule_without_approvals_may_still_refuse_a_push() {
    let ruled = |rules: Value, classic: Option<Value>| async move {
        let fake = Fake::start().await;
        fake.json(BRANCH, &branch(true)).json(RULES, &rules);
        match classic {
            Some(classic) => fake.json(CLASSIC, &classic),
            None => fake.on(CLASSIC, [message(404, "Branch not protected")]),
        };
        let found = github(&fake).protection(&repo(), "main").await.unwrap();
        assert_eq!(found.required_approvals, 0);
        found.requires_pr
    };
    for (kind, refuses) in [
        ("pull_request", true),
        ("required_status_checks", true),
        ("merge_queue", true),
        ("update", true),
        ("deletion", false),
        ("non_fast_forward", false),
    ] {
        assert_eq!(
            ruled(json!([{"type": kind}]), None).await,
            refuses,
            "{kind}"
        );
    }
    let reviews = json!({"required_pull_request_reviews": {"required_approving_review_count": 0}});
    assert!(ruled(json!([]), Some(reviews)).await);
    // Checks bind the admin who reads this only where they are told to.
    for bound in [true, false] {
        let checks = json!({
            "required_status_checks": {"strict": false, "contexts": ["ci"]},
            "enforce_admins": {"enabled": bound},
        });
        assert_eq!(ruled(json!([]), Some(checks)).await, bound);
    }
}

#[tokio::test]
async fn what_is_no_name_is_no_branch_and_not_asked_for() {
    let fake = Fake::start().await;
    for odd in [".", "..", "", "a b"] {
        let error = github(&fake).protection(&repo(), odd).await.unwrap_err();
        assert!(matches!(error, ForgeError::NotFound { .. }), "{error}");
    }
    assert_eq!(fake.calls(), [""; 0]);
}
