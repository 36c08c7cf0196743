//! `pr_merge`

use blue_testkit::{Cx, Repo, Result, Skip};
use blue_tools::ErrorCode;
use serde_json::{Value, json};

use crate::desk::{self, Desk};

blue_testkit::on_every_forge![
    a_merge_tells_its_commit,
    styles_make_different_histories,
    styles_that_a_forge_has_not_are_told,
    title_and_message_are_taken,
    a_second_merge_says_so,
    a_head_that_moved_is_told,
    a_pin_must_be_whole,
    a_person_types_the_start_of_a_pin,
    a_red_check_refuses,
    a_conflict_refuses,
    a_draft_refuses,
    a_closed_one_refuses,
    a_style_that_is_switched_off_refuses,
    a_merge_without_a_style_is_one_that_is_allowed,
    a_reader_is_refused,
    a_missing_one_is_not_found,
    the_branch_is_deleted_if_asked,
    a_branch_that_is_needed_stays,
    a_branch_of_a_fork_stays,
    scheduled_is_not_merged,
    a_lost_answer_is_looked_up,
    it_does_what_every_tool_owes,
];

/// `main` and `topic` have each moved on, and a pull request joins them
async fn diverged(cx: &Cx) -> Result<(Desk, Repo, u64)> {
    let (desk, repo) = desk::start(cx).await?;
    cx.lab.branch(&repo, "topic", "main").await?;
    cx.lab.write(&repo, "topic", &[("one.txt", b"1")]).await?;
    cx.lab.write(&repo, "topic", &[("two.txt", b"2")]).await?;
    cx.lab.write(&repo, "main", &[("other.txt", b"o")]).await?;
    let number = cx.lab.pr(&repo, "topic", "main", "Topic").await?;
    Ok((desk, repo, number))
}

/// A merge that is refused changes nothing; what was said
async fn refused(
    cx: &Cx,
    desk: &Desk,
    repo: &Repo,
    args: Value,
) -> Result<(ErrorCode, String, String)> {
    let before = cx.lab.head(repo, "main").await?;
    let error = desk.refused("pr_merge", args).await;
    assert_eq!(cx.lab.head(repo, "main").await?, before);
    let hint = error.hint.clone().unwrap_or_default();
    Ok((error.code, error.message, hint))
}

async fn a_merge_tells_its_commit(cx: Cx) -> Result<()> {
    let (desk, repo, number) = diverged(&cx).await?;
    let head = cx.lab.head(&repo, "topic").await?;
    let args = json!({"index": number, "head_sha": head.as_str().to_uppercase()});
    let answer = desk.call("pr_merge", args).await?;
    let tip = cx.lab.head(&repo, "main").await?;
    assert_eq!(
        answer,
        json!({
            "merged": true, "commit_sha": tip.as_str(), "style": "merge",
            "repository": repo.id.to_string(),
            "next_steps": ["Delete its branch with branch_delete, branch \"topic\", unless another \
                            pull request uses it"],
        })
    );
    assert_eq!(cx.lab.count_commits(&repo, "main").await?, 5);
    assert_eq!(cx.lab.head(&repo, "topic").await?, head);
    Ok(())
}

async fn styles_make_different_histories(cx: Cx) -> Result<()> {
    for (style, commits) in [("squash", 3), ("rebase", 4)] {
        let (desk, repo, number) = diverged(&cx).await?;
        let args = json!({"number": number, "style": style});
        let answer = desk.call("pr_merge", args).await?;
        assert_eq!(
            answer["commit_sha"],
            cx.lab.head(&repo, "main").await?.as_str()
        );
        assert_eq!(
            cx.lab.count_commits(&repo, "main").await?,
            commits,
            "{style}"
        );
    }
    Ok(())
}

async fn styles_that_a_forge_has_not_are_told(cx: Cx) -> Result<()> {
    let (desk, repo, number) = diverged(&cx).await?;
    let args = json!({"index": number, "style": "fast-forward-only"});
    let (code, message, _) = refused(&cx, &desk, &repo, args).await?;
    if cx.backend.is_github() {
        assert_eq!(code, ErrorCode::Unsupported);
        assert!(message.contains("`fast-forward-only`"), "{message}");
    } else {
        assert_eq!(code, ErrorCode::NotMergeable, "{message}");
        let args = json!({"index": number, "style": "rebase-merge"});
        assert_eq!(desk.call("pr_merge", args).await?["merged"], true);
        assert_eq!(cx.lab.count_commits(&repo, "main").await?, 5);
    }
    Ok(())
}

async fn title_and_message_are_taken(cx: Cx) -> Result<()> {
    let (desk, repo, number) = diverged(&cx).await?;
    let args = json!({
        "index": number, "style": "squash",
        "merge_message_title": "A chosen title", "merge_message_field": "And a body",
    });
    desk.call("pr_merge", args).await?;
    let tip = cx.forge(&repo.owner).get_commit(&repo.id, "main").await?;
    assert!(
        tip.message.starts_with("A chosen title\n\nAnd a body"),
        "{tip:?}"
    );
    Ok(())
}

async fn a_second_merge_says_so(cx: Cx) -> Result<()> {
    let (desk, repo, number) = diverged(&cx).await?;
    let first = desk.call("pr_merge", json!({"index": number})).await?;
    let again = desk.call("pr_merge", json!({"index": number})).await?;
    assert_eq!(again["merged"], true);
    assert_eq!(again["already"], true);
    assert_eq!(again["commit_sha"], first["commit_sha"]);
    assert_eq!(
        cx.lab.head(&repo, "main").await?.as_str(),
        again["commit_sha"]
    );
    Ok(())
}

async fn a_head_that_moved_is_told(cx: Cx) -> Result<()> {
    let (desk, repo, number) = diverged(&cx).await?;
    let seen = cx.lab.head(&repo, "topic").await?;
    let now = cx.lab.write(&repo, "topic", &[("three.txt", b"3")]).await?;
    let args = json!({"index": number, "head_sha": seen.as_str()});
    let (code, message, hint) = refused(&cx, &desk, &repo, args).await?;
    assert_eq!(code, ErrorCode::Conflict);
    assert!(
        message.contains(now.short()) && message.contains(seen.short()),
        "{message}"
    );
    assert!(
        hint.contains(now.as_str()) && hint.contains("pr_verify"),
        "{hint}"
    );
    let args = json!({"index": number, "head_sha": now.as_str()});
    assert_eq!(desk.call("pr_merge", args).await?["merged"], true);
    Ok(())
}

async fn a_pin_must_be_whole(cx: Cx) -> Result<()> {
    let (desk, repo, number) = diverged(&cx).await?;
    let short = cx.lab.head(&repo, "topic").await?;
    for pin in [short.short(), "topic"] {
        let args = json!({"index": number, "head_sha": pin});
        let (code, message, hint) = refused(&cx, &desk, &repo, args).await?;
        assert_eq!(code, ErrorCode::Invalid);
        assert!(message.contains("is not a full object id"), "{message}");
        assert!(hint.contains("pr_verify"), "{hint}");
    }
    Ok(())
}

async fn a_person_types_the_start_of_a_pin(cx: Cx) -> Result<()> {
    let (desk, repo, number) = diverged(&cx).await?;
    let head = cx.lab.head(&repo, "topic").await?;
    let merge = async |start: &str| {
        let words = [&number.to_string(), "--head-sha", start];
        desk.typed("pr_merge", &words).await
    };
    let error = merge(&"0".repeat(10)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    let said = format!("the head of #{number} is `{head}` now, not `0000000000`");
    assert_eq!(error.message, said);
    assert_eq!(merge("topic").await.unwrap_err().code, ErrorCode::Usage);
    let start = head.as_str()[..10].to_uppercase();
    assert_eq!(merge(&start).await?.json["merged"], true);
    Ok(())
}

async fn a_red_check_refuses(cx: Cx) -> Result<()> {
    let (desk, repo, number) = diverged(&cx).await?;
    let rule = json!({"enable_status_check": true, "status_check_contexts": ["ci"]});
    cx.lab.protect(&repo, "main", rule).await?;
    let head = cx.lab.head(&repo, "topic").await?;
    cx.lab.status(&repo, &head, "ci", "failure").await?;
    let args = json!({"index": number});
    let (code, message, hint) = refused(&cx, &desk, &repo, args.clone()).await?;
    assert_eq!(code, ErrorCode::NotMergeable);
    assert!(
        message.to_lowercase().contains("required status check"),
        "{message}"
    );
    assert!(hint.contains("pr_verify"), "{hint}");
    cx.lab.status(&repo, &head, "ci", "success").await?;
    assert_eq!(desk.call("pr_merge", args).await?["merged"], true);
    Ok(())
}

async fn a_conflict_refuses(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let number = cx
        .lab
        .pr_with(&repo, "topic", &[("README.md", b"topic\n")])
        .await?;
    cx.lab
        .write(&repo, "main", &[("README.md", b"main\n")])
        .await?;
    let (code, message, hint) = refused(&cx, &desk, &repo, json!({"index": number})).await?;
    assert_eq!(code, ErrorCode::NotMergeable, "{message}");
    assert!(hint.contains("merge `main` into the head"), "{hint}");
    Ok(())
}

async fn a_draft_refuses(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab
        .write_new(&repo, "topic", "main", &[("a", b"a")])
        .await?;
    let args = json!({"title": "Not yet", "head": "topic", "draft": true});
    let number = desk.call("pr_create", args).await?["pr_number"].clone();
    let (code, _, hint) = refused(&cx, &desk, &repo, json!({"index": number})).await?;
    assert_eq!(code, ErrorCode::NotMergeable);
    assert!(hint.contains("mark the pull request as ready"), "{hint}");
    Ok(())
}

async fn a_closed_one_refuses(cx: Cx) -> Result<()> {
    let (desk, repo, number) = diverged(&cx).await?;
    cx.lab.close_pr(&repo, number).await?;
    let (code, message, hint) = refused(&cx, &desk, &repo, json!({"index": number})).await?;
    assert_eq!(code, ErrorCode::NotMergeable);
    assert!(message.contains("is closed"), "{message}");
    assert!(hint.contains("reopen"), "{hint}");
    // It is closed, whatever became of its branch.
    cx.lab.delete_branch(&repo, "topic").await?;
    let args = json!({"index": number, "delete_branch": true});
    let (code, message, _) = refused(&cx, &desk, &repo, args).await?;
    assert_eq!(code, ErrorCode::NotMergeable, "{message}");
    assert!(message.contains("is closed"), "{message}");
    Ok(())
}

async fn a_style_that_is_switched_off_refuses(cx: Cx) -> Result<()> {
    let (desk, repo, number) = diverged(&cx).await?;
    let options = json!({"allow_rebase": false, "has_pull_requests": true});
    cx.lab.edit_repo(&repo, &options).await?;
    let args = json!({"index": number, "style": "rebase"});
    let (code, message, hint) = refused(&cx, &desk, &repo, args).await?;
    assert_eq!(code, ErrorCode::NotMergeable, "{message}");
    assert!(hint.contains("merge style"), "{hint}");
    assert!(!hint.contains("pr_verify"), "it lists no styles: {hint}");
    assert!(
        hint.contains("`squash`"),
        "it lists what is allowed: {hint}"
    );
    assert!(!hint.contains("`rebase`"), "{hint}");
    Ok(())
}

/// Where `merge` is not allowed, a merge without `style` is the repository's default
async fn a_merge_without_a_style_is_one_that_is_allowed(cx: Cx) -> Result<()> {
    for seen_before in [false, true] {
        let (desk, repo, number) = diverged(&cx).await?;
        if seen_before {
            desk.call("repo_status", json!({})).await?;
        }
        cx.lab.edit_repo(&repo, &desk::squash_only()).await?;
        let merged = desk.call("pr_merge", json!({"index": number})).await?;
        assert_eq!(merged["style"], "squash", "{merged:#}");
        let tip = cx.forge(&repo.owner).get_commit(&repo.id, "main").await?;
        assert_eq!(tip.parents.len(), 1);
        let again = desk.call("pr_merge", json!({"index": number})).await?;
        assert_eq!(again.get("style"), None, "{again:#}");
    }
    Ok(())
}

async fn a_reader_is_refused(cx: Cx) -> Result<()> {
    let (_, repo, number) = diverged(&cx).await?;
    let reader = cx.lab.user("reader").await?;
    cx.lab.collaborator(&repo, &reader, "read").await?;
    let desk = Desk::new(&cx, &reader, &repo);
    let (code, message, _) = refused(&cx, &desk, &repo, json!({"index": number})).await?;
    let codes = [ErrorCode::NotMergeable, ErrorCode::Forbidden];
    assert!(codes.contains(&code), "{code}: {message}");
    Ok(())
}

async fn a_missing_one_is_not_found(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    for delete in [false, true] {
        let args = json!({"index": 999, "delete_branch": delete});
        let error = desk.refused("pr_merge", args).await;
        assert_eq!(error.code, ErrorCode::NotFound);
        assert!(error.message.contains("pull request #999"), "{error:?}");
    }
    Ok(())
}

async fn the_branch_is_deleted_if_asked(cx: Cx) -> Result<()> {
    let (desk, repo, number) = diverged(&cx).await?;
    let args = json!({"index": number, "delete_branch": true});
    let answer = desk.call("pr_merge", args.clone()).await?;
    assert_eq!(answer["branch_deleted"], true);
    assert_eq!(answer.get("next_steps"), None);
    assert!(cx.lab.head(&repo, "topic").await.is_err());
    let again = desk.call("pr_merge", args).await?;
    assert_eq!(
        (&again["already"], &again["branch_deleted"]),
        (&json!(true), &json!(true))
    );
    Ok(())
}

async fn a_branch_that_is_needed_stays(cx: Cx) -> Result<()> {
    let (desk, repo, number) = diverged(&cx).await?;
    cx.lab
        .write_new(&repo, "next", "topic", &[("n", b"n")])
        .await?;
    let next = cx.lab.pr(&repo, "next", "topic", "Stacked").await?;
    let args = json!({"index": number, "delete_branch": true});
    let answer = desk.call("pr_merge", args).await?;
    assert_eq!(answer["merged"], true);
    assert_eq!(answer.get("branch_deleted"), None);
    assert_eq!(answer["branch_kept"], format!("#{next} needs `topic`"));
    assert!(cx.lab.head(&repo, "topic").await.is_ok());
    assert_eq!(cx.lab.pr_json(&repo, next).await?["state"], "open");

    let (desk, repo, number) = diverged(&cx).await?;
    cx.lab.protect(&repo, "topic", json!({})).await?;
    let args = json!({"index": number, "delete_branch": true});
    let answer = desk.call("pr_merge", args).await?;
    assert_eq!(answer["merged"], true);
    assert_eq!(answer["branch_kept"], "`topic` is protected");
    assert!(cx.lab.head(&repo, "topic").await.is_ok());
    Ok(())
}

async fn a_branch_of_a_fork_stays(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let user = cx.lab.user("forker").await?;
    let fork = cx.lab.fork(&repo, &user).await?;
    cx.lab
        .write_new(&fork, "topic", "main", &[("f", b"f")])
        .await?;
    let head = format!("{}:topic", user.login);
    let number = cx.lab.pr(&repo, &head, "main", "From a fork").await?;
    let args = json!({"index": number, "delete_branch": true});
    let answer = desk.call("pr_merge", args).await?;
    assert_eq!(answer["merged"], true);
    assert_eq!(
        answer["branch_kept"],
        format!("`topic` belongs to the fork `{}`", fork.id)
    );
    assert!(cx.lab.head(&fork, "topic").await.is_ok());
    // A branch of the same name here is another one, and no advice leads to it.
    cx.lab
        .write_new(&fork, "more", "main", &[("m", b"m")])
        .await?;
    let head = format!("{}:more", user.login);
    let number = cx.lab.pr(&repo, &head, "main", "More").await?;
    let answer = desk.call("pr_merge", json!({"index": number})).await?;
    assert_eq!(answer["merged"], true);
    assert_eq!(answer.get("next_steps"), None, "{answer:#}");
    Ok(())
}

async fn scheduled_is_not_merged(cx: Cx) -> Result<()> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub schedules only by its GraphQL API").into());
    }
    let cx = cx.faulty()?;
    let (desk, repo, number) = diverged(&cx).await?;
    let path = format!("/api/v1/repos/{}/pulls/{number}/merge", repo.id);
    cx.lab
        .fault(&json!({"path": path, "method": "POST", "status": 201}))
        .await?;
    let answer = desk.call("pr_merge", json!({"index": number})).await?;
    assert_eq!(
        (&answer["merged"], &answer["scheduled"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(answer.get("commit_sha"), None);
    Ok(())
}

async fn a_lost_answer_is_looked_up(cx: Cx) -> Result<()> {
    if !cx.backend.is_github() {
        return Err(Skip::new("an answer without a body cannot be cut").into());
    }
    let cx = cx.faulty()?;
    let (desk, repo, number) = diverged(&cx).await?;
    let path = format!("/api/v*/repos/{}/pulls/{number}/merge", repo.id);
    cx.lab
        .fault(&json!({"path": path, "method": "PUT", "truncate": 10}))
        .await?;
    let answer = desk.call("pr_merge", json!({"index": number})).await?;
    assert_eq!(answer["merged"], true);
    assert_eq!(
        answer["commit_sha"],
        cx.lab.head(&repo, "main").await?.as_str()
    );
    Ok(())
}

async fn it_does_what_every_tool_owes(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    desk.owes("pr_merge", json!({"index": 1})).await;
    let error = desk
        .refused("pr_merge", json!({"index": 1, "style": "octopus"}))
        .await;
    assert_eq!(error.code, ErrorCode::Invalid);
    assert!(
        error.message.contains("`rebase-merge`"),
        "{}",
        error.message
    );
    Ok(())
}
