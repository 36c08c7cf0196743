//! The way back from the forge, up to the client's code

use std::time::Duration;

use blue_base::secret::Secret;
use blue_broker::config::ForgeScopes;
use blue_sandbox::Flavor;
use reqwest::Method;
use url::Url;

use crate::{
    browser::{Browser, Page, param},
    setup::{Setup, good, tokens},
};

/// Up to the forge's own page: where it would send the browser
async fn to_forge(browser: &mut Browser, setup: &Setup, query: &str) -> (Url, Page) {
    let asked = browser.asked(setup, query).await;
    let page = browser.answer(setup, &asked, "approve").await;
    let done = page.next().unwrap();
    let page = browser.get(setup, done.as_str()).await;
    (done, page)
}

/// The address with which the forge sends the browser back, not followed yet
async fn sent_back(browser: &mut Browser, setup: &Setup) -> (Url, Url) {
    let (done, page) = to_forge(browser, setup, &good("tool")).await;
    let page = browser.get(setup, page.next().unwrap().as_str()).await;
    let back = page.next().unwrap();
    assert_eq!(back.path(), "/oauth/callback", "{back}");
    (done, back)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_way_ends_with_a_code_a_state_and_an_issuer() {
    for flavor in [Flavor::Gitea, Flavor::Forgejo] {
        let setup = Setup::with_app_on(flavor).await;
        for (client, place) in [
            ("tool", "http://127.0.0.1:4711/callback?"),
            ("site", "https://client.example/cb?"),
            ("cursor", "cursor://editor.example/cb?"),
        ] {
            let mut browser = Browser::default();
            let to = browser.sign_in(&setup, &good(client), "alice").await;
            assert!(to.as_str().starts_with(place), "{to}");
            let code = param(&to, "code").unwrap();
            assert!(code.starts_with("bbac_"), "{to}");
            assert_eq!(param(&to, "state").as_deref(), Some("s&1 é"));
            assert_eq!(param(&to, "iss"), Some(setup.at("")));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_counts_once_and_asking_again_shows_the_same_answer() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    browser.sign_in(&setup, &good("tool"), "alice").await;
    let (done, back) = sent_back(&mut browser, &setup).await;
    let first = browser.get(&setup, back.as_str()).await;
    assert_eq!(first.next(), Some(done.clone()));
    let shown = browser.get(&setup, done.as_str()).await;
    let code = param(&shown.next().unwrap(), "code").unwrap();
    shown.says("you are alice");
    assert_eq!(shown.header("cache-control"), "no-store");
    assert_eq!(shown.header("referrer-policy"), "no-referrer");
    // Reload of either: no second exchange, the same code.
    for url in [&back, &done, &back] {
        let page = browser.get(&setup, url.as_str()).await;
        let page = browser.follow(&setup, page, "alice").await;
        assert_eq!(param(&page.next().unwrap(), "code").as_ref(), Some(&code));
    }
    // A code that is too old is not handed out again.
    setup.clock.advance(Duration::from_mins(1));
    let page = browser.get(&setup, done.as_str()).await;
    assert_eq!(page.next(), None);
    page.says("This sign-in is finished");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_that_was_used_is_not_shown_again() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    browser.sign_in(&setup, &good("tool"), "alice").await;
    let (done, back) = sent_back(&mut browser, &setup).await;
    let page = browser.get(&setup, back.as_str()).await;
    let page = browser.follow(&setup, page, "alice").await;
    tokens(&setup, "tool", &page.next().unwrap()).await;
    // The client would take it for theft and lose its tokens.
    for url in [&done, &back] {
        let page = browser.get(&setup, url.as_str()).await;
        let page = browser.follow(&setup, page, "alice").await;
        assert_eq!(page.next(), None);
        page.says("This sign-in is finished");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_ways_back_at_once_are_one() {
    let setup = std::sync::Arc::new(Setup::with_app().await);
    let mut browser = Browser::default();
    browser.sign_in(&setup, &good("tool"), "alice").await;
    let (done, back) = sent_back(&mut browser, &setup).await;
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let cookies = browser.cookies.clone();
        let (setup, back) = (std::sync::Arc::clone(&setup), back.clone());
        all.spawn(async move {
            let mut browser = Browser { cookies };
            browser.get(&setup, back.as_str()).await.status
        });
    }
    while let Some(status) = all.join_next().await {
        assert_eq!(status.unwrap(), 303);
    }
    let page = browser.get(&setup, done.as_str()).await;
    assert!(param(&page.next().unwrap(), "code").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn login_csrf_a_state_of_another_browser_is_refused() {
    let setup = Setup::with_app().await;
    let mut attacker = Browser::default();
    attacker.sign_in(&setup, &good("tool"), "bob").await;
    let (done, back) = sent_back(&mut attacker, &setup).await;
    let mut victim = Browser::default();
    victim.sign_in(&setup, &good("tool"), "alice").await;
    let page = victim.get(&setup, back.as_str()).await;
    assert_eq!(page.status, 403);
    assert_eq!(victim.get(&setup, done.as_str()).await.status, 403);
    // The attacker can still finish their own authorization.
    let page = attacker.get(&setup, back.as_str()).await;
    assert_eq!(page.next(), Some(done));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_is_not_ours_is_a_page() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    browser.sign_in(&setup, &good("tool"), "alice").await;
    let (_, back) = sent_back(&mut browser, &setup).await;
    for query in [
        "code=x&state=unknown",
        "code=x",
        "state=",
        "",
        "code=x&state=a&state=b",
        "error=access_denied&error_description=%3Cscript%3E&state=x",
    ] {
        let url = setup.at(&format!("/oauth/callback?{query}"));
        let page = browser.get(&setup, &url).await;
        assert_eq!(page.status, 400, "{query}");
        assert!(!page.body.contains("<script"), "{}", page.body);
    }
    setup.clock.advance(Duration::from_mins(10));
    let page = browser.get(&setup, back.as_str()).await;
    assert_eq!(page.status, 400, "too late");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_at_the_forge_is_a_no() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    browser.sign_in(&setup, &good("tool"), "alice").await;
    let (done, back) = sent_back(&mut browser, &setup).await;
    let state = param(&back, "state").unwrap();
    let url = setup.at(&format!(
        "/oauth/callback?error=access_denied&state={state}"
    ));
    let page = browser.get(&setup, &url).await;
    assert_eq!(page.next(), Some(done));
    let page = browser.follow(&setup, page, "alice").await;
    let to = page.next().unwrap();
    assert_eq!(param(&to, "error").as_deref(), Some("access_denied"));
    // The state is used up, so the code that came with it is not exchanged.
    let page = browser.get(&setup, back.as_str()).await;
    let page = browser.follow(&setup, page, "alice").await;
    assert_eq!(param(&page.next().unwrap(), "code"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_code_or_a_dead_forge_is_a_page_with_a_way_back() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    browser.sign_in(&setup, &good("tool"), "alice").await;
    let (_, back) = sent_back(&mut browser, &setup).await;
    let state = param(&back, "state").unwrap();
    let url = setup.at(&format!("/oauth/callback?code=gta_wrong&state={state}"));
    let page = browser.get(&setup, &url).await;
    let page = browser.follow(&setup, page, "alice").await;
    assert_eq!(page.status, 502);
    page.says("The sign-in did not work")
        .says("error=server_error");
    assert_eq!(page.next(), None, "it must be read");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_grant_with_other_scopes_stops_with_advice() {
    for scope in ["read:user", "all", "read:user write:repository write:issue"] {
        let setup = Setup::with_app().await;
        let mut browser = Browser::default();
        // The user granted other scopes to the same application before.
        let (_, page) = to_forge(&mut browser, &setup, &good("tool")).await;
        let mut forge = page.next().unwrap();
        let pairs: Vec<_> = forge.query_pairs().into_owned().collect();
        let other = |(name, value): (String, String)| {
            let value = if name == "scope" {
                scope.to_owned()
            } else {
                value
            };
            (name, value)
        };
        forge
            .query_pairs_mut()
            .clear()
            .extend_pairs(pairs.into_iter().map(other));
        let page = browser.get(&setup, forge.as_str()).await;
        let page = browser.follow(&setup, page, "alice").await;
        assert_eq!(page.status, 409, "{scope}: {}", page.body);
        page.says("An older permission is in the way")
            .says("/user/settings/applications");
        assert_eq!(page.next(), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_scope_leaves_older_connections_alive_on_a_rotating_forge() {
    const OLD: &str = "read:user read:repository";
    let mut setup = Setup::with_app_on(Flavor::Forgejo).await;
    // Signed in while the broker asked for less.
    let new = setup.broker.public_url().clone();
    setup
        .restart(|config| config.forge_scopes = ForgeScopes::parse(OLD).unwrap())
        .await;
    assert_eq!(setup.broker.public_url().origin(), new.origin());
    let mut browser = Browser::default();
    let to = browser.sign_in(&setup, &good("tool"), "alice").await;
    let access = tokens(&setup, "tool", &to).await;
    assert_eq!(call(&setup, &access).await, 200);

    // Since then it asks for more, and the forge keeps to what was granted.
    setup.restart(|_| ()).await;
    let (_, page) = to_forge(&mut browser, &setup, &good("site")).await;
    let page = browser.follow(&setup, page, "alice").await;
    assert_eq!(page.status, 409, "{}", page.body);
    page.says("An older permission is in the way");

    // The exchange invalidated the older forge token; the connection works all the same.
    setup.clock.advance(Duration::from_mins(59));
    assert_eq!(call(&setup, &access).await, 200);
}

/// What the broker reads from the forge between the code and the end of a sign-in
const READS: [&str; 3] = [
    "/login/oauth/userinfo",
    "/login/oauth/introspect",
    "/api/v1/notifications",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_fails_during_a_sign_in_is_repeated() {
    for flavor in [Flavor::Gitea, Flavor::Forgejo] {
        let setup = Setup::with_app_on(flavor).await;
        for path in READS {
            setup.break_forge(path, Some(1)).await;
            let mut browser = Browser::default();
            let to = browser.sign_in(&setup, &good("tool"), "alice").await;
            assert!(param(&to, "code").is_some(), "{flavor:?} {path}: {to}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_that_fails_half_way_leaves_older_connections_alive_on_a_rotating_forge() {
    // Without the first of the reads the account is not known.
    for path in &READS[1..] {
        let setup = Setup::with_app_on(Flavor::Forgejo).await;
        let mut browser = Browser::default();
        let to = browser.sign_in(&setup, &good("tool"), "alice").await;
        let access = tokens(&setup, "tool", &to).await;

        setup.break_forge(path, None).await;
        let (_, page) = to_forge(&mut browser, &setup, &good("site")).await;
        let page = browser.follow(&setup, page, "alice").await;
        assert_eq!(page.status, 502, "{path}: {}", page.body);
        page.says("The sign-in did not work")
            .says("<p class=\"small\">Request <code>");
        setup.mend_forge().await;

        // The exchange has invalidated the refresh token of the first connection.
        setup.clock.advance(Duration::from_mins(59));
        assert_eq!(call(&setup, &access).await, 200, "{path}");
        let users = crate::admin::admin(&setup)
            .await
            .0
            .users(10)
            .await
            .unwrap()
            .rows;
        assert_eq!(users[0].state, "connected", "{path}");
        // A user who never signed in to the end is not known.
        setup.break_forge(path, None).await;
        let mut bob = Browser::default();
        let (_, page) = to_forge(&mut bob, &setup, &good("site")).await;
        let page = bob.follow(&setup, page, "bob").await;
        assert_eq!(page.status, 502, "{path}: {}", page.body);
        let users = crate::admin::admin(&setup)
            .await
            .0
            .users(10)
            .await
            .unwrap()
            .rows;
        assert_eq!(users.len(), 1, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_was_changed_at_the_forge_signs_no_user_out() {
    let long = Duration::from_hours(8);
    for flavor in [Flavor::Gitea, Flavor::Forgejo] {
        let mut setup = Setup::with_app_on(flavor).await;
        setup.restart(|config| config.access_ttl = long).await;
        let mut browser = Browser::default();
        let to = browser.sign_in(&setup, &good("tool"), "alice").await;
        let access = tokens(&setup, "tool", &to).await;
        assert_eq!(call(&setup, &access).await, 200);

        let apps = "/api/v1/user/applications/oauth2";
        let none = serde_json::Value::Null;
        let app = setup.at_sandbox(Method::GET, apps, &none).await[0].clone();
        let own = format!("{apps}/{}", app["id"]);
        let app = setup.at_sandbox(Method::PATCH, &own, &app).await;
        let secret = Secret::new(app["client_secret"].as_str().unwrap());
        setup.clock.advance(Duration::from_hours(2));
        for _ in 0..2 {
            assert_eq!(call(&setup, &access).await, 503, "{flavor:?}");
        }
        let users = crate::admin::admin(&setup)
            .await
            .0
            .users(10)
            .await
            .unwrap()
            .rows;
        assert_eq!(users[0].state, "connected", "{flavor:?}");
        // Nor can anyone sign in; the page says whose fault it is.
        let (_, page) = to_forge(&mut browser, &setup, &good("site")).await;
        let page = browser.follow(&setup, page, "alice").await;
        assert_eq!(page.status, 503, "{flavor:?}: {}", page.body);
        page.says("This service is not set up correctly");

        setup
            .restart(|config| {
                config.access_ttl = long;
                config.client_secret = secret;
            })
            .await;
        assert_eq!(call(&setup, &access).await, 200, "{flavor:?}");
    }
}

async fn call(setup: &Setup, access: &str) -> u16 {
    let request = setup.http.post(setup.at("/mcp")).bearer_auth(access);
    request.send().await.unwrap().status().as_u16()
}

/// What a forge says that gives everything, or that breaks off, and whatever else is asked of it
async fn forge_that_answers(notifications: u16, scope: &'static str) -> String {
    forge_where(notifications, scope, "alice").await
}

async fn forge_where(notifications: u16, scope: &'static str, login: &str) -> String {
    use axum::{
        Json, Router,
        http::StatusCode,
        routing::{get, post},
    };
    let token = serde_json::json!({
        "access_token": "a", "refresh_token": "r", "expires_in": 3600, "token_type": "bearer",
    });
    let who = serde_json::json!({ "sub": "1", "preferred_username": login });
    let grant = serde_json::json!({ "active": true, "scope": scope });
    let status = StatusCode::from_u16(notifications).unwrap();
    let router = Router::new()
        .route("/login/oauth/access_token", post(async || Json(token)))
        .route("/login/oauth/userinfo", get(async || Json(who)))
        .route("/login/oauth/introspect", post(async || Json(grant)))
        .route("/api/v1/notifications", get(async move || (status, "[]")));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(axum::serve(listener, router).into_future());
    format!("http://{address}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_opens_more_than_its_scope_is_thrown_away() {
    const ASKED: &str = "read:user write:repository";
    for (status, scope, title) in [
        (403, ASKED, "You are signed in"),
        (403, "write:repository,read:user", "You are signed in"),
        (200, ASKED, "The forge gave more than was asked for"),
        (401, ASKED, "The sign-in did not work"),
        (500, ASKED, "The sign-in did not work"),
        (403, "", "An older permission is in the way"),
    ] {
        let setup = Setup::with_forge(&forge_that_answers(status, scope).await).await;
        let mut browser = Browser::default();
        let (_, page) = to_forge(&mut browser, &setup, &good("tool")).await;
        let state = param(&page.next().unwrap(), "state").unwrap();
        let back = setup.at(&format!("/oauth/callback?code=c&state={state}"));
        let page = browser.get(&setup, &back).await;
        let page = browser.get(&setup, page.next().unwrap().as_str()).await;
        page.says(title);
        assert_eq!(
            page.next().is_some(),
            title == "You are signed in",
            "{status}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_with_hidden_characters_is_refused() {
    let scope = "read:user write:repository";
    for login in [
        "al\u{1b}[31mice",
        "alice\u{202e}",
        "a\nb",
        " alice",
        "",
        &"x".repeat(300),
    ] {
        let forge = forge_where(403, scope, login).await;
        let setup = Setup::with_forge(&forge).await;
        let mut browser = Browser::default();
        let (_, page) = to_forge(&mut browser, &setup, &good("tool")).await;
        let state = param(&page.next().unwrap(), "state").unwrap();
        let back = setup.at(&format!("/oauth/callback?code=c&state={state}"));
        let page = browser.get(&setup, &back).await;
        let page = browser.get(&setup, page.next().unwrap().as_str()).await;
        page.says("The sign-in did not work");
    }
}
