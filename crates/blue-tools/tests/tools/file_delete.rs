//! `file_delete`

use blue_testkit::{Cx, Result};
use blue_tools::{ErrorCode, tools};
use serde_json::json;

use crate::desk;

blue_testkit::on_every_forge![
    a_file_is_deleted,
    a_stale_blob_is_a_conflict,
    what_is_no_file_is_not_deleted,
    a_person_need_not_know_the_blob,
    it_does_what_every_tool_owes,
];

async fn a_file_is_deleted(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab
        .create(&repo, "main", &[("docs/a b.md", b"x\n")])
        .await?;
    let blob = cx.lab.blob(&repo, "main", "docs/a b.md").await?.unwrap();
    let args = json!({"path": "./docs/a b.md", "branch": "main", "sha": blob.as_str()});
    let answer = desk.call("file_delete", args).await?;
    let head = cx.lab.head(&repo, "main").await?;
    assert_eq!(answer["commit_sha"], head.as_str());
    let url = answer["html_url"].as_str().unwrap();
    assert!(
        url.starts_with("http") && url.contains(head.as_str()),
        "{url}"
    );
    assert_eq!(cx.lab.blob(&repo, "main", "docs/a b.md").await?, None);
    Ok(())
}

async fn a_stale_blob_is_a_conflict(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let old = cx.lab.blob(&repo, "main", "README.md").await?.unwrap();
    cx.lab
        .write(&repo, "main", &[("README.md", b"new\n")])
        .await?;
    let now = cx.lab.blob(&repo, "main", "README.md").await?.unwrap();
    let args = json!({"path": "README.md", "branch": "main", "sha": old.as_str(), "message": "m"});
    let error = desk.refused("file_delete", args).await;
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(error.message.contains(now.as_str()), "{error}");
    assert_eq!(cx.lab.blob(&repo, "main", "README.md").await?, Some(now));
    Ok(())
}

async fn what_is_no_file_is_not_deleted(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab
        .create(&repo, "main", &[("docs/a.md", b"x\n")])
        .await?;
    let blob = "0".repeat(40);
    for (path, branch, sha, code, said) in [
        (
            "docs",
            "main",
            blob.as_str(),
            ErrorCode::Invalid,
            "`docs` is a directory, not a file",
        ),
        (
            "docs/",
            "main",
            &blob,
            ErrorCode::Invalid,
            "`docs/` names a directory, not a file",
        ),
        (
            "gone",
            "main",
            &blob,
            ErrorCode::NotFound,
            "`gone` is not on branch `main`",
        ),
        (
            "README.md",
            "nope",
            &blob,
            ErrorCode::NotFound,
            "branch `nope`",
        ),
        (
            "README.md",
            "main",
            "abc",
            ErrorCode::Invalid,
            "`abc` is not a full object id",
        ),
        (
            "README.md",
            "main",
            " ",
            ErrorCode::Invalid,
            "`sha` is empty",
        ),
        (
            "../x",
            "main",
            &blob,
            ErrorCode::Invalid,
            "`../x` has `..` in it",
        ),
    ] {
        let args = json!({"path": path, "branch": branch, "sha": sha});
        let error = desk.refused("file_delete", args).await;
        assert_eq!(error.code, code, "{path}: {error}");
        assert!(error.message.contains(said), "{path}: {error}");
    }
    let error = desk
        .refused("file_delete", json!({"path": "a", "branch": "main"}))
        .await;
    assert_eq!(error.message, "file_delete needs `sha`, a text");
    Ok(())
}

async fn a_person_need_not_know_the_blob(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let tool = tools::find("file_delete").unwrap();
    let full = desk.whole();
    let typed = [
        "delete",
        "README.md",
        "--branch",
        "main",
        "-m",
        "Gone",
        "-R",
        &full,
    ];
    let args = tool.command().try_get_matches_from(typed)?;
    let answer = tool.call_args(&desk.cx, &args).await?;
    assert_eq!(
        answer.json["commit_sha"],
        cx.lab.head(&repo, "main").await?.as_str()
    );
    let error = tool.call_args(&desk.cx, &args).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
    assert_eq!(
        error.hint.as_deref(),
        Some("dir_list path=/ shows what there is")
    );
    cx.lab.write(&repo, "main", &[("d/a", b"a")]).await?;
    let blob = cx.lab.blob(&repo, "main", "d/a").await?.unwrap();
    let delete = async |start: &str| {
        let words = ["d/a", "-b", "main", "--sha", start];
        desk.typed("file_delete", &words).await
    };
    let error = delete("0000000").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    delete(&blob.as_str()[..10]).await?;
    assert_eq!(cx.lab.blob(&repo, "main", "d/a").await?, None);
    Ok(())
}

async fn it_does_what_every_tool_owes(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    let args = json!({"path": "README.md", "branch": "main", "sha": "0".repeat(40)});
    desk.owes("file_delete", args).await;
    Ok(())
}
