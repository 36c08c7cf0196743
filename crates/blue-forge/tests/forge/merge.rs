//! Merging

use blue_forge::{
    ConflictKind, ForgeError, MergeBlock,
    model::{MergeOpts, MergeOutcome, MergeStrategy, Mergeability, PrFilter, PrState},
};
use blue_testkit::{Backend, Cx, Repo, Result, eventually};
use serde_json::json;

use crate::words::{ALL, PATIENCE, merge, nowhere};

blue_testkit::on_every_forge![
    a_merge_commit_has_two_parents,
    a_squash_makes_one_commit,
    a_rebase_has_no_merge_commit,
    a_rebase_merge_has_both,
    a_fast_forward_moves_the_branch,
    an_impossible_fast_forward_is_told,
    title_and_message_are_taken,
    a_pinned_head_that_holds_merges,
    a_pinned_head_that_moved_is_a_conflict,
    a_conflict_is_told,
    a_second_merge_says_so,
    a_merged_pull_request_is_told,
    a_draft_is_not_merged,
    a_closed_one_is_not_merged,
    an_empty_one_is_not_merged,
    the_branch_is_deleted_if_asked,
    the_branch_is_kept_if_not_asked,
    a_scheduled_merge_waits_for_its_checks,
    a_scheduled_merge_cannot_be_pinned,
    two_merges_at_once_both_say_merged,
];

/// A repository whose `main` and `topic` have each moved on, without a conflict
pub(crate) async fn diverged(cx: &Cx) -> Result<(Repo, u64)> {
    let (_, repo) = cx.start().await?;
    cx.lab.branch(&repo, "topic", "main").await?;
    cx.lab.write(&repo, "topic", &[("one.txt", b"1")]).await?;
    cx.lab.write(&repo, "topic", &[("two.txt", b"2")]).await?;
    cx.lab.write(&repo, "main", &[("other.txt", b"o")]).await?;
    let number = cx.lab.pr(&repo, "topic", "main", "Topic").await?;
    Ok((repo, number))
}

/// Merge, check that it happened, and give the parents of the new tip and the history's length
pub(crate) async fn merged(
    cx: &Cx,
    repo: &Repo,
    number: u64,
    opts: &MergeOpts,
) -> Result<(usize, usize)> {
    let forge = cx.forge(&repo.owner);
    let outcome = forge.merge_pr(&repo.id, number, opts).await?;
    let MergeOutcome::Merged {
        sha,
        already: false,
        ..
    } = outcome
    else {
        panic!("not merged: {outcome:?}");
    };
    let tip = cx.lab.head(repo, "main").await?;
    assert_eq!(sha.as_ref(), Some(&tip));
    assert_eq!(cx.lab.raw(repo, "main", "two.txt").await?, b"2");
    let parents = forge
        .get_commit(&repo.id, tip.as_str())
        .await?
        .parents
        .len();
    Ok((parents, cx.lab.count_commits(repo, "main").await?))
}

/// A refused merge: nothing changed
pub(crate) async fn blocked(
    cx: &Cx,
    repo: &Repo,
    number: u64,
    opts: &MergeOpts,
) -> Result<ForgeError> {
    let before = cx.lab.head(repo, "main").await?;
    let forge = cx.forge(&repo.owner);
    let error = forge
        .merge_pr(&repo.id, number, opts)
        .await
        .expect_err("the merge should be refused");
    assert_eq!(cx.lab.head(repo, "main").await?, before);
    assert!(!forge.pr_is_merged(&repo.id, number).await?);
    Ok(error)
}

pub(crate) fn plain() -> MergeOpts {
    merge(MergeStrategy::Merge)
}

async fn a_merge_commit_has_two_parents(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    assert_eq!(merged(&cx, &repo, number, &plain()).await?, (2, 5));
    Ok(())
}

async fn a_squash_makes_one_commit(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    let opts = merge(MergeStrategy::Squash);
    assert_eq!(merged(&cx, &repo, number, &opts).await?, (1, 3));
    Ok(())
}

async fn a_rebase_has_no_merge_commit(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    let opts = merge(MergeStrategy::Rebase);
    assert_eq!(merged(&cx, &repo, number, &opts).await?, (1, 4));
    Ok(())
}

async fn a_rebase_merge_has_both(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    let opts = merge(MergeStrategy::RebaseMerge);
    if cx.backend.is_github() {
        let error = blocked(&cx, &repo, number, &opts).await?;
        assert!(matches!(error, ForgeError::Unsupported { .. }), "{error:?}");
        return Ok(());
    }
    assert_eq!(merged(&cx, &repo, number, &opts).await?, (2, 5));
    Ok(())
}

async fn a_fast_forward_moves_the_branch(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    cx.lab.branch(&repo, "topic", "main").await?;
    let head = cx.lab.write(&repo, "topic", &[("two.txt", b"2")]).await?;
    let number = cx.lab.pr(&repo, "topic", "main", "Topic").await?;
    let opts = merge(MergeStrategy::FastForwardOnly);
    if cx.backend.is_github() {
        let error = blocked(&cx, &repo, number, &opts).await?;
        assert!(matches!(error, ForgeError::Unsupported { .. }), "{error:?}");
        return Ok(());
    }
    assert_eq!(merged(&cx, &repo, number, &opts).await?, (1, 2));
    assert_eq!(cx.lab.head(&repo, "main").await?, head);
    Ok(())
}

async fn an_impossible_fast_forward_is_told(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    let opts = merge(MergeStrategy::FastForwardOnly);
    let error = blocked(&cx, &repo, number, &opts).await?;
    if cx.backend.is_github() {
        assert!(matches!(error, ForgeError::Unsupported { .. }), "{error:?}");
    } else {
        let reason =
            refused!(Err::<(), _>(error), ForgeError::NotMergeable { reason, .. } => reason);
        assert_eq!(reason, MergeBlock::FastForward);
    }
    Ok(())
}

async fn title_and_message_are_taken(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    let opts = MergeOpts {
        title: Some("A chosen title".to_owned()),
        message: Some("And a body\nof two lines".to_owned()),
        ..merge(MergeStrategy::Squash)
    };
    merged(&cx, &repo, number, &opts).await?;
    let tip = cx.forge(&repo.owner).get_commit(&repo.id, "main").await?;
    assert!(
        tip.message
            .starts_with("A chosen title\n\nAnd a body\nof two lines"),
        "{tip:?}"
    );
    Ok(())
}

async fn a_pinned_head_that_holds_merges(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    let opts = MergeOpts {
        head_sha: Some(cx.lab.head(&repo, "topic").await?),
        ..plain()
    };
    assert_eq!(merged(&cx, &repo, number, &opts).await?.0, 2);
    Ok(())
}

async fn a_pinned_head_that_moved_is_a_conflict(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    let seen = cx.lab.head(&repo, "topic").await?;
    cx.lab.write(&repo, "topic", &[("three.txt", b"3")]).await?;
    for pin in [seen, nowhere()] {
        let opts = MergeOpts {
            head_sha: Some(pin),
            ..plain()
        };
        let error = blocked(&cx, &repo, number, &opts).await?;
        refused!(
            Err::<(), _>(error),
            ForgeError::Conflict {
                kind: ConflictKind::HeadMoved { .. },
                ..
            }
        );
    }
    Ok(())
}

async fn a_conflict_is_told(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    let number = cx
        .lab
        .pr_with(&repo, "topic", &[("README.md", b"topic\n")])
        .await?;
    cx.lab
        .write(&repo, "main", &[("README.md", b"main\n")])
        .await?;
    let error = blocked(&cx, &repo, number, &plain()).await?;
    let reason = refused!(Err::<(), _>(error), ForgeError::NotMergeable { reason, .. } => reason);
    assert_eq!(reason, MergeBlock::Conflict);
    Ok(())
}

async fn a_second_merge_says_so(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    merged(&cx, &repo, number, &plain()).await?;
    let tip = cx.lab.head(&repo, "main").await?;
    let again = cx
        .forge(&repo.owner)
        .merge_pr(&repo.id, number, &plain())
        .await?;
    let MergeOutcome::Merged { sha, already, .. } = again else {
        panic!("{again:?}");
    };
    assert!(already);
    assert_eq!(sha.as_ref(), Some(&tip));
    assert_eq!(cx.lab.head(&repo, "main").await?, tip);
    Ok(())
}

async fn a_merged_pull_request_is_told(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    merged(&cx, &repo, number, &plain()).await?;
    let forge = cx.forge(&repo.owner);
    let told = forge.get_pr(&repo.id, number).await?;
    assert_eq!(told.state, PrState::Merged);
    assert_eq!(told.merge_sha, Some(cx.lab.head(&repo, "main").await?));
    assert!(forge.pr_is_merged(&repo.id, number).await?);
    assert_eq!(
        forge
            .list_prs(&repo.id, &PrFilter::default(), ALL)
            .await?
            .items,
        []
    );
    Ok(())
}

async fn a_draft_is_not_merged(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    cx.lab
        .write_new(&repo, "topic", "main", &[("a.txt", b"a")])
        .await?;
    let number = cx.lab.pr(&repo, "topic", "main", "WIP: not yet").await?;
    let error = blocked(&cx, &repo, number, &plain()).await?;
    let reason = refused!(Err::<(), _>(error), ForgeError::NotMergeable { reason, .. } => reason);
    assert_eq!(reason, MergeBlock::Draft);
    Ok(())
}

async fn a_closed_one_is_not_merged(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    cx.lab.close_pr(&repo, number).await?;
    let error = blocked(&cx, &repo, number, &plain()).await?;
    let reason = refused!(Err::<(), _>(error), ForgeError::NotMergeable { reason, .. } => reason);
    assert_eq!(reason, MergeBlock::Closed);
    Ok(())
}

async fn an_empty_one_is_not_merged(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    cx.lab.branch(&repo, "same", "main").await?;
    let body = json!({"head": "same", "base": "main", "title": "Nothing"});
    let made = cx
        .lab
        .post(&repo.owner, &repo.path(&["pulls"]), &body)
        .await?;
    let number = made["number"].as_u64().unwrap_or_default();
    let opts = MergeOpts {
        patience: std::time::Duration::from_secs(4),
        ..plain()
    };
    let error = blocked(&cx, &repo, number, &opts).await?;
    let reason = refused!(Err::<(), _>(error), ForgeError::NotMergeable { reason, .. } => reason);
    assert_eq!(reason, MergeBlock::Empty);
    let forge = cx.forge(&repo.owner);
    assert_eq!(
        forge.mergeability(&repo.id, number, PATIENCE).await?,
        Mergeability::Empty
    );
    Ok(())
}

async fn the_branch_is_deleted_if_asked(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    let opts = MergeOpts {
        delete_branch: true,
        ..plain()
    };
    let forge = cx.forge(&repo.owner);
    let outcome = forge.merge_pr(&repo.id, number, &opts).await?;
    assert!(
        matches!(
            outcome,
            MergeOutcome::Merged {
                branch_deleted: true,
                ..
            }
        ),
        "{outcome:?}"
    );
    refused!(
        forge.get_branch(&repo.id, "topic").await,
        ForgeError::NotFound { .. }
    );
    assert_eq!(forge.get_pr(&repo.id, number).await?.head.branch, "topic");
    Ok(())
}

async fn the_branch_is_kept_if_not_asked(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    if !cx.backend.is_github() {
        // On GitHub the same setting is the last word, on the others the caller has it.
        cx.lab
            .edit_repo(&repo, &json!({"default_delete_branch_after_merge": true}))
            .await?;
    }
    let outcome = cx
        .forge(&repo.owner)
        .merge_pr(&repo.id, number, &plain())
        .await?;
    assert!(
        matches!(
            outcome,
            MergeOutcome::Merged {
                branch_deleted: false,
                ..
            }
        ),
        "{outcome:?}"
    );
    cx.lab.head(&repo, "topic").await?;
    Ok(())
}

async fn a_scheduled_merge_waits_for_its_checks(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    require_checks(&cx, &repo).await?;
    let head = cx.lab.head(&repo, "topic").await?;
    let forge = cx.forge(&repo.owner);
    let opts = MergeOpts {
        when_checks_succeed: true,
        ..plain()
    };
    let outcome = forge.merge_pr(&repo.id, number, &opts).await;
    if cx.backend.is_github() {
        // Only GitHub's other API can do it.
        refused!(outcome, ForgeError::Unsupported { .. });
        return Ok(());
    }
    assert_eq!(outcome?, MergeOutcome::Scheduled);
    assert!(!forge.pr_is_merged(&repo.id, number).await?);
    // Asked again it is still the same answer or one that says so, never "merged".
    match forge.merge_pr(&repo.id, number, &opts).await {
        Ok(MergeOutcome::Scheduled)
        | Err(ForgeError::Conflict {
            kind: ConflictKind::Exists,
            ..
        }) => {}
        other => panic!("{other:?}"),
    }
    cx.lab.status(&repo, &head, "ci/build", "success").await?;
    eventually("the merge happens", PATIENCE, || async {
        Ok(forge.pr_is_merged(&repo.id, number).await?.then_some(()))
    })
    .await
}

async fn a_scheduled_merge_cannot_be_pinned(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    require_checks(&cx, &repo).await?;
    let opts = MergeOpts {
        when_checks_succeed: true,
        head_sha: Some(cx.lab.head(&repo, "topic").await?),
        ..plain()
    };
    let error = blocked(&cx, &repo, number, &opts).await?;
    refused!(
        Err::<(), _>(error),
        ForgeError::Invalid { .. } | ForgeError::Unsupported { .. }
    );
    Ok(())
}

async fn two_merges_at_once_both_say_merged(cx: Cx) -> Result<()> {
    let (repo, number) = diverged(&cx).await?;
    let (one, two) = (cx.forge(&repo.owner), cx.forge(&repo.owner));
    let opts = merge(MergeStrategy::Squash);
    let (one, two) = tokio::join!(
        one.merge_pr(&repo.id, number, &opts),
        two.merge_pr(&repo.id, number, &opts)
    );
    for outcome in [one?, two?] {
        assert!(
            matches!(outcome, MergeOutcome::Merged { .. }),
            "{outcome:?}"
        );
    }
    let commits = cx.lab.count_commits(&repo, "main").await?;
    if matches!(cx.backend, Backend::Gitea | Backend::Forgejo) {
        // The real ones look at the state before they take their lock, and squash twice.
        assert!(matches!(commits, 3 | 4), "{commits}");
    } else {
        assert_eq!(commits, 3);
    }
    assert_eq!(cx.lab.raw(&repo, "main", "two.txt").await?, b"2");
    Ok(())
}

pub(crate) async fn require_checks(cx: &Cx, repo: &Repo) -> Result<()> {
    let contexts = if cx.backend.is_github() {
        "ci/build"
    } else {
        "ci/*"
    };
    let rule = json!({"enable_status_check": true, "status_check_contexts": [contexts]});
    cx.lab.protect(repo, "main", rule).await?;
    Ok(())
}
