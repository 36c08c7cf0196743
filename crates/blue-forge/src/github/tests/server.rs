use super::*;

#[tokio::test]
async fn every_request_is_pinned_and_signed() {
    let fake = Fake::start().await;
    fake.json("GET /repos/o/r/branches", &json!([]));
    github(&fake).all_branches(&repo()).await.unwrap();
    let headers = &fake.seen()[0].headers;
    assert_eq!(headers["x-github-api-version"], "2022-11-28");
    assert_eq!(headers["accept"], "application/vnd.github+json");
    assert_eq!(headers["authorization"], "Bearer hunter2");
    assert!(headers["user-agent"].to_str().unwrap().starts_with("blue/"));
}

#[tokio::test]
async fn who_asks_what_the_token_may_and_what_is_left() {
    let fake = Fake::start().await;
    let user = json!({"login": "mona", "site_admin": true});
    let full = json_reply(200, &user)
        .with("x-oauth-scopes", "repo, workflow")
        .with("x-ratelimit-limit", "5000")
        .with("x-ratelimit-remaining", "4990")
        .with("x-ratelimit-reset", "1767225600");
    let bare = json_reply(200, &user);
    fake.on("GET /user", [full, bare]);
    fake.json(
        "GET /rate_limit",
        &json!({"resources": {"core": {"limit": 60, "remaining": 59, "reset": 1_767_225_600}}}),
    );
    let forge = github(&fake);
    let first = forge.whoami().await.unwrap();
    assert_eq!((first.login.as_str(), first.admin), ("mona", true));
    assert_eq!(first.scopes.unwrap(), ["repo", "workflow"]);
    let rate = first.rate.unwrap();
    assert_eq!((rate.limit, rate.remaining), (5000, 4990));
    assert_eq!(rate.reset.unwrap().as_second(), 1_767_225_600);
    // A fine-grained token names no scopes; the rate has a route of its own.
    let second = forge.whoami().await.unwrap();
    assert_eq!(second.scopes, None);
    assert_eq!(second.rate.unwrap().remaining, 59);
}

#[tokio::test]
async fn the_version_of_an_enterprise_server() {
    for (answer, version) in [
        (
            json_reply(200, &json!({"verifiable_password_authentication": true})),
            None,
        ),
        (
            json_reply(200, &json!({"installed_version": "3.14.2"})),
            Some("3.14.2"),
        ),
        (
            message(401, "Must authenticate to access this API.")
                .with("x-github-enterprise-version", "3.9.1"),
            Some("3.9.1"),
        ),
    ] {
        let fake = Fake::start().await;
        fake.on("GET /meta", [answer]);
        let about = github(&fake).about().await.unwrap();
        assert_eq!(about.version.as_deref(), version);
        assert_eq!(about.page_limit, 100);
    }
}

#[tokio::test]
async fn a_renamed_repository_is_read_at_its_new_place_and_never_written() {
    let fake = Fake::start().await;
    let root = format!("http://{}/api/v3", fake.addr);
    let moved = |tail: &str| {
        message(301, "Moved Permanently").with("location", &format!("{root}/repositories/7{tail}"))
    };
    fake.on("GET /repos/o/r", [moved("")]);
    fake.on(
        &format!("POST /repos/o/r/statuses/{A}"),
        [moved("/statuses")],
    );
    fake.json(
        "GET /repositories/7",
        &json!({"name": "new", "owner": {"login": "o"}, "size": 5, "default_branch": "main"}),
    );
    let forge = github(&fake);
    let found = forge.repository(&repo()).await.unwrap();
    assert_eq!(found.id.to_string(), "o/new");
    let opts = StatusOpts {
        context: "ci".to_owned(),
        state: CheckState::Success,
        description: None,
        target_url: None,
    };
    let error = forge.set_status(&repo(), &sha(A), &opts).await.unwrap_err();
    assert!(
        matches!(&error, ForgeError::Moved { what, .. } if what == "`o/r`"),
        "{error}"
    );
    assert!(
        !fake
            .calls()
            .contains(&"POST /repositories/7/statuses".to_owned())
    );
}

#[tokio::test]
async fn a_redirect_to_another_server_is_not_followed() {
    let fake = Fake::start().await;
    let thief = Fake::start().await;
    let to = format!("http://{}/api/v3/repos/o/r", thief.addr);
    fake.on(
        "GET /repos/o/r",
        [message(301, "Moved").with("location", &to)],
    );
    assert!(github(&fake).repository(&repo()).await.is_err());
    assert!(thief.seen().is_empty());
}

#[tokio::test]
async fn limits_say_how_long_they_last() {
    let fake = Fake::start().await;
    let secondary =
        message(403, "You have exceeded a secondary rate limit.").with("retry-after", "120");
    fake.on("GET /repos/o/r", [secondary]);
    let error = github(&fake).repository(&repo()).await.unwrap_err();
    let ForgeError::RateLimited { retry_after, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(retry_after, Some(Duration::from_mins(2)));
    assert_eq!(fake.calls().len(), 1);
}

#[tokio::test]
async fn the_last_request_of_the_hour_may_be_refused_for_its_own_sake() {
    let fake = Fake::start().await;
    let refused = message(403, "Must have admin rights to Repository.");
    let spent = refused
        .with("x-ratelimit-remaining", "0")
        .with("x-ratelimit-reset", "4102444800");
    fake.on("GET /repos/o/r", [spent]);
    let error = github(&fake).repository(&repo()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Forbidden { .. }), "{error:?}");
    assert!(!error.retryable());
}

#[tokio::test]
async fn an_empty_repository_is_told_from_one_of_size_zero() {
    let fake = Fake::start().await;
    let body = json!({"name": "r", "owner": {"login": "o"}, "size": 0, "default_branch": "main"});
    fake.json("GET /repos/o/r", &body);
    fake.on(
        "GET /repos/o/r/commits",
        [
            message(409, "Git Repository is empty."),
            json_reply(200, &json!([])),
        ],
    );
    let forge = github(&fake);
    assert!(forge.repository(&repo()).await.unwrap().empty);
    assert!(!forge.repository(&repo()).await.unwrap().empty);
}

#[tokio::test]
async fn an_archived_repository_and_a_reader_are_told_apart_from_missing() {
    let fake = Fake::start().await;
    let call = format!("POST /repos/o/r/statuses/{A}");
    let status = StatusOpts {
        context: "ci".to_owned(),
        state: CheckState::Skipped,
        description: None,
        target_url: None,
    };
    let words = "Repository was archived so is read-only.";
    fake.on(&call, [message(403, words), message(404, "Not Found")]);
    fake.json(
        "GET /repos/o/r",
        &json!({"name": "r", "owner": {"login": "o"}, "permissions": {"pull": true, "push": false}}),
    );
    let forge = github(&fake);
    let error = forge
        .set_status(&repo(), &sha(A), &status)
        .await
        .unwrap_err();
    assert!(
        matches!(&error, ForgeError::Archived { message, .. } if message == words),
        "{error}"
    );
    let error = forge
        .set_status(&repo(), &sha(A), &status)
        .await
        .unwrap_err();
    assert!(matches!(error, ForgeError::Forbidden { .. }), "{error}");
    assert_eq!(fake.seen()[0].body["state"], "success");
}
