use super::*;

const CREATE: &str = "POST /repos/o/r/pulls";

fn opts(draft: bool) -> CreatePrOpts {
    CreatePrOpts {
        repo: repo(),
        head: "o:topic".to_owned(),
        base: "main".to_owned(),
        title: "t".to_owned(),
        body: None,
        draft,
    }
}

async fn refused(answer: Reply, draft: bool) -> ForgeError {
    let fake = Fake::start().await;
    fake.on(CREATE, [answer]);
    fake.json(
        "GET /repos/o/r/pulls",
        &json!([pull(&json!({"number": 9}))]),
    );
    github(&fake).create_pr(opts(draft)).await.unwrap_err()
}

#[tokio::test]
async fn a_pull_request_is_opened() {
    let fake = Fake::start().await;
    fake.on(
        CREATE,
        [json_reply(
            201,
            &pull(&json!({"draft": true, "mergeable": null})),
        )],
    );
    let made = github(&fake).create_pr(opts(true)).await.unwrap();
    assert_eq!(
        (made.number, made.draft, made.mergeable),
        (1, true, Mergeable::Unknown)
    );
    assert_eq!(made.merge_sha, None, "a trial merge is no merge");
    assert_eq!(
        fake.sent(CREATE),
        json!({"title": "t", "head": "topic", "base": "main", "draft": true})
    );
}

#[tokio::test]
async fn an_empty_one_is_told_in_plain_words() {
    let error = refused(failed("No commits between main and topic"), false).await;
    assert!(
        matches!(&error, ForgeError::Invalid { message, .. }
            if message == "nothing to merge: `topic` has no commits that `main` does not have"),
        "{error}"
    );
}

#[tokio::test]
async fn a_missing_branch_is_named() {
    let invalid = |field: &str| {
        let error = json!({"resource": "PullRequest", "field": field, "code": "invalid"});
        let body = json!({"message": "Validation Failed", "errors": [error]});
        json_reply(422, &body)
    };
    for (gone, there) in [("topic", "main"), ("main", "topic")] {
        let field = if gone == "topic" { "head" } else { "base" };
        let fake = Fake::start().await;
        fake.on(CREATE, [invalid(field)]);
        let row = json!({"name": there, "commit": {"sha": A}});
        fake.json(&format!("GET /repos/o/r/branches/{there}"), &row);
        fake.on(
            &format!("GET /repos/o/r/branches/{gone}"),
            [message(404, "Branch not found")],
        );
        let error = github(&fake).create_pr(opts(false)).await.unwrap_err();
        assert!(
            matches!(&error, ForgeError::NotFound { what, .. } if what.contains(gone)),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_fork_that_is_not_allowed_is_not_named_to_github() {
    let fake = Fake::start().await;
    let forge = github(&fake).allowing(Allow::parse("o").unwrap());
    let foreign = CreatePrOpts {
        head: "mallory:topic".to_owned(),
        ..opts(false)
    };
    let error = forge.create_pr(foreign).await.unwrap_err();
    assert!(matches!(error, ForgeError::NotAllowed(_)), "{error}");
    assert_eq!(fake.calls(), [""; 0]);
}

#[tokio::test]
async fn a_duplicate_is_a_conflict_and_other_words_are_kept() {
    let error = refused(failed("A pull request already exists for o:topic."), false).await;
    assert!(
        matches!(&error, ForgeError::Conflict { kind: ConflictKind::Exists, message, .. }
            if message.contains("already exists for o:topic.") && message.contains("#9")),
        "{error}"
    );
    let words = "The topic branch has no history in common with main";
    let error = refused(failed(words), false).await;
    assert!(matches!(&error, ForgeError::Invalid { message, .. } if message.contains(words)));
    let words = "Draft pull requests are not supported in this repository.";
    let error = refused(failed(words), true).await;
    assert!(matches!(&error, ForgeError::Unsupported { message, .. } if message.contains(words)));
}
