//! `file_read`

use blue_testkit::{Cx, Import, Result};
use blue_tools::{ErrorCode, tools};
use serde_json::json;

use crate::desk::{self, Desk};

blue_testkit::on_every_forge![
    text_comes_with_its_blob,
    lines_and_older_states_are_read,
    a_large_file_is_read_in_parts,
    binary_files_are_base64_up_to_a_limit,
    what_is_not_shown_is_counted,
    a_symlink_says_where_it_points,
    what_is_no_file_says_so,
    a_person_sees_the_text,
    a_pipe_gets_the_file_itself,
    it_does_what_every_tool_owes,
];

async fn text_comes_with_its_blob(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let text = "one\r\ntwo ✓\n\tthree";
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    cx.lab
        .create(
            &repo,
            "main",
            &[
                ("a b/ü#%?.txt", text.as_bytes()),
                ("empty", b""),
                ("big.psd", pointer),
            ],
        )
        .await?;
    let blob = cx.lab.blob(&repo, "main", "a b/ü#%?.txt").await?.unwrap();
    let answer = desk
        .call("file_read", json!({"path": "/a b/ü#%?.txt"}))
        .await?;
    let size = text.len();
    assert_eq!(
        answer,
        json!({"path": "a b/ü#%?.txt", "sha": blob.as_str(), "size": size, "content": text})
    );
    let empty = desk.call("file_read", json!({"path": "empty"})).await?;
    assert_eq!((&empty["content"], &empty["size"]), (&json!(""), &json!(0)));
    let pointer = desk.call("file_read", json!({"path": "big.psd"})).await?;
    let step = pointer["next_steps"][0].as_str().unwrap();
    assert!(step.contains("12345 bytes"), "{step}");
    Ok(())
}

async fn lines_and_older_states_are_read(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let old = cx
        .lab
        .create(&repo, "main", &[("f", b"1\n2\n3\n4\n5\n")])
        .await?;
    cx.lab.write(&repo, "main", &[("f", b"new\n")]).await?;
    for (lines, content, told) in [
        ("2-3", "2\n3\n", "2-3"),
        ("4-", "4\n5\n", "4-5"),
        ("-2", "4\n5\n", "4-5"),
        ("4-99", "4\n5\n", "4-5"),
        ("2", "2\n", "2-2"),
    ] {
        let args = json!({"path": "f", "ref": old.as_str(), "lines": lines});
        let answer = desk.call("file_read", args).await?;
        assert_eq!(answer["content"], content, "{lines}");
        assert_eq!(answer["lines"], told);
        assert_eq!(answer["total_lines"], 5);
        assert_eq!(answer["size"], 10);
        assert_eq!(answer.get("truncated"), None);
    }
    for bad in ["9-", "3-1", "x"] {
        let args = json!({"path": "f", "ref": old.as_str(), "lines": bad});
        let error = desk.refused("file_read", args).await;
        assert_eq!(error.code, ErrorCode::Invalid, "{bad}: {error}");
        assert!(error.message.starts_with("`lines` "), "{error}");
    }
    let now = desk.call("file_read", json!({"path": "f"})).await?;
    assert_eq!(now["content"], "new\n");
    Ok(())
}

async fn a_large_file_is_read_in_parts(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let lines: Vec<String> = (0..20_000)
        .map(|n| format!("line {n} \"quoted\"\n"))
        .collect();
    let mut text = lines.concat();
    text += &"x".repeat(150_000);
    cx.lab
        .create(&repo, "main", &[("big", text.as_bytes())])
        .await?;
    let (mut seen, mut lines) = (String::new(), json!("1-"));
    while !lines.is_null() {
        let answer = desk
            .call("file_read", json!({"path": "big", "lines": lines}))
            .await?;
        // As an answer travels: once as it is, and once as a text inside of another JSON.
        let sent = json!([answer, answer.to_string()]).to_string();
        assert!(sent.len() < 60_000, "{}", sent.len());
        assert_eq!(answer["total_lines"], 20_001);
        seen += answer["content"].as_str().unwrap();
        lines = answer["rest"].clone();
        assert_eq!(
            answer["truncated"].as_bool().unwrap_or(false),
            !lines.is_null()
        );
        if !lines.is_null() {
            let here = answer["lines"].as_str().unwrap();
            let step = format!("Lines {here} of 20001: get the rest with file_read, lines {lines}");
            assert_eq!(answer["next_steps"], json!([step]));
        }
    }
    assert!(seen == text, "{} and {} bytes", seen.len(), text.len());
    Ok(())
}

async fn binary_files_are_base64_up_to_a_limit(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let large = vec![0u8; 40_000];
    let fits = [1u8, 0].repeat(10 * 1024);
    let files: &[(&str, &[u8])] = &[("a.bin", b"\0\xff\x01"), ("large", &large), ("fits", &fits)];
    cx.lab.create(&repo, "main", files).await?;
    let small = desk.call("file_read", json!({"path": "a.bin"})).await?;
    assert_eq!(
        (&small["content"], &small["encoding"]),
        (&json!("AP8B"), &json!("base64"))
    );
    let answer = desk.call("file_read", json!({"path": "fits"})).await?;
    assert_eq!(answer["size"], 20 * 1024);
    let error = desk.refused("file_read", json!({"path": "large"})).await;
    assert_eq!(error.code, ErrorCode::TooLarge);
    assert!(
        error.message.contains("binary and has 40000 bytes"),
        "{error}"
    );
    let error = desk
        .refused("file_read", json!({"path": "a.bin", "lines": "1-2"}))
        .await;
    assert_eq!(error.message, "`a.bin` is binary and has no lines");
    Ok(())
}

async fn what_is_not_shown_is_counted(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let tricky = "a\u{200b}b\n\u{202e}c\u{1b}[1m\n";
    let files: &[(&str, &[u8])] = &[("tricky", tricky.as_bytes()), ("latin", b"caf\xe9\n")];
    cx.lab.create(&repo, "main", files).await?;
    let answer = desk.call("file_read", json!({"path": "tricky"})).await?;
    assert_eq!(
        (&answer["content"], &answer["hidden"]),
        (&json!("ab\nc[1m\n"), &json!(3))
    );
    assert!(
        answer["next_steps"][0]
            .as_str()
            .unwrap()
            .contains("file_write_branch `edits`")
    );
    let answer = desk
        .call("file_read", json!({"path": "tricky", "lines": "1"}))
        .await?;
    assert_eq!(answer["hidden"], 1);
    let answer = desk.call("file_read", json!({"path": "latin"})).await?;
    assert_eq!(
        (&answer["content"], &answer["charset"]),
        (&json!("café\n"), &json!("windows-1252"))
    );
    assert_eq!(answer["size"], 5);
    Ok(())
}

async fn a_symlink_says_where_it_points(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let mut import = Import::new();
    let entries: &[(&str, &str, &[u8])] = &[
        ("100644", "dir/plain", b"text\n"),
        ("120000", "link", b"dir/plain"),
        ("120000", "dir/up", b"../dir"),
        ("120000", "gone", b"no-such-file"),
    ];
    import.commit_modes("main", "a link", entries);
    let repo = cx.lab.repo_from(&owner, &import).await?;
    let desk = Desk::new(&cx, &owner, &repo);
    let answer = desk.call("file_read", json!({"path": "link"})).await?;
    assert_eq!(answer["target"], "dir/plain");
    assert_eq!(answer["size"], 9);
    let step = "It is a symlink: read its target with file_read, path \"dir/plain\"";
    assert_eq!(answer["next_steps"], json!([step]));
    let answer = desk.call("file_read", json!({"path": "dir/up"})).await?;
    let step = "It is a symlink to a directory: list it with dir_list, path \"dir\"";
    assert_eq!(answer["next_steps"], json!([step]));
    let listed = desk.call("dir_list", json!({"path": "dir"})).await?;
    assert_eq!(listed["entries"].as_array().map(Vec::len), Some(2));
    let answer = desk.call("file_read", json!({"path": "gone"})).await?;
    assert_eq!(answer.get("next_steps"), None);
    Ok(())
}

async fn what_is_no_file_says_so(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.create(&repo, "main", &[("src/a", b"x")]).await?;
    for path in ["src", "src/", "/", ""] {
        let error = desk.refused("file_read", json!({"path": path})).await;
        assert_eq!(error.code, ErrorCode::Invalid, "{path}");
        assert_eq!(
            error.message,
            "path is a directory, not a file — use dir_list"
        );
    }
    let error = desk.refused("file_read", json!({"path": "no/such"})).await;
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(error.message.contains("`no/such`"), "{error}");
    let error = desk
        .refused("file_read", json!({"path": "README.md", "ref": "nope"}))
        .await;
    assert_eq!(error.code, ErrorCode::NotFound);
    let error = desk
        .refused("file_read", json!({"path": "../secret"}))
        .await;
    assert_eq!(error.code, ErrorCode::Invalid);
    let error = desk.refused("file_read", json!({})).await;
    assert_eq!(error.message, "file_read needs `path`, a text");
    Ok(())
}

async fn a_person_sees_the_text(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.create(&repo, "main", &[("f", b"1\n2\n3\n")]).await?;
    let tool = tools::find("file_read").unwrap();
    let typed = [
        "read",
        "f",
        "--lines",
        "-2",
        "--ref",
        "main",
        "-R",
        &desk.whole(),
    ];
    let args = tool.command().try_get_matches_from(typed)?;
    let answer = tool.call_args(&desk.cx, &args).await?;
    assert_eq!(answer.json["content"], "2\n3\n");
    assert_eq!(answer.page.blocks.len(), 1);
    Ok(())
}

async fn a_pipe_gets_the_file_itself(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let long = "line\n".repeat(60_000);
    let binary: Vec<u8> = (0..=255).cycle().take(50_000).collect();
    let files: &[(&str, &[u8])] = &[
        ("long", long.as_bytes()),
        ("binary", &binary),
        ("odd", "\u{feff}a\u{1b}[1m\u{200b}\r\nno end".as_bytes()),
        ("latin", b"caf\xe9\nzwei\n"),
        ("wide", b"\xff\xfea\0\n\0b\0"),
        ("empty", b""),
    ];
    cx.lab.create(&repo, "main", files).await?;
    let raw = desk.cx.clone().raw(true);
    let read = async |words: &[&str]| -> Result<Vec<u8>> {
        let answer = desk.typed_with(&raw, "file_read", words).await?;
        assert_eq!(answer.next_steps, [""; 0]);
        Ok(answer.bytes.unwrap())
    };
    for (path, bytes) in files {
        assert!(read(&[path]).await? == *bytes, "{path}");
    }
    for (path, lines, bytes) in [
        ("long", "2-", &long.as_bytes()[5..]),
        ("odd", "2", b"no end"),
        ("latin", "1", b"caf\xe9\n"),
        ("wide", "-1", b"\xff\xfeb\0"),
    ] {
        assert!(read(&[path, "--lines", lines]).await? == bytes, "{path}");
    }
    let lines = ["binary", "--lines", "1"];
    let error = desk.typed_with(&raw, "file_read", &lines).await;
    assert_eq!(error.unwrap_err().code, ErrorCode::Invalid);
    Ok(())
}

async fn it_does_what_every_tool_owes(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    desk.owes("file_read", json!({"path": "README.md"})).await;
    Ok(())
}
