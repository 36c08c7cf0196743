//! `file_write_branch`

use std::fmt::Write as _;

use blue_testkit::{Cx, Import, Result};
use blue_tools::{ErrorCode, tools};
use serde_json::{Value, json};

use crate::desk::{self, Desk};

blue_testkit::on_every_forge![
    a_file_is_written_to_a_new_branch,
    the_default_branch_is_written_to,
    a_branch_starts_where_it_is_told,
    many_changes_are_one_commit,
    edits_change_what_is_there,
    an_edit_keeps_the_charset_of_the_file,
    an_edit_that_does_not_fit_changes_nothing,
    writers_in_one_process_do_not_disturb_each_other,
    the_same_content_makes_no_commit,
    a_lost_update_is_refused,
    bytes_are_written_as_they_are,
    the_first_commit_is_made,
    a_link_stays_what_it_is,
    a_branch_that_takes_no_commit_has_a_way_around_it,
    what_makes_no_sense_is_refused,
    a_person_writes_local_files,
    a_person_edits_and_pins,
    a_branch_needs_a_name_that_git_takes,
    it_does_what_every_tool_owes,
];

async fn write(desk: &Desk, args: Value) -> Result<Value> {
    Ok(desk.call("file_write_branch", args).await?)
}

async fn a_file_is_written_to_a_new_branch(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let args = json!({"branch": "topic/a", "message": "Add", "path": "docs/a b.md", "content": "# Hi\r\n"});
    let answer = write(&desk, args).await?;
    let head = cx.lab.head(&repo, "topic/a").await?;
    let blob = cx.lab.blob(&repo, "topic/a", "docs/a b.md").await?.unwrap();
    assert_eq!(answer["commit_sha"], head.as_str());
    assert_eq!(answer["branch"], "topic/a");
    assert_eq!(answer["branch_created"], true);
    assert_eq!(answer.get("unchanged"), None);
    assert_eq!(
        answer["files"],
        json!([{"path": "docs/a b.md", "sha": blob.as_str()}])
    );
    assert!(answer["html_url"].as_str().unwrap().contains(head.as_str()));
    assert_eq!(
        cx.lab.raw(&repo, "topic/a", "docs/a b.md").await?,
        b"# Hi\r\n"
    );
    assert_eq!(cx.lab.count_commits(&repo, "topic/a").await?, 2);
    assert_eq!(cx.lab.count_commits(&repo, "main").await?, 1);
    assert_eq!(
        answer["next_steps"],
        json!(["Open a pull request with pr_create, head \"topic/a\""])
    );
    Ok(())
}

async fn the_default_branch_is_written_to(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let args = json!({"branch": "refs/heads/main", "path": "README.md", "content": "new\n"});
    let answer = write(&desk, args).await?;
    assert_eq!(answer.get("branch_created"), None);
    assert_eq!(
        answer["commit_sha"],
        cx.lab.head(&repo, "main").await?.as_str()
    );
    assert_eq!(cx.lab.raw(&repo, "main", "README.md").await?, b"new\n");
    let commits = cx.forge(&repo.owner);
    let made = commits.get_commit(&repo.id, "main").await?;
    assert_eq!(made.message.trim(), "Write README.md");
    Ok(())
}

async fn a_branch_starts_where_it_is_told(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab
        .write_new(&repo, "dev", "main", &[("dev.txt", b"d\n")])
        .await?;
    let first = cx.lab.head(&repo, "main").await?;
    cx.lab
        .write(&repo, "main", &[("later.txt", b"l\n")])
        .await?;
    write(
        &desk,
        json!({"branch": "a", "base": "dev", "path": "x", "content": "x"}),
    )
    .await?;
    assert!(cx.lab.blob(&repo, "a", "dev.txt").await?.is_some());
    write(
        &desk,
        json!({"branch": "b", "base": first.as_str(), "path": "x", "content": "x"}),
    )
    .await?;
    assert_eq!(cx.lab.blob(&repo, "b", "later.txt").await?, None);
    let edits = json!([{"old": "d", "new": "e"}]);
    write(
        &desk,
        json!({"branch": "c", "base": "dev", "path": "dev.txt", "edits": edits}),
    )
    .await?;
    assert_eq!(cx.lab.raw(&repo, "c", "dev.txt").await?, b"e\n");
    let nowhere = json!({"branch": "z", "base": "nope", "path": "x", "content": "x"});
    let error = desk.refused("file_write_branch", nowhere).await;
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(error.message.contains("`nope`"), "{error}");
    Ok(())
}

async fn many_changes_are_one_commit(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let files: &[(&str, &[u8])] = &[
        ("edit.txt", b"one\ntwo\n"),
        ("gone.txt", b"g"),
        ("old/name.txt", b"n\n"),
        ("m.txt", b"a\n"),
    ];
    cx.lab.create(&repo, "main", files).await?;
    let before = cx.lab.count_commits(&repo, "main").await?;
    let blob = cx.lab.blob(&repo, "main", "gone.txt").await?.unwrap();
    let args = json!({"branch": "main", "message": "All at once", "files": [
        {"path": "new/file.txt", "content": "new\n"},
        {"path": "edit.txt", "edits": [{"old": "two", "new": "2"}]},
        {"path": "gone.txt", "delete": true, "sha": blob.as_str()},
        {"path": "new/name.txt", "rename_from": "old/name.txt"},
        {"path": "moved.txt", "rename_from": "m.txt", "edits": [{"old": "a", "new": "b"}]},
    ]});
    let answer = write(&desk, args).await?;
    assert_eq!(cx.lab.count_commits(&repo, "main").await?, before + 1);
    assert_eq!(cx.lab.raw(&repo, "main", "new/file.txt").await?, b"new\n");
    assert_eq!(cx.lab.raw(&repo, "main", "edit.txt").await?, b"one\n2\n");
    assert_eq!(cx.lab.raw(&repo, "main", "new/name.txt").await?, b"n\n");
    assert_eq!(cx.lab.raw(&repo, "main", "moved.txt").await?, b"b\n");
    for gone in ["gone.txt", "old/name.txt", "m.txt"] {
        assert_eq!(cx.lab.blob(&repo, "main", gone).await?, None, "{gone}");
    }
    assert_eq!(answer["files"].as_array().unwrap().len(), 4);
    Ok(())
}

async fn edits_change_what_is_there(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let text = "a\u{200b}b\r\nlet x = 1;\r\nend\r\n";
    cx.lab
        .create(&repo, "main", &[("f.rs", text.as_bytes())])
        .await?;
    let read = desk.call("file_read", json!({"path": "f.rs"})).await?;
    let args = json!({"branch": "fix", "path": "f.rs", "sha": read["sha"], "edits": [
        {"old": "x = 1", "new": "x = 2"},
        {"old": "2;\nend", "new": "3;\nmore\nend"},
    ]});
    let answer = write(&desk, args).await?;
    assert_eq!(answer["branch_created"], true);
    let after = "a\u{200b}b\r\nlet x = 3;\r\nmore\r\nend\r\n";
    assert_eq!(cx.lab.raw(&repo, "fix", "f.rs").await?, after.as_bytes());
    Ok(())
}

async fn an_edit_keeps_the_charset_of_the_file(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let utf16 =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let wide = utf16("\u{feff}Name=Café\r\n");
    let files: &[(&str, &[u8])] = &[("wide.ini", &wide), ("old.txt", b"Caf\xe9 one\n")];
    cx.lab.create(&repo, "main", files).await?;
    for (path, old, new) in [("wide.ini", "Café", "Cafè ✓"), ("old.txt", "é one", "è 2")] {
        let read = desk.call("file_read", json!({"path": path})).await?;
        let step = read["next_steps"][0].as_str().unwrap();
        assert!(
            step.ends_with("change it by file_write_branch `edits`"),
            "{step}"
        );
        let edits = json!([{"old": old, "new": new}]);
        let args = json!({"branch": "main", "path": path, "sha": read["sha"], "edits": edits});
        write(&desk, args).await?;
    }
    let wide = utf16("\u{feff}Name=Cafè ✓\r\n");
    assert_eq!(cx.lab.raw(&repo, "main", "wide.ini").await?, wide);
    assert_eq!(cx.lab.raw(&repo, "main", "old.txt").await?, b"Caf\xe8 2\n");
    Ok(())
}

async fn an_edit_that_does_not_fit_changes_nothing(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab
        .create(&repo, "main", &[("f", b"same\nsame\n"), ("d/x", b"")])
        .await?;
    let head = cx.lab.head(&repo, "main").await?;
    for (path, old, code, said) in [
        (
            "f",
            "same",
            ErrorCode::Invalid,
            "`f`: `old` occurs 2 times, on lines 1, 2",
        ),
        (
            "f",
            "other",
            ErrorCode::Invalid,
            "`f`: `old` does not occur",
        ),
        ("f", "", ErrorCode::Invalid, "`f`: `old` is empty"),
        (
            "g",
            "x",
            ErrorCode::NotFound,
            "`g` is not there for branch `new`",
        ),
        (
            "d",
            "x",
            ErrorCode::Invalid,
            "path is a directory, not a file — use dir_list",
        ),
    ] {
        let edits = json!([{"old": old, "new": "y"}]);
        let files = json!([{"path": "other", "content": "x"}, {"path": path, "edits": edits}]);
        let error = desk
            .refused(
                "file_write_branch",
                json!({"branch": "new", "files": files}),
            )
            .await;
        assert_eq!(error.code, code, "{error}");
        assert!(error.message.starts_with(said), "{error}");
    }
    assert_eq!(cx.lab.head(&repo, "main").await?, head);
    let branches = desk.call("branch_list", json!({})).await?;
    assert_eq!(branches["branches"].as_array().unwrap().len(), 1);
    Ok(())
}

async fn the_same_content_makes_no_commit(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.create(&repo, "main", &[("f", b"text\n")]).await?;
    let head = cx.lab.head(&repo, "main").await?;
    let args = json!({"branch": "main", "path": "f", "content": "text\n"});
    let answer = write(&desk, args).await?;
    assert_eq!(
        (&answer["unchanged"], &answer["commit_sha"]),
        (&json!(true), &json!(head.as_str()))
    );
    assert_eq!(cx.lab.head(&repo, "main").await?, head);
    let args = json!({"branch": "topic", "path": "f", "content": "text\n"});
    let answer = write(&desk, args).await?;
    assert_eq!(
        (&answer["unchanged"], &answer["branch_created"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(cx.lab.head(&repo, "topic").await?, head);
    Ok(())
}

async fn a_lost_update_is_refused(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let head = cx.lab.create(&repo, "main", &[("f", b"one\n")]).await?;
    let old = cx.lab.blob(&repo, "main", "f").await?.unwrap();
    cx.lab.write(&repo, "main", &[("f", b"two\n")]).await?;
    let now = cx.lab.blob(&repo, "main", "f").await?.unwrap();
    let edits = json!([{"old": "two", "new": "three"}]);
    for args in [
        json!({"branch": "main", "path": "f", "content": "mine\n", "sha": old.as_str()}),
        json!({"branch": "main", "path": "f", "edits": edits, "sha": old.as_str()}),
        json!({"branch": "main", "files": [{"path": "f", "delete": true, "sha": old.as_str()}]}),
        json!({"branch": "main", "files": [{"path": "g", "rename_from": "f", "sha": old.as_str()}]}),
    ] {
        let error = desk.refused("file_write_branch", args.clone()).await;
        assert_eq!(error.code, ErrorCode::Conflict, "{args}: {error}");
        assert!(error.message.contains(now.as_str()), "{args}: {error}");
    }
    let args =
        json!({"branch": "main", "path": "x", "content": "x", "expected_head": head.as_str()});
    let error = desk.refused("file_write_branch", args).await;
    assert_eq!(error.code, ErrorCode::Conflict);
    let tip = cx.lab.head(&repo, "main").await?;
    assert!(error.message.contains(tip.as_str()), "{error}");
    let args =
        json!({"branch": "main", "path": "x", "content": "x", "expected_head": tip.as_str()});
    write(&desk, args).await?;
    assert_eq!(cx.lab.raw(&repo, "main", "f").await?, b"two\n");
    Ok(())
}

async fn writers_in_one_process_do_not_disturb_each_other(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let head = cx.lab.head(&repo, "main").await?;
    let all = |guard: Option<&str>| {
        let calls = (0..5).map(|n| {
            let args = json!({"branch": "main", "path": format!("{n}.txt"), "content": "x",
                "expected_head": guard});
            desk.call("file_write_branch", args)
        });
        futures_util::future::join_all(calls.collect::<Vec<_>>())
    };
    let guarded = all(Some(head.as_str())).await;
    let refusals: Vec<_> = guarded.into_iter().filter_map(Result::err).collect();
    assert_eq!(refusals.len(), 4);
    for error in refusals {
        assert_eq!(error.code, ErrorCode::Conflict, "{error}");
    }
    assert_eq!(cx.lab.count_commits(&repo, "main").await?, 2);
    for done in all(None).await {
        done?;
    }
    // One of the files was there already.
    assert_eq!(cx.lab.count_commits(&repo, "main").await?, 6);
    Ok(())
}

async fn bytes_are_written_as_they_are(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let mut large = String::new();
    for n in 0..40_000 {
        let _ = writeln!(large, "line {n} with \"quotes\" and ✓");
    }
    let args = json!({"branch": "main", "files": [
        {"path": "a.bin", "content": "AP8B\n/w==", "encoding": "base64"},
        {"path": "large.txt", "content": large},
        {"path": "empty", "content": ""},
    ]});
    write(&desk, args).await?;
    assert_eq!(cx.lab.raw(&repo, "main", "a.bin").await?, b"\0\xff\x01\xff");
    assert!(cx.lab.raw(&repo, "main", "large.txt").await? == large.as_bytes());
    assert_eq!(cx.lab.raw(&repo, "main", "empty").await?, b"");
    let edits = json!([{"old": "line 20000 ", "new": "LINE 20000 "}]);
    write(
        &desk,
        json!({"branch": "main", "path": "large.txt", "edits": edits}),
    )
    .await?;
    let wanted = large.replace("line 20000 ", "LINE 20000 ");
    assert!(cx.lab.raw(&repo, "main", "large.txt").await? == wanted.as_bytes());
    Ok(())
}

async fn the_first_commit_is_made(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let repo = cx.lab.empty_repo(&owner).await?;
    let desk = Desk::new(&cx, &owner, &repo);
    let args = json!({"branch": "main", "message": "Begin", "files": [
        {"path": "README.md", "content": "# Hi\n"}, {"path": "src/a", "content": "a"},
    ]});
    let answer = write(&desk, args).await?;
    assert_eq!(
        answer["commit_sha"],
        cx.lab.head(&repo, "main").await?.as_str()
    );
    assert_eq!(cx.lab.count_commits(&repo, "main").await?, 1);
    assert_eq!(cx.lab.raw(&repo, "main", "src/a").await?, b"a");

    // By another name, which is the default branch then; a base cannot be there.
    let repo = cx.lab.empty_repo(&owner).await?;
    let desk = Desk::new(&cx, &owner, &repo);
    let args = json!({"branch": "topic", "base": "nope", "path": "a", "content": "a"});
    let error = desk.refused("file_write_branch", args).await;
    assert_eq!(error.code, ErrorCode::NotFound, "{error}");
    assert!(error.message.contains("`nope`"), "{error}");
    let args = json!({"branch": "topic", "path": "a", "content": "a"});
    let answer = write(&desk, args).await?;
    let steps = answer["next_steps"].to_string();
    assert!(
        steps.contains("`topic` is the default branch now"),
        "{steps}"
    );
    assert!(!steps.contains("pr_create"), "{steps}");
    let status = desk.call("repo_status", json!({})).await?;
    assert_eq!(status["default_branch"], "topic");
    Ok(())
}

async fn a_branch_that_takes_no_commit_has_a_way_around_it(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let rule = json!({"required_approvals": 1, "enable_push": false});
    cx.lab.protect(&repo, "main", rule).await?;
    let args = json!({"branch": "main", "path": "a", "content": "a"});
    let error = desk.refused("file_write_branch", args).await;
    assert_eq!(error.code, ErrorCode::Forbidden, "{error}");
    let hint = error.hint.unwrap();
    assert!(
        hint.contains("new branch") && hint.contains("pr_create"),
        "{hint}"
    );
    Ok(())
}

/// What is written to a link is meant for the file it points at, not to be a new target
async fn a_link_stays_what_it_is(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let mut import = Import::new();
    let entries: &[(&str, &str, &[u8])] =
        &[("100644", "plain", b"text\n"), ("120000", "link", b"plain")];
    import.commit_modes("main", "a link", entries);
    let repo = cx.lab.repo_from(&owner, &import).await?;
    let desk = Desk::new(&cx, &owner, &repo);
    let head = cx.lab.head(&repo, "main").await?;
    for change in [
        json!({"branch": "main", "path": "link", "content": "new text\n"}),
        json!({"branch": "main", "path": "link", "edits": [{"old": "plain", "new": "x"}]}),
    ] {
        let error = desk.refused("file_write_branch", change).await;
        assert_eq!(error.code, ErrorCode::Invalid, "{error:?}");
    }
    assert_eq!(cx.lab.head(&repo, "main").await?, head);
    Ok(())
}

async fn what_makes_no_sense_is_refused(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let head = cx.lab.head(&repo, "main").await?;
    let twice = json!([{"path": "a", "content": "x"}, {"path": "./a", "content": "y"}]);
    for (args, said) in [
        (json!({"branch": "main"}), "there is nothing to write"),
        (
            json!({"branch": "main", "content": "x"}),
            "`content` and `edits` need the `path`",
        ),
        (
            json!({"branch": "main", "path": "a"}),
            "`a` needs `content`",
        ),
        (
            json!({"branch": "", "path": "a", "content": "x"}),
            "`branch` is empty",
        ),
        (
            json!({"branch": "main", "path": "../a", "content": "x"}),
            "`../a` has `..` in it",
        ),
        (
            json!({"branch": "main", "path": ".git/config", "content": "x"}),
            "`.git/config`",
        ),
        (json!({"branch": "main", "files": twice}), "`a` is "),
        (
            json!({"branch": "main", "path": "a", "content": "x", "sha": "abc"}),
            "`abc` is not a full",
        ),
        (
            json!({"branch": "main", "path": "a", "content": "x", "expected_head": "y"}),
            "`y` is not a full",
        ),
        (
            json!({"path": "a", "content": "x"}),
            "file_write_branch needs `branch`, a text",
        ),
        (
            json!({"branch": "main", "path": "a", "edits": [{"old": "x"}]}),
            "file_write_branch needs `edits[0].new`",
        ),
        (
            json!({"branch": "main", "files": [{"path": "a", "edits": [{"old": "x"}]}]}),
            "file_write_branch needs `files[0].edits[0].new`",
        ),
        (
            json!({"branch": "main", "files": [
                {"path": "n", "content": "2"}, {"path": "n/q", "content": "1"},
            ]}),
            "`n` cannot be both a file and the directory of `n/q`",
        ),
        (
            json!({"branch": "main", "files": [{"path": "a", "text": "x"}]}),
            "file_write_branch has no argument `files[0].text`",
        ),
    ] {
        let error = desk.refused("file_write_branch", args.clone()).await;
        assert_eq!(error.code, ErrorCode::Invalid, "{args}: {error}");
        assert!(error.message.starts_with(said), "{args}: {error}");
    }
    for (edit, odd) in [
        (json!({"old": "x", "new": "y", "zzz": 1}), "zzz`"),
        (json!({"old": "x", "nwe": "y"}), "nwe`"),
    ] {
        for args in [
            json!({"branch": "main", "path": "README.md", "edits": [edit]}),
            json!({"branch": "main", "files": [{"path": "README.md", "edits": [edit]}]}),
        ] {
            let error = desk.refused("file_write_branch", args.clone()).await;
            assert_eq!(error.code, ErrorCode::Invalid, "{args}: {error}");
            assert!(error.message.contains(odd), "{args}: {error}");
        }
    }
    let missing = json!({
        "branch": "main", "expected_head": head.as_str(),
        "files": [{"path": "nope", "delete": true}],
    });
    let error = desk.refused("file_write_branch", missing).await;
    assert_eq!(error.code, ErrorCode::NotFound);
    assert_eq!(cx.lab.head(&repo, "main").await?, head);
    Ok(())
}

async fn a_person_writes_local_files(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab
        .create(&repo, "main", &[("old", b"o"), ("gone", b"g")])
        .await?;
    std::fs::write(desk.cx.cwd().join("local.bin"), b"\xff\0")?;
    let tool = tools::find("file_write_branch").unwrap();
    let typed = |rest: &[&str]| {
        let whole = desk.whole();
        let mut words = vec!["write-branch", "-b", "topic", "-R", &whole];
        words.extend(rest);
        tool.command().try_get_matches_from(words)
    };
    let args = typed(&[
        "piped.txt",
        "-m",
        "By hand",
        "--from",
        "-",
        "--file",
        "b/l.bin=local.bin",
        "--delete",
        "gone",
        "--rename",
        "old=new",
    ])?;
    let piped = desk.cx.clone().with_piped(|| Ok(b"from a pipe\n".to_vec()));
    let answer = tool.call_args(&piped, &args).await?;
    assert_eq!(answer.json["branch_created"], true);
    assert_eq!(
        cx.lab.raw(&repo, "topic", "piped.txt").await?,
        b"from a pipe\n"
    );
    assert_eq!(cx.lab.raw(&repo, "topic", "b/l.bin").await?, b"\xff\0");
    assert_eq!(cx.lab.raw(&repo, "topic", "new").await?, b"o");
    assert_eq!(cx.lab.blob(&repo, "topic", "gone").await?, None);
    tool.call_args(&desk.cx, &typed(&["c.txt", "--content", "c"])?)
        .await?;
    assert_eq!(cx.lab.raw(&repo, "topic", "c.txt").await?, b"c");
    for (rest, code) in [
        (&["c.txt"][..], ErrorCode::Usage),
        (&[], ErrorCode::Usage),
        (&["--file", "x"], ErrorCode::Usage),
        (&["c.txt", "--from", "no-such-file"], ErrorCode::Io),
        (&["c.txt", "--from", "-"], ErrorCode::Usage),
    ] {
        let error = tool.call_args(&desk.cx, &typed(rest)?).await.unwrap_err();
        assert_eq!(error.code, code, "{rest:?}: {error}");
    }
    assert!(typed(&["--content", "c"]).is_err());
    Ok(())
}

async fn a_person_edits_and_pins(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab
        .create(&repo, "main", &[("f", b"one two\nthree\n"), ("g", b"g")])
        .await?;
    let write = async |words: &[&str]| {
        let words = [&["f", "-b", "main"], words].concat();
        desk.typed("file_write_branch", &words).await
    };
    write(&["--edit", "two", "-2", "--edit", "three", "a=b"]).await?;
    assert_eq!(cx.lab.raw(&repo, "main", "f").await?, b"one -2\na=b\n");
    let edits = desk.cx.cwd().join("edits.json");
    std::fs::write(&edits, r#"[{"old": "a=b", "new": "c"}]"#)?;
    let blob = cx.lab.blob(&repo, "main", "f").await?.unwrap();
    let head = cx.lab.head(&repo, "main").await?;
    let (blob, head) = (&blob.as_str()[..10], &head.as_str()[..7]);
    for (pin, wrong) in [("--sha", "0000000"), ("--expected-head", "0000000")] {
        let error = write(&["--edits", "edits.json", pin, wrong]).await;
        assert_eq!(error.unwrap_err().code, ErrorCode::Conflict, "{pin}");
    }
    let pins = ["--sha", blob, "--expected-head", head];
    write(&[&["--edits", "edits.json"], &pins[..]].concat()).await?;
    assert_eq!(cx.lab.raw(&repo, "main", "f").await?, b"one -2\nc\n");
    std::fs::write(&edits, "{}")?;
    let error = write(&["--edits", "edits.json"]).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Usage);
    let error = write(&["--edit", "nowhere", "x"]).await.unwrap_err();
    assert!(error.message.contains("does not occur"), "{error:?}");
    Ok(())
}

async fn a_branch_needs_a_name_that_git_takes(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    let args = json!({"branch": "bad branch", "path": "a", "content": "x"});
    let error = desk.refused("file_write_branch", args).await;
    assert_eq!(error.code, ErrorCode::Invalid);
    assert_eq!(error.message, "`bad branch` is not a branch name");
    Ok(())
}

async fn it_does_what_every_tool_owes(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    desk.owes(
        "file_write_branch",
        json!({"branch": "b", "path": "a", "content": "x"}),
    )
    .await;
    Ok(())
}
