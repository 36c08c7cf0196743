//! A server that breaks, dawdles or calls itself by another name

use std::time::Duration;

use blue_core::{
    forge::{
        ConflictKind, ForgeError,
        model::{CommitOpts, MergeOutcome, MergeStrategy},
    },
    http::HttpConfig,
};
use blue_testkit::{Cx, Import, Repo, Result, Skip};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::words::{WHOLE, commit, merge, write};

blue_testkit::on_every_forge![
    a_hiccup_is_read_over,
    a_write_is_not_repeated,
    a_commit_that_lost_a_race_is_made_anew,
    a_lasting_outage_is_told,
    a_dropped_connection_is_no_answer,
    a_cut_answer_is_no_answer,
    a_write_whose_answer_is_lost_may_have_been_done,
    a_short_wait_is_waited,
    a_long_wait_is_told,
    a_write_that_is_limited_is_told,
    a_page_that_fails_fails_the_list,
    a_merge_whose_answer_is_lost_is_merged,
    an_answer_that_is_too_slow_is_no_answer,
    links_to_another_host_are_not_followed,
];

/// Make requests for one repository go wrong
async fn fault(cx: &Cx, repo: &Repo, method: &str, rest: &str, what: Value) -> Result<()> {
    let mut rule = what;
    rule["path"] = format!("/api/v*/repos/{}{rest}", repo.id).into();
    rule["method"] = method.into();
    cx.lab.fault(&rule).await
}

async fn a_hiccup_is_read_over(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    for status in [502, 503, 504] {
        fault(
            &cx,
            &repo,
            "GET",
            "*",
            json!({"status": status, "count": 1}),
        )
        .await?;
        assert_eq!(forge.get_branch(&repo.id, "main").await?.name, "main");
    }
    Ok(())
}

async fn a_write_is_not_repeated(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    fault(&cx, &repo, "POST", "*", json!({"status": 503, "count": 1})).await?;
    let error = forge
        .create_branch(&repo.id, "topic", "main")
        .await
        .expect_err("the write was answered with 503");
    assert!(error.retryable(), "{error:?}");
    refused!(
        Err::<(), _>(error),
        ForgeError::Unexpected { status: 503, .. }
    );
    assert!(cx.lab.head(&repo, "topic").await.is_err());
    Ok(())
}

/// Another process wrote to the branch, but not to this file
async fn a_commit_that_lost_a_race_is_made_anew(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub refuses the move of the branch, not the commit").into());
    }
    let (forge, repo) = cx.start().await?;
    let refusal = |count: u32| {
        let message = "PushOutOfDate Error: exit status 1 - To /srv/a/b.git ! [rejected]";
        json!({"status": 409, "count": count, "body": {"message": message}})
    };
    fault(&cx, &repo, "POST", "/contents", refusal(2)).await?;
    let made = forge
        .commit_files(&repo.id, &commit("main", vec![write("a.txt", "a")]))
        .await?;
    assert_eq!(cx.lab.head(&repo, "main").await?, made.sha);
    assert_eq!(cx.lab.count_commits(&repo, "main").await?, 2);
    // Who names the commit means that one, and patience has an end.
    let pinned = CommitOpts {
        expected_head: Some(made.sha.clone()),
        ..commit("main", vec![write("b.txt", "b")])
    };
    for (opts, times) in [(pinned, 1), (commit("main", vec![write("c.txt", "c")]), 4)] {
        fault(&cx, &repo, "POST", "/contents", refusal(times)).await?;
        let said = refused!(
            forge.commit_files(&repo.id, &opts).await,
            ForgeError::Conflict { kind: ConflictKind::HeadMoved { .. }, message, .. } => message
        );
        assert_eq!(said, "PushOutOfDate Error: exit status 1");
    }
    assert_eq!(cx.lab.count_commits(&repo, "main").await?, 2);
    Ok(())
}

async fn a_lasting_outage_is_told(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    let page = "<html><body><h1>502 Bad Gateway</h1></body></html>";
    fault(&cx, &repo, "GET", "*", json!({"status": 502, "body": page})).await?;
    refused!(
        forge.get_branch(&repo.id, "main").await,
        ForgeError::Unexpected { status: 502, message, .. } if !message.contains("<html>")
    );
    Ok(())
}

async fn a_dropped_connection_is_no_answer(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    fault(&cx, &repo, "GET", "*", json!({"drop": true})).await?;
    refused!(
        forge.get_branch(&repo.id, "main").await,
        ForgeError::NoAnswer { write: false, .. }
    );
    Ok(())
}

async fn a_cut_answer_is_no_answer(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    fault(&cx, &repo, "GET", "*", json!({"truncate": 20})).await?;
    refused!(
        forge
            .read_file(&repo.id, "README.md", Some("main"), WHOLE)
            .await,
        ForgeError::NoAnswer { write: false, .. }
    );
    refused!(
        forge.all_branches(&repo.id).await,
        ForgeError::NoAnswer { write: false, .. }
    );
    Ok(())
}

async fn a_write_whose_answer_is_lost_may_have_been_done(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    fault(&cx, &repo, "POST", "*", json!({"truncate": 10})).await?;
    let error = forge
        .create_branch(&repo.id, "topic", "main")
        .await
        .expect_err("the answer was cut");
    assert!(!error.retryable(), "{error:?}");
    refused!(
        Err::<(), _>(error),
        ForgeError::NoAnswer { write: true, .. }
    );
    assert_eq!(forge.get_branch(&repo.id, "topic").await?.name, "topic");
    Ok(())
}

async fn a_short_wait_is_waited(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    let busy = json!({"status": 429, "headers": {"Retry-After": "1"}, "count": 1});
    fault(&cx, &repo, "GET", "*", busy).await?;
    let before = Instant::now();
    assert_eq!(forge.get_branch(&repo.id, "main").await?.name, "main");
    assert!(before.elapsed() >= Duration::from_millis(900));
    Ok(())
}

async fn a_long_wait_is_told(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    let busy = json!({
        "status": 429, "headers": {"Retry-After": "3600"}, "body": {"message": "slow down"},
    });
    fault(&cx, &repo, "GET", "*", busy).await?;
    let Err(error) = forge.get_branch(&repo.id, "main").await else {
        panic!("it was answered");
    };
    let said = error.to_string();
    assert!(
        said.ends_with("no more requests for now: slow down"),
        "{said}"
    );
    let wait = refused!(
        Err::<(), _>(error),
        ForgeError::RateLimited { retry_after, .. } => retry_after
    );
    assert_eq!(wait, Some(Duration::from_hours(1)));
    Ok(())
}

async fn a_write_that_is_limited_is_told(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    let busy = json!({"status": 429, "headers": {"Retry-After": "3600"}});
    fault(&cx, &repo, "POST", "*", busy).await?;
    refused!(
        forge.create_branch(&repo.id, "topic", "main").await,
        ForgeError::RateLimited { .. }
    );
    Ok(())
}

async fn a_page_that_fails_fails_the_list(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let owner = cx.lab.user("owner").await?;
    let mut import = Import::new();
    import
        .commit("main", "first", &[("a.txt", b"a")])
        .branches("many", 200);
    let repo = cx.lab.repo_from(&owner, &import).await?;
    let forge = cx.forge(&owner);
    assert_eq!(forge.all_branches(&repo.id).await?.len(), 201);
    fault(
        &cx,
        &repo,
        "GET",
        "/branches",
        json!({"status": 500, "skip": 1}),
    )
    .await?;
    refused!(
        forge.all_branches(&repo.id).await,
        ForgeError::Unexpected { status: 500, .. }
    );
    Ok(())
}

async fn a_merge_whose_answer_is_lost_is_merged(cx: Cx) -> Result<()> {
    if !cx.backend.is_github() {
        return Err(Skip::new("an answer without a body cannot be cut").into());
    }
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    let number = cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    let rest = format!("/pulls/{number}/merge");
    fault(&cx, &repo, "PUT", &rest, json!({"truncate": 10})).await?;
    let outcome = forge
        .merge_pr(&repo.id, number, &merge(MergeStrategy::Merge))
        .await?;
    assert!(
        matches!(outcome, MergeOutcome::Merged { .. }),
        "{outcome:?}"
    );
    assert_eq!(cx.lab.raw(&repo, "main", "a.txt").await?, b"a");
    Ok(())
}

async fn an_answer_that_is_too_slow_is_no_answer(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (_, repo) = cx.start().await?;
    fault(&cx, &repo, "GET", "*", json!({"delay_ms": 20_000})).await?;
    let http = HttpConfig {
        timeout: Duration::from_millis(200),
        ..HttpConfig::default()
    };
    let forge = cx.forge_with(Some(&repo.owner.token), http);
    refused!(
        forge.get_branch(&repo.id, "main").await,
        ForgeError::NoAnswer { write: false, .. }
    );
    Ok(())
}

async fn links_to_another_host_are_not_followed(cx: Cx) -> Result<()> {
    let cx = cx.elsewhere()?;
    let owner = cx.lab.user("owner").await?;
    let mut import = Import::new();
    import
        .commit("main", "first", &[("a.txt", b"a")])
        .branches("many", 200);
    let repo = cx.lab.repo_from(&owner, &import).await?;
    let forge = cx.forge(&owner);
    assert!(
        forge
            .repository(&repo.id)
            .await?
            .html_url
            .contains("elsewhere.invalid")
    );
    assert_eq!(forge.all_branches(&repo.id).await?.len(), 201);
    let file = forge.read_file(&repo.id, "a.txt", None, WHOLE).await?;
    assert_eq!(file.content, b"a");
    Ok(())
}
