use super::*;

#[tokio::test]
async fn a_head_is_asked_for_with_its_owner_and_rows_are_checked() {
    let fake = Fake::start().await;
    let other_branch = pull(&json!({"number": 2, "head": {
        "ref": "twin", "sha": A, "user": {"login": "o"}, "repo": null,
    }}));
    let other_owner = pull(&json!({"number": 3, "head": {
        "ref": "topic", "sha": A, "user": {"login": "fork"}, "repo": null,
    }}));
    let other_base = pull(&json!({"number": 4, "base": {
        "ref": "dev", "sha": A, "user": {"login": "o"}, "repo": null,
    }}));
    let rows = json!([pull(&json!({})), other_branch, other_owner, other_base]);
    fake.json("GET /repos/o/r/pulls", &rows);
    let forge = github(&fake);
    let found = forge.find_pr(&repo(), "topic", "main").await.unwrap();
    assert_eq!(found.unwrap().number, 1);
    let call = &fake.calls()[0];
    assert!(
        call.contains("head=o%3Atopic") && call.contains("base=main"),
        "{call}"
    );
    let found = forge.find_pr(&repo(), "fork:topic", "main").await.unwrap();
    let found = found.unwrap();
    assert_eq!((found.number, found.head.repo), (3, None));
    let filter = PrFilter {
        head: Some("o:nothing".to_owned()),
        ..PrFilter::default()
    };
    let none = forge
        .list_prs(&repo(), &filter, Page::default())
        .await
        .unwrap();
    assert!(none.items.is_empty() && none.next_page.is_none());
}

#[tokio::test]
async fn all_pages_are_read_by_number_and_links_to_elsewhere_are_not_followed() {
    let fake = Fake::start().await;
    let row = |name: String| json!({"name": name, "commit": {"sha": A}, "protected": false});
    let page = |n: usize, size: usize| {
        let rows: Vec<Value> = (0..size).map(|i| row(format!("b{n}-{i}"))).collect();
        let link = "<http://evil.example/x?page=2>; rel=\"next\", <http://evil.example/x?page=3>; rel=\"last\"";
        let answer = json_reply(200, &json!(rows));
        if n < 3 {
            answer.with("link", link)
        } else {
            answer.with("link", "<http://evil.example/x?page=2>; rel=\"prev\"")
        }
    };
    for (n, size) in [(1, 100), (2, 100), (3, 7)] {
        fake.on(
            &format!("GET /repos/o/r/branches?page={n}&per_page=100"),
            [page(n, size)],
        );
    }
    let all = github(&fake).all_branches(&repo()).await.unwrap();
    assert_eq!(all.len(), 207);
    assert_eq!(all[206].name, "b3-6");
    assert_eq!(fake.calls().len(), 3);
}

#[tokio::test]
async fn a_list_without_link_is_one_page() {
    let fake = Fake::start().await;
    fake.json("GET /repos/o/r/branches", &json!([]));
    let page = github(&fake)
        .list_branches(&repo(), Page::first(500))
        .await
        .unwrap();
    assert!(page.items.is_empty() && page.next_page.is_none());
    assert_eq!(
        fake.calls(),
        ["GET /repos/o/r/branches?page=1&per_page=100"]
    );
}

#[tokio::test]
async fn reviews_know_whether_the_head_moved() {
    let fake = Fake::start().await;
    fake.json("GET /repos/o/r/pulls/1", &pull(&json!({})));
    fake.json(
        "GET /repos/o/r/pulls/1/reviews",
        &json!([
            {"user": {"login": "x"}, "state": "APPROVED", "commit_id": A, "submitted_at": "2026-01-01T00:00:00Z"},
            {"user": null, "state": "CHANGES_REQUESTED", "commit_id": B},
        ]),
    );
    let reviews = github(&fake).pr_reviews(&repo(), 1).await.unwrap();
    let short: Vec<_> = reviews
        .iter()
        .map(|r| (r.author.as_str(), r.state, r.stale))
        .collect();
    assert_eq!(
        short,
        [
            ("x", ReviewState::Approved, false),
            ("ghost", ReviewState::ChangesRequested, true)
        ]
    );
}

#[tokio::test]
async fn checks_are_statuses_and_runs_from_all_pages_and_nothing_is_not_pending() {
    let fake = Fake::start().await;
    let reported = |context: &str, state: &str| json!({"context": context, "state": state, "description": null, "target_url": null});
    let first: Vec<Value> = (0..100)
        .map(|i| reported(&format!("s{i}"), "success"))
        .collect();
    let at = |tail: &str| format!("GET /repos/o/r/commits/{A}/{tail}");
    fake.json(
        &at("status?page=1&per_page=100"),
        &json!({"state": "success", "total_count": 101, "statuses": first}),
    );
    fake.json(
        &at("status?page=2&per_page=100"),
        &json!({"state": "failure", "total_count": 101, "statuses": [reported("last", "error")]}),
    );
    let run = |name: &str, status: &str, conclusion: Value| json!({"name": name, "status": status, "conclusion": conclusion, "html_url": "u", "output": {"title": null}});
    fake.json(
        &at("check-runs"),
        &json!({"total_count": 4, "check_runs": [
            run("a", "completed", json!("neutral")),
            run("b", "in_progress", Value::Null),
            run("c", "completed", json!("timed_out")),
            run("d", "completed", json!("something_new")),
        ]}),
    );
    fake.on(&at("").replace(&format!("{A}/"), A), [reply(200, A)]);
    let checks = github(&fake).checks(&repo(), A).await.unwrap();
    assert_eq!(checks.items.len(), 105);
    let states: Vec<CheckState> = checks.items[100..].iter().map(|c| c.state).collect();
    assert_eq!(
        states,
        [
            CheckState::Failure,
            CheckState::Skipped,
            CheckState::Pending,
            CheckState::Failure,
            CheckState::Pending,
        ]
    );

    let fake = Fake::start().await;
    fake.on(&format!("GET /repos/o/r/commits/{A}"), [reply(200, A)]);
    fake.json(
        &at("status"),
        &json!({"state": "pending", "total_count": 0, "statuses": []}),
    );
    fake.json(
        &at("check-runs"),
        &json!({"total_count": 0, "check_runs": []}),
    );
    let checks = github(&fake).checks(&repo(), A).await.unwrap();
    assert_eq!(checks.verdict(), Verdict::None);
}

#[tokio::test]
async fn what_goes_to_a_base_is_asked_for_page_by_page() {
    let fake = Fake::start().await;
    let next = "<http://x/repos/o/r/pulls?page=3>; rel=\"next\"";
    let rows = json_reply(200, &json!([pull(&json!({}))])).with("link", next);
    fake.on("GET /repos/o/r/pulls", [rows]);
    let filter = PrFilter {
        base: Some("main".to_owned()),
        ..PrFilter::default()
    };
    let page = Page::new(2, 5);
    let list = github(&fake).list_prs(&repo(), &filter, page).await;
    assert_eq!(list.unwrap().next_page, Some(3));
    assert_eq!(
        fake.calls(),
        ["GET /repos/o/r/pulls?state=open&base=main&page=2&per_page=5"]
    );
}

#[tokio::test]
async fn jobs_tell_what_check_runs_may_not() {
    let at = |tail: &str| format!("GET /repos/o/r/commits/{A}/{tail}");
    let no = || message(403, "Resource not accessible by personal access token");
    let fake = Fake::start().await;
    let status = json!({"context": "lint", "state": "success"});
    fake.json(
        &at("status"),
        &json!({"state": "success", "total_count": 1, "statuses": [status]}),
    );
    fake.on(&at("check-runs"), [no()]);
    let run = |id: u64| json!({"id": id, "name": "ci", "head_sha": A, "status": "completed"});
    fake.json(
        "GET /repos/o/r/actions/runs",
        &json!({"total_count": 2, "workflow_runs": [run(2), run(1)]}),
    );
    let job = |name: &str, conclusion: &str| json!({"id": 1, "run_id": 1, "name": name, "status": "completed", "conclusion": conclusion});
    for (run, jobs) in [
        (2, json!([job("build", "success")])),
        (
            1,
            json!([job("build", "cancelled"), job("test", "failure")]),
        ),
    ] {
        let body = json!({"total_count": jobs.as_array().unwrap().len(), "jobs": jobs});
        fake.json(&format!("GET /repos/o/r/actions/runs/{run}/jobs"), &body);
    }
    let found = github(&fake).checks_of(&repo(), &sha(A)).await.unwrap();
    assert!(found.partial);
    let rows = found.items.iter().map(|c| (c.context.as_str(), c.state));
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [
            ("lint", CheckState::Success),
            ("build", CheckState::Success),
            ("test", CheckState::Failure),
        ]
    );

    // Nothing at all may be read: that is no verdict.
    fake.on("GET /repos/o/r/actions/runs", [no()]);
    let found = github(&fake).checks_of(&repo(), &sha(A)).await.unwrap();
    assert_eq!((found.items.len(), found.partial), (1, true));
    fake.on(&at("status"), [no()]);
    let error = github(&fake).checks_of(&repo(), &sha(A)).await.unwrap_err();
    assert!(matches!(error, ForgeError::Forbidden { .. }), "{error}");
}
