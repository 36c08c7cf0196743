//! A server that breaks, dawdles or calls itself by another name

use std::time::Duration;

use blue_base::http::HttpConfig;
use blue_forge::{
    ConflictKind, ForgeError,
    model::{CommitOpts, MergeOpts, MergeOutcome, MergeStrategy},
};
use blue_testkit::{Cx, Import, Repo, Result, Skip};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::words::{WHOLE, commit, merge, write};

/// How long a request is held up while something else happens
const HOLD_MS: u64 = 3000;

blue_testkit::on_every_forge![
    a_hiccup_is_read_over,
    a_write_behind_a_failing_gateway_may_have_been_done,
    a_commit_that_lost_a_race_is_made_anew,
    a_lasting_outage_is_told,
    a_dropped_connection_is_no_answer,
    a_cut_answer_is_no_answer,
    an_answer_that_breaks_off_once_is_read_again,
    a_commit_whose_answer_is_lost_is_found,
    a_write_whose_answer_is_lost_may_have_been_done,
    a_short_wait_is_waited,
    a_long_wait_is_told,
    a_write_that_is_limited_is_told,
    a_limit_without_a_time_stops_every_request_of_the_token,
    a_workflow_file_needs_its_scope,
    a_merge_in_progress_is_waited_for,
    a_merge_by_another_client_is_already_done,
    a_branch_pushed_to_during_the_merge_is_kept,
    addresses_for_people_are_told,
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

/// Returns when the faults ordered for a repository have met their requests
async fn struck(cx: &Cx, repo: &Repo) -> Result<()> {
    let path = repo.id.to_string();
    while cx.lab.fault_is_waiting(&path).await? {
        tokio::task::yield_now().await;
    }
    Ok(())
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

/// Like a lost answer: it is not known whether the forge did it, so the client does not retry
async fn a_write_behind_a_failing_gateway_may_have_been_done(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    for status in [502, 503, 504] {
        let rule = json!({"status": status, "count": 1, "body": "<html>bad gateway</html>"});
        fault(&cx, &repo, "POST", "*", rule).await?;
        let error = forge
            .create_branch(&repo.id, "topic", "main")
            .await
            .expect_err("a gateway answered");
        assert!(!error.retryable(), "{error:?}");
        assert_eq!(error.status(), Some(status));
        refused!(
            Err::<(), _>(error),
            ForgeError::NoAnswer { write: true, .. }
        );
        assert!(cx.lab.head(&repo, "topic").await.is_err());
    }
    Ok(())
}

async fn an_answer_that_breaks_off_once_is_read_again(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    let once = json!({"truncate": 20, "count": 1});
    fault(&cx, &repo, "GET", "*", once).await?;
    assert_eq!(forge.get_branch(&repo.id, "main").await?.name, "main");
    Ok(())
}

async fn a_commit_whose_answer_is_lost_is_found(cx: Cx) -> Result<()> {
    if !cx.backend.is_github() {
        return Err(Skip::new("the commit itself is the answer that is lost").into());
    }
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    fault(&cx, &repo, "PATCH", "*", json!({"truncate": 10})).await?;
    let made = forge
        .commit_files(&repo.id, &commit("main", vec![write("a.txt", "a")]))
        .await?;
    assert_eq!(cx.lab.head(&repo, "main").await?, made.sha);
    assert_eq!(cx.lab.count_commits(&repo, "main").await?, 2);
    Ok(())
}

/// GitHub's secondary limit as a 429 that names no time
async fn a_limit_without_a_time_stops_every_request_of_the_token(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    let words = "You have exceeded a secondary rate limit. Please wait a few minutes.";
    let limit = json!({"status": 429, "body": {"message": words}, "count": 1});
    fault(&cx, &repo, "GET", "*", limit).await?;
    for _ in 0..3 {
        let wait = refused!(
            forge.get_branch(&repo.id, "main").await,
            ForgeError::RateLimited { retry_after, .. } => retry_after
        );
        assert!(wait.is_some_and(|wait| wait > Duration::from_secs(30)));
    }
    // Another client did not meet it, and the forge answers: one request was struck and no other.
    let other = cx.forge(&repo.owner);
    assert_eq!(other.get_branch(&repo.id, "main").await?.name, "main");
    Ok(())
}

async fn a_workflow_file_needs_its_scope(cx: Cx) -> Result<()> {
    if !cx.backend.is_github() {
        return Err(Skip::new("only GitHub has a scope for these files").into());
    }
    let (_, repo) = cx.start().await?;
    let path = ".github/workflows/ci.yml";
    let change = |path| commit("main", vec![write(path, "on: push")]);
    let token = cx.lab.token(&repo.owner, &["repo"]).await?;
    let forge = cx.forge(&repo.owner.with_token(token));
    let said = refused!(
        forge.commit_files(&repo.id, &change(path)).await,
        ForgeError::MissingScope { scope: "workflow", message, .. } => message
    );
    assert!(said.contains(path) && said.contains("`workflow`"), "{said}");
    forge.commit_files(&repo.id, &change("ci.yml")).await?;
    let token = cx.lab.token(&repo.owner, &["repo", "workflow"]).await?;
    let forge = cx.forge(&repo.owner.with_token(token));
    forge.commit_files(&repo.id, &change(path)).await?;
    // The first file of an empty repository is written in another way.
    let empty = cx.lab.empty_repo(&repo.owner).await?;
    let token = cx.lab.token(&repo.owner, &["repo"]).await?;
    let forge = cx.forge(&repo.owner.with_token(token));
    refused!(
        forge.commit_files(&empty.id, &change(path)).await,
        ForgeError::MissingScope { .. }
    );
    Ok(())
}

async fn a_merge_in_progress_is_waited_for(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    let number = cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    let (method, words) = if cx.backend.is_github() {
        ("PUT", "Merge already in progress")
    } else {
        ("POST", "Please try again later")
    };
    let busy = json!({"status": 405, "count": 2, "body": {"message": words}});
    let rest = format!("/pulls/{number}/merge");
    fault(&cx, &repo, method, &rest, busy).await?;
    let outcome = forge
        .merge_pr(&repo.id, number, &merge(MergeStrategy::Merge))
        .await?;
    assert!(
        matches!(outcome, MergeOutcome::Merged { already: false, .. }),
        "{outcome:?}"
    );
    Ok(())
}

/// Merged after the look at the pull request and before the merge was tried
async fn a_merge_by_another_client_is_already_done(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    let number = cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    let method = if cx.backend.is_github() {
        "PUT"
    } else {
        "POST"
    };
    let rest = format!("/pulls/{number}/merge");
    let opts = merge(MergeStrategy::Merge);
    fault(
        &cx,
        &repo,
        method,
        &rest,
        json!({"delay_ms": HOLD_MS, "count": 1}),
    )
    .await?;
    let other = cx.forge(&repo.owner);
    let (slow, quick) = tokio::join!(forge.merge_pr(&repo.id, number, &opts), async {
        struck(&cx, &repo).await?;
        let merged: Result<MergeOutcome> = Ok(other.merge_pr(&repo.id, number, &opts).await?);
        merged
    });
    let already = |outcome: MergeOutcome| match outcome {
        MergeOutcome::Merged { already, .. } => already,
        MergeOutcome::Scheduled => panic!("it was not merged"),
    };
    assert!(!already(quick?));
    assert!(already(slow?));
    Ok(())
}

async fn a_branch_pushed_to_during_the_merge_is_kept(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    let number = cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    // The look at the branch after the merge is held up until the push is done.
    let rest = if cx.backend.is_github() {
        "/git/ref/heads/topic"
    } else {
        "/branches/topic"
    };
    fault(
        &cx,
        &repo,
        "GET",
        rest,
        json!({"delay_ms": HOLD_MS, "count": 1}),
    )
    .await?;
    let opts = MergeOpts {
        delete_branch: true,
        ..merge(MergeStrategy::Merge)
    };
    let (outcome, pushed) = tokio::join!(forge.merge_pr(&repo.id, number, &opts), async {
        struck(&cx, &repo).await?;
        cx.lab.write(&repo, "topic", &[("late.txt", b"late")]).await
    });
    let outcome = outcome?;
    assert!(
        matches!(
            outcome,
            MergeOutcome::Merged {
                branch_deleted: false,
                branch_moved: true,
                ..
            }
        ),
        "{outcome:?}"
    );
    assert_eq!(cx.lab.head(&repo, "topic").await?, pushed?);
    Ok(())
}

async fn addresses_for_people_are_told(cx: Cx) -> Result<()> {
    if !cx.backend.is_github() {
        return Err(Skip::new("only GitHub has single sign-on and takedown notices").into());
    }
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    let sso = "https://github.com/orgs/acme/sso?authorization_request=AZ";
    let notice = "https://github.com/github/dmca/blob/master/2024/01/2024-01-01-x.md";
    let protected = json!({"status": 403, "count": 1, "body": {"message": "protected by SAML"},
        "headers": {"X-GitHub-SSO": format!("required; url={sso}")}});
    let blocked = json!({"status": 451, "count": 1, "body": {
        "message": "Repository access blocked",
        "block": {"reason": "dmca", "html_url": notice}}});
    for (rule, url) in [(protected, sso), (blocked, notice)] {
        fault(&cx, &repo, "GET", "*", rule).await?;
        let said = refused!(
            forge.get_branch(&repo.id, "main").await,
            ForgeError::Forbidden { message, .. } => message
        );
        assert!(said.contains(url), "{said}");
    }
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
