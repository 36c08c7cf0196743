//! Workflow runs and their jobs

use std::{sync::Arc, time::Duration};

use blue_forge::{
    Forge, ForgeError,
    model::{RepoId, Run, RunFilter, RunState},
};
use blue_testkit::{Backend, Cx, Repo, Result, Skip, eventually};

use crate::words::{ALL, PATIENCE, nowhere};

blue_testkit::on_every_forge![
    no_runs_is_an_empty_list,
    a_push_starts_a_run,
    runs_go_by_branch_event_and_commit,
    the_jobs_of_a_run_are_told,
    a_job_that_waits_has_an_empty_log,
    a_finished_run_is_told,
    the_end_of_a_log_is_told,
    a_missing_run_is_not_found,
    a_missing_job_has_no_log,
    runs_of_a_missing_repository_are_not_found,
];

const WORKFLOW: &[u8] =
    b"name: ci\non: [push]\njobs:\n  build:\n    runs-on: none\n    steps:\n      - run: 'true'\n";

/// A repository whose last push started a run that no runner takes
async fn waiting(cx: &Cx) -> Result<(Arc<dyn Forge>, Repo, Run)> {
    if cx.backend.is_forgejo() {
        return Err(Skip::new("Forgejo 11 tells nothing of a run that waits").into());
    }
    let (forge, repo) = cx.start().await?;
    let sha = cx
        .lab
        .write(&repo, "main", &[(".gitea/workflows/ci.yaml", WORKFLOW)])
        .await?;
    let run = eventually("the run is listed", PATIENCE, || async {
        let page = forge
            .list_runs(&repo.id, &RunFilter::default(), ALL)
            .await?;
        Ok(page.items.into_iter().next())
    })
    .await?;
    assert_eq!(run.head_sha, Some(sha));
    Ok((forge, repo, run))
}

/// A repository with a run that has ended; only the sandbox can make one without a runner
async fn finished(cx: &Cx, result: &str, log: &str) -> Result<(Arc<dyn Forge>, Repo, Run)> {
    if matches!(cx.backend, Backend::Gitea | Backend::Forgejo) {
        return Err(Skip::new("no runner is attached to a real server").into());
    }
    let (forge, repo) = cx.start().await?;
    let rule = serde_json::json!({"workflows": [{
        "name": "ci.yaml", "on": ["push"], "jobs": [{"name": "build", "result": result, "log": log}],
    }]});
    // Every JSON text is YAML too.
    let rule = rule.to_string();
    cx.lab
        .write(&repo, "main", &[(".sandbox/ci.yaml", rule.as_bytes())])
        .await?;
    let run = eventually("the run has ended", Duration::from_secs(10), || async {
        let page = forge
            .list_runs(&repo.id, &RunFilter::default(), ALL)
            .await?;
        let ended = |run: &Run| !matches!(run.state, RunState::Queued | RunState::Running);
        Ok(page.items.into_iter().find(ended))
    })
    .await?;
    Ok((forge, repo, run))
}

async fn no_runs_is_an_empty_list(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let page = forge
        .list_runs(&repo.id, &RunFilter::default(), ALL)
        .await?;
    assert_eq!((page.items, page.next_page), (Vec::new(), None));
    Ok(())
}

async fn a_push_starts_a_run(cx: Cx) -> Result<()> {
    let (forge, repo, run) = waiting(&cx).await?;
    assert_eq!((run.event.as_str(), run.branch.as_str()), ("push", "main"));
    assert_eq!((run.state, run.number), (RunState::Queued, 1));
    assert!(!run.name.is_empty());
    assert!(run.html_url.starts_with("http"), "{}", run.html_url);
    let told = forge.get_run(&repo.id, run.id).await?;
    assert_eq!(
        (told.id, told.state, told.head_sha),
        (run.id, run.state, run.head_sha)
    );
    Ok(())
}

async fn runs_go_by_branch_event_and_commit(cx: Cx) -> Result<()> {
    let (forge, repo, run) = waiting(&cx).await?;
    let branch = |name: &str| RunFilter {
        branch: Some(name.to_owned()),
        ..RunFilter::default()
    };
    let event = |name: &str| RunFilter {
        event: Some(name.to_owned()),
        ..RunFilter::default()
    };
    let commit = |sha| RunFilter {
        head_sha: Some(sha),
        ..RunFilter::default()
    };
    let head = cx.lab.head(&repo, "main").await?;
    for (filter, wanted) in [
        (branch("main"), 1),
        (branch("other"), 0),
        (event("push"), 1),
        (event("schedule"), 0),
        (commit(head), 1),
        (commit(nowhere()), 0),
    ] {
        let page = forge.list_runs(&repo.id, &filter, ALL).await?;
        assert_eq!(page.items.len(), wanted, "{filter:?}");
        assert!(page.items.iter().all(|found| found.id == run.id));
    }
    Ok(())
}

async fn the_jobs_of_a_run_are_told(cx: Cx) -> Result<()> {
    let (forge, repo, run) = waiting(&cx).await?;
    let jobs = forge.list_jobs(&repo.id, run.id).await?;
    assert_eq!(jobs.len(), 1);
    assert_eq!((jobs[0].name.as_str(), jobs[0].run_id), ("build", run.id));
    assert_eq!(jobs[0].state, RunState::Queued);
    Ok(())
}

async fn a_job_that_waits_has_an_empty_log(cx: Cx) -> Result<()> {
    let (forge, repo, run) = waiting(&cx).await?;
    let job = forge.list_jobs(&repo.id, run.id).await?.remove(0);
    let log = forge.job_log(&repo.id, job.id, 1000).await?;
    assert_eq!((log.text.as_str(), log.cut), ("", false));
    Ok(())
}

async fn a_finished_run_is_told(cx: Cx) -> Result<()> {
    let (forge, repo, run) = finished(&cx, "failure", "it broke\n").await?;
    assert_eq!(run.state, RunState::Failure);
    let jobs = forge.list_jobs(&repo.id, run.id).await?;
    assert_eq!(jobs.len(), 1);
    assert_eq!(
        (jobs[0].name.as_str(), jobs[0].state),
        ("build", RunState::Failure)
    );
    Ok(())
}

async fn the_end_of_a_log_is_told(cx: Cx) -> Result<()> {
    let lines: Vec<String> = (0..100).map(|n| format!("line {n:03}\n")).collect();
    let (forge, repo, run) = finished(&cx, "success", &lines.concat()).await?;
    let job = forge.list_jobs(&repo.id, run.id).await?.remove(0);
    let whole = forge.job_log(&repo.id, job.id, 100_000).await;
    if cx.backend.is_forgejo() {
        refused!(whole, ForgeError::Unsupported { .. });
        return Ok(());
    }
    let whole = whole?;
    assert!(!whole.cut && whole.text.contains("line 000"), "{whole:?}");
    let end = forge.job_log(&repo.id, job.id, 90).await?;
    assert!(end.cut && end.text.len() <= 90, "{end:?}");
    assert!(end.text.trim_end().ends_with("line 099"), "{end:?}");
    Ok(())
}

async fn a_missing_run_is_not_found(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    refused!(
        forge.get_run(&repo.id, 999_999).await,
        ForgeError::NotFound { .. }
    );
    refused!(
        forge.list_jobs(&repo.id, 999_999).await,
        ForgeError::NotFound { .. }
    );
    Ok(())
}

async fn a_missing_job_has_no_log(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    match forge.job_log(&repo.id, 999_999, 1000).await {
        Err(ForgeError::NotFound { .. }) => {}
        // Forgejo 11 has no such route.
        Err(ForgeError::Unsupported { .. }) if cx.backend.is_forgejo() => {}
        other => panic!("{other:?}"),
    }
    Ok(())
}

async fn runs_of_a_missing_repository_are_not_found(cx: Cx) -> Result<()> {
    let user = cx.lab.user("someone").await?;
    let none = RepoId::parse(&user.login, "no-such")?;
    refused!(
        cx.forge(&user)
            .list_runs(&none, &RunFilter::default(), ALL)
            .await,
        ForgeError::NotFound { .. }
    );
    Ok(())
}
