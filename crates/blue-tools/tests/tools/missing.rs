//! What is not there is named, with where to look for what is

use blue_testkit::{Cx, Result};
use blue_tools::ErrorCode;
use serde_json::json;

use crate::desk::{self, Desk};

blue_testkit::on_every_forge![
    the_hint_says_where_to_look,
    an_empty_repository_is_told,
    without_a_token_nothing_private_is_there,
];

async fn the_hint_says_where_to_look(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    for (tool, args, said, hint) in [
        (
            "file_read",
            json!({"path": "docs/no.md"}),
            "`docs/no.md` in ",
            "dir_list path=docs shows what there is",
        ),
        (
            "file_read",
            json!({"path": "no.md", "ref": "main"}),
            "`no.md` at `main` in ",
            "dir_list path=/ shows what there is",
        ),
        (
            "dir_list",
            json!({"path": "no"}),
            "`no` in ",
            "dir_list path=/ shows what there is",
        ),
        (
            "branch_delete",
            json!({"branch": "no"}),
            "branch `no` of ",
            "branch_list",
        ),
        (
            "pr_verify",
            json!({"index": 4711}),
            "pull request #4711 of ",
            "pr_list state=all",
        ),
        (
            "pr_merge",
            json!({"index": 4711}),
            "pull request #4711 of ",
            "pr_list state=all",
        ),
    ] {
        let error = desk.refused(tool, args).await;
        assert_eq!(error.code, ErrorCode::NotFound, "{tool}: {error}");
        assert!(error.message.starts_with(said), "{tool}: {error}");
        let told = error.hint.as_deref().unwrap_or_default();
        assert!(told.contains(hint), "{tool}: {told}");
    }
    Ok(())
}

async fn an_empty_repository_is_told(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let repo = cx.lab.empty_repo(&owner).await?;
    let desk = Desk::new(&cx, &owner, &repo);
    for (tool, args) in [
        ("file_read", json!({"path": "a"})),
        ("dir_list", json!({"path": "a"})),
        ("branch_delete", json!({"branch": "main"})),
        ("tag_create", json!({"tag": "v1", "target": "main"})),
        ("workflow_run_status", json!({})),
    ] {
        let error = desk.refused(tool, args).await;
        assert_eq!(error.code, ErrorCode::NotFound, "{tool}: {error}");
        let said = error.message.contains("(the repository is empty)");
        assert!(said, "{tool}: {error}");
        let told = error.hint.as_deref().unwrap_or_default();
        assert!(told.contains("file_write_branch"), "{tool}: {told}");
    }
    Ok(())
}

async fn without_a_token_nothing_private_is_there(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let private = json!({"private": true, "auto_init": true});
    let repo = cx.lab.repo_with(&owner, private).await?;
    let desk = Desk::without_token(&cx, &repo);
    for (tool, args) in [
        ("repo_status", json!({})),
        ("branch_list", json!({})),
        ("file_read", json!({"path": "README.md"})),
        ("pr_verify", json!({"index": 1})),
    ] {
        let error = desk.refused(tool, args).await;
        assert_eq!(error.code, ErrorCode::NotFound, "{tool}: {error}");
        let said = format!("repository `{}` (asked without a token) not found", repo.id);
        assert!(error.message.starts_with(&said), "{tool}: {error}");
        let told = error.hint.as_deref().unwrap_or_default();
        assert!(told.contains("_TOKEN`"), "{tool}: {told}");
    }
    Ok(())
}
