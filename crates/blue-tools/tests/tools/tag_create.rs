//! `tag_create`

use blue_testkit::{Cx, Result};
use blue_tools::ErrorCode;
use serde_json::json;

use crate::desk::{self, Desk};

blue_testkit::on_every_forge![
    a_branch_is_tagged,
    a_commit_is_tagged_with_a_message,
    the_same_tag_again_is_no_error,
    a_tag_elsewhere_is_a_conflict,
    what_cannot_be_tagged_is_refused,
    who_may_not_write_is_told,
    an_empty_repository_has_nothing_to_tag,
    it_does_what_every_tool_owes,
];

async fn a_branch_is_tagged(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.branch(&repo, "feat/x", "main").await?;
    let head = cx
        .lab
        .write(&repo, "feat/x", &[("a.txt", b"a".as_slice())])
        .await?;
    let answer = desk
        .call("tag_create", json!({"tag": "v1.0", "target": "feat/x"}))
        .await?;
    let url = answer["html_url"].as_str().unwrap();
    assert!(url.starts_with("http") && url.ends_with("v1.0"), "{url}");
    let expected = json!({
        "tag": "v1.0", "commit_sha": head.as_str(), "html_url": url,
        "repository": repo.id.to_string(),
    });
    assert_eq!(answer, expected);
    Ok(())
}

async fn a_commit_is_tagged_with_a_message(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let first = cx.lab.head(&repo, "main").await?;
    cx.lab
        .write(&repo, "main", &[("a.txt", b"a".as_slice())])
        .await?;
    let args =
        json!({"tag": "rel/1", "target": first.as_str(), "message": "The first\n\nAll of it"});
    let answer = desk.call("tag_create", args).await?;
    assert_eq!(answer["commit_sha"], first.as_str());
    assert_eq!(answer["annotated"], true);
    let tag = cx.forge(&repo.owner).get_tag(&repo.id, "rel/1").await?;
    assert_eq!((tag.annotated, &tag.commit_sha), (true, &first));
    assert_eq!(tag.message.unwrap().trim_end(), "The first\n\nAll of it");
    Ok(())
}

async fn the_same_tag_again_is_no_error(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let head = cx.lab.head(&repo, "main").await?;
    for message in [None, Some("words")] {
        let name = message.map_or("light", |_| "heavy");
        let args = json!({"tag": name, "target": "main", "message": message});
        let first = desk.call("tag_create", args.clone()).await?;
        assert_eq!(first.get("existing"), None);
        for target in ["main", head.as_str()] {
            let mut args = args.clone();
            args["target"] = target.into();
            let again = desk.call("tag_create", args).await?;
            assert_eq!(again["existing"], true, "{again}");
            assert_eq!(again["commit_sha"], head.as_str());
            assert_eq!(again.get("annotated"), first.get("annotated"));
        }
    }
    Ok(())
}

async fn a_tag_elsewhere_is_a_conflict(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let old = cx.lab.head(&repo, "main").await?;
    desk.call(
        "tag_create",
        json!({"tag": "v1", "target": "main", "message": "m"}),
    )
    .await?;
    let new = cx
        .lab
        .write(&repo, "main", &[("a.txt", b"a".as_slice())])
        .await?;
    let error = desk
        .refused("tag_create", json!({"tag": "v1", "target": "main"}))
        .await;
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(error.message.contains(old.as_str()), "{error:?}");
    assert!(error.message.contains(new.as_str()), "{error:?}");
    let status = if cx.backend.is_github() { 422 } else { 409 };
    assert_eq!(error.forge_status, Some(status));
    let tag = cx.forge(&repo.owner).get_tag(&repo.id, "v1").await?;
    assert_eq!(tag.commit_sha, old);
    Ok(())
}

async fn what_cannot_be_tagged_is_refused(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    let bad =
        |tag: &str, target: &str| desk.refused("tag_create", json!({"tag": tag, "target": target}));
    assert_eq!(bad("a b", "main").await.code, ErrorCode::Invalid);
    assert_eq!(bad("a..b", "main").await.code, ErrorCode::Invalid);
    assert_eq!(bad("", "main").await.message, "`tag` is empty");
    assert_eq!(bad("v1", " ").await.message, "`target` is empty");
    let error = bad("v1", "no-such").await;
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(error.message.contains("`no-such`"), "{error:?}");
    let gone = "0123456789012345678901234567890123456789";
    assert_eq!(bad("v1", gone).await.code, ErrorCode::NotFound);
    Ok(())
}

async fn who_may_not_write_is_told(cx: Cx) -> Result<()> {
    let (_, repo) = desk::start(&cx).await?;
    let reader = cx.lab.user("reader").await?;
    let desk = Desk::new(&cx, &reader, &repo);
    let error = desk
        .refused("tag_create", json!({"tag": "v1", "target": "main"}))
        .await;
    assert_eq!(error.code, ErrorCode::Forbidden, "{error:?}");
    Ok(())
}

async fn an_empty_repository_has_nothing_to_tag(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let repo = cx.lab.empty_repo(&owner).await?;
    let desk = Desk::new(&cx, &owner, &repo);
    let error = desk
        .refused("tag_create", json!({"tag": "v1", "target": "main"}))
        .await;
    assert_eq!(error.code, ErrorCode::NotFound, "{error:?}");
    Ok(())
}

async fn it_does_what_every_tool_owes(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    desk.owes("tag_create", json!({"tag": "v1", "target": "main"}))
        .await;
    let error = desk.refused("tag_create", json!({"tag": "v1"})).await;
    assert_eq!(error.message, "tag_create needs `target`, a text");
    Ok(())
}
