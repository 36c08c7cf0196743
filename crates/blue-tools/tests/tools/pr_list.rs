//! `pr_list`

use blue_testkit::{Cx, Result};
use blue_tools::{Cell, ErrorCode, Style, page::Block};
use serde_json::{Value, json};

use crate::desk::{self, Desk};

blue_testkit::on_every_forge![
    rows_say_what_they_are,
    filters_hold,
    a_fork_is_not_the_repository,
    pages_follow_each_other,
    an_empty_repository_has_none,
    it_does_what_every_tool_owes,
];

async fn numbers(desk: &Desk, args: Value) -> Result<Vec<u64>> {
    let answer = desk.call("pr_list", args).await?;
    let rows = answer["prs"].as_array().unwrap();
    Ok(rows
        .iter()
        .map(|pr| pr["number"].as_u64().unwrap())
        .collect())
}

async fn rows_say_what_they_are(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let number = cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    let answer = desk.call("pr_list", json!({})).await?;
    let row = &answer["prs"][0];
    let url = row["html_url"].as_str().unwrap();
    assert!(url.starts_with("http") && url.ends_with(&number.to_string()));
    assert_eq!(
        *row,
        json!({
            "number": number, "title": "Change of topic", "state": "open", "head_branch": "topic",
            "base_branch": "main", "draft": false, "html_url": url,
        })
    );
    assert!(row.to_string().len() <= 300);
    assert_eq!(answer.get("next_page"), None);
    assert_eq!(answer.get("next_steps"), None);
    Ok(())
}

async fn filters_hold(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.branch(&repo, "dev", "main").await?;
    let one = cx.lab.pr_with(&repo, "one", &[("1", b"1")]).await?;
    let two = cx.lab.pr_with(&repo, "two", &[("2", b"2")]).await?;
    let dev = cx.lab.pr(&repo, "two", "dev", "WIP: into dev").await?;
    cx.lab.close_pr(&repo, one).await?;
    let list = |args| numbers(&desk, args);
    assert_eq!(list(json!({})).await?, [dev, two]);
    assert_eq!(list(json!({"state": "closed"})).await?, [one]);
    assert_eq!(list(json!({"state": "all"})).await?, [dev, two, one]);
    assert_eq!(list(json!({"head": "two"})).await?, [dev, two]);
    assert_eq!(list(json!({"base": "main"})).await?, [two]);
    assert_eq!(list(json!({"head": "two", "base": "dev"})).await?, [dev]);
    assert_eq!(list(json!({"head": "one"})).await?, [0; 0]);
    assert_eq!(list(json!({"head": "one", "state": "all"})).await?, [one]);
    assert_eq!(list(json!({"head": "tw"})).await?, [0; 0]);
    assert_eq!(list(json!({"base": "none"})).await?, [0; 0]);
    assert_eq!(list(json!({"head": "", "base": "main"})).await?, [two]);
    let own = format!("{}:two", desk.owner);
    assert_eq!(list(json!({"head": own, "base": "main"})).await?, [two]);
    let answer = desk.call("pr_list", json!({"base": "dev"})).await?;
    assert_eq!(answer["prs"][0]["draft"], true);
    let error = desk.refused("pr_list", json!({"state": "merged"})).await;
    assert_eq!(
        error.message,
        "pr_list: `state` must be one of `open`, `closed`, `all`, not `merged`"
    );
    Ok(())
}

async fn a_fork_is_not_the_repository(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let user = cx.lab.user("forker").await?;
    let fork = cx.lab.fork(&repo, &user).await?;
    cx.lab
        .write_new(&fork, "topic", "main", &[("f", b"f")])
        .await?;
    let head = format!("{}:topic", user.login);
    let theirs = cx.lab.pr(&repo, &head, "main", "From a fork").await?;
    let ours = cx.lab.pr_with(&repo, "topic", &[("o", b"o")]).await?;
    assert_eq!(numbers(&desk, json!({"head": "topic"})).await?, [ours]);
    assert_eq!(numbers(&desk, json!({"head": head})).await?, [theirs]);
    Ok(())
}

async fn pages_follow_each_other(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    for name in ["a", "b", "c"] {
        cx.lab.pr_with(&repo, name, &[(name, b"x")]).await?;
    }
    for args in [json!({"limit": 2}), json!({"limit": 2, "base": "main"})] {
        let first = desk.call("pr_list", args.clone()).await?;
        assert_eq!(first["prs"].as_array().unwrap().len(), 2);
        assert_eq!(first["next_page"], 2);
        let mut args = args;
        args["page"] = json!(2);
        let second = desk.call("pr_list", args).await?;
        assert_eq!(second["prs"].as_array().unwrap().len(), 1);
        assert_eq!(second.get("next_page"), None);
    }
    for (args, said) in [
        (json!({"limit": 0}), "`limit` must be from 1 to 100, not 0"),
        (
            json!({"page": 0}),
            "`page` is counted from 1, so it cannot be 0",
        ),
    ] {
        assert_eq!(desk.refused("pr_list", args).await.message, said);
    }
    let first = desk.typed("pr_list", &["--limit", "2"]).await?;
    // Not every forge tells how many there are in all.
    let all = first.json.get("total").map(|total| format!(" of {total}"));
    let said = format!("2{} shown; `--page 2` shows more", all.unwrap_or_default());
    let last = Block::Line(Cell::new(&said, Style::Dim));
    assert_eq!(first.page.blocks.last(), Some(&last));
    let page = desk.typed("pr_list", &["--limit", "3"]).await?.page;
    assert_eq!(page.blocks.len(), 1);
    let filtered = desk.call("pr_list", json!({"base": "main"})).await?;
    assert_eq!(filtered["total"], 3);
    let last = desk.call("pr_list", json!({"limit": 2, "page": 2})).await?;
    assert_eq!(last["total"], 3, "where a list ends it is counted");
    for (args, named) in [
        (json!({"page": 0}), "`page`"),
        (json!({"limit": 0}), "`limit`"),
        (json!({"limit": 101}), "`limit`"),
    ] {
        let error = desk.refused("pr_list", args).await;
        assert_eq!(error.code, ErrorCode::Invalid, "{error:?}");
        assert!(error.message.contains(named), "{error:?}");
    }
    Ok(())
}

async fn an_empty_repository_has_none(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let repo = cx.lab.empty_repo(&owner).await?;
    let desk = Desk::new(&cx, &owner, &repo);
    assert_eq!(numbers(&desk, json!({})).await?, [0; 0]);
    assert_eq!(numbers(&desk, json!({"head": "x"})).await?, [0; 0]);
    Ok(())
}

async fn it_does_what_every_tool_owes(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    desk.owes("pr_list", json!({})).await;
    Ok(())
}
