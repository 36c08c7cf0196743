//! `pr_verify`

use std::sync::{Arc, Mutex};

use blue_forge::model::MergeOpts;
use blue_testkit::{Backend, Cx, Import, Repo, Result, Skip};
use blue_tools::ErrorCode;
use serde_json::{Value, json};

use crate::desk::{self, Desk};

blue_testkit::on_every_forge![
    a_clean_one_can_be_merged,
    what_it_returns_is_merged,
    required_checks_are_counted,
    required_checks_may_be_patterns,
    a_rule_without_names_wants_all_checks,
    a_check_that_nobody_requires_stops_nothing,
    approvals_are_counted,
    the_last_review_of_each_counts,
    a_review_that_was_asked_for_is_awaited,
    a_conflict_is_told,
    a_draft_is_told,
    an_empty_one_is_told,
    a_commit_without_changes_can_be_merged,
    a_draft_does_not_hide_its_conflict,
    a_style_that_is_allowed_is_advised,
    a_style_that_a_ruleset_allows_is_advised,
    a_check_that_ran_twice_counts_once,
    requested_changes_without_write_access_block_nothing,
    a_long_body_is_cut,
    merged_and_closed_are_told,
    behind_matters_where_the_rule_says_so,
    protected_files_are_told,
    a_signature_that_nobody_can_make_is_told,
    an_open_dependency_is_told,
    a_scheduled_merge_is_told,
    a_reader_is_told,
    a_user_off_the_list_is_told,
    a_writer_sees_the_rule,
    what_a_writer_may_not_read_is_doubted,
    a_rule_that_only_the_forge_knows_is_told,
    checks_that_may_not_be_read_are_told,
    an_archived_repository_is_told,
    the_test_plan_is_read,
    a_fork_is_judged_too,
    waiting_is_told,
    a_missing_one_is_not_found,
    it_does_what_every_tool_owes,
];

async fn start(cx: &Cx) -> Result<(Desk, Repo, u64)> {
    let (desk, repo) = desk::start(cx).await?;
    let number = cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    Ok((desk, repo, number))
}

async fn verify(desk: &Desk, number: u64) -> Result<Value> {
    let args = json!({"index": number, "wait_seconds": 60});
    let answer = desk.call("pr_verify", args).await?;
    let verdict = match (&answer["blockers"], answer.get("unknown")) {
        (blockers, _) if *blockers != json!([]) => "no",
        (_, Some(_)) => "unknown",
        _ => "yes",
    };
    assert_eq!(answer["can_merge"], verdict, "{answer:#}");
    Ok(answer)
}

fn codes(answer: &Value) -> Vec<&str> {
    let blockers = answer["blockers"].as_array().unwrap();
    blockers
        .iter()
        .map(|b| b["code"].as_str().unwrap())
        .collect()
}

fn unknown(answer: &Value) -> Vec<&str> {
    let rows = answer["unknown"].as_array();
    let rows = rows.into_iter().flatten();
    rows.map(|row| row["code"].as_str().unwrap()).collect()
}

fn message<'a>(answer: &'a Value, code: &str) -> &'a str {
    let blockers = answer["blockers"].as_array().unwrap();
    let blocker = blockers.iter().find(|b| b["code"] == code);
    blocker
        .and_then(|b| b["message"].as_str())
        .unwrap_or_default()
}

async fn a_clean_one_can_be_merged(cx: Cx) -> Result<()> {
    let (desk, repo, number) = start(&cx).await?;
    let head = cx.lab.head(&repo, "topic").await?;
    let step = format!("Merge with pr_merge, index {number}, style merge, head_sha {head}");
    let answer = verify(&desk, number).await?;
    let url = answer["html_url"].as_str().unwrap();
    assert!(url.ends_with(&format!("/{number}")), "{url}");
    assert_eq!(
        answer,
        json!({
            "number": number, "title": "Change of topic", "author": repo.owner.login,
            "html_url": url, "body": "made by the set-up",
            "state": "open", "mergeable": "yes", "head_branch": "topic",
            "head_sha": head.as_str(), "base_branch": "main",
            "checks": {"required": 0, "passed": 0, "failed": 0, "pending": 0},
            "approvals": {"required": 0, "given": 0, "changes_requested": 0},
            "blockers": [], "can_merge": "yes",
            "next_steps": [step],
        })
    );
    Ok(())
}

async fn what_it_returns_is_merged(cx: Cx) -> Result<()> {
    let (desk, repo, number) = start(&cx).await?;
    let seen = verify(&desk, number).await?;
    let args = json!({"index": number, "head_sha": seen["head_sha"]});
    cx.lab.write(&repo, "topic", &[("late.txt", b"l")]).await?;
    let error = desk.refused("pr_merge", args).await;
    assert_eq!(error.code, ErrorCode::Conflict);
    let seen = verify(&desk, number).await?;
    let args = json!({"index": number, "head_sha": seen["head_sha"]});
    assert_eq!(desk.call("pr_merge", args).await?["merged"], true);
    Ok(())
}

async fn required_checks_are_counted(cx: Cx) -> Result<()> {
    let (desk, repo, number) = start(&cx).await?;
    let rule = json!({
        "enable_status_check": true, "status_check_contexts": ["build", "lint", "test"],
    });
    cx.lab.protect(&repo, "main", rule).await?;
    let head = cx.lab.head(&repo, "topic").await?;
    cx.lab.status(&repo, &head, "build", "failure").await?;
    cx.lab.status(&repo, &head, "lint", "pending").await?;
    cx.lab.status(&repo, &head, "extra", "success").await?;
    let answer = verify(&desk, number).await?;
    let counts = json!({"required": 3, "passed": 1, "failed": 1, "pending": 2});
    assert_eq!(answer["checks"], counts);
    assert_eq!(
        codes(&answer),
        ["checks_failed", "checks_pending", "checks_missing"]
    );
    assert!(message(&answer, "checks_failed").contains("`build`"));
    assert!(message(&answer, "checks_pending").contains("`lint`"));
    assert!(message(&answer, "checks_missing").contains("`test`"));
    assert_eq!(answer["mergeable"], "yes");
    let steps = answer["next_steps"].to_string();
    let step = format!("workflow_run_status, index {number}, wait_seconds 300");
    assert!(steps.contains(&step), "{steps}");
    for name in ["build", "lint", "test"] {
        cx.lab.status(&repo, &head, name, "success").await?;
    }
    let answer = verify(&desk, number).await?;
    let counts = json!({"required": 3, "passed": 4, "failed": 0, "pending": 0});
    assert_eq!(answer["checks"], counts);
    assert_eq!(codes(&answer), [""; 0]);
    assert!(!answer["next_steps"].to_string().contains("not required"));
    // What stops nothing is not passed over either.
    cx.lab.status(&repo, &head, "extra", "failure").await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(answer["can_merge"], "yes");
    let steps = answer["next_steps"].to_string();
    assert!(steps.contains("not required fail"), "{steps}");
    assert_eq!(
        desk.call("pr_merge", json!({"index": number})).await?["merged"],
        true
    );
    Ok(())
}

async fn required_checks_may_be_patterns(cx: Cx) -> Result<()> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub has names only").into());
    }
    let (desk, repo, number) = start(&cx).await?;
    let rule = json!({"enable_status_check": true, "status_check_contexts": ["ci/*"]});
    cx.lab.protect(&repo, "main", rule).await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(codes(&answer), ["checks_missing"]);
    let head = cx.lab.head(&repo, "topic").await?;
    cx.lab.status(&repo, &head, "ci/a", "success").await?;
    cx.lab.status(&repo, &head, "ci/b / c", "failure").await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(codes(&answer), ["checks_failed"]);
    assert!(message(&answer, "checks_failed").contains("`ci/b / c`"));
    assert_eq!(
        desk.refused("pr_merge", json!({"index": number}))
            .await
            .code,
        ErrorCode::NotMergeable
    );
    Ok(())
}

async fn a_rule_without_names_wants_all_checks(cx: Cx) -> Result<()> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub requires what it names").into());
    }
    let (desk, repo, number) = start(&cx).await?;
    let rule = json!({"enable_status_check": true, "status_check_contexts": []});
    cx.lab.protect(&repo, "main", rule).await?;
    let args = json!({"index": number});
    assert_eq!(codes(&verify(&desk, number).await?), ["checks_missing"]);
    assert_eq!(
        desk.refused("pr_merge", args.clone()).await.code,
        ErrorCode::NotMergeable
    );
    let head = cx.lab.head(&repo, "topic").await?;
    cx.lab.status(&repo, &head, "any", "failure").await?;
    assert_eq!(codes(&verify(&desk, number).await?), ["checks_failed"]);
    cx.lab.status(&repo, &head, "any", "success").await?;
    assert_eq!(codes(&verify(&desk, number).await?), [""; 0]);
    assert_eq!(desk.call("pr_merge", args).await?["merged"], true);
    Ok(())
}

async fn a_check_that_nobody_requires_stops_nothing(cx: Cx) -> Result<()> {
    let (desk, repo, number) = start(&cx).await?;
    let head = cx.lab.head(&repo, "topic").await?;
    cx.lab.status(&repo, &head, "ci", "failure").await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(answer["checks"]["failed"], 1);
    assert_eq!(codes(&answer), [""; 0]);
    assert_eq!(
        desk.call("pr_merge", json!({"index": number})).await?["merged"],
        true
    );
    Ok(())
}

async fn approvals_are_counted(cx: Cx) -> Result<()> {
    let (desk, repo, number) = start(&cx).await?;
    cx.lab
        .protect(&repo, "main", json!({"required_approvals": 1}))
        .await?;
    let stranger = cx.lab.user("stranger").await?;
    cx.lab.review(&repo, number, &stranger, "APPROVED").await?;
    let answer = verify(&desk, number).await?;
    let counts = json!({"required": 1, "given": 0, "changes_requested": 0});
    assert_eq!(answer["approvals"], counts, "{answer:#}");
    assert_eq!(codes(&answer), ["approvals"]);
    assert_eq!(
        message(&answer, "approvals"),
        "0 of 1 required approvals are given"
    );
    let writer = cx.lab.user("writer").await?;
    cx.lab.collaborator(&repo, &writer, "write").await?;
    cx.lab.review(&repo, number, &writer, "APPROVED").await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(answer["approvals"]["given"], 1);
    assert_eq!(codes(&answer), [""; 0]);
    Ok(())
}

async fn the_last_review_of_each_counts(cx: Cx) -> Result<()> {
    let (desk, repo, number) = start(&cx).await?;
    let rule = json!({"required_approvals": 1, "block_on_rejected_reviews": true});
    cx.lab.protect(&repo, "main", rule).await?;
    let bob = cx.lab.user("bob").await?;
    let amy = cx.lab.user("amy").await?;
    for user in [&bob, &amy] {
        cx.lab.collaborator(&repo, user, "write").await?;
        cx.lab.review(&repo, number, user, "APPROVED").await?;
    }
    let no = cx
        .lab
        .review(&repo, number, &bob, "REQUEST_CHANGES")
        .await?;
    cx.lab.review(&repo, number, &bob, "COMMENT").await?;
    let answer = verify(&desk, number).await?;
    let counts = json!({"required": 1, "given": 1, "changes_requested": 1});
    assert_eq!(answer["approvals"], counts);
    assert_eq!(codes(&answer), ["changes_requested"]);
    assert!(message(&answer, "changes_requested").contains(&bob.login));
    cx.lab.dismiss_review(&repo, number, no).await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(answer["approvals"]["changes_requested"], 0);
    assert_eq!(codes(&answer), [""; 0]);
    assert_eq!(
        desk.call("pr_merge", json!({"index": number})).await?["merged"],
        true
    );
    Ok(())
}

async fn a_review_that_was_asked_for_is_awaited(cx: Cx) -> Result<()> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub has no such rule").into());
    }
    let (desk, repo, number) = start(&cx).await?;
    let reviewer = cx.lab.user("reviewer").await?;
    cx.lab.collaborator(&repo, &reviewer, "write").await?;
    cx.lab.request_review(&repo, number, &reviewer).await?;
    assert_eq!(codes(&verify(&desk, number).await?), [""; 0]);
    let rule = json!({"block_on_official_review_requests": true});
    cx.lab.protect(&repo, "main", rule).await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(codes(&answer), ["review_requested"]);
    assert!(message(&answer, "review_requested").contains(&reviewer.login));
    cx.lab.review(&repo, number, &reviewer, "APPROVED").await?;
    assert_eq!(codes(&verify(&desk, number).await?), [""; 0]);
    Ok(())
}

async fn a_conflict_is_told(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let number = cx
        .lab
        .pr_with(&repo, "topic", &[("README.md", b"topic\n")])
        .await?;
    cx.lab
        .write(&repo, "main", &[("README.md", b"main\n")])
        .await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(answer["mergeable"], "no");
    assert_eq!(answer["conflicts"], true);
    assert_eq!(answer["behind"], true);
    assert_eq!(codes(&answer), ["conflict"]);
    // Its advice leads out of it.
    let step = answer["next_steps"][0].as_str().unwrap();
    assert!(step.contains("file_write_branch, base \"main\""), "{step}");
    let again = json!({
        "branch": "again", "base": "main", "path": "README.md", "content": "topic\n",
    });
    desk.call("file_write_branch", again).await?;
    let args = json!({"title": "Again", "head": "again"});
    let number = desk.call("pr_create", args).await?["pr_number"]
        .as_u64()
        .unwrap();
    let answer = verify(&desk, number).await?;
    assert_eq!(answer["can_merge"], "yes", "{answer:#}");
    Ok(())
}

async fn a_draft_is_told(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab
        .write_new(&repo, "topic", "main", &[("a", b"a")])
        .await?;
    let args = json!({"title": "Not yet", "head": "topic", "draft": true});
    let number = desk.call("pr_create", args).await?["pr_number"]
        .as_u64()
        .unwrap();
    let answer = verify(&desk, number).await?;
    assert_eq!(answer["draft"], true);
    assert_eq!(codes(&answer), ["draft"]);
    let step = format!("A person must mark it as ready; then call pr_verify, index {number}");
    assert_eq!(answer["next_steps"], json!([step]));
    Ok(())
}

async fn an_empty_one_is_told(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.branch(&repo, "same", "main").await?;
    let number = cx.lab.pr(&repo, "same", "main", "Nothing").await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(codes(&answer), ["empty"]);
    assert_eq!(answer["mergeable"], "no");
    Ok(())
}

async fn a_commit_without_changes_can_be_merged(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let mut history = Import::new();
    history
        .commit("main", "first", &[("README.md", b"one\n")])
        .branch("topic")
        .commit("topic", "nothing", &[]);
    let repo = cx.lab.repo_from(&owner, &history).await?;
    let desk = Desk::new(&cx, &owner, &repo);
    let number = cx.lab.pr(&repo, "topic", "main", "Nothing").await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(answer["can_merge"], "yes", "{answer:#}");
    let merge = json!({"index": number, "head_sha": answer["head_sha"]});
    assert_eq!(desk.call("pr_merge", merge).await?["merged"], true);
    Ok(())
}

async fn a_draft_does_not_hide_its_conflict(cx: Cx) -> Result<()> {
    if !cx.backend.is_github() {
        return Err(Skip::new("the flag of Gitea and Forgejo is \"no\" for every draft").into());
    }
    let (desk, repo) = desk::start(&cx).await?;
    let files: &[(&str, &[u8])] = &[("README.md", b"topic\n")];
    cx.lab.write_new(&repo, "topic", "main", files).await?;
    let args = json!({"title": "Not yet", "head": "topic", "draft": true});
    let number = desk.call("pr_create", args).await?["number"].as_u64();
    let files: &[(&str, &[u8])] = &[("README.md", b"main\n")];
    cx.lab.write(&repo, "main", files).await?;
    let answer = verify(&desk, number.unwrap()).await?;
    assert_eq!(codes(&answer), ["draft", "conflict"], "{answer:#}");
    assert_eq!(answer["conflicts"], true);
    Ok(())
}

async fn a_style_that_is_allowed_is_advised(cx: Cx) -> Result<()> {
    let (desk, repo, number) = start(&cx).await?;
    cx.lab.edit_repo(&repo, &desk::squash_only()).await?;
    let answer = verify(&desk, number).await?;
    let step = answer["next_steps"][0].as_str().unwrap();
    let advice = format!("pr_merge, index {number}, style squash, head_sha");
    assert!(step.contains(&advice), "{step}");
    let merge = json!({"index": number, "head_sha": answer["head_sha"], "style": "squash"});
    let merged = desk.call("pr_merge", merge).await?;
    assert_eq!(merged["style"], "squash");
    Ok(())
}

async fn a_style_that_a_ruleset_allows_is_advised(cx: Cx) -> Result<()> {
    if !cx.backend.is_github() {
        return Err(Skip::new("only GitHub's rulesets limit merge methods").into());
    }
    let (desk, repo, number) = start(&cx).await?;
    let rule = json!({"enable_push": true});
    cx.lab.protect(&repo, "main", rule).await?;
    let rebase = ["rebase"];
    cx.lab.limit_merge_methods(&repo, "main", &rebase).await?;
    let answer = verify(&desk, number).await?;
    let step = answer["next_steps"][0].as_str().unwrap();
    assert!(step.contains("style rebase"), "{step}");
    let error = desk
        .refused("pr_merge", json!({"index": number, "style": "merge"}))
        .await;
    let hint = error.hint.unwrap();
    assert!(hint.ends_with("allowed here: `rebase`"), "{hint}");
    let merged = desk.call("pr_merge", json!({"index": number})).await?;
    assert_eq!(merged["style"], "rebase");
    Ok(())
}

/// A workflow that was cancelled and started again on one head has two check suites
async fn a_check_that_ran_twice_counts_once(cx: Cx) -> Result<()> {
    if !cx.backend.is_github() {
        return Err(Skip::new("only GitHub has check runs").into());
    }
    let (desk, repo, number) = start(&cx).await?;
    // A rule that is not met keeps GitHub's own summary from deciding.
    let rule = json!({
        "enable_status_check": true, "status_check_contexts": ["build"], "required_approvals": 1,
    });
    cx.lab.protect(&repo, "main", rule).await?;
    let head = cx.lab.head(&repo, "topic").await?;
    for result in ["cancelled", "success"] {
        let job = json!({"name": "build", "context": "build", "result": result});
        let run = json!({"branch": "topic", "sha": head.as_str(), "jobs": [job]});
        cx.lab.run(&repo, &run).await?;
    }
    let args = json!({"index": number, "wait_seconds": 20});
    let ci = desk.call("workflow_run_status", args).await?;
    assert_eq!(ci["state"], "success", "{ci:#}");
    assert_eq!(ci["commit_sha"], head.as_str());
    let answer = verify(&desk, number).await?;
    assert_eq!(codes(&answer), ["approvals"], "{answer:#}");
    assert_eq!(answer["checks"]["failed"], 0, "{answer:#}");
    Ok(())
}

async fn requested_changes_without_write_access_block_nothing(cx: Cx) -> Result<()> {
    let (desk, repo, number) = start(&cx).await?;
    let rule = json!({"required_approvals": 1, "block_on_rejected_reviews": true});
    cx.lab.protect(&repo, "main", rule).await?;
    let (writer, reader) = (cx.lab.user("writer").await?, cx.lab.user("reader").await?);
    cx.lab.collaborator(&repo, &writer, "write").await?;
    cx.lab.collaborator(&repo, &reader, "read").await?;
    cx.lab.review(&repo, number, &writer, "APPROVED").await?;
    let no = "REQUEST_CHANGES";
    cx.lab.review(&repo, number, &reader, no).await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(answer["can_merge"], "yes", "{answer:#}");
    let merge = json!({"index": number});
    assert_eq!(desk.call("pr_merge", merge).await?["merged"], true);
    Ok(())
}

async fn a_long_body_is_cut(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let files: &[(&str, &[u8])] = &[("a", b"a")];
    cx.lab.write_new(&repo, "topic", "main", files).await?;
    let body = "ä".repeat(3_000) + "\n- [ ] last";
    let args = json!({"title": "T", "head": "topic", "body": body});
    let number = desk.call("pr_create", args).await?["number"].as_u64();
    let answer = verify(&desk, number.unwrap()).await?;
    let told = answer["body"].as_str().unwrap();
    assert_eq!(told.chars().count(), 2_000);
    assert_eq!(answer["test_plan"]["open"], json!(["last"]));
    Ok(())
}

async fn merged_and_closed_are_told(cx: Cx) -> Result<()> {
    let (desk, repo, number) = start(&cx).await?;
    let args = json!({"index": number, "delete_branch": true});
    desk.call("pr_merge", args).await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(answer["state"], "merged");
    assert_eq!(codes(&answer), ["merged"]);
    assert_eq!(answer.get("next_steps"), None);
    let closed = cx.lab.pr_with(&repo, "two", &[("2", b"2")]).await?;
    cx.lab.close_pr(&repo, closed).await?;
    cx.lab.delete_branch(&repo, "two").await?;
    let answer = verify(&desk, closed).await?;
    assert_eq!(answer["state"], "closed");
    assert_eq!(codes(&answer), ["closed"]);
    Ok(())
}

async fn behind_matters_where_the_rule_says_so(cx: Cx) -> Result<()> {
    let (desk, repo, number) = start(&cx).await?;
    cx.lab.write(&repo, "main", &[("other.txt", b"o")]).await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(answer["behind"], true);
    assert_eq!(codes(&answer), [""; 0]);
    let rule = json!({
        "block_on_outdated_branch": true,
        "enable_status_check": true, "status_check_contexts": ["ci"],
    });
    cx.lab.protect(&repo, "main", rule).await?;
    let head = cx.lab.head(&repo, "topic").await?;
    cx.lab.status(&repo, &head, "ci", "success").await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(codes(&answer), ["behind"]);
    let step = format!(
        "A person must bring the head up to date with `main`; then call pr_verify, index {number}"
    );
    assert_eq!(answer["next_steps"], json!([step]));
    Ok(())
}

async fn protected_files_are_told(cx: Cx) -> Result<()> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub has no such rule").into());
    }
    let (desk, repo) = desk::start(&cx).await?;
    let rule = json!({"protected_file_patterns": "*.lock; docs/**"});
    cx.lab.protect(&repo, "main", rule).await?;
    let files: &[(&str, &[u8])] = &[("deps.lock", b"x"), ("deps.old.lock", b"x")];
    let number = cx.lab.pr_with(&repo, "topic", files).await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(codes(&answer), ["protected_files"], "{answer:#}");
    let said = message(&answer, "protected_files");
    assert!(said.ends_with("protects: `deps.lock`"), "{said}");
    let other = cx
        .lab
        .pr_with(&repo, "other", &[("a.old.lock", b"x")])
        .await?;
    assert_eq!(codes(&verify(&desk, other).await?), [""; 0]);
    // The forge sees it the same way.
    let error = desk.refused("pr_merge", json!({"index": number})).await;
    assert_eq!(error.code, ErrorCode::NotMergeable, "{error:?}");
    desk.call("pr_merge", json!({"index": other})).await?;
    Ok(())
}

async fn a_signature_that_nobody_can_make_is_told(cx: Cx) -> Result<()> {
    let (desk, repo, number) = start(&cx).await?;
    let rule = json!({"enable_push": true, "require_signed_commits": true});
    cx.lab.protect(&repo, "main", rule).await?;
    let told = json!({"branch": "main"});
    let told = desk.call("branch_protection_get", told).await?;
    assert_eq!(told["requires_signatures"], true, "{told:#}");
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub signs what it merges").into());
    }
    let answer = verify(&desk, number).await?;
    assert_eq!(codes(&answer), ["signing"], "{answer:#}");
    let error = desk.refused("pr_merge", json!({"index": number})).await;
    assert_eq!(error.code, ErrorCode::NotMergeable, "{error:?}");
    let words = if cx.backend.is_forgejo() {
        "won't sign"
    } else {
        "wont sign"
    };
    assert!(error.message.contains(words), "{error:?}");
    Ok(())
}

async fn a_scheduled_merge_is_told(cx: Cx) -> Result<()> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub schedules by another API").into());
    }
    let (desk, repo, number) = start(&cx).await?;
    let rule = json!({"enable_status_check": true, "status_check_contexts": ["ci"]});
    cx.lab.protect(&repo, "main", rule).await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(answer.get("notes"), None, "{answer:#}");
    let opts = MergeOpts {
        when_checks_succeed: true,
        ..MergeOpts::default()
    };
    cx.forge(&repo.owner)
        .merge_pr(&repo.id, number, &opts)
        .await?;
    let answer = verify(&desk, number).await?;
    let notes = answer["notes"].to_string();
    assert!(notes.contains("is scheduled by"), "{answer:#}");
    Ok(())
}

async fn an_open_dependency_is_told(cx: Cx) -> Result<()> {
    if !matches!(cx.backend, Backend::Gitea | Backend::Forgejo) {
        return Err(Skip::new("the sandbox and GitHub have no dependencies").into());
    }
    let (desk, repo, number) = start(&cx).await?;
    let first = cx.lab.pr_with(&repo, "first", &[("b.txt", b"b")]).await?;
    let path = ["issues", &number.to_string(), "dependencies"];
    let on = json!({"owner": repo.id.owner(), "repo": repo.id.name(), "index": first});
    cx.lab.post(&repo.owner, &repo.path(&path), &on).await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(codes(&answer), ["dependency"], "{answer:#}");
    desk.call("pr_merge", json!({"index": first})).await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(codes(&answer), [""; 0], "{answer:#}");
    Ok(())
}

async fn a_reader_is_told(cx: Cx) -> Result<()> {
    let (_, repo, number) = start(&cx).await?;
    let reader = cx.lab.user("reader").await?;
    let desk = Desk::new(&cx, &reader, &repo);
    let answer = verify(&desk, number).await?;
    assert_eq!(codes(&answer), ["not_permitted"]);
    assert_eq!(answer["mergeable"], "yes");
    Ok(())
}

async fn a_user_off_the_list_is_told(cx: Cx) -> Result<()> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub tells no user that he is not on the list").into());
    }
    let (_, repo, number) = start(&cx).await?;
    let writer = cx.lab.user("writer").await?;
    cx.lab.collaborator(&repo, &writer, "write").await?;
    let rule = json!({
        "enable_merge_whitelist": true, "merge_whitelist_usernames": [repo.owner.login],
    });
    cx.lab.protect(&repo, "main", rule).await?;
    let desk = Desk::new(&cx, &writer, &repo);
    assert_eq!(codes(&verify(&desk, number).await?), ["not_permitted"]);
    let desk = Desk::new(&cx, &repo.owner, &repo);
    assert_eq!(codes(&verify(&desk, number).await?), [""; 0]);
    Ok(())
}

async fn a_writer_sees_the_rule(cx: Cx) -> Result<()> {
    let (_, repo, number) = start(&cx).await?;
    let writer = cx.lab.user("writer").await?;
    cx.lab.collaborator(&repo, &writer, "write").await?;
    let rule = json!({"enable_status_check": true, "status_check_contexts": ["ci"]});
    cx.lab.protect(&repo, "main", rule).await?;
    let desk = Desk::new(&cx, &writer, &repo);
    assert_eq!(codes(&verify(&desk, number).await?), ["checks_missing"]);
    let head = cx.lab.head(&repo, "topic").await?;
    cx.lab.status(&repo, &head, "ci", "success").await?;
    assert_eq!(codes(&verify(&desk, number).await?), [""; 0]);
    assert_eq!(
        desk.call("pr_merge", json!({"index": number})).await?["merged"],
        true
    );
    Ok(())
}

async fn what_a_writer_may_not_read_is_doubted(cx: Cx) -> Result<()> {
    let (_, repo, number) = start(&cx).await?;
    let writer = cx.lab.user("writer").await?;
    cx.lab.collaborator(&repo, &writer, "write").await?;
    let rule = |strict: bool| {
        json!({
            "block_on_outdated_branch": strict,
            "enable_status_check": true, "status_check_contexts": ["ci"],
        })
    };
    cx.lab.write(&repo, "main", &[("other.txt", b"o")]).await?;
    cx.lab.protect(&repo, "main", rule(true)).await?;
    let head = cx.lab.head(&repo, "topic").await?;
    cx.lab.status(&repo, &head, "ci", "success").await?;
    let desk = Desk::new(&cx, &writer, &repo);
    let answer = verify(&desk, number).await?;
    assert_eq!(answer["behind"], true);
    // GitHub says by itself that the head is behind; of the others only a merge tells.
    if cx.backend.is_github() {
        assert_eq!(codes(&answer), ["behind"], "{answer:#}");
    } else {
        assert_eq!(answer["can_merge"], "unknown");
        assert_eq!(unknown(&answer), ["behind"], "{answer:#}");
    }
    assert_eq!(answer["partial"], true);
    let error = desk.refused("pr_merge", json!({"index": number})).await;
    assert_eq!(error.code, ErrorCode::NotMergeable, "{error:?}");

    cx.lab.unprotect(&repo, "main").await?;
    cx.lab.protect(&repo, "main", rule(false)).await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(codes(&answer), [""; 0], "{answer:#}");
    if cx.backend.is_github() {
        assert_eq!(answer["can_merge"], "yes");
    } else {
        assert_eq!(unknown(&answer), ["behind"], "{answer:#}");
        let said = answer["unknown"][0]["message"].as_str().unwrap();
        assert!(said.ends_with("cannot be read"), "{said}");
        let steps = answer["next_steps"].to_string();
        assert!(steps.contains("pr_merge"), "{steps}");
    }
    let owner = Desk::new(&cx, &repo.owner, &repo);
    assert_eq!(verify(&owner, number).await?["can_merge"], "yes");
    let merge = json!({"index": number, "head_sha": answer["head_sha"]});
    assert_eq!(desk.call("pr_merge", merge).await?["merged"], true);
    Ok(())
}

/// Right after a push GitHub knows nothing yet, and the rule is told only when it does
async fn a_rule_that_only_the_forge_knows_is_told(cx: Cx) -> Result<()> {
    if !cx.backend.is_github() {
        return Err(Skip::new("only GitHub says that a rule is in the way").into());
    }
    let (desk, repo) = desk::start(&cx).await?;
    let rule = json!({"require_signed_commits": true, "enable_push": true});
    cx.lab.protect(&repo, "main", rule).await?;
    let number = cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(answer["mergeable"], "yes");
    assert_eq!(codes(&answer), ["blocked"], "{answer:#}");
    let error = desk.refused("pr_merge", json!({"index": number})).await;
    assert_eq!(error.code, ErrorCode::NotMergeable, "{error:?}");
    Ok(())
}

/// A fine-grained token has no right to check runs
async fn checks_that_may_not_be_read_are_told(cx: Cx) -> Result<()> {
    if !cx.backend.is_github() {
        return Err(Skip::new("only GitHub has check runs").into());
    }
    let cx = cx.faulty()?;
    let (desk, repo, number) = start(&cx).await?;
    let rule = json!({"workflows": [{"name": "ci.yaml", "on": ["push"], "jobs": [
        {"name": "build", "result": "success", "log": "fine"},
    ]}]});
    let rule = rule.to_string();
    let files = [(".sandbox/ci.yaml", rule.as_bytes())];
    cx.lab.write(&repo, "topic", &files).await?;
    let refusal = json!({
        "path": format!("/api/v3/repos/{}/commits/*/check-runs*", repo.id),
        "status": 403,
        "body": {"message": "Resource not accessible by personal access token"},
    });
    cx.lab.fault(&refusal).await?;
    let args = json!({"index": number, "wait_seconds": 20});
    let answer = desk.call("workflow_run_status", args).await?;
    assert_eq!(answer["state"], "success", "{answer:#}");
    assert_eq!(answer["partial"], true);
    let answer = verify(&desk, number).await?;
    assert_eq!(answer["partial"], true);
    assert_eq!(codes(&answer), [""; 0]);
    let checks = &answer["checks"];
    assert!(checks["passed"].as_u64() >= Some(1), "{checks}");
    Ok(())
}

async fn an_archived_repository_is_told(cx: Cx) -> Result<()> {
    let (desk, repo, number) = start(&cx).await?;
    verify(&desk, number).await?;
    cx.lab.edit_repo(&repo, &json!({"archived": true})).await?;
    assert_eq!(codes(&verify(&desk, number).await?), ["archived"]);
    Ok(())
}

async fn the_test_plan_is_read(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab
        .write_new(&repo, "topic", "main", &[("a", b"a")])
        .await?;
    let body =
        "## Test plan\n\n- [x] builds\n- [ ] runs\n  1. [ ] twice\n\n```\n- [ ] not this\n```\n";
    let args = json!({"title": "T", "head": "topic", "body": body});
    let number = desk.call("pr_create", args).await?["pr_number"]
        .as_u64()
        .unwrap();
    let answer = verify(&desk, number).await?;
    let plan = json!({"total": 3, "done": 1, "open": ["runs", "twice"]});
    assert_eq!(answer["test_plan"], plan);
    assert_eq!(answer["can_merge"], "yes");
    let steps = answer["next_steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2, "{steps:?}");
    assert!(
        steps[0].as_str().unwrap().contains("test plan"),
        "{steps:?}"
    );
    Ok(())
}

async fn a_fork_is_judged_too(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let user = cx.lab.user("forker").await?;
    let fork = cx.lab.fork(&repo, &user).await?;
    let head = cx
        .lab
        .write_new(&fork, "topic", "main", &[("f", b"f")])
        .await?;
    let from = format!("{}:topic", user.login);
    let number = cx.lab.pr(&repo, &from, "main", "From a fork").await?;
    let answer = verify(&desk, number).await?;
    assert_eq!(answer["head_sha"], head.as_str());
    assert_eq!(codes(&answer), [""; 0]);
    Ok(())
}

async fn waiting_is_told(cx: Cx) -> Result<()> {
    let (mut desk, repo) = desk::start(&cx).await?;
    let number = cx
        .lab
        .pr_with(&repo, "topic", &[("README.md", b"topic\n")])
        .await?;
    cx.lab
        .write(&repo, "main", &[("README.md", b"main\n")])
        .await?;
    let args = json!({"index": number, "wait_seconds": 0});
    let answer = desk.call("pr_verify", args).await?;
    if cx.backend.is_github() {
        return Ok(());
    }
    assert_eq!(answer["mergeable"], "checking");
    assert_eq!(answer["can_merge"], "unknown");
    assert_eq!(codes(&answer), [""; 0]);
    assert_eq!(unknown(&answer), ["checking"]);
    assert!(
        answer["next_steps"][0]
            .as_str()
            .unwrap()
            .contains("wait_seconds")
    );
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = told.clone();
    desk.cx = desk
        .cx
        .clone()
        .on_progress(move |p| listener.lock().unwrap().push(p.done));
    assert_eq!(codes(&verify(&desk, number).await?), ["conflict"]);
    let told = told.lock().unwrap();
    assert!(!told.is_empty() && told.is_sorted(), "{told:?}");
    Ok(())
}

async fn a_missing_one_is_not_found(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    let error = desk.refused("pr_verify", json!({"index": 999})).await;
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(error.message.contains("pull request #999"), "{error:?}");
    Ok(())
}

async fn it_does_what_every_tool_owes(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    desk.owes("pr_verify", json!({"index": 1})).await;
    Ok(())
}
