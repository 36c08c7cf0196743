//! `pr_create`

use blue_testkit::{Cx, Result};
use blue_tools::{ErrorCode, ToolError};
use serde_json::{Value, json};

use crate::desk::{self, Desk};

blue_testkit::on_every_forge![
    the_answer_is_as_promised,
    the_default_branch_is_the_base,
    a_draft_is_a_draft,
    a_second_one_is_the_first,
    a_twin_that_nobody_finds_is_the_forges_word,
    nothing_between_the_branches_is_told,
    missing_branches_are_named,
    a_fork_may_propose,
    arguments_are_needed,
    the_last_commit_is_the_title,
    texts_come_from_files_and_pipes,
    fill_takes_all_commits,
    it_does_what_every_tool_owes,
];

async fn the_answer_is_as_promised(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab
        .write_new(&repo, "topic", "main", &[("a", b"a")])
        .await?;
    let args = json!({
        "title": "A title\nover two lines", "head": "topic", "base": "main", "body": "- [ ] try it\n",
    });
    let answer = desk.call("pr_create", args).await?;
    let number = answer["pr_number"].as_u64().unwrap();
    let url = answer["pr_url"].as_str().unwrap();
    assert!(
        url.starts_with("http") && url.ends_with(&format!("/{number}")),
        "{url}"
    );
    let step = format!(
        "Wait for CI with workflow_run_status, index {number}, wait_seconds 300; \
         then check with pr_verify, index {number}"
    );
    assert_eq!(
        answer,
        json!({
            "status": "success", "pr_number": number, "pr_url": url, "number": number, "html_url": url,
            "forge": if cx.backend.is_github() { "github" } else { "forgejo" },
            "repository": repo.id.to_string(), "next_steps": [step],
        })
    );
    let made = cx.lab.pr_json(&repo, number).await?;
    assert_eq!(made["title"], "A title over two lines");
    assert!(made["body"].as_str().unwrap().starts_with("- [ ] try it"));
    Ok(())
}

async fn the_default_branch_is_the_base(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.branch(&repo, "dev", "main").await?;
    cx.lab
        .edit_repo(&repo, &json!({"default_branch": "dev"}))
        .await?;
    cx.lab
        .write_new(&repo, "topic", "main", &[("a", b"a")])
        .await?;
    let args = json!({"title": "T", "head": "topic", "base": ""});
    let answer = desk.call("pr_create", args).await?;
    let number = answer["pr_number"].as_u64().unwrap();
    assert_eq!(cx.lab.pr_json(&repo, number).await?["base"]["ref"], "dev");
    Ok(())
}

async fn a_draft_is_a_draft(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab
        .write_new(&repo, "topic", "main", &[("a", b"a")])
        .await?;
    let args = json!({"title": "T", "head": "topic", "draft": true});
    let answer = desk.call("pr_create", args).await?;
    assert_eq!(answer["draft"], true);
    let listed = desk.call("pr_list", json!({})).await?;
    assert_eq!(listed["prs"][0]["draft"], true);
    Ok(())
}

async fn a_second_one_is_the_first(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let old = cx.lab.pr_with(&repo, "topic", &[("a", b"a")]).await?;
    cx.lab.close_pr(&repo, old).await?;
    let args = json!({"title": "T", "head": "topic"});
    let first = desk.call("pr_create", args.clone()).await?;
    assert_ne!(first["pr_number"], old);
    assert_eq!(first.get("existing"), None);
    let second = desk.call("pr_create", args).await?;
    assert_eq!(second["existing"], true);
    assert_eq!(second["status"], "success");
    assert_eq!(second["pr_number"], first["pr_number"]);
    assert_eq!(second["pr_url"], first["pr_url"]);
    let listed = desk.call("pr_list", json!({"state": "all"})).await?;
    assert_eq!(listed["prs"].as_array().unwrap().len(), 2);
    Ok(())
}

async fn a_twin_that_nobody_finds_is_the_forges_word(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (desk, repo) = desk::start(&cx).await?;
    let files = [("a", b"a".as_slice())];
    cx.lab.write_new(&repo, "topic", "main", &files).await?;
    let status = if cx.backend.is_github() { 422 } else { 409 };
    let rule = json!({
        "path": format!("/api/v*/repos/{}/pulls", repo.id), "method": "POST", "status": status,
        "body": {"message": "A pull request already exists for topic."},
    });
    cx.lab.fault(&rule).await?;
    let args = json!({"title": "T", "head": "topic"});
    let error = desk.refused("pr_create", args).await;
    assert_eq!(error.code, ErrorCode::Conflict, "{error:?}");
    assert_eq!(error.forge_status, Some(status), "{error:?}");
    assert!(error.hint.is_some(), "{error:?}");
    Ok(())
}

async fn nothing_between_the_branches_is_told(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.branch(&repo, "same", "main").await?;
    let args = json!({"title": "T", "head": "same"});
    let error = desk.refused("pr_create", args).await;
    assert_eq!(error.code, ErrorCode::Invalid);
    assert_eq!(
        error.message,
        "nothing to merge: `same` has no commits that `main` does not have"
    );
    assert!(error.hint.unwrap().contains("file_write_branch"));
    let args = json!({"title": "T", "head": "main", "base": "main"});
    let error = desk.refused("pr_create", args).await;
    assert_eq!(error.message, "`main` cannot be merged into itself");
    let listed = desk.call("pr_list", json!({"state": "all"})).await?;
    assert_eq!(listed["prs"], json!([]));
    Ok(())
}

async fn missing_branches_are_named(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let error = desk
        .refused("pr_create", json!({"title": "T", "head": "gone"}))
        .await;
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(error.message.contains("`gone`"), "{error:?}");
    assert!(
        error.hint.as_ref().unwrap().contains("push it"),
        "{error:?}"
    );
    cx.lab
        .write_new(&repo, "topic", "main", &[("a", b"a")])
        .await?;
    let args = json!({"title": "T", "head": "topic", "base": "nowhere"});
    let error = desk.refused("pr_create", args).await;
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(error.message.contains("`nowhere`"), "{error:?}");
    Ok(())
}

async fn a_fork_may_propose(cx: Cx) -> Result<()> {
    let (_, repo) = desk::start(&cx).await?;
    let user = cx.lab.user("forker").await?;
    let fork = cx.lab.fork(&repo, &user).await?;
    cx.lab
        .write_new(&fork, "topic", "main", &[("f", b"f")])
        .await?;
    let desk = Desk::new(&cx, &user, &repo);
    let args = json!({"title": "T", "head": format!("{}:topic", user.login)});
    let first = desk.call("pr_create", args.clone()).await?;
    let second = desk.call("pr_create", args).await?;
    assert_eq!(second["existing"], true);
    assert_eq!(second["pr_number"], first["pr_number"]);
    Ok(())
}

async fn arguments_are_needed(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    for (args, said) in [
        (json!({"title": "T"}), "pr_create needs `head`, a text"),
        (json!({"head": "topic"}), "pr_create needs `title`, a text"),
        (
            json!({"head": "topic", "title": " \n"}),
            "pr_create needs `title`, a text",
        ),
    ] {
        let error = desk.refused("pr_create", args).await;
        assert_eq!(
            (error.code, error.message.as_str()),
            (ErrorCode::Invalid, said)
        );
    }
    let args = json!({"title": "T", "head": "x", "body_file": "secret"});
    let error = desk.refused("pr_create", args).await;
    assert_eq!(error.message, "pr_create has no argument `body_file`");
    Ok(())
}

/// Type a command in the desk's folder
async fn typed(desk: &Desk, args: &[&str]) -> Result<Value, ToolError> {
    let answer = desk.typed("pr_create", args).await?;
    assert!(!answer.page.blocks.is_empty());
    Ok(Value::Object(answer.json))
}

fn git(desk: &Desk, args: &[&str]) {
    let done = std::process::Command::new("git")
        .current_dir(desk.cx.cwd())
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(args)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", desk.cx.cwd().join("none"))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

async fn the_last_commit_is_the_title(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let message = "Make it so\n\nIt was not\nso before.\n";
    let args = json!({"branch": "topic", "path": "a", "content": "a", "message": message});
    desk.call("file_write_branch", args).await?;
    let error = typed(&desk, &[]).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Usage);
    assert_eq!(error.message, "this folder is not a git repository");
    git(&desk, &["init", "-q", "-b", "topic"]);
    // What is not pushed is not in the pull request.
    git(
        &desk,
        &["commit", "-q", "--allow-empty", "-m", "Local only"],
    );
    let answer = typed(&desk, &[]).await?;
    let made = cx
        .lab
        .pr_json(&repo, answer["pr_number"].as_u64().unwrap())
        .await?;
    assert_eq!(made["head"]["ref"], "topic");
    assert_eq!(made["title"], "Make it so");
    assert_eq!(
        made["body"].as_str().unwrap().trim(),
        "It was not\nso before."
    );
    git(&desk, &["checkout", "-q", "--detach"]);
    let error = typed(&desk, &[]).await.unwrap_err();
    assert_eq!(
        error.message,
        "no branch is checked out here (detached HEAD)"
    );
    assert_eq!(error.hint.as_deref(), Some("name the branch with `--head`"));
    Ok(())
}

async fn texts_come_from_files_and_pipes(cx: Cx) -> Result<()> {
    let (mut desk, repo) = desk::start(&cx).await?;
    for name in ["one", "two", "three"] {
        cx.lab
            .write_new(&repo, name, "main", &[(name, b"x")])
            .await?;
    }
    let body = async |answer: Value| -> Result<String> {
        let made = cx
            .lab
            .pr_json(&repo, answer["pr_number"].as_u64().unwrap())
            .await?;
        Ok(made["body"].as_str().unwrap().trim().to_owned())
    };
    std::fs::write(desk.cx.cwd().join("text.md"), "from a file\n")?;
    let answer = typed(
        &desk,
        &["--head", "one", "--title", "T", "--body-file", "text.md"],
    )
    .await?;
    assert_eq!(body(answer).await?, "from a file");
    let gone = ["--head", "two", "--title", "T", "--body-file", "gone.md"];
    let error = typed(&desk, &gone).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Io);
    let piped = ["--head", "two", "--body-file", "-"];
    assert_eq!(
        typed(&desk, &piped).await.unwrap_err().code,
        ErrorCode::Usage
    );
    desk.cx = desk.cx.clone().with_piped(|| Ok(b"from a pipe\n".to_vec()));
    let answer = typed(&desk, &piped).await?;
    assert_eq!(answer["status"], "success");
    assert_eq!(body(answer).await?, "from a pipe");
    let answer = typed(&desk, &["--head", "three", "--title", "T", "--body", "-"]).await?;
    assert_eq!(body(answer).await?, "from a pipe");
    Ok(())
}

async fn fill_takes_all_commits(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab
        .write_new(&repo, "fix/login-page", "main", &[("a", b"a")])
        .await?;
    cx.lab
        .write(&repo, "fix/login-page", &[("b", b"b")])
        .await?;
    let answer = typed(&desk, &["--head", "fix/login-page", "--fill"]).await?;
    let made = cx
        .lab
        .pr_json(&repo, answer["pr_number"].as_u64().unwrap())
        .await?;
    assert_eq!(made["title"], "Login page");
    assert_eq!(made["body"].as_str().unwrap().trim(), "- set-up\n- set-up");
    Ok(())
}

async fn it_does_what_every_tool_owes(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    desk.owes("pr_create", json!({"title": "T", "head": "topic"}))
        .await;
    Ok(())
}
