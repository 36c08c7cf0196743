//! `branch_delete`

use blue_forge::{
    ForgeError,
    model::{MergeOpts, MergeStrategy, Sha},
};
use blue_testkit::{Cx, Repo, Result};
use blue_tools::{ErrorCode, ToolError};
use serde_json::{Value, json};

use crate::desk::{self, Desk};

blue_testkit::on_every_forge![
    a_merged_branch_is_deleted,
    a_branch_that_was_squashed_or_rebased_is_merged,
    more_commits_after_a_merge_are_not_merged,
    the_default_branch_stays,
    a_protected_branch_stays,
    a_branch_with_open_pull_requests_stays,
    an_unmerged_branch_stays,
    force_needs_the_present_commit,
    a_person_types_the_start_of_the_commit,
    a_fork_with_the_same_branch_is_no_matter,
    the_forges_own_refusal_is_a_sentence,
    who_may_not_write_is_told,
    it_does_what_every_tool_owes,
];

async fn delete(desk: &Desk, branch: &str) -> Result<Value, ToolError> {
    desk.call("branch_delete", json!({"branch": branch})).await
}

async fn is_there(cx: &Cx, repo: &Repo, branch: &str) -> Result<bool> {
    match cx.forge(&repo.owner).get_branch(&repo.id, branch).await {
        Ok(_) => Ok(true),
        Err(ForgeError::NotFound { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A branch with one commit of its own
async fn topic(cx: &Cx, repo: &Repo, name: &str) -> Result<Sha> {
    cx.lab.branch(repo, name, "main").await?;
    let path = format!("{}.txt", name.replace('/', "-"));
    cx.lab
        .write(repo, name, &[(path.as_str(), name.as_bytes())])
        .await
}

async fn merged(cx: &Cx, repo: &Repo, name: &str, style: MergeStrategy) -> Result<Sha> {
    let head = topic(cx, repo, name).await?;
    let number = cx.lab.pr(repo, name, "main", "t").await?;
    let forge = cx.forge(&repo.owner);
    forge
        .merge_pr(&repo.id, number, &MergeOpts::from(style))
        .await?;
    Ok(head)
}

async fn a_merged_branch_is_deleted(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let head = merged(&cx, &repo, "feat/x", MergeStrategy::Merge).await?;
    let answer = delete(&desk, "feat/x").await?;
    assert_eq!(
        answer,
        json!({
            "message": format!("deleted branch `feat/x` of `{}`", repo.id), "sha": head.as_str(),
            "repository": repo.id.to_string(),
        })
    );
    assert!(!is_there(&cx, &repo, "feat/x").await?);
    // One that never had a commit of its own loses none.
    cx.lab.branch(&repo, "plain", "main").await?;
    delete(&desk, "plain").await?;
    let error = delete(&desk, "plain").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(error.message.contains("branch `plain`"), "{error:?}");
    Ok(())
}

async fn a_branch_that_was_squashed_or_rebased_is_merged(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    for (name, style) in [
        ("squashed", MergeStrategy::Squash),
        ("rebased", MergeStrategy::Rebase),
    ] {
        let head = merged(&cx, &repo, name, style).await?;
        // Something else comes in, so that the rebase makes new commits.
        cx.lab
            .write(&repo, "main", &[(name, b"x".as_slice())])
            .await?;
        assert_eq!(delete(&desk, name).await?["sha"], head.as_str());
        assert!(!is_there(&cx, &repo, name).await?);
    }
    Ok(())
}

async fn more_commits_after_a_merge_are_not_merged(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    merged(&cx, &repo, "topic", MergeStrategy::Squash).await?;
    cx.lab
        .write(&repo, "topic", &[("late.txt", b"late".as_slice())])
        .await?;
    let error = delete(&desk, "topic").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(
        error.message.contains("commits that `main` does not have"),
        "{error:?}"
    );
    assert!(is_there(&cx, &repo, "topic").await?);
    Ok(())
}

async fn the_default_branch_stays(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let error = delete(&desk, "main").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Forbidden);
    assert_eq!(
        error.message,
        "branch `main` was not deleted: it is the default branch"
    );
    // The hint does not suggest `force`, which the forge refuses as well.
    assert!(!error.hint.unwrap().contains("force"));
    let sha = cx.lab.head(&repo, "main").await?;
    let forced = json!({"branch": "main", "force": true, "sha": sha.as_str()});
    let error = desk.refused("branch_delete", forced).await;
    assert_eq!(error.code, ErrorCode::Forbidden, "{error:?}");
    assert!(is_there(&cx, &repo, "main").await?);
    Ok(())
}

async fn a_protected_branch_stays(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.branch(&repo, "rel/1", "main").await?;
    cx.lab.protect(&repo, "rel/*", json!({})).await?;
    let error = delete(&desk, "rel/1").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Forbidden);
    assert_eq!(
        error.message,
        "branch `rel/1` was not deleted: it is protected"
    );
    assert!(is_there(&cx, &repo, "rel/1").await?);
    Ok(())
}

async fn a_branch_with_open_pull_requests_stays(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let from = cx.lab.pr_with(&repo, "dev", &[("a.txt", b"a")]).await?;
    cx.lab.branch(&repo, "topic", "dev").await?;
    cx.lab
        .write(&repo, "topic", &[("b.txt", b"b".as_slice())])
        .await?;
    let to = cx.lab.pr(&repo, "topic", "dev", "t").await?;
    let error = delete(&desk, "dev").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert_eq!(
        error.message,
        format!(
            "branch `dev` was not deleted: it has an open pull request: #{from}, and open pull \
             requests go to it: #{to}"
        )
    );
    assert!(is_there(&cx, &repo, "dev").await?);
    Ok(())
}

async fn an_unmerged_branch_stays(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let head = topic(&cx, &repo, "topic").await?;
    let number = cx.lab.pr(&repo, "topic", "main", "t").await?;
    cx.lab.close_pr(&repo, number).await?;
    let error = delete(&desk, "topic").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert_eq!(
        error.message,
        "branch `topic` was not deleted: it has 1 commit that `main` does not have"
    );
    let hint = error.hint.unwrap();
    assert!(
        hint.contains("`force`") && hint.contains(head.as_str()),
        "{hint}"
    );
    assert!(is_there(&cx, &repo, "topic").await?);
    Ok(())
}

async fn force_needs_the_present_commit(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let old = topic(&cx, &repo, "topic").await?;
    let head = cx
        .lab
        .write(&repo, "topic", &[("b.txt", b"b".as_slice())])
        .await?;
    let call = |args: Value| {
        let mut all = json!({"branch": "topic"});
        all.as_object_mut()
            .unwrap()
            .extend(args.as_object().unwrap().clone());
        desk.call("branch_delete", all)
    };
    let error = call(json!({"force": true})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Invalid);
    assert!(
        error.message.starts_with("`force` needs `sha`"),
        "{error:?}"
    );
    let error = call(json!({"force": true, "sha": head.short()}))
        .await
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Invalid);
    for force in [true, false] {
        let args = json!({"force": force, "sha": old.as_str()});
        let error = call(args).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict);
        assert_eq!(
            error.message,
            format!("branch `topic` is at `{head}`, not at `{old}`")
        );
    }
    let error = call(json!({"sha": head.as_str()})).await.unwrap_err();
    assert!(error.message.contains("was not deleted"), "{error:?}");
    assert!(is_there(&cx, &repo, "topic").await?);
    let upper = head.as_str().to_uppercase();
    let answer = call(json!({"force": true, "sha": upper})).await?;
    assert_eq!(answer["sha"], head.as_str());
    assert!(!is_there(&cx, &repo, "topic").await?);
    Ok(())
}

async fn a_person_types_the_start_of_the_commit(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let head = topic(&cx, &repo, "topic").await?;
    let delete = async |start: &str| {
        let words = ["topic", "--force", "--sha", start];
        desk.typed("branch_delete", &words).await
    };
    let error = delete("0000000").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(is_there(&cx, &repo, "topic").await?);
    delete(&head.as_str()[..7]).await?;
    assert!(!is_there(&cx, &repo, "topic").await?);
    Ok(())
}

async fn a_fork_with_the_same_branch_is_no_matter(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let other = cx.lab.user("other").await?;
    let fork = cx.lab.fork(&repo, &other).await?;
    topic(&cx, &fork, "topic").await?;
    let head = format!("{}:topic", other.login);
    cx.lab.pr(&repo, &head, "main", "from a fork").await?;
    cx.lab.branch(&repo, "topic", "main").await?;
    delete(&desk, "topic").await?;
    Ok(())
}

async fn the_forges_own_refusal_is_a_sentence(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.branch(&repo, "kept", "main").await?;
    cx.lab.protect(&repo, "kept", json!({})).await?;
    let head = cx.lab.head(&repo, "main").await?;
    for branch in ["main", "kept"] {
        let args = json!({"branch": branch, "force": true, "sha": head.as_str()});
        let error = desk.refused("branch_delete", args).await;
        assert_eq!(error.code, ErrorCode::Forbidden, "{error:?}");
        let start = format!("branch `{branch}` cannot be deleted: ");
        let said = error.message.strip_prefix(&start);
        assert!(said.is_some_and(|said| said.len() > 5), "{error:?}");
        let advised = error.hint.as_deref().unwrap_or_default();
        let of_rule = advised.contains("branch_protection_get");
        assert_eq!(of_rule, branch == "kept", "{error:?}");
        assert!(is_there(&cx, &repo, branch).await?);
    }
    Ok(())
}

async fn who_may_not_write_is_told(cx: Cx) -> Result<()> {
    let (_, repo) = desk::start(&cx).await?;
    cx.lab.branch(&repo, "topic", "main").await?;
    let reader = cx.lab.user("reader").await?;
    let error = delete(&Desk::new(&cx, &reader, &repo), "topic")
        .await
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Forbidden, "{error:?}");
    assert!(
        error
            .message
            .starts_with("branch `topic` cannot be deleted: ")
    );
    Ok(())
}

async fn it_does_what_every_tool_owes(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    desk.owes("branch_delete", json!({"branch": "topic"})).await;
    let error = desk.refused("branch_delete", json!({})).await;
    assert_eq!(error.message, "branch_delete needs `branch`, a text");
    let error = desk.refused("branch_delete", json!({"branch": ""})).await;
    assert_eq!(error.message, "`branch` is empty");
    Ok(())
}
