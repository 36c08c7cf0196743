//! `workflow_run_status`

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use blue_forge::model::Sha;

use blue_testkit::{Backend, Cx, Repo, Result, SandboxFlavor, Skip, eventually};
use blue_tools::{ErrorCode, Progress, tools};
use serde_json::{Value, json};

use crate::desk::{self, Desk};

blue_testkit::on_every_forge![
    a_failed_run_shows_its_job_and_log,
    failed_jobs_that_are_not_told_are_counted,
    a_failed_run_is_found_among_many,
    jobs_that_cannot_be_read_are_said_so,
    a_run_is_found_by_each_of_its_names,
    waiting_ends_with_the_run,
    waiting_has_an_end,
    no_ci_is_told_at_once,
    a_run_that_waits_is_pending,
    a_run_that_needs_approval_is_not_waited_for,
    statuses_speak_where_no_run_does,
    a_red_status_outweighs_green_runs,
    a_run_that_a_newer_one_replaced_says_nothing,
    a_required_check_that_is_not_there_is_awaited,
    logs_are_bounded,
    nothing_reported_is_none,
    what_makes_no_sense_is_refused,
    it_does_what_every_tool_owes,
];

const TOOL: &str = "workflow_run_status";

/// Push a rule that makes runs which end by themselves; only the sandbox does
async fn push_rule(cx: &Cx, repo: &Repo, branch: &str, jobs: Value) -> Result<Sha> {
    if matches!(cx.backend, Backend::Gitea | Backend::Forgejo) {
        return Err(Skip::new("no runner is attached to a real server").into());
    }
    let rule = json!({"workflows": [{"name": "ci.yaml", "on": ["push"], "jobs": jobs}]});
    let rule = rule.to_string();
    cx.lab
        .write(repo, branch, &[(".sandbox/ci.yaml", rule.as_bytes())])
        .await
}

async fn final_state(desk: &Desk, args: Value) -> Result<Value> {
    eventually("a final state", Duration::from_secs(20), || async {
        let answer = desk.call(TOOL, args.clone()).await?;
        let open = ["pending", "none"].contains(&answer["state"].as_str().unwrap());
        Ok((!open).then_some(answer))
    })
    .await
}

async fn a_failed_run_shows_its_job_and_log(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let log = "compiling\n\u{1b}[31merror\u{1b}[0m: it broke\n";
    let jobs = json!([
        {"name": "build", "result": "failure", "log": log},
        {"name": "lint", "result": "success", "log": "fine"},
    ]);
    let sha = push_rule(&cx, &repo, "main", jobs).await?;
    let answer = eventually("the run has failed", Duration::from_secs(20), || async {
        let answer = desk.call(TOOL, json!({})).await?;
        Ok((answer["runs"][0]["state"] == "failure").then_some(answer))
    })
    .await?;
    assert_eq!(answer["state"], "failure");
    assert_eq!(answer["commit_sha"], sha.as_str());
    let source = if cx.backend.is_forgejo() {
        "tasks"
    } else {
        "runs"
    };
    assert_eq!(answer["source"], source);
    let run = &answer["runs"][0];
    assert_eq!(run["state"], "failure");
    let failed = run["failed_jobs"].as_array().unwrap();
    assert_eq!((failed.len(), &failed[0]["name"]), (1, &json!("build")));
    if cx.backend.is_forgejo() {
        let why = failed[0]["no_log"].as_str().unwrap();
        assert!(why.contains("no job logs"), "{why}");
    } else {
        let log = failed[0]["log"].as_str().unwrap();
        assert!(log.ends_with("compiling\nerror: it broke"), "{log}");
    }
    assert_eq!(answer.get("checks"), None);
    Ok(())
}

async fn failed_jobs_that_are_not_told_are_counted(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let jobs: Vec<Value> = (0..25)
        .map(|n| json!({"name": format!("job-{n}"), "result": "failure"}))
        .collect();
    push_rule(&cx, &repo, "main", jobs.into()).await?;
    let answer = eventually("every job has failed", Duration::from_secs(20), || async {
        let answer = desk.call(TOOL, json!({})).await?;
        let left_out = answer["left_out"].as_u64().unwrap_or_default();
        // While the run goes on, statuses may be left out as well.
        let ended = answer["runs"][0]["state"] == "failure";
        Ok((ended && left_out == 5).then_some(answer))
    })
    .await?;
    let runs = answer["runs"].as_array().unwrap();
    let jobs = runs.iter().filter_map(|run| run["failed_jobs"].as_array());
    assert_eq!(jobs.map(Vec::len).sum::<usize>(), 20);
    Ok(())
}

/// Newest first, so that the one that failed is on the second page
async fn a_failed_run_is_found_among_many(cx: Cx) -> Result<()> {
    if matches!(cx.backend, Backend::Gitea | Backend::Forgejo) {
        return Err(Skip::new("no runner is attached to a real server").into());
    }
    let (desk, repo) = desk::start(&cx).await?;
    for n in 0..55 {
        let result = if n == 0 { "failure" } else { "success" };
        let job = json!({"name": "build", "result": result, "context": format!("ci/{n}")});
        let workflow = format!("w{n}.yaml");
        let run = json!({"workflow": workflow, "branch": "main", "title": "t", "jobs": [job]});
        cx.lab.run(&repo, &run).await?;
    }
    let answer = eventually("every run has ended", Duration::from_secs(30), || async {
        let answer = desk.call(TOOL, json!({})).await?;
        let runs = answer["runs"].as_array().cloned().unwrap_or_default();
        let open = ["queued", "running"];
        let ended = |run: &Value| !open.contains(&run["state"].as_str().unwrap_or_default());
        Ok((runs.len() == 20 && runs.iter().all(ended)).then_some(answer))
    })
    .await?;
    assert_eq!(answer["state"], "failure");
    let run = &answer["runs"][0];
    assert_eq!(
        (&run["name"], &run["state"]),
        (&json!("w0.yaml"), &json!("failure"))
    );
    assert_eq!(run["failed_jobs"][0]["name"], "build");
    assert_eq!(answer["left_out"], 35);
    Ok(())
}

async fn jobs_that_cannot_be_read_are_said_so(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (desk, repo) = desk::start(&cx).await?;
    let jobs = json!([{"name": "build", "result": "failure", "log": "it broke"}]);
    push_rule(&cx, &repo, "main", jobs).await?;
    final_state(&desk, json!({})).await?;
    let id = &repo.id;
    let rule = if cx.backend.is_forgejo() {
        json!({"path": format!("/api/v1/repos/{id}/actions/tasks"), "skip": 1, "status": 502})
    } else {
        json!({"path": format!("/api/*/repos/{id}/actions/runs/*/jobs"), "status": 502})
    };
    cx.lab.fault(&rule).await?;
    let answer = desk.call(TOOL, json!({})).await?;
    assert_eq!(answer["state"], "failure", "{answer}");
    let run = &answer["runs"][0];
    assert_eq!(run.get("failed_jobs"), None);
    assert!(run["no_jobs"].as_str().unwrap().contains("502"), "{run}");
    Ok(())
}

async fn a_run_is_found_by_each_of_its_names(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.branch(&repo, "topic", "main").await?;
    let jobs = json!([{"name": "build", "result": "success"}]);
    let sha = push_rule(&cx, &repo, "topic", jobs).await?;
    let number = cx.lab.pr(&repo, "topic", "main", "A change").await?;
    let answer = final_state(&desk, json!({"branch": "topic"})).await?;
    let run = answer["runs"][0]["id"].clone();
    let short = &sha.as_str()[..12];
    for args in [
        json!({"branch": "refs/heads/topic", "sha": "", "index": 0}),
        json!({"sha": sha.as_str()}),
        json!({"sha": short}),
        json!({"number": number.to_string()}),
        json!({"run_id": run}),
    ] {
        let answer = desk.call(TOOL, args.clone()).await?;
        assert_eq!(answer["state"], "success", "{args}");
        assert_eq!(answer["commit_sha"], sha.as_str(), "{args}");
        assert_eq!(answer["runs"][0]["id"], run, "{args}");
    }
    assert_eq!(desk.call(TOOL, json!({})).await?["state"], "none");
    Ok(())
}

async fn waiting_ends_with_the_run(cx: Cx) -> Result<()> {
    let (mut desk, repo) = desk::start(&cx).await?;
    let seen: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let told = Arc::clone(&seen);
    desk.cx = desk
        .cx
        .on_progress(move |progress| told.lock().unwrap().push(progress));
    let jobs = json!([{"name": "build", "result": "success", "delay_ms": 1200}]);
    push_rule(&cx, &repo, "main", jobs).await?;
    let started = Instant::now();
    let answer = desk.call(TOOL, json!({"wait_seconds": 200})).await?;
    assert_eq!(answer["state"], "success");
    assert!(answer["waited"].as_u64().unwrap() < 60, "{answer}");
    assert!(started.elapsed() < Duration::from_mins(1));
    let seen = seen.lock().unwrap();
    assert!(!seen.is_empty());
    assert!(seen.iter().all(|p| p.total == Some(200.0)), "{seen:?}");
    assert!(seen.is_sorted_by_key(|p| p.done), "{seen:?}");
    Ok(())
}

/// Without a workflow file, a required check and a recent status nothing is waited for
async fn no_ci_is_told_at_once(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let number = cx.lab.pr_with(&repo, "topic", &[("a", b"a")]).await?;
    for args in [
        json!({"wait_seconds": 300}),
        json!({"wait_seconds": 300, "index": number}),
    ] {
        let answer = desk.call(TOOL, args).await?;
        assert_eq!(answer["state"], "none", "{answer}");
        assert_eq!(answer["no_ci"], true, "{answer}");
    }
    // Each of the three signs keeps the wait.
    let rule = json!({"enable_status_check": true, "status_check_contexts": ["ci"]});
    cx.lab.protect(&repo, "main", rule).await?;
    let waits = async |branch: &str| {
        let args = json!({"branch": branch, "wait_seconds": 1});
        let answer = desk.call(TOOL, args).await?;
        assert_eq!(answer.get("no_ci"), None, "{answer}");
        assert!(answer["waited"].as_u64() >= Some(1), "{answer}");
        Ok::<_, blue_tools::ToolError>(())
    };
    waits("topic").await?;
    cx.lab.unprotect(&repo, "main").await?;
    let head = cx.lab.head(&repo, "main").await?;
    cx.lab.status(&repo, &head, "ci", "success").await?;
    waits("topic").await?;
    Ok(())
}

async fn waiting_has_an_end(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let head = cx.lab.head(&repo, "main").await?;
    cx.lab.status(&repo, &head, "ci", "pending").await?;
    let answer = desk.call(TOOL, json!({"wait_seconds": "1"})).await?;
    assert_eq!(
        (&answer["state"], &answer["waited"]),
        (&json!("pending"), &json!(1))
    );
    let step = "Wait with workflow_run_status, wait_seconds 300";
    assert_eq!(answer["next_steps"], json!([step]));
    Ok(())
}

async fn a_run_that_waits_is_pending(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let workflow = b"name: ci\non: [push]\njobs:\n  build:\n    runs-on: none\n    steps:\n      - run: 'true'\n";
    let sha = cx
        .lab
        .write(&repo, "main", &[(".gitea/workflows/ci.yaml", workflow)])
        .await?;
    // Tasks hide what has not begun; its status does not.
    let source = if cx.backend.is_forgejo() {
        "statuses"
    } else {
        "runs"
    };
    // A server may report the status of a run before it lists the run, and neither at first: then
    // the source is the statuses too, of which there is none.
    let answer = eventually("the run is seen", Duration::from_secs(20), || async {
        let answer = desk.call(TOOL, json!({"branch": "main"})).await?;
        let seen = answer["source"] == source && answer["state"] != "none";
        Ok(seen.then_some(answer))
    })
    .await?;
    assert_eq!(
        (&answer["state"], &answer["commit_sha"]),
        (&json!("pending"), &json!(sha.as_str()))
    );
    Ok(())
}

async fn a_run_that_needs_approval_is_not_waited_for(cx: Cx) -> Result<()> {
    let cx = cx.forgejo(SandboxFlavor::Forgejo15)?;
    let (desk, repo) = desk::start(&cx).await?;
    let run = json!({
        "needs_approval": true, "jobs": [{"name": "build", "context": "ci / build (push)"}],
    });
    cx.lab.run(&repo, &run).await?;
    let answer = desk.call(TOOL, json!({"wait_seconds": 300})).await?;
    assert_eq!(answer["state"], "pending", "{answer:#}");
    assert_eq!(answer["runs"][0]["state"], "action_required");
    assert!(answer["waited"].as_u64().unwrap() < 60, "{answer:#}");
    let step = answer["next_steps"][0].as_str().unwrap();
    assert!(step.starts_with("A person must approve run"), "{step}");
    assert!(!step.contains("wait_seconds"), "{step}");
    // The advice can be followed.
    let id = answer["runs"][0]["id"].as_u64().unwrap();
    cx.lab.change_run(&repo, id, "approve").await?;
    let answer = desk.call(TOOL, json!({"run_id": id})).await?;
    assert_eq!(answer["runs"][0]["state"], "queued", "{answer:#}");
    Ok(())
}

async fn statuses_speak_where_no_run_does(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let head = cx.lab.head(&repo, "main").await?;
    cx.lab.status(&repo, &head, "ci/build", "success").await?;
    let answer = desk.call(TOOL, json!({"branch": "main"})).await?;
    assert_eq!(
        (&answer["state"], &answer["source"]),
        (&json!("success"), &json!("statuses"))
    );
    assert_eq!(answer["checks"][0]["context"], "ci/build");
    cx.lab.status(&repo, &head, "ci/test", "pending").await?;
    assert_eq!(desk.call(TOOL, json!({})).await?["state"], "pending");
    cx.lab.status(&repo, &head, "ci/test", "failure").await?;
    let answer = desk.call(TOOL, json!({})).await?;
    assert_eq!(answer["state"], "failure");
    assert_eq!(answer["checks"][0]["context"], "ci/test");
    assert_eq!(answer["checks"][0]["state"], "failure");
    assert_eq!(answer["checks"][0]["description"], "from the set-up");
    Ok(())
}

async fn a_red_status_outweighs_green_runs(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let jobs = json!([{"name": "build", "result": "success"}]);
    let sha = push_rule(&cx, &repo, "main", jobs).await?;
    assert_eq!(final_state(&desk, json!({})).await?["state"], "success");
    cx.lab.status(&repo, &sha, "elsewhere", "failure").await?;
    let answer = desk.call(TOOL, json!({})).await?;
    assert_eq!(answer["state"], "failure");
    assert_eq!(answer["runs"][0]["state"], "success");
    assert_eq!(answer["checks"].as_array().unwrap().len(), 1);
    assert_eq!(answer["checks"][0]["context"], "elsewhere");
    Ok(())
}

/// A second push cancels the run of the first, which is no failure of the commit
async fn a_run_that_a_newer_one_replaced_says_nothing(cx: Cx) -> Result<()> {
    if matches!(cx.backend, Backend::Gitea | Backend::Forgejo) {
        return Err(Skip::new("no runner is attached to a real server").into());
    }
    let (desk, repo) = desk::start(&cx).await?;
    let run = |workflow: &str, result: &str| {
        let context = format!("{workflow} / build (push)");
        let job = json!({"name": "build", "result": result, "context": context});
        json!({"workflow": workflow, "branch": "main", "title": "The same title", "jobs": [job]})
    };
    let ended = async |count: usize, state: &str| {
        eventually("the runs have ended", Duration::from_secs(20), || async {
            let answer = desk.call(TOOL, json!({})).await?;
            let runs = answer["runs"].as_array().map_or(0, Vec::len);
            Ok((runs == count && answer["state"] == state).then_some(answer))
        })
        .await
    };
    cx.lab.run(&repo, &run("ci.yaml", "cancelled")).await?;
    ended(1, "failure").await?;
    cx.lab.run(&repo, &run("ci.yaml", "success")).await?;
    let answer = ended(1, "success").await?;
    assert_eq!(answer["runs"][0]["state"], "success", "{answer}");
    // Of another workflow it is a failure.
    cx.lab.run(&repo, &run("lint.yaml", "cancelled")).await?;
    let answer = ended(2, "failure").await?;
    assert_eq!(answer["runs"][0]["name"], "lint.yaml", "{answer}");
    assert_eq!(answer["runs"][1]["name"], "ci.yaml", "{answer}");
    Ok(())
}

/// A quick status is there before CI has begun
async fn a_required_check_that_is_not_there_is_awaited(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let number = cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    let rule = json!({"enable_status_check": true, "status_check_contexts": ["ci"]});
    cx.lab.protect(&repo, "main", rule).await?;
    let head = cx.lab.head(&repo, "topic").await?;
    cx.lab.status(&repo, &head, "quick", "success").await?;
    let answer = desk.call(TOOL, json!({"index": number})).await?;
    assert_eq!(answer["state"], "pending", "{answer}");
    let missing = answer["checks"].as_array().unwrap();
    let missing = missing.iter().find(|check| check["context"] == "ci");
    assert_eq!(missing.unwrap()["state"], "pending", "{answer}");
    let step = format!("Wait with workflow_run_status, index {number}, wait_seconds 300");
    assert_eq!(answer["next_steps"], json!([step]));
    // The commit by itself is not bound by any base.
    let answer = desk.call(TOOL, json!({"branch": "topic"})).await?;
    assert_eq!(answer["state"], "success", "{answer}");
    cx.lab.status(&repo, &head, "ci", "success").await?;
    let answer = desk.call(TOOL, json!({"index": number})).await?;
    assert_eq!(answer["state"], "success", "{answer}");
    let step = format!("Judge the pull request with pr_verify, index {number}");
    assert_eq!(answer["next_steps"], json!([step]));
    Ok(())
}

async fn logs_are_bounded(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let lines: Vec<String> = (0..5_000)
        .map(|n| format!("line {n} of a long log\n"))
        .collect();
    let log = lines.concat();
    let job = |n: u32| json!({"name": format!("job {n}"), "result": "failure", "log": log});
    let jobs: Vec<Value> = (0..6).map(job).collect();
    push_rule(&cx, &repo, "main", json!(jobs)).await?;
    let answer = eventually("every job has failed", Duration::from_secs(20), || async {
        let answer = desk.call(TOOL, json!({})).await?;
        let run = &answer["runs"][0];
        // Tasks hide jobs that have not begun.
        let all = run["failed_jobs"].as_array().map(Vec::len) == Some(6);
        Ok((all && run["state"] == "failure").then_some(answer))
    })
    .await?;
    let failed = answer["runs"][0]["failed_jobs"].as_array().unwrap();
    let logs: Vec<&str> = failed
        .iter()
        .filter_map(|job| job["log"].as_str())
        .collect();
    if !cx.backend.is_forgejo() {
        assert_eq!(logs.len(), 3);
    }
    for log in logs {
        assert!(
            log.len() <= 2_000 && log.lines().count() <= 30,
            "{}",
            log.len()
        );
        assert!(log.ends_with("line 4999 of a long log"), "{log}");
    }
    assert!(answer.to_string().len() < 10_000);
    Ok(())
}

async fn nothing_reported_is_none(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let head = cx.lab.head(&repo, "main").await?;
    let answer = desk.call(TOOL, json!({"branch": "main"})).await?;
    assert_eq!(
        answer,
        json!({"state": "none", "source": "statuses", "commit_sha": head.as_str()})
    );
    let tool = tools::find(TOOL).unwrap();
    let typed = ["run-status", "main", "--wait", "0", "-R", &desk.whole()];
    let args = tool.command().try_get_matches_from(typed)?;
    assert_eq!(tool.call_args(&desk.cx, &args).await?.json["state"], "none");
    Ok(())
}

async fn what_makes_no_sense_is_refused(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    for (args, code, said) in [
        (
            json!({"branch": "a", "sha": "b"}),
            ErrorCode::Invalid,
            "more than one of `branch`",
        ),
        (
            json!({"wait_seconds": 301}),
            ErrorCode::Invalid,
            "`wait_seconds` is 301",
        ),
        (
            json!({"wait_seconds": -1}),
            ErrorCode::Invalid,
            "workflow_run_status: `wait_seconds`",
        ),
        (
            json!({"branch": "nope"}),
            ErrorCode::NotFound,
            "branch `nope`",
        ),
        (
            json!({"sha": "0".repeat(40)}),
            ErrorCode::NotFound,
            "not found",
        ),
        (json!({"index": 4711}), ErrorCode::NotFound, ""),
        (json!({"run_id": 999_999}), ErrorCode::NotFound, ""),
    ] {
        let error = desk.refused(TOOL, args.clone()).await;
        assert_eq!(error.code, code, "{args}: {error}");
        assert!(error.message.contains(said), "{args}: {error}");
    }
    Ok(())
}

async fn it_does_what_every_tool_owes(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    desk.owes(TOOL, json!({"branch": "main"})).await;
    Ok(())
}
