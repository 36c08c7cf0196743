//! `branch_list`

use blue_testkit::{Cx, Result};
use serde_json::json;

use crate::desk;

on_every_forge![
    branches_come_with_their_commits,
    pages_follow_each_other,
    it_does_what_every_tool_owes,
];

async fn branches_come_with_their_commits(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.branch(&repo, "topic", "main").await?;
    let answer = desk.call("branch_list", json!({})).await?;
    let names: Vec<_> = answer["branches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| &b["name"])
        .collect();
    assert_eq!(names, ["main", "topic"]);
    assert_eq!(answer["branches"][0]["sha"].as_str().unwrap().len(), 40);
    assert_eq!(answer.get("next_page"), None);
    Ok(())
}

async fn pages_follow_each_other(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    for name in ["a", "b", "c"] {
        cx.lab.branch(&repo, name, "main").await?;
    }
    let first = desk.call("branch_list", json!({"limit": 3})).await?;
    assert_eq!(first["branches"].as_array().unwrap().len(), 3);
    assert_eq!(first["next_page"], 2);
    let second = desk
        .call("branch_list", json!({"limit": "3", "page": 2}))
        .await?;
    assert_eq!(second["branches"].as_array().unwrap().len(), 1);
    assert_eq!(second.get("next_page"), None);
    Ok(())
}

async fn it_does_what_every_tool_owes(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    desk.owes("branch_list", json!({})).await;
    Ok(())
}
