//! `branch_protection_get`

use blue_testkit::{Cx, Result};
use serde_json::json;

use crate::desk::{self, Desk};

blue_testkit::on_every_forge![
    an_unprotected_branch_is_no_error,
    a_rule_is_told_whole,
    who_may_push_and_merge_is_told,
    a_rule_with_a_glob_is_found,
    a_branch_that_is_not_there_is_unprotected,
    who_is_no_admin_is_told_a_part,
    it_does_what_every_tool_owes,
];

async fn an_unprotected_branch_is_no_error(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    let answer = desk
        .call("branch_protection_get", json!({"branch": "main"}))
        .await?;
    assert_eq!(answer, json!({"protected": false}));
    Ok(())
}

async fn a_rule_is_told_whole(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let rule = json!({
        "required_approvals": 2, "enable_status_check": true,
        "status_check_contexts": ["ci/build"], "block_on_outdated_branch": true,
    });
    cx.lab.protect(&repo, "main", rule).await?;
    let answer = desk
        .call("branch_protection_get", json!({"branch": "main"}))
        .await?;
    assert_eq!(answer["protected"], true);
    assert_eq!(answer["required_approvals"], 2);
    assert_eq!(answer["required_checks"], json!(["ci/build"]));
    assert_eq!(answer["require_up_to_date"], true);
    assert_eq!(answer.get("partial"), None);
    assert_eq!(answer.get("exists"), None);
    // Everyone with the right to write may merge.
    assert_eq!(answer.get("merge_whitelist"), Some(&json!(null)));
    assert!(answer.get("push_whitelist").is_some(), "{answer}");
    if !cx.backend.is_github() {
        assert_eq!(answer["rule"], "main");
    }
    Ok(())
}

async fn who_may_push_and_merge_is_told(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let rule = json!({
        "enable_push": true, "enable_push_whitelist": true,
        "push_whitelist_usernames": [repo.owner.login],
        "enable_merge_whitelist": true, "merge_whitelist_usernames": [repo.owner.login],
    });
    cx.lab.protect(&repo, "main", rule).await?;
    let answer = desk
        .call("branch_protection_get", json!({"branch": "main"}))
        .await?;
    assert_eq!(answer["required_approvals"], 0);
    assert_eq!(answer["push_whitelist"], json!([repo.owner.login]));
    if !cx.backend.is_github() {
        assert_eq!(answer["merge_whitelist"], json!([repo.owner.login]));
    }
    Ok(())
}

async fn a_rule_with_a_glob_is_found(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.branch(&repo, "rel/1.0", "main").await?;
    let rule = json!({"required_approvals": 1});
    cx.lab.protect(&repo, "rel/*", rule).await?;
    let get = |branch: &str| desk.call("branch_protection_get", json!({"branch": branch}));
    assert_eq!(get("rel/1.0").await?["required_approvals"], 1);
    assert_eq!(get("main").await?["protected"], false);
    Ok(())
}

async fn a_branch_that_is_not_there_is_unprotected(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    let answer = desk
        .call("branch_protection_get", json!({"branch": "no/such"}))
        .await?;
    assert_eq!(answer, json!({"protected": false, "exists": false}));
    // Names that no branch can have lead nowhere else.
    for name in ["../topics", "a//b", "a b", "x~1"] {
        let answer = desk.call("branch_protection_get", json!({"branch": name}));
        let none = json!({"protected": false, "exists": false});
        assert_eq!(answer.await?, none, "{name}");
    }
    Ok(())
}

async fn who_is_no_admin_is_told_a_part(cx: Cx) -> Result<()> {
    let (_, repo) = desk::start(&cx).await?;
    let writer = cx.lab.user("writer").await?;
    cx.lab.collaborator(&repo, &writer, "write").await?;
    cx.lab
        .protect(&repo, "main", json!({"required_approvals": 1}))
        .await?;
    let desk = Desk::new(&cx, &writer, &repo);
    let answer = desk
        .call("branch_protection_get", json!({"branch": "main"}))
        .await?;
    assert_eq!(answer["protected"], true);
    assert_eq!(answer["partial"], true);
    assert_eq!(
        answer.get("push_whitelist"),
        None,
        "only admins can read it"
    );
    assert_eq!(answer.get("merge_whitelist"), None);
    let answer = desk
        .call("branch_protection_get", json!({"branch": "new"}))
        .await?;
    assert_eq!(
        answer,
        json!({"protected": false, "exists": false, "partial": true})
    );
    Ok(())
}

async fn it_does_what_every_tool_owes(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    desk.owes("branch_protection_get", json!({"branch": "main"}))
        .await;
    let error = desk.refused("branch_protection_get", json!({})).await;
    assert_eq!(
        error.message,
        "branch_protection_get needs `branch`, a text"
    );
    Ok(())
}
