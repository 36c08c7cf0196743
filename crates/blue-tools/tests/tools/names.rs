//! Branches and tags as git spells them in full

use blue_testkit::{Cx, Result};
use blue_tools::ErrorCode;
use serde_json::json;

use crate::desk;

blue_testkit::on_every_forge![full_names_mean_the_same];

async fn full_names_mean_the_same(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let rule = json!({"required_approvals": 1});
    cx.lab.protect(&repo, "main", rule).await?;
    for name in ["main", "refs/heads/main"] {
        let args = json!({"branch": name});
        let found = desk.call("branch_protection_get", args.clone()).await?;
        assert_eq!(found["protected"], true, "{name}");
        let status = desk.call("repo_status", args.clone()).await?;
        assert_eq!(status["protection"]["protected"], true, "{name}");
        let error = desk.refused("branch_delete", args).await;
        assert_eq!(error.code, ErrorCode::Forbidden, "{error}");
    }
    let args = json!({"branch": "refs/heads/topic", "base": "refs/heads/main", "path": "a",
        "content": "a"});
    let written = desk.call("file_write_branch", args).await?;
    assert_eq!(written["branch"], "topic");
    let args = json!({"title": "T", "head": "refs/heads/topic", "base": "refs/heads/main"});
    let made = desk.call("pr_create", args).await?;
    let owned = format!("{}:refs/heads/topic", desk.owner);
    for head in ["topic", "refs/heads/topic", &owned] {
        let args = json!({"head": head, "base": "refs/heads/main"});
        let found = desk.call("pr_list", args).await?;
        assert_eq!(found["prs"][0]["number"], made["pr_number"], "{head}");
        assert_eq!(found["prs"][0]["head_branch"], "topic");
    }
    let args = json!({"tag": "refs/tags/v1", "target": "refs/heads/topic"});
    let tag = desk.call("tag_create", args).await?;
    assert_eq!(
        (&tag["tag"], &tag["commit_sha"]),
        (&json!("v1"), &written["commit_sha"])
    );
    Ok(())
}
