//! Every reason not to merge, told apart

use blue_forge::{
    ForgeError, MergeBlock,
    model::{MergeOutcome, MergeStrategy},
};
use blue_testkit::{Backend, Cx, Result, Skip, eventually};
use serde_json::json;

use crate::{
    merge::{blocked, diverged, merged, plain, require_checks},
    words::{PATIENCE, merge},
};

blue_testkit::on_every_forge![
    missing_checks_block,
    a_failing_check_blocks,
    a_passing_check_lets_through,
    missing_approvals_block,
    enough_approvals_let_through,
    requested_changes_block,
    an_asked_for_review_blocks,
    a_branch_behind_is_blocked,
    an_open_dependency_blocks,
    protected_files_block,
    a_reader_merges_nothing,
    a_user_off_the_list_merges_nothing,
    a_forbidden_style_is_told,
];

async fn missing_checks_block(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    require_checks(&cx, &repo).await?;
    let error = blocked(&cx, &repo, number, &plain()).await?;
    assert_block(error, MergeBlock::Checks);
    Ok(())
}

async fn a_failing_check_blocks(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    require_checks(&cx, &repo).await?;
    let head = cx.lab.head(&repo, "topic").await?;
    cx.lab.status(&repo, &head, "ci/test", "success").await?;
    cx.lab.status(&repo, &head, "ci/build", "failure").await?;
    let error = blocked(&cx, &repo, number, &plain()).await?;
    assert_block(error, MergeBlock::Checks);
    Ok(())
}

async fn a_passing_check_lets_through(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    require_checks(&cx, &repo).await?;
    let head = cx.lab.head(&repo, "topic").await?;
    cx.lab.status(&repo, &head, "ci/build", "failure").await?;
    cx.lab.status(&repo, &head, "ci/build", "success").await?;
    assert_eq!(merged(&cx, &repo, number, &plain()).await?.0, 2);
    Ok(())
}

async fn missing_approvals_block(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    cx.lab
        .protect(&repo, "main", json!({"required_approvals": 1}))
        .await?;
    let error = blocked(&cx, &repo, number, &plain()).await?;
    assert_block(error, MergeBlock::Approvals);
    Ok(())
}

async fn enough_approvals_let_through(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    cx.lab
        .protect(&repo, "main", json!({"required_approvals": 1}))
        .await?;
    let reviewer = cx.lab.user("reviewer").await?;
    cx.lab.collaborator(&repo, &reviewer, "write").await?;
    cx.lab.review(&repo, number, &reviewer, "APPROVED").await?;
    assert_eq!(merged(&cx, &repo, number, &plain()).await?.0, 2);
    Ok(())
}

async fn requested_changes_block(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    let rule = json!({"required_approvals": 1, "block_on_rejected_reviews": true});
    cx.lab.protect(&repo, "main", rule).await?;
    for event in ["APPROVED", "REQUEST_CHANGES"] {
        let user = cx.lab.user("reviewer").await?;
        cx.lab.collaborator(&repo, &user, "write").await?;
        cx.lab.review(&repo, number, &user, event).await?;
    }
    let error = blocked(&cx, &repo, number, &plain()).await?;
    assert_block(error, MergeBlock::ChangesRequested);
    Ok(())
}

async fn an_asked_for_review_blocks(cx: Cx) -> Result<()> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub has no such rule").into());
    }
    let (repo, number) = diverged(&cx).await?;
    let reviewer = cx.lab.user("reviewer").await?;
    cx.lab.collaborator(&repo, &reviewer, "write").await?;
    let rule = json!({"block_on_official_review_requests": true});
    cx.lab.protect(&repo, "main", rule).await?;
    cx.lab.request_review(&repo, number, &reviewer).await?;
    let error = blocked(&cx, &repo, number, &plain()).await?;
    assert_block(error, MergeBlock::ReviewRequested);
    Ok(())
}

async fn an_open_dependency_blocks(cx: Cx) -> Result<()> {
    if !matches!(cx.backend, Backend::Gitea | Backend::Forgejo) {
        return Err(Skip::new("the sandbox and GitHub have no dependencies").into());
    }
    let (repo, number) = diverged(&cx).await?;
    let first = cx
        .lab
        .pr_with(&repo, "first", &[("first.txt", b"1")])
        .await?;
    let path = ["issues", &number.to_string(), "dependencies"];
    let on = json!({"owner": repo.id.owner(), "repo": repo.id.name(), "index": first});
    cx.lab.post(&repo.owner, &repo.path(&path), &on).await?;
    let error = blocked(&cx, &repo, number, &plain()).await?;
    assert_block(error, MergeBlock::Dependency);
    Ok(())
}

async fn a_branch_behind_is_blocked(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    cx.lab
        .protect(&repo, "main", json!({"block_on_outdated_branch": true}))
        .await?;
    let error = blocked(&cx, &repo, number, &plain()).await?;
    assert_block(error, MergeBlock::Behind);
    Ok(())
}

async fn protected_files_block(cx: Cx) -> Result<()> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub has no such rule").into());
    }
    let (_, repo) = cx.start().await?;
    cx.lab
        .protect(&repo, "main", json!({"protected_file_patterns": "*.lock"}))
        .await?;
    let number = cx
        .lab
        .pr_with(&repo, "topic", &[("deps.lock", b"x")])
        .await?;
    // The forge writes down which protected files a pull request touches when it checks it, and
    // would merge before that.
    eventually("the pull request is checked", PATIENCE, || async {
        let pr = cx.lab.pr_json(&repo, number).await?;
        Ok((pr["mergeable"] == true).then_some(()))
    })
    .await?;
    let error = blocked(&cx, &repo, number, &plain()).await?;
    assert_block(error, MergeBlock::ProtectedFiles);
    Ok(())
}

async fn a_reader_merges_nothing(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    let reader = cx.lab.user("reader").await?;
    cx.lab.collaborator(&repo, &reader, "read").await?;
    let result = cx.forge(&reader).merge_pr(&repo.id, number, &plain()).await;
    not_permitted(result);
    assert!(!cx.forge(&repo.owner).pr_is_merged(&repo.id, number).await?);
    Ok(())
}

async fn a_user_off_the_list_merges_nothing(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    let writer = cx.lab.user("writer").await?;
    cx.lab.collaborator(&repo, &writer, "write").await?;
    let rule = json!({
        "enable_merge_whitelist": true,
        "merge_whitelist_usernames": [repo.owner.login],
    });
    cx.lab.protect(&repo, "main", rule).await?;
    let result = cx.forge(&writer).merge_pr(&repo.id, number, &plain()).await;
    not_permitted(result);
    assert!(!cx.forge(&repo.owner).pr_is_merged(&repo.id, number).await?);
    Ok(())
}

async fn a_forbidden_style_is_told(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    cx.lab
        .edit_repo(
            &repo,
            &json!({"allow_rebase": false, "has_pull_requests": true}),
        )
        .await?;
    let error = blocked(&cx, &repo, number, &merge(MergeStrategy::Rebase)).await?;
    assert_block(error, MergeBlock::Style);
    Ok(())
}

#[track_caller]
fn assert_block(error: ForgeError, wanted: MergeBlock) {
    match error {
        ForgeError::NotMergeable {
            reason, message, ..
        } => {
            assert_eq!(reason, wanted, "{message}");
            assert!(!message.is_empty());
        }
        other => panic!("expected {wanted:?}, got {other:?}"),
    }
}

#[track_caller]
fn not_permitted(result: Result<MergeOutcome, ForgeError>) {
    match result {
        Err(
            ForgeError::Forbidden { .. }
            | ForgeError::NotMergeable {
                reason: MergeBlock::NotPermitted,
                ..
            },
        ) => {}
        other => panic!("expected a refusal, got {other:?}"),
    }
}
