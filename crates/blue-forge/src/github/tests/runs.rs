use super::*;

const LOGS: &str = "GET /repos/o/r/actions/jobs/5/logs";

#[tokio::test]
async fn a_log_on_another_server_is_fetched_without_the_token_and_cut() {
    let fake = Fake::start().await;
    let store = Fake::start().await;
    let lines: Vec<String> = (0..10_000).map(|i| format!("line {i}\n")).collect();
    store.on("GET /logs/5", [reply(200, lines.concat())]);
    let to = format!("http://{}/logs/5?sig=secret", store.addr);
    fake.on(LOGS, [reply(302, "").with("location", &to)]);
    let refused = github(&fake).job_log(&repo(), 5, 20).await.unwrap_err();
    assert!(
        matches!(refused, ForgeError::Unexpected { .. }),
        "{refused:?}"
    );
    assert!(store.seen().is_empty());
    let allowed = vec![Host::parse(&store.addr.to_string()).unwrap()];
    let forge = github_of(&fake, "hunter2", allowed);
    let log = forge.job_log(&repo(), 5, 20).await.unwrap();
    assert_eq!(
        (log.text.as_str(), log.cut),
        ("line 9998\nline 9999\n", true)
    );
    assert!(store.seen()[0].headers.get("authorization").is_none());
    assert!(fake.seen()[0].headers.get("authorization").is_some());
}

#[tokio::test]
async fn a_log_that_is_gone_or_at_an_odd_place_is_refused() {
    let fake = Fake::start().await;
    let odd = reply(302, "").with("location", "http://logs.invalid/5");
    fake.on(LOGS, [message(410, "Server Error"), odd]);
    let forge = github(&fake);
    let error = forge.job_log(&repo(), 5, 20).await.unwrap_err();
    assert!(matches!(error, ForgeError::NotFound { .. }), "{error}");
    let error = forge.job_log(&repo(), 5, 20).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unexpected { .. }), "{error}");
}

#[tokio::test]
async fn a_log_at_a_private_address_is_not_fetched() {
    let fake = Fake::start().await;
    let forge = github(&fake);
    for to in [
        "https://169.254.169.254/latest/meta-data",
        "https://localhost:1/log",
    ] {
        fake.on(LOGS, [reply(302, "").with("location", to)]);
        let error = forge.job_log(&repo(), 5, 20).await.unwrap_err();
        assert!(matches!(error, ForgeError::NotPublic { .. }), "{error:?}");
    }
    // The forge's own server may be on a private network.
    fake.on(LOGS, [reply(302, "").with("location", "/api/v3/_logs/5")]);
    fake.on("GET /_logs/5", [reply(200, "line\n")]);
    let log = forge.job_log(&repo(), 5, 20).await.unwrap();
    assert_eq!(log.text, "line\n");
}

#[tokio::test]
async fn runs_are_filtered_and_states_told_apart() {
    let fake = Fake::start().await;
    let run = |id: u64, branch: &str, status: &str, conclusion: Value| {
        json!({"id": id, "run_number": id, "name": "ci", "event": "push", "head_branch": branch,
            "head_sha": A, "status": status, "conclusion": conclusion, "html_url": "h", "created_at": "2026-01-01T00:00:00Z"})
    };
    fake.json(
        "GET /repos/o/r/actions/runs",
        &json!({"total_count": 6, "workflow_runs": [
            run(1, "main", "completed", json!("success")),
            run(2, "main", "completed", json!("startup_failure")),
            run(3, "other", "completed", json!("success")),
            run(4, "main", "waiting", Value::Null),
            run(5, "main", "completed", json!("cancelled")),
            run(6, "main", "completed", json!("action_required")),
        ]}),
    );
    let filter = RunFilter {
        branch: Some("main".to_owned()),
        ..RunFilter::default()
    };
    let page = github(&fake)
        .list_runs(&repo(), &filter, Page::default())
        .await
        .unwrap();
    let states: Vec<_> = page.items.iter().map(|r| (r.id, r.state)).collect();
    assert_eq!(
        states,
        [
            (1, RunState::Success),
            (2, RunState::Failure),
            (4, RunState::Queued),
            (5, RunState::Cancelled),
            (6, RunState::ActionRequired)
        ]
    );
    assert!(fake.calls()[0].contains("branch=main"));
}
