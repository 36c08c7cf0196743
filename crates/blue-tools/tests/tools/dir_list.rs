//! `dir_list`

use std::collections::BTreeSet;

use blue_testkit::{Cx, Import, Result};
use blue_tools::ErrorCode;
use serde_json::{Value, json};

use crate::desk::{self, Desk};

blue_testkit::on_every_forge![
    a_directory_comes_with_its_rows,
    a_path_is_read_with_good_will,
    every_kind_of_entry_has_its_name,
    what_is_no_directory_says_so,
    an_older_state_is_listed,
    a_big_directory_is_complete,
    a_repository_without_commits_is_empty,
    it_does_what_every_tool_owes,
];

fn names(answer: &Value) -> Vec<String> {
    let rows = answer["entries"].as_array().unwrap();
    let name = |row: &Value| row["name"].as_str().unwrap().to_owned();
    rows.iter().map(name).collect()
}

async fn a_directory_comes_with_its_rows(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let files: &[(&str, &[u8])] = &[("src/a.rs", b"one\n"), ("src/sub/b.rs", b"")];
    cx.lab.create(&repo, "main", files).await?;
    let root = desk.call("dir_list", json!({})).await?;
    assert_eq!(names(&root), ["README.md", "src"]);
    assert_eq!(root["entries"][1]["type"], "dir");
    assert_eq!(root.get("total"), None);
    let src = desk.call("dir_list", json!({"path": "src"})).await?;
    let blob = cx.lab.blob(&repo, "main", "src/a.rs").await?.unwrap();
    assert_eq!(
        src["entries"][0],
        json!({"name": "a.rs", "path": "src/a.rs", "type": "file", "sha": blob.as_str(), "size": 4})
    );
    assert_eq!(src["entries"][1]["path"], "src/sub");
    Ok(())
}

async fn a_path_is_read_with_good_will(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.create(&repo, "main", &[("a/b/c", b"x")]).await?;
    for root in ["", "/", ".", "./"] {
        let answer = desk.call("dir_list", json!({"path": root})).await?;
        assert_eq!(names(&answer), ["README.md", "a"], "{root}");
    }
    for path in ["a/b", "/a/b", "a/b/", "./a//b"] {
        let answer = desk.call("dir_list", json!({"path": path})).await?;
        assert_eq!(names(&answer), ["c"], "{path}");
    }
    for bad in ["..", "a/../b", "../../etc"] {
        let error = desk.refused("dir_list", json!({"path": bad})).await;
        assert_eq!(error.code, ErrorCode::Invalid);
        assert_eq!(error.message, format!("`{bad}` has `..` in it"));
    }
    Ok(())
}

async fn every_kind_of_entry_has_its_name(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let commit = "1234567890123456789012345678901234567890".as_bytes();
    let mut import = Import::new();
    let modules = b"[submodule \"sub\"]\n\tpath = sub\n\turl = https://git.example/a/b.git\n";
    import.commit_modes(
        "main",
        "all kinds",
        &[
            ("100644", "dir/plain", b"x"),
            ("100755", "tool", b"#!/bin/sh\n"),
            ("120000", "link", b"dir/plain"),
            ("160000", "sub", commit),
            ("100644", ".gitmodules", modules),
        ],
    );
    let repo = cx.lab.repo_from(&owner, &import).await?;
    let desk = Desk::new(&cx, &owner, &repo);
    let answer = desk.call("dir_list", json!({})).await?;
    let kinds: Vec<_> = answer["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| {
            format!(
                "{} {}",
                e["name"].as_str().unwrap(),
                e["type"].as_str().unwrap()
            )
        })
        .collect();
    let wanted = [
        ".gitmodules file",
        "dir dir",
        "link symlink",
        "sub submodule",
        "tool file",
    ];
    assert_eq!(kinds, wanted);
    let error = desk.refused("dir_list", json!({"path": "sub"})).await;
    assert!(
        error
            .message
            .starts_with("path is a submodule, not a directory"),
        "{error}"
    );
    Ok(())
}

async fn what_is_no_directory_says_so(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    let error = desk.refused("dir_list", json!({"page": 0})).await;
    assert_eq!(error.message, "`page` is counted from 1, so it cannot be 0");
    let error = desk.refused("dir_list", json!({"path": "README.md"})).await;
    assert_eq!(error.code, ErrorCode::Invalid);
    assert_eq!(
        error.message,
        "path is a file, not a directory — use file_read"
    );
    let error = desk.refused("dir_list", json!({"path": "no/such"})).await;
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(error.message.contains("`no/such`"), "{error}");
    let error = desk.refused("dir_list", json!({"ref": "no-such"})).await;
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(error.message.contains("`no-such`"), "{error}");
    Ok(())
}

async fn an_older_state_is_listed(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let old = cx.lab.head(&repo, "main").await?;
    cx.lab.tag(&repo, "v1", "main", "").await?;
    cx.lab.create(&repo, "main", &[("new", b"x")]).await?;
    for rev in [old.as_str(), "v1"] {
        let answer = desk.call("dir_list", json!({"ref": rev})).await?;
        assert_eq!(names(&answer), ["README.md"], "{rev}");
    }
    let answer = desk.call("dir_list", json!({"ref": "main"})).await?;
    assert_eq!(names(&answer), ["README.md", "new"]);
    Ok(())
}

async fn a_big_directory_is_complete(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let files: Vec<String> = (0..2500).map(|n| format!("big/file-{n:05}.txt")).collect();
    let entries: Vec<(&str, &[u8])> = files.iter().map(|f| (f.as_str(), &b"x"[..])).collect();
    let mut import = Import::new();
    import.commit("main", "many", &entries);
    let repo = cx.lab.repo_from(&owner, &import).await?;
    let desk = Desk::new(&cx, &owner, &repo);
    let (mut seen, mut page) = (BTreeSet::new(), json!(1));
    while !page.is_null() {
        let answer = desk
            .call("dir_list", json!({"path": "big", "page": page}))
            .await?;
        let sent = json!([answer, answer.to_string()]).to_string();
        assert!(sent.len() < 60_000, "{}", sent.len());
        assert_eq!(answer["total"], 2500);
        let rows = answer["entries"].as_array().unwrap();
        let path = |row: &Value| row["path"].as_str().unwrap().to_owned();
        seen.extend(rows.iter().map(path));
        page = answer["next_page"].clone();
        if !page.is_null() {
            let step = format!("Get the rest with dir_list, page {page}");
            assert_eq!(answer["next_steps"], json!([step]));
        }
    }
    assert_eq!(seen, files.into_iter().collect::<BTreeSet<_>>());
    Ok(())
}

async fn a_repository_without_commits_is_empty(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let repo = cx.lab.empty_repo(&owner).await?;
    let desk = Desk::new(&cx, &owner, &repo);
    let answer = desk.call("dir_list", json!({"path": ""})).await?;
    assert_eq!(answer, json!({"entries": []}));
    let error = desk.refused("dir_list", json!({"path": "src"})).await;
    assert_eq!(error.code, ErrorCode::NotFound);
    Ok(())
}

async fn it_does_what_every_tool_owes(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    desk.owes("dir_list", json!({"path": "/"})).await;
    Ok(())
}
