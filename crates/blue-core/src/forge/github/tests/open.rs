use super::*;

const COMPARE: &str = "GET /repos/o/r/compare/main...topic";
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

fn ahead(n: u64) -> Value {
    json!({"ahead_by": n, "behind_by": 0, "commits": [], "files": []})
}

async fn refused(answer: Reply, draft: bool) -> ForgeError {
    let fake = Fake::start().await;
    fake.json(COMPARE, &ahead(1)).on(CREATE, [answer]);
    fake.json(
        "GET /repos/o/r/pulls",
        &json!([pull(&json!({"number": 9}))]),
    );
    github(&fake).create_pr(opts(draft)).await.unwrap_err()
}

#[tokio::test]
async fn a_pull_request_is_opened() {
    let fake = Fake::start().await;
    fake.json(COMPARE, &ahead(1));
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
async fn an_empty_one_is_refused_before_it_is_made() {
    let fake = Fake::start().await;
    fake.json(COMPARE, &ahead(0));
    let error = github(&fake).create_pr(opts(false)).await.unwrap_err();
    assert!(matches!(error, ForgeError::Invalid { .. }), "{error}");
    assert_eq!(fake.calls(), [COMPARE]);
}

#[tokio::test]
async fn a_missing_branch_is_named() {
    let fake = Fake::start().await;
    fake.on(COMPARE, [message(404, "Not Found")]);
    let main = json!({"name": "main", "commit": {"sha": A}});
    fake.json("GET /repos/o/r/branches/main", &main);
    fake.on(
        "GET /repos/o/r/branches/topic",
        [message(404, "Branch not found")],
    );
    let error = github(&fake).create_pr(opts(false)).await.unwrap_err();
    assert!(error.to_string().contains("branch `topic`"), "{error}");
}

#[tokio::test]
async fn a_duplicate_is_a_conflict_and_other_words_are_kept() {
    let error = refused(failed("A pull request already exists for o:topic."), false).await;
    assert!(
        matches!(&error, ForgeError::Conflict { kind: ConflictKind::Exists, message, .. }
            if message.contains("already exists for o:topic.") && message.contains("#9")),
        "{error}"
    );
    let error = refused(failed("No commits between main and topic"), false).await;
    assert!(
        matches!(&error, ForgeError::Invalid { message, .. } if message.contains("No commits"))
    );
    let words = "Draft pull requests are not supported in this repository.";
    let error = refused(failed(words), true).await;
    assert!(matches!(&error, ForgeError::Unsupported { message, .. } if message.contains(words)));
}
