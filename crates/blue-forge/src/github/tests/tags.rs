use super::*;

fn opts(message: Option<&str>) -> TagOpts {
    TagOpts {
        name: "v1".to_owned(),
        target: "main".to_owned(),
        message: message.map(str::to_owned),
    }
}

async fn on_main() -> Fake {
    let fake = Fake::start().await;
    fake.json(
        "GET /repos/o/r/git/ref/heads/main",
        &git_ref("refs/heads/main", "commit", A),
    );
    fake.on(
        "POST /repos/o/r/git/refs",
        [json_reply(201, &git_ref("refs/tags/v1", "tag", B))],
    );
    fake.on(
        "POST /repos/o/r/git/tags",
        [json_reply(201, &json!({"sha": B, "tag": "v1"}))],
    );
    fake
}

#[tokio::test]
async fn an_annotated_tag_is_an_object_and_then_a_ref() {
    let fake = on_main().await;
    let made = github(&fake)
        .create_tag(&repo(), &opts(Some("one")))
        .await
        .unwrap();
    assert_eq!((made.commit_sha, made.annotated), (sha(A), true));
    assert_eq!(
        fake.sent("POST /repos/o/r/git/tags"),
        json!({"tag": "v1", "message": "one", "object": A, "type": "commit"})
    );
    assert_eq!(
        fake.sent("POST /repos/o/r/git/refs"),
        json!({"ref": "refs/tags/v1", "sha": B})
    );
}

#[tokio::test]
async fn a_light_tag_is_a_ref_alone_and_a_second_one_is_a_conflict() {
    let fake = on_main().await;
    let forge = github(&fake);
    let made = forge.create_tag(&repo(), &opts(None)).await.unwrap();
    assert!(!made.annotated);
    assert_eq!(
        fake.sent("POST /repos/o/r/git/refs"),
        json!({"ref": "refs/tags/v1", "sha": A})
    );
    fake.on(
        "POST /repos/o/r/git/refs",
        [message(422, "Reference already exists")],
    );
    let error = forge.create_tag(&repo(), &opts(None)).await.unwrap_err();
    assert!(
        matches!(
            error,
            ForgeError::Conflict {
                kind: ConflictKind::Exists,
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn a_name_in_the_way_is_a_clash() {
    let fake = on_main().await;
    fake.on(
        "POST /repos/o/r/git/refs",
        [message(422, "Reference update failed")],
    );
    fake.json("GET /repos/o/r/git/matching-refs/heads/a/b", &json!([]));
    fake.json(
        "GET /repos/o/r/git/ref/heads/a",
        &git_ref("refs/heads/a", "commit", A),
    );
    let error = github(&fake)
        .create_branch(&repo(), "a/b", "main")
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            ForgeError::Conflict {
                kind: ConflictKind::NameClash,
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn a_tag_of_a_tag_leads_to_the_commit() {
    let fake = Fake::start().await;
    fake.json(
        "GET /repos/o/r/git/ref/tags/v1",
        &git_ref("refs/tags/v1", "tag", B),
    );
    let tag = |text: &str, kind: &str, id: &str| json!({"message": text, "object": {"type": kind, "sha": id}});
    fake.json(
        &format!("GET /repos/o/r/git/tags/{B}"),
        &tag("outer\n", "tag", C),
    );
    fake.json(
        &format!("GET /repos/o/r/git/tags/{C}"),
        &tag("inner\n", "commit", D),
    );
    let found = github(&fake).get_tag(&repo(), "v1").await.unwrap();
    assert_eq!(
        (found.commit_sha, found.message.as_deref()),
        (sha(D), Some("outer"))
    );
}

#[tokio::test]
async fn a_list_tells_which_are_annotated() {
    let fake = Fake::start().await;
    let row = |name: &str| json!({"name": name, "commit": {"sha": A}});
    fake.json("GET /repos/o/r/tags", &json!([row("v1"), row("v2")]));
    fake.json(
        "GET /repos/o/r/git/matching-refs/tags",
        &json!([
            git_ref("refs/tags/v1", "commit", A),
            git_ref("refs/tags/v2", "tag", B)
        ]),
    );
    let page = github(&fake)
        .list_tags(&repo(), Page::default())
        .await
        .unwrap();
    let short: Vec<_> = page
        .items
        .iter()
        .map(|t| (t.name.as_str(), t.annotated))
        .collect();
    assert_eq!(short, [("v1", false), ("v2", true)]);
}

#[tokio::test]
async fn branches_that_may_not_be_deleted_and_those_that_are_not_there() {
    let fake = Fake::start().await;
    fake.on(
        "DELETE /repos/o/r/git/refs/heads/main",
        [
            message(422, "Cannot delete this branch"),
            message(422, "Reference does not exist"),
            reply(204, ""),
        ],
    );
    let forge = github(&fake);
    let error = forge.delete_branch(&repo(), "main").await.unwrap_err();
    assert!(matches!(error, ForgeError::Forbidden { .. }), "{error}");
    let error = forge.delete_branch(&repo(), "main").await.unwrap_err();
    assert!(matches!(error, ForgeError::NotFound { .. }), "{error}");
    forge.delete_branch(&repo(), "main").await.unwrap();
}
