use super::*;

const GET: &str = "GET /repos/o/r/pulls/1";
const PUT: &str = "PUT /repos/o/r/pulls/1/merge";
const TIP: &str = "GET /repos/o/r/git/ref/heads/topic";

fn quick() -> MergeOpts {
    MergeOpts {
        patience: Duration::from_millis(600),
        ..MergeOpts::default()
    }
}

/// Long enough for a second and a third try
fn patient() -> MergeOpts {
    MergeOpts {
        patience: Duration::from_millis(1900),
        ..MergeOpts::default()
    }
}

fn done() -> Reply {
    json_reply(
        200,
        &json!({"sha": C, "merged": true, "message": "Pull Request successfully merged"}),
    )
}

fn open() -> Reply {
    json_reply(200, &pull(&json!({})))
}

fn with(change: &Value) -> Reply {
    json_reply(200, &pull(change))
}

/// Merge with these answers
async fn merge(
    gets: Vec<Reply>,
    puts: Vec<Reply>,
    opts: &MergeOpts,
) -> (Fake, Result<MergeOutcome>) {
    let fake = Fake::start().await;
    fake.on(GET, gets).on(PUT, puts);
    let outcome = github(&fake).merge_pr(&repo(), 1, opts).await;
    (fake, outcome)
}

fn is_merged(outcome: &Result<MergeOutcome>) -> bool {
    matches!(outcome, Ok(MergeOutcome::Merged { sha: Some(s), .. }) if s.as_str() == C)
}

fn block(outcome: Result<MergeOutcome>) -> MergeBlock {
    match outcome {
        Err(ForgeError::NotMergeable { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_merge_with_everything() {
    let opts = MergeOpts {
        strategy: MergeStrategy::Squash,
        title: Some("T".to_owned()),
        message: Some("M".to_owned()),
        head_sha: Some(sha(A)),
        ..quick()
    };
    let (fake, outcome) = merge(vec![open()], vec![done()], &opts).await;
    assert!(is_merged(&outcome), "{outcome:?}");
    assert_eq!(
        fake.sent(PUT),
        json!({"merge_method": "squash", "sha": A, "commit_title": "T", "commit_message": "M"})
    );
}

#[tokio::test]
async fn what_github_has_not_is_said_without_a_request() {
    let fake = Fake::start().await;
    let forge = github(&fake);
    for opts in [
        MergeOpts::from(MergeStrategy::RebaseMerge),
        MergeOpts::from(MergeStrategy::FastForwardOnly),
        MergeOpts {
            when_checks_succeed: true,
            ..quick()
        },
    ] {
        let error = forge.merge_pr(&repo(), 1, &opts).await.unwrap_err();
        assert!(matches!(error, ForgeError::Unsupported { .. }), "{error}");
    }
    assert!(fake.calls().is_empty());
}

#[tokio::test]
async fn what_is_merged_already_is_no_error() {
    let (fake, outcome) = merge(vec![json_reply(200, &merged())], vec![], &quick()).await;
    assert!(matches!(
        outcome,
        Ok(MergeOutcome::Merged { already: true, .. })
    ));
    assert_eq!(fake.calls(), [GET]);
}

#[tokio::test]
async fn a_merge_that_happened_is_never_reported_as_an_error() {
    for answer in [
        message(502, "Server Error"),
        message(405, "Pull Request is not mergeable"),
        message(500, "boom"),
        message(404, "Not Found"),
    ] {
        let gets = vec![open(), json_reply(200, &merged())];
        let (_fake, outcome) = merge(gets, vec![answer], &quick()).await;
        assert!(is_merged(&outcome), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_merge_by_another_client_after_the_look_is_already_done() {
    let is_already = |outcome: &Result<MergeOutcome>| {
        let Ok(MergeOutcome::Merged { already, .. }) = outcome else {
            panic!("{outcome:?}");
        };
        *already
    };
    for (answer, already) in [
        (message(405, "Pull Request is not mergeable"), true),
        (message(409, "Head branch was modified."), true),
        (message(404, "Not Found"), true),
        // It may have been this call that merged.
        (message(502, "Server Error"), false),
        (message(500, "boom"), false),
    ] {
        let gets = vec![open(), json_reply(200, &merged())];
        let (_fake, outcome) = merge(gets, vec![answer], &quick()).await;
        assert_eq!(is_already(&outcome), already, "{outcome:?}");
    }
}

#[tokio::test]
async fn a_merge_in_progress_is_waited_for() {
    let words = || message(405, "Merge already in progress");
    let (fake, outcome) = merge(vec![open()], vec![words(), done()], &patient()).await;
    assert!(is_merged(&outcome), "{outcome:?}");
    assert_eq!(fake.calls().iter().filter(|c| *c == PUT).count(), 2);
    let gets = vec![open(), open(), json_reply(200, &merged())];
    let (fake, outcome) = merge(gets, vec![words()], &patient()).await;
    let already = matches!(outcome, Ok(MergeOutcome::Merged { already: true, .. }));
    assert!(already, "{outcome:?}");
    assert_eq!(fake.calls().iter().filter(|c| *c == PUT).count(), 2);
}

#[tokio::test]
async fn a_refusal_that_stays_is_asked_for_a_few_times_only() {
    for words in [
        "Merge already in progress",
        "Base branch was modified. Review and try the merge again.",
        "Pull Request is not mergeable",
    ] {
        let (fake, outcome) = merge(vec![open()], vec![message(405, words)], &patient()).await;
        assert!(matches!(outcome, Err(ForgeError::NotMergeable { .. })));
        // After 0, 0.5 and 1.5 s; a fixed pause of 0.4 s made it five.
        let puts = fake.calls().iter().filter(|c| *c == PUT).count();
        assert!((2..=3).contains(&puts), "{words}: {puts}");
    }
}

#[tokio::test]
async fn a_merge_that_takes_effect_after_a_gateway_error_is_found() {
    let gets = vec![open(), open(), open(), json_reply(200, &merged())];
    let (fake, outcome) = merge(gets, vec![message(504, "timeout")], &patient()).await;
    assert!(is_merged(&outcome), "{outcome:?}");
    assert_eq!(fake.calls().iter().filter(|c| *c == PUT).count(), 1);
    let (fake, outcome) = merge(vec![open()], vec![message(502, "x")], &quick()).await;
    let error = outcome.unwrap_err();
    assert!(
        matches!(error, ForgeError::NoAnswer { write: true, .. }),
        "{error:?}"
    );
    assert!(!error.retryable());
    assert_eq!(fake.calls().iter().filter(|c| *c == PUT).count(), 1);
}

#[tokio::test]
async fn a_moved_base_is_tried_again() {
    let words = "Base branch was modified. Review and try the merge again.";
    let (fake, outcome) = merge(vec![open()], vec![message(405, words), done()], &patient()).await;
    assert!(is_merged(&outcome), "{outcome:?}");
    assert_eq!(fake.calls().iter().filter(|c| *c == PUT).count(), 2);
    let (_fake, outcome) = merge(vec![open()], vec![message(405, words)], &quick()).await;
    assert_eq!(block(outcome), MergeBlock::Checking);
}

#[tokio::test]
async fn a_conflict_is_told_from_a_check_that_still_runs() {
    let words = || vec![message(405, "Pull Request is not mergeable"), done()];
    let gets = vec![open(), with(&json!({"mergeable": false}))];
    let (fake, outcome) = merge(gets, words(), &quick()).await;
    assert_eq!(block(outcome), MergeBlock::Conflict);
    assert_eq!(fake.calls().iter().filter(|c| *c == PUT).count(), 1);

    let computing = || with(&json!({"mergeable": null}));
    let (_fake, outcome) = merge(vec![computing(), computing(), open()], words(), &patient()).await;
    assert!(is_merged(&outcome), "{outcome:?}");

    let (_fake, outcome) = merge(vec![computing()], words(), &quick()).await;
    assert_eq!(block(outcome), MergeBlock::Checking);
}

#[tokio::test]
async fn reasons_are_read_from_the_words() {
    for (words, reason) in [
        (
            "Changes must be made through the merge queue",
            MergeBlock::Queue,
        ),
        (
            "Required status check \"ci\" is expected.",
            MergeBlock::Checks,
        ),
        (
            "Rebase merges are not allowed on this repository.",
            MergeBlock::Style,
        ),
    ] {
        let (_fake, outcome) = merge(vec![open()], vec![message(405, words)], &quick()).await;
        let Err(ForgeError::NotMergeable {
            reason: got,
            message,
            status: Some(405),
        }) = outcome
        else {
            panic!("{outcome:?}");
        };
        assert_eq!((got, message.as_str()), (reason, words));
    }
    for (change, reason) in [
        (json!({"draft": true}), MergeBlock::Draft),
        (json!({"state": "closed"}), MergeBlock::Closed),
        (json!({"changed_files": 0, "commits": 0}), MergeBlock::Empty),
    ] {
        let (fake, outcome) = merge(vec![with(&change)], vec![], &quick()).await;
        assert_eq!(block(outcome), reason);
        assert_eq!(fake.calls(), [GET]);
    }
}

#[tokio::test]
async fn a_moved_head_is_a_conflict_with_the_present_one() {
    let current = |outcome: Result<MergeOutcome>| match outcome {
        Err(ForgeError::Conflict {
            kind: ConflictKind::HeadMoved { current },
            ..
        }) => current,
        other => panic!("{other:?}"),
    };
    let stale = MergeOpts {
        head_sha: Some(sha(B)),
        ..quick()
    };
    let (fake, outcome) = merge(vec![open()], vec![done()], &stale).await;
    assert_eq!(current(outcome), Some(sha(A)));
    assert_eq!(fake.calls(), [GET]);

    let pinned = MergeOpts {
        head_sha: Some(sha(A)),
        ..quick()
    };
    let moved =
        pull(&json!({"head": {"ref": "topic", "sha": D, "user": {"login": "o"}, "repo": null}}));
    let words = "Head branch was modified. Review and try the merge again.";
    let gets = vec![open(), json_reply(200, &moved)];
    let (_fake, outcome) = merge(gets, vec![message(409, words)], &pinned).await;
    assert_eq!(current(outcome), Some(sha(D)));
}

#[tokio::test]
async fn the_branch_is_deleted_afterwards_and_a_failure_there_hides_nothing() {
    for (answer, deleted) in [
        (reply(204, ""), true),
        (message(422, "Reference does not exist"), true),
        (message(422, "Cannot delete this branch"), false),
        (message(500, "boom"), false),
    ] {
        let fake = Fake::start().await;
        fake.on(GET, [open()]).on(PUT, [done()]);
        fake.json(TIP, &git_ref("refs/heads/topic", "commit", A));
        fake.on("DELETE /repos/o/r/git/refs/heads/topic", [answer]);
        let opts = MergeOpts {
            delete_branch: true,
            ..quick()
        };
        let outcome = github(&fake).merge_pr(&repo(), 1, &opts).await.unwrap();
        let MergeOutcome::Merged { branch_deleted, .. } = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(branch_deleted, deleted);
    }
}

#[tokio::test]
async fn a_branch_with_commits_that_were_not_merged_is_not_deleted() {
    let tip = |id: &str| json_reply(200, &git_ref("refs/heads/topic", "commit", id));
    for (pin, tip, deleted, moved) in [
        (Some(sha(A)), tip(A), true, false),
        (None, tip(A), true, false),
        (Some(sha(A)), tip(B), false, true),
        (None, tip(B), false, true),
        (None, message(404, "Not Found"), true, false),
        (None, message(500, "boom"), false, false),
    ] {
        let fake = Fake::start().await;
        fake.on(GET, [open()]).on(PUT, [done()]).on(TIP, [tip]);
        fake.on("DELETE /repos/o/r/git/refs/heads/topic", [reply(204, "")]);
        let opts = MergeOpts {
            delete_branch: true,
            head_sha: pin,
            ..quick()
        };
        let outcome = github(&fake).merge_pr(&repo(), 1, &opts).await.unwrap();
        let MergeOutcome::Merged {
            branch_deleted,
            branch_moved,
            ..
        } = outcome
        else {
            panic!("{outcome:?}");
        };
        assert_eq!((branch_deleted, branch_moved), (deleted, moved));
        // What is merged is what was looked at, so that it can be compared with the branch.
        assert_eq!(fake.sent(PUT)["sha"], A);
        let deletions = fake
            .calls()
            .iter()
            .filter(|c| c.starts_with("DELETE"))
            .count();
        let gone = !moved && deleted && fake.calls().contains(&TIP.to_owned());
        assert!(deletions <= usize::from(gone), "{:?}", fake.calls());
    }
}

#[tokio::test]
async fn a_push_between_look_and_merge_is_merged_where_no_head_is_named() {
    let fake = Fake::start().await;
    let mut now = pull(&json!({}));
    now["head"]["sha"] = B.into();
    fake.on(GET, [open(), json_reply(200, &now)]);
    let words = "Head branch was modified. Review and try the merge again.";
    fake.on(PUT, [message(409, words), done()]);
    fake.json(TIP, &git_ref("refs/heads/topic", "commit", B));
    fake.on("DELETE /repos/o/r/git/refs/heads/topic", [reply(204, "")]);
    let opts = MergeOpts {
        delete_branch: true,
        ..patient()
    };
    let outcome = github(&fake).merge_pr(&repo(), 1, &opts).await.unwrap();
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
}

#[tokio::test]
async fn mergeability_waits_and_keeps_reasons_apart() {
    let patience = Duration::from_millis(600);
    for (answers, expected) in [
        (
            vec![with(&json!({"mergeable": null})), open()],
            Mergeability::Clean,
        ),
        (
            vec![with(&json!({"mergeable": null}))],
            Mergeability::Checking,
        ),
        (
            vec![with(&json!({"mergeable": false}))],
            Mergeability::Conflict,
        ),
        (
            vec![with(&json!({"mergeable": null, "draft": true}))],
            Mergeability::Draft,
        ),
        (
            vec![with(&json!({"changed_files": 0, "commits": 0}))],
            Mergeability::Empty,
        ),
        (
            vec![with(&json!({"state": "closed"}))],
            Mergeability::Closed,
        ),
        (vec![json_reply(200, &merged())], Mergeability::Merged),
    ] {
        let fake = Fake::start().await;
        fake.on(GET, answers);
        let got = github(&fake)
            .mergeability(&repo(), 1, patience)
            .await
            .unwrap();
        assert_eq!(got, expected);
    }
}

#[tokio::test]
async fn the_last_look_is_what_is_judged() {
    let fake = Fake::start().await;
    let blocked = json!({"mergeable_state": "blocked"});
    fake.on(GET, [with(&blocked)]);
    let first = json!({"mergeable": null, "mergeable_state": "unknown"});
    let forge = github(&fake);
    let other = Fake::start().await;
    other.on(GET, [with(&first)]);
    let first = github(&other).get_pr(&repo(), 1).await.unwrap();
    assert_eq!(first.ruling, Ruling::Unknown);
    let patience = Duration::from_secs(5);
    let (told, last) = forge
        .mergeability_of(&repo(), first, patience)
        .await
        .unwrap();
    assert_eq!((told, last.ruling), (Mergeability::Clean, Ruling::Blocked));
    assert_eq!(fake.calls(), [GET]);
    // A verdict that was given already needs no further request.
    let again = forge
        .mergeability_of(&repo(), last, patience)
        .await
        .unwrap();
    assert_eq!(again.1.ruling, Ruling::Blocked);
    assert_eq!(fake.calls(), [GET]);
}
