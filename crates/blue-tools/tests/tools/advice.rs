//! Advice that is followed: the text of a hint or step becomes the call that a reader would make

use blue_testkit::{Cx, Result};
use blue_tools::{ErrorCode, ToolError, tools};
use serde_json::{Map, Value, json};

use crate::desk::{self, Desk};

blue_testkit::on_every_forge![
    a_protected_branch_leads_to_a_pull_request,
    a_deletion_on_a_protected_branch_leads_to_a_pull_request,
    a_missing_scope_is_not_called_a_protected_branch,
    a_user_who_may_only_read_is_sent_to_a_fork,
    a_merge_advises_to_delete_a_branch_only_if_no_other_pull_request_uses_it,
    new_branch_is_refused_with_the_call_that_is_meant,
    the_name_of_a_remote_is_no_part_of_a_new_branch,
    an_existing_branch_with_the_name_of_a_remote_is_used,
    verify_and_merge_give_the_same_advice_on_a_conflict,
    a_second_title_is_not_dropped_silently,
    an_archived_repository_is_not_told_to_commit,
    a_push_to_the_default_branch_needs_the_wish_of_the_user,
    a_deletion_needs_the_blob_or_the_head,
    an_overwrite_tells_what_it_replaced,
    a_base_that_is_not_used_is_told,
];

/// Arguments that a text gives in the form `name: "value"`, as JSON has them
fn fields(text: &str) -> Map<String, Value> {
    let mut args = Map::new();
    for quoted in text.split('`').skip(1).step_by(2) {
        if let Ok(Value::Object(found)) = serde_json::from_str(&format!("{{{}}}", keyed(quoted))) {
            args.extend(found);
        }
    }
    args
}

/// `branch: "a", base: "b"` with its names in quotes
fn keyed(text: &str) -> String {
    let parts = text.split(", ").map(|part| match part.split_once(": ") {
        Some((name, value)) if !name.contains(['"', '{']) => format!("\"{name}\": {value}"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// The call that follows the name of a tool: `pr_create, head "a", base "b"`
fn call_of(text: &str, tool: &str) -> Option<Value> {
    let (_, rest) = text.split_once(tool)?;
    let schema = tools::find(tool)?.input_schema();
    let mut args = Map::new();
    for part in rest.split(", ").skip(1) {
        let (name, value) = part.split_once(' ')?;
        if schema["properties"].get(name).is_none() {
            break;
        }
        let value = match value.strip_prefix('"') {
            Some(text) => text.split('"').next()?,
            None => value.split([';', ' ']).next()?,
        };
        args.insert(name.to_owned(), value.into());
    }
    Some(Value::Object(args))
}

fn with(args: &Value, more: Map<String, Value>) -> Value {
    let mut args = args.as_object().unwrap().clone();
    args.extend(more);
    Value::Object(args)
}

fn hint(error: &ToolError) -> &str {
    error.hint.as_deref().unwrap_or_default()
}

async fn open_pr(desk: &Desk, advice: &str) -> Result<Value, ToolError> {
    let mut call = call_of(advice, "pr_create").unwrap();
    call["title"] = json!("As advised");
    desk.call("pr_create", call).await
}

async fn a_protected_branch_leads_to_a_pull_request(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let rule = json!({"required_approvals": 1, "enable_push": false});
    cx.lab.protect(&repo, "main", rule).await?;
    let args = json!({"branch": "main", "path": "docs/a.md", "content": "a"});
    let error = desk.refused("file_write_branch", args.clone()).await;
    assert_eq!(error.code, ErrorCode::Forbidden, "{error:?}");
    assert!(!hint(&error).contains("head \"main\""), "{error:?}");
    let again = with(&args, fields(hint(&error)));
    let written = desk.call("file_write_branch", again).await?;
    assert_eq!(written["branch_created"], true);
    let opened = open_pr(&desk, hint(&error)).await?;
    let pr = cx
        .lab
        .pr_json(&repo, opened["pr_number"].as_u64().unwrap())
        .await?;
    assert_eq!(pr["base"]["ref"], "main");
    assert_eq!(pr["head"]["ref"], written["branch"]);
    Ok(())
}

async fn a_deletion_on_a_protected_branch_leads_to_a_pull_request(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let rule = json!({"required_approvals": 1, "enable_push": false});
    cx.lab.protect(&repo, "main", rule).await?;
    let sha = cx.lab.blob(&repo, "main", "README.md").await?.unwrap();
    let args = json!({"branch": "main", "path": "README.md", "sha": sha.as_str()});
    let error = desk.refused("file_delete", args).await;
    assert_eq!(error.code, ErrorCode::Forbidden, "{error:?}");
    let call = Value::Object(fields(hint(&error)));
    let branch = call["branch"].as_str().unwrap().to_owned();
    desk.call("file_write_branch", call).await?;
    assert_eq!(cx.lab.blob(&repo, &branch, "README.md").await?, None);
    open_pr(&desk, hint(&error)).await?;
    Ok(())
}

async fn a_missing_scope_is_not_called_a_protected_branch(cx: Cx) -> Result<()> {
    let (_, repo) = desk::start(&cx).await?;
    let poor = cx.lab.token(&repo.owner, &["read:repository"]).await?;
    let desk = Desk::new(&cx, &repo.owner.with_token(poor), &repo);
    let args = json!({"branch": "topic", "path": "a", "content": "a"});
    let sha = cx.lab.blob(&repo, "main", "README.md").await?.unwrap();
    let gone = json!({"branch": "main", "path": "README.md", "sha": sha.as_str()});
    for (tool, args) in [("file_write_branch", &args), ("file_delete", &gone)] {
        let error = desk.refused(tool, args.clone()).await;
        assert_eq!(error.code, ErrorCode::Forbidden, "{error:?}");
        assert!(hint(&error).contains("lacks a scope"), "{error:?}");
        assert!(!hint(&error).contains("protected"), "{error:?}");
        assert!(!hint(&error).contains("pr_create"), "{error:?}");
    }
    // Followed: a token that has the scope.
    let rich = cx.lab.token(&repo.owner, &["write:repository"]).await?;
    let desk = Desk::new(&cx, &repo.owner.with_token(rich), &repo);
    desk.call("file_write_branch", args).await?;
    Ok(())
}

async fn a_user_who_may_only_read_is_sent_to_a_fork(cx: Cx) -> Result<()> {
    let (_, repo) = desk::start(&cx).await?;
    let reader = cx.lab.user("reader").await?;
    let desk = Desk::new(&cx, &reader, &repo);
    let args = json!({"branch": "topic", "path": "a", "content": "a"});
    let error = desk.refused("file_write_branch", args.clone()).await;
    assert!(!hint(&error).contains("head \"topic"), "{error:?}");
    if !hint(&error).contains("fork") {
        // GitHub hides what may not be written.
        assert!(cx.backend.is_github(), "{error:?}");
        return Ok(());
    }
    let fork = cx.lab.fork(&repo, &reader).await?;
    let own = json!({"owner": fork.id.owner(), "name": fork.id.name()});
    desk.call(
        "file_write_branch",
        with(&args, own.as_object().unwrap().clone()),
    )
    .await?;
    let head = format!("{}:topic", fork.id.owner());
    let opened = desk.call("pr_create", json!({"title": "T", "head": head}));
    opened.await?;
    Ok(())
}

async fn a_merge_advises_to_delete_a_branch_only_if_no_other_pull_request_uses_it(
    cx: Cx,
) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let alone = cx.lab.pr_with(&repo, "alone", &[("a", b"a")]).await?;
    let used = cx.lab.pr_with(&repo, "used", &[("b", b"b")]).await?;
    cx.lab
        .write_new(&repo, "above", "used", &[("c", b"c")])
        .await?;
    let other = cx.lab.pr(&repo, "above", "used", "On top").await?;
    for (number, branch, is_deleted) in [(alone, "alone", true), (used, "used", false)] {
        let merged = desk.call("pr_merge", json!({"index": number})).await?;
        let step = merged["next_steps"][0].as_str().unwrap();
        assert!(
            step.ends_with("unless another pull request uses it"),
            "{step}"
        );
        let call = call_of(step, "branch_delete").unwrap();
        assert_eq!(call, json!({"branch": branch}));
        let deleted = desk.call("branch_delete", call).await;
        assert_eq!(deleted.is_ok(), is_deleted, "{deleted:?}");
    }
    // Obeyed without a look at its condition it does no harm.
    assert_eq!(cx.lab.pr_json(&repo, other).await?["state"], "open");
    Ok(())
}

async fn new_branch_is_refused_with_the_call_that_is_meant(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let head = cx.lab.head(&repo, "main").await?;
    let args = json!({"branch": "main", "new_branch": "m2", "path": "a", "content": "a"});
    let error = desk.refused("file_write_branch", args.clone()).await;
    assert_eq!(error.code, ErrorCode::Invalid, "{error:?}");
    let call = fields(hint(&error));
    assert_eq!(
        Value::Object(call.clone()),
        json!({"branch": "m2", "base": "main"})
    );
    let mut again = with(&args, call);
    again.as_object_mut().unwrap().remove("new_branch");
    let written = desk.call("file_write_branch", again).await?;
    assert_eq!(written["branch"], "m2");
    assert_eq!(cx.lab.head(&repo, "main").await?, head);
    // Alone it can only be the branch.
    let args = json!({"new_branch": "m3", "path": "a", "content": "a"});
    let error = desk.refused("file_write_branch", args).await;
    assert_eq!(hint(&error), "did you mean `branch`?");
    Ok(())
}

async fn the_name_of_a_remote_is_no_part_of_a_new_branch(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    for branch in [
        "origin/m1",
        "upstream/m1",
        "refs/remotes/origin/m1",
        "remotes/fork/m1",
    ] {
        let args = json!({"branch": branch, "path": "a", "content": branch});
        let error = desk.refused("file_write_branch", args.clone()).await;
        assert_eq!(error.code, ErrorCode::Invalid, "{error:?}");
        let call = fields(hint(&error));
        assert_eq!(Value::Object(call.clone()), json!({"branch": "m1"}));
        let written = desk.call("file_write_branch", with(&args, call)).await?;
        assert_eq!(written["branch"], "m1");
    }
    let listed = desk.call("branch_list", json!({})).await?;
    assert_eq!(listed["branches"].as_array().unwrap().len(), 2, "{listed}");
    // A remote of the clone here counts, and of no clone none.
    let args = json!({"branch": "mine/m2", "path": "a", "content": "a"});
    let written = desk.call("file_write_branch", args).await?;
    assert_eq!(written["branch"], "mine/m2");
    desk.git(&["init", "-q", "."]);
    desk.git(&["remote", "add", "theirs", "https://git.example.org/a/b"]);
    let args = json!({"branch": "theirs/m3", "path": "a", "content": "a"});
    let error = desk.refused("file_write_branch", args).await;
    assert_eq!(
        Value::Object(fields(hint(&error))),
        json!({"branch": "m3"}),
        "{error:?}"
    );
    assert!(cx.lab.blob(&repo, "m1", "a").await?.is_some());
    Ok(())
}

async fn an_existing_branch_with_the_name_of_a_remote_is_used(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.branch(&repo, "origin/m1", "main").await?;
    let args = json!({"branch": "origin/m1", "path": "a", "content": "a"});
    let written = desk.call("file_write_branch", args).await?;
    assert_eq!(written["branch"], "origin/m1");
    assert_eq!(written.get("branch_created"), None);
    Ok(())
}

async fn verify_and_merge_give_the_same_advice_on_a_conflict(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let number = cx
        .lab
        .pr_with(&repo, "topic", &[("README.md", b"one\n")])
        .await?;
    cx.lab
        .write(&repo, "main", &[("README.md", b"other\n")])
        .await?;
    let verified = desk.call("pr_verify", json!({"index": number})).await?;
    assert_eq!(verified["conflicts"], true, "{verified}");
    let steps = verified["next_steps"].as_array().unwrap();
    let step = steps.iter().filter_map(Value::as_str);
    let mut step = step.filter(|step| step.contains("file_write_branch"));
    let step = step.next().unwrap().to_lowercase();
    let error = desk.refused("pr_merge", json!({"index": number})).await;
    assert!(hint(&error).to_lowercase().starts_with(&step), "{error:?}");
    // Followed: the change on a new branch can be merged.
    let mut call = call_of(&step, "file_write_branch").unwrap();
    assert_eq!(call, json!({"base": "main"}));
    call["branch"] = json!("again");
    call["path"] = json!("README.md");
    call["content"] = json!("one\n");
    desk.call("file_write_branch", call).await?;
    let opened = desk
        .call("pr_create", json!({"title": "Again", "head": "again"}))
        .await?;
    let merged = desk
        .call("pr_merge", json!({"index": opened["pr_number"]}))
        .await?;
    assert_eq!(merged["merged"], true);
    Ok(())
}

async fn a_second_title_is_not_dropped_silently(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab
        .write_new(&repo, "topic", "main", &[("a", b"a")])
        .await?;
    let first = json!({"title": "Old", "head": "topic"});
    desk.call("pr_create", first.clone()).await?;
    let again = desk.call("pr_create", first).await?;
    assert_eq!(again["existing"], true);
    assert_eq!(again.get("notes"), None, "{again}");
    let args = json!({"title": "New", "head": "topic", "body": "More"});
    let second = desk.call("pr_create", args).await?;
    assert_eq!(second["existing"], true);
    let note = second["notes"][0].as_str().unwrap();
    let url = second["pr_url"].as_str().unwrap();
    assert!(
        note.contains("its title and body were not changed"),
        "{note}"
    );
    assert!(note.ends_with(&format!("edit them at {url}")), "{note}");
    let number = second["pr_number"].as_u64().unwrap();
    assert_eq!(cx.lab.pr_json(&repo, number).await?["title"], "Old");
    // A title that was taken from the last commit was not asked for.
    let filled = desk.typed("pr_create", &["--head", "topic"]).await?;
    assert_eq!(filled.json.get("notes"), None, "{filled:?}");
    let typed = ["--head", "topic", "-t", "Newer"];
    let typed = desk.typed("pr_create", &typed).await?;
    let note = typed.json["notes"][0].as_str().unwrap();
    assert!(note.contains("its title was not changed"), "{note}");
    Ok(())
}

async fn an_archived_repository_is_not_told_to_commit(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.edit_repo(&repo, &json!({"archived": true})).await?;
    let status = desk.call("repo_status", json!({})).await?;
    assert_eq!(status["workflow"], "none", "{status}");
    assert_eq!(status.get("next_steps"), None, "{status}");
    assert!(status["reason"].as_str().unwrap().contains("archived"));
    Ok(())
}

async fn a_push_to_the_default_branch_needs_the_wish_of_the_user(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let status = desk.call("repo_status", json!({})).await?;
    assert_eq!(status["workflow"], "trunk");
    let step = status["next_steps"][0].as_str().unwrap();
    assert!(
        step.contains("if the user wants a push to the default branch"),
        "{step}"
    );
    let mut call = call_of(step, "file_write_branch").unwrap();
    assert_eq!(call["branch"], "main");
    for branch in ["main", "a-new-one"] {
        call["branch"] = json!(branch);
        call["path"] = json!("a");
        call["content"] = json!(branch);
        desk.call("file_write_branch", call.clone()).await?;
        assert!(cx.lab.blob(&repo, branch, "a").await?.is_some());
    }
    Ok(())
}

async fn a_deletion_needs_the_blob_or_the_head(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab
        .write(&repo, "main", &[("a", b"a"), ("b", b"b"), ("c", b"c")])
        .await?;
    let blind = json!({"branch": "main", "files": [{"path": "a", "delete": true}]});
    let error = desk.refused("file_write_branch", blind.clone()).await;
    assert_eq!(error.code, ErrorCode::Invalid, "{error:?}");
    assert!(cx.lab.blob(&repo, "main", "a").await?.is_some());
    // Followed: its blob, from the tool that is named.
    let call = call_of(hint(&error), "file_read").unwrap();
    assert_eq!(call, json!({"path": "a"}));
    let sha = desk.call("file_read", call).await?["sha"].clone();
    let seen = json!({"branch": "main", "files": [{"path": "a", "delete": true, "sha": sha}]});
    desk.call("file_write_branch", seen).await?;
    assert_eq!(cx.lab.blob(&repo, "main", "a").await?, None);
    let head = cx.lab.head(&repo, "main").await?;
    let pinned = json!({
        "branch": "main", "expected_head": head.as_str(), "files": [{"path": "b", "delete": true}],
    });
    desk.call("file_write_branch", pinned).await?;
    assert_eq!(cx.lab.blob(&repo, "main", "b").await?, None);
    // The command line has asked, or `--yes` was typed.
    let typed = ["--branch", "main", "--delete", "c"];
    desk.typed("file_write_branch", &typed).await?;
    assert_eq!(cx.lab.blob(&repo, "main", "c").await?, None);
    Ok(())
}

async fn an_overwrite_tells_what_it_replaced(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.write(&repo, "main", &[("a", b"one\n")]).await?;
    let old = cx.lab.blob(&repo, "main", "a").await?.unwrap();
    let args = json!({"branch": "main", "files": [
        {"path": "a", "content": "two\n"}, {"path": "new", "content": "x"},
    ]});
    let written = desk.call("file_write_branch", args).await?;
    let files = written["files"].as_array().unwrap();
    let row = |path: &str| files.iter().find(|row| row["path"] == path).unwrap();
    assert_eq!(row("a")["replaced"], old.as_str(), "{written}");
    assert_eq!(row("new").get("replaced"), None, "{written}");
    let now = row("a")["sha"].clone();
    let edit = json!({
        "branch": "topic", "path": "a", "edits": [{"old": "two", "new": "three"}],
    });
    let edited = desk.call("file_write_branch", edit).await?;
    assert_eq!(edited["files"][0]["replaced"], now, "{edited}");
    Ok(())
}

async fn a_base_that_is_not_used_is_told(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.branch(&repo, "dev", "main").await?;
    let args = |content: &str, base: &str| json!({"branch": "topic", "base": base, "path": "a", "content": content});
    let made = desk.call("file_write_branch", args("one", "dev")).await?;
    assert_eq!(made.get("notes"), None, "{made}");
    let again = desk.call("file_write_branch", args("two", "dev")).await?;
    assert_eq!(again.get("branch_created"), None);
    let note = again["notes"][0].as_str().unwrap();
    assert!(
        note.starts_with("`base` was not used: branch `topic` exists"),
        "{note}"
    );
    let same = desk
        .call("file_write_branch", args("three", "topic"))
        .await?;
    assert_eq!(same.get("notes"), None, "{same}");
    Ok(())
}
