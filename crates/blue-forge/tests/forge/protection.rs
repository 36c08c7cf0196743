//! Branch protection, as its owner and as others see it

use blue_forge::{ForgeError, model::Protection};
use blue_testkit::{Cx, Result, Skip};
use serde_json::json;

use crate::words::{commit, write};

blue_testkit::on_every_forge![
    an_unprotected_branch_has_no_rule,
    a_rule_is_told_whole_to_an_admin,
    a_glob_rule_holds_for_its_branches,
    a_plain_rule_wins_over_a_glob,
    a_writer_sees_that_it_is_protected,
    a_reader_sees_that_it_is_protected,
    required_contexts_are_told,
    switched_off_contexts_are_not_required,
    who_may_push_is_told,
    a_protected_branch_is_not_written,
    a_protected_file_is_not_written,
];

async fn an_unprotected_branch_has_no_rule(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.branch(&repo, "other", "main").await?;
    cx.lab.protect(&repo, "other", json!({})).await?;
    let none = forge.protection(&repo.id, "main").await?;
    assert!(!none.protected && !none.partial, "{none:?}");
    assert_eq!((none.rule, none.required_approvals), (None, 0));
    assert_eq!(none.required_checks, Vec::<String>::new());
    assert_eq!((none.push_whitelist, none.merge_whitelist), (None, None));
    assert!(!Protection::none().protected);
    Ok(())
}

async fn a_rule_is_told_whole_to_an_admin(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let rule = json!({
        "required_approvals": 2,
        "enable_status_check": true,
        "status_check_contexts": ["ci/build", "ci/test"],
        "block_on_outdated_branch": true,
        "block_on_rejected_reviews": true,
    });
    cx.lab.protect(&repo, "main", rule).await?;
    let told = forge.protection(&repo.id, "main").await?;
    assert!(told.protected && !told.partial, "{told:?}");
    assert_eq!(told.required_approvals, 2);
    assert_eq!(told.required_checks, ["ci/build", "ci/test"]);
    assert!(told.require_up_to_date, "{told:?}");
    if !cx.backend.is_github() {
        assert_eq!(told.rule.as_deref(), Some("main"));
        assert!(told.block_on_rejected_reviews);
    }
    assert!(!told.merge_queue);
    Ok(())
}

async fn a_glob_rule_holds_for_its_branches(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.branch(&repo, "rel/1.0", "main").await?;
    cx.lab.branch(&repo, "rel/1.0/fix", "main").await.ok();
    cx.lab
        .protect(&repo, "rel/*", json!({"required_approvals": 1}))
        .await?;
    let told = forge.protection(&repo.id, "rel/1.0").await?;
    assert!(told.protected && !told.partial, "{told:?}");
    assert_eq!(told.required_approvals, 1);
    assert!(!forge.protection(&repo.id, "main").await?.protected);
    Ok(())
}

async fn a_plain_rule_wins_over_a_glob(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.branch(&repo, "rel/1.0", "main").await?;
    cx.lab
        .protect(&repo, "rel/1.0", json!({"required_approvals": 3}))
        .await?;
    cx.lab
        .protect(&repo, "rel/*", json!({"required_approvals": 1}))
        .await?;
    let told = forge.protection(&repo.id, "rel/1.0").await?;
    assert_eq!(told.required_approvals, 3);
    Ok(())
}

async fn a_writer_sees_that_it_is_protected(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    let writer = cx.lab.user("writer").await?;
    cx.lab.collaborator(&repo, &writer, "write").await?;
    let rule = json!({
        "required_approvals": 1,
        "enable_status_check": true,
        "status_check_contexts": ["ci/*"],
    });
    cx.lab.protect(&repo, "main", rule).await?;
    let told = cx.forge(&writer).protection(&repo.id, "main").await?;
    assert!(told.protected, "{told:?}");
    assert!(told.partial, "the token may not see the rule: {told:?}");
    if !cx.backend.is_github() {
        assert_eq!(told.required_approvals, 1);
        assert_eq!(told.can_push, Some(false));
        assert_eq!(told.can_merge, Some(true));
    }
    assert_eq!(told.required_checks, ["ci/*"]);
    Ok(())
}

async fn a_reader_sees_that_it_is_protected(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    cx.lab.protect(&repo, "main", json!({})).await?;
    let reader = cx.lab.user("reader").await?;
    cx.lab.collaborator(&repo, &reader, "read").await?;
    let told = cx.forge(&reader).protection(&repo.id, "main").await?;
    assert!(told.protected && told.partial, "{told:?}");
    Ok(())
}

async fn required_contexts_are_told(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let rule = json!({"enable_status_check": true, "status_check_contexts": ["ci/*", "lint"]});
    cx.lab.protect(&repo, "main", rule).await?;
    let told = forge.protection(&repo.id, "main").await?;
    assert_eq!(told.required_checks, ["ci/*", "lint"]);
    Ok(())
}

async fn switched_off_contexts_are_not_required(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let rule = json!({"enable_status_check": false, "status_check_contexts": ["ci/*"]});
    cx.lab.protect(&repo, "main", rule).await?;
    let told = forge.protection(&repo.id, "main").await?;
    assert_eq!(told.required_checks, Vec::<String>::new());
    Ok(())
}

async fn who_may_push_is_told(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let writer = cx.lab.user("writer").await?;
    cx.lab.collaborator(&repo, &writer, "write").await?;
    let rule = json!({
        "enable_push": true,
        "enable_push_whitelist": true,
        "push_whitelist_usernames": [writer.login],
        "enable_merge_whitelist": true,
        "merge_whitelist_usernames": [writer.login],
    });
    cx.lab.protect(&repo, "main", rule).await?;
    let told = forge.protection(&repo.id, "main").await?;
    assert_eq!(told.push_whitelist, Some(vec![writer.login.clone()]));
    if !cx.backend.is_github() {
        assert_eq!(told.merge_whitelist, Some(vec![writer.login.clone()]));
        assert_eq!(told.can_push, Some(false));
        let mine = cx.forge(&writer).protection(&repo.id, "main").await?;
        assert_eq!((mine.can_push, mine.can_merge), (Some(true), Some(true)));
    }
    Ok(())
}

async fn a_protected_branch_is_not_written(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let writer = cx.lab.user("writer").await?;
    cx.lab.collaborator(&repo, &writer, "write").await?;
    cx.lab
        .protect(&repo, "main", json!({"enable_push": false}))
        .await?;
    let opts = commit("main", vec![write("new.txt", "x")]);
    for forge in [cx.forge(&writer), forge] {
        refused!(
            forge.commit_files(&repo.id, &opts).await,
            ForgeError::Forbidden { message, .. } if !message.is_empty()
        );
    }
    assert_eq!(cx.lab.blob(&repo, "main", "new.txt").await?, None);
    Ok(())
}

async fn a_protected_file_is_not_written(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub has no such rule").into());
    }
    let rule = json!({"enable_push": true, "protected_file_patterns": "*.lock"});
    cx.lab.protect(&repo, "main", rule).await?;
    let opts = commit("main", vec![write("a.txt", "x"), write("deps.lock", "x")]);
    refused!(
        forge.commit_files(&repo.id, &opts).await,
        ForgeError::Forbidden { .. }
    );
    assert_eq!(cx.lab.blob(&repo, "main", "a.txt").await?, None);
    Ok(())
}
