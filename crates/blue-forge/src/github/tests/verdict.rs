//! What decides about a merge, as recorded answers of GitHub have it

use super::*;

const PR: &str = "GET /repos/o/r/pulls/1";

/// Answers of one branch that is protected by rulesets alone
fn rules(fake: &Fake, rules: &Value) {
    let branch = json!({"name": "main", "commit": {"sha": A}, "protected": false});
    fake.json("GET /repos/o/r/branches/main", &branch)
        .json("GET /repos/o/r/rules/branches/main", rules);
}

/// Answers of one branch with a classic rule that the caller can read
fn classic(fake: &Fake, rule: &Value) {
    let branch = json!({"name": "main", "commit": {"sha": A}, "protected": true});
    fake.json("GET /repos/o/r/branches/main", &branch)
        .json("GET /repos/o/r/branches/main/protection", rule)
        .json("GET /repos/o/r/rules/branches/main", &json!([]));
}

async fn mergeability(change: &Value) -> Mergeability {
    let fake = Fake::start().await;
    fake.json(PR, &pull(change));
    let found = github(&fake).mergeability(&repo(), 1, Duration::ZERO).await;
    found.unwrap()
}

#[tokio::test]
async fn an_empty_diff_is_clean_and_no_commits_are_empty() {
    let empty_diff = json!({"changed_files": 0, "commits": 2});
    assert_eq!(mergeability(&empty_diff).await, Mergeability::Clean);
    let no_commits = json!({"changed_files": 0, "commits": 0});
    assert_eq!(mergeability(&no_commits).await, Mergeability::Empty);
    // Right after the creation nothing is computed yet.
    let new = json!({"changed_files": 0, "commits": 0, "mergeable": null});
    assert_eq!(mergeability(&new).await, Mergeability::Checking);
}

#[tokio::test]
async fn a_draft_with_a_conflict_is_a_conflict() {
    let draft = json!({"draft": true, "mergeable": false, "mergeable_state": "dirty"});
    assert_eq!(mergeability(&draft).await, Mergeability::Conflict);
    let draft = json!({"draft": true, "mergeable_state": "draft"});
    assert_eq!(mergeability(&draft).await, Mergeability::Draft);
    let unknown = json!({"draft": true, "mergeable": null});
    assert_eq!(mergeability(&unknown).await, Mergeability::Draft);
}

#[tokio::test]
async fn the_newest_check_run_of_each_name_and_app_counts() {
    let fake = Fake::start().await;
    let run = |id: u64, app: u64, started: &str, conclusion: &str| {
        json!({
            "id": id, "name": "build", "status": "completed", "conclusion": conclusion,
            "started_at": started, "app": {"id": app},
        })
    };
    let runs = json!({"total_count": 3, "check_runs": [
        run(1, 15368, "2026-01-01T00:00:00Z", "cancelled"),
        run(3, 9, "2026-01-01T00:00:01Z", "failure"),
        run(2, 15368, "2026-01-01T00:01:00Z", "success"),
    ]});
    fake.json(
        &format!("GET /repos/o/r/commits/{A}/status"),
        &json!({"statuses": [], "total_count": 0}),
    )
    .json(&format!("GET /repos/o/r/commits/{A}/check-runs"), &runs);
    let checks = github(&fake).checks_of(&repo(), &sha(A)).await.unwrap();
    let found: Vec<_> = checks.items.iter().map(|c| (c.app, c.state)).collect();
    assert_eq!(
        found,
        [
            (Some(15368), CheckState::Success),
            (Some(9), CheckState::Failure)
        ]
    );
}

#[tokio::test]
async fn reviews_of_contributors_may_count() {
    let fake = Fake::start().await;
    let review = |login: &str, state: &str, association: &str| {
        json!({
            "user": {"login": login}, "state": state, "author_association": association,
            "commit_id": A, "submitted_at": "2026-01-01T00:00:00Z",
        })
    };
    let reviews = json!([
        review("owner", "APPROVED", "OWNER"),
        review("member", "APPROVED", "MEMBER"),
        review("private", "APPROVED", "CONTRIBUTOR"),
        review("stranger", "CHANGES_REQUESTED", "NONE"),
        review("new", "APPROVED", "FIRST_TIME_CONTRIBUTOR"),
        review("owner", "PENDING", "OWNER"),
    ]);
    fake.json(PR, &pull(&json!({})))
        .json("GET /repos/o/r/pulls/1/reviews", &reviews);
    let found = github(&fake).pr_reviews(&repo(), 1).await.unwrap();
    let official: Vec<Option<bool>> = found.iter().map(|r| r.official).collect();
    let expected = [
        Some(true),
        Some(true),
        None,
        Some(false),
        Some(false),
        Some(false),
    ];
    assert_eq!(official, expected);
}

#[tokio::test]
async fn strict_without_a_required_check_asks_for_no_newest_base() {
    for (contexts, strict) in [(json!([]), false), (json!(["ci"]), true)] {
        let fake = Fake::start().await;
        let checks = json!({"strict": true, "contexts": contexts, "checks": []});
        classic(&fake, &json!({"required_status_checks": checks}));
        let found = github(&fake).protection(&repo(), "main").await.unwrap();
        assert_eq!(found.require_up_to_date, strict);
        let fake = Fake::start().await;
        let named: Vec<Value> = contexts
            .as_array()
            .unwrap()
            .iter()
            .map(|context| json!({ "context": context }))
            .collect();
        let parameters = json!({
            "strict_required_status_checks_policy": true, "required_status_checks": named,
        });
        let rule = json!([{"type": "required_status_checks", "parameters": parameters}]);
        rules(&fake, &rule);
        let found = github(&fake).protection(&repo(), "main").await.unwrap();
        assert_eq!(found.require_up_to_date, strict);
    }
}

#[tokio::test]
async fn the_app_of_a_required_check_is_read() {
    let fake = Fake::start().await;
    let checks = json!([{"context": "build", "app_id": 7}, {"context": "any", "app_id": -1}]);
    let checks = json!({"strict": false, "contexts": ["build", "any"], "checks": checks});
    classic(&fake, &json!({"required_status_checks": checks}));
    let found = github(&fake).protection(&repo(), "main").await.unwrap();
    assert_eq!(found.required_checks, ["build", "any"]);
    assert_eq!(found.check_apps, [("build".to_owned(), 7)].into());
    let fake = Fake::start().await;
    let parameters = json!({"required_status_checks": [{"context": "lint", "integration_id": 8}]});
    let rule = json!([{"type": "required_status_checks", "parameters": parameters}]);
    rules(&fake, &rule);
    let found = github(&fake).protection(&repo(), "main").await.unwrap();
    assert_eq!(found.check_apps, [("lint".to_owned(), 8)].into());
}

#[tokio::test]
async fn merge_methods_of_rules_are_read() {
    use MergeStrategy::{Rebase, Squash};
    let fake = Fake::start().await;
    let parameters = json!({"allowed_merge_methods": ["merge", "squash"]});
    let rule = json!([
        {"type": "pull_request", "parameters": parameters},
        {"type": "required_linear_history"},
    ]);
    rules(&fake, &rule);
    let found = github(&fake).protection(&repo(), "main").await.unwrap();
    assert_eq!(found.merge_styles, Some(vec![Squash]));
    let fake = Fake::start().await;
    classic(
        &fake,
        &json!({"required_linear_history": {"enabled": true}}),
    );
    let found = github(&fake).protection(&repo(), "main").await.unwrap();
    assert_eq!(found.merge_styles, Some(vec![Squash, Rebase]));
}

#[tokio::test]
async fn merge_styles_are_read_wherever_they_are_told() {
    let styles = |merge: bool| {
        json!({
            "name": "r", "owner": {"login": "o"}, "default_branch": "main", "size": 1,
            "allow_merge_commit": merge, "allow_squash_merge": true, "allow_rebase_merge": false,
        })
    };
    let fake = Fake::start().await;
    let mut told = pull(&json!({}));
    told["base"]["repo"] = styles(false);
    fake.json(PR, &told).json("GET /repos/o/r", &styles(true));
    let forge = github(&fake);
    assert_eq!(forge.recent_merge_styles(&repo()), None);
    let pr = forge.get_pr(&repo(), 1).await.unwrap();
    let with_pr = pr.styles.unwrap();
    assert_eq!(with_pr.allowed, [MergeStrategy::Squash]);
    assert_eq!(forge.recent_merge_styles(&repo()), Some(with_pr));
    let found = forge.repository(&repo()).await.unwrap();
    assert_eq!(found.styles.unwrap().unnamed(), Some(MergeStrategy::Merge));
    // To readers nothing is told.
    let fake = Fake::start().await;
    fake.json(PR, &pull(&json!({})));
    let pr = github(&fake).get_pr(&repo(), 1).await.unwrap();
    assert_eq!(pr.styles, None);
}

#[tokio::test]
async fn an_exemption_from_rules_is_read_where_it_is_told() {
    let may = async |enforced: Option<bool>, admin: bool, ruleset: Option<&str>| {
        let fake = Fake::start().await;
        let right = json!({"admin": admin, "push": true, "pull": true});
        fake.json(
            "GET /repos/o/r",
            &json!({
                "name": "r", "owner": {"login": "o"}, "default_branch": "main", "size": 1,
                "permissions": right,
            }),
        );
        if let Some(enforced) = enforced {
            classic(&fake, &json!({"enforce_admins": {"enabled": enforced}}));
        } else {
            rules(&fake, &json!([]));
        }
        if let Some(bypass) = ruleset {
            let rule = json!([{"type": "pull_request", "ruleset_id": 5}]);
            fake.json("GET /repos/o/r/rules/branches/main", &rule).json(
                "GET /repos/o/r/rulesets/5",
                &json!({"id": 5, "current_user_can_bypass": bypass}),
            );
        }
        let forge = github(&fake);
        forge.permissions(&repo()).await.unwrap();
        let rule = forge.protection(&repo(), "main").await.unwrap();
        forge.may_bypass(&repo(), &rule).await
    };
    assert!(may(Some(false), true, None).await);
    assert!(!may(Some(false), false, None).await);
    assert!(!may(Some(true), true, None).await);
    assert!(!may(None, true, None).await);
    assert!(may(None, false, Some("always")).await);
    assert!(!may(None, true, Some("never")).await);
    assert!(!may(Some(false), true, Some("never")).await);
}
