//! `/connections`: each user sees and revokes their own connections, and no other's

use std::time::Duration;

use crate::{
    browser::{Browser, Page, pairs},
    register::register,
    setup::{Setup, good, tokens, tokens_of},
};

async fn enter(browser: &mut Browser, setup: &Setup, login: &str) -> Page {
    let url = setup.at("/connections");
    let page = browser.post(setup, &url, &[("do", "sign-in")]).await;
    let page = browser.follow(setup, page, login).await;
    assert_eq!(
        (page.status.as_u16(), page.url.path()),
        (200, "/connections")
    );
    page
}

/// Connect a client for a user, to the end of the sign-in
async fn connect(setup: &Setup, client: &str, login: &str) -> Browser {
    let mut browser = Browser::default();
    let to = browser.sign_in(setup, &good(client), login).await;
    tokens(setup, client, &to).await;
    browser
}

async fn act(browser: &mut Browser, setup: &Setup, page: &Page, form: &[(&str, &str)]) -> Page {
    let hidden = page.hidden();
    let token = hidden.iter().find(|(name, _)| name == "token").unwrap();
    let mut all = vec![("token", token.1.as_str())];
    all.extend(form);
    let page = browser.post(setup, &setup.at("/connections"), &all).await;
    browser.follow(setup, page, "nobody").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_sees_and_ends_their_connections() {
    let setup = Setup::with_app().await;
    connect(&setup, "tool", "alice").await;
    connect(&setup, "tool", "alice").await;
    connect(&setup, "site", "alice").await;
    let mut bob = connect(&setup, "site", "bob").await;
    let mut browser = Browser::default();
    let page = browser.get(&setup, &setup.at("/connections")).await;
    page.says("Sign in with");
    assert!(!page.body.contains("A tool"));
    let page = enter(&mut browser, &setup, "alice").await;
    page.says("alice")
        .says("A tool")
        .says("(2 times)")
        .says("A site")
        .says("15 Jan 2027")
        .says("/user/settings/applications");
    let page = act(
        &mut browser,
        &setup,
        &page,
        &[("do", "revoke"), ("client", "tool")],
    )
    .await;
    page.says("A site");
    assert!(!page.body.contains("A tool"), "{}", page.body);
    let page = act(&mut browser, &setup, &page, &[("do", "revoke-all")]).await;
    page.says("No app is connected");
    enter(&mut bob, &setup, "bob").await.says("A site");
    let page = act(&mut browser, &setup, &page, &[("do", "sign-out")]).await;
    page.says("Sign in with");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_show_what_was_verified_and_no_jargon() {
    const REDIRECT: &str = "http://127.0.0.1:4711/callback";
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    let said = serde_json::json!({ "client_name": "Mine", "redirect_uris": [REDIRECT],
        "token_endpoint_auth_method": "none" });
    let (_, made) = register(&setup, &said).await;
    let code = "https://claude.ai/oauth/claude-code-client-metadata";
    for id in [code, made["client_id"].as_str().unwrap()] {
        let encoded: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
        let query = good("tool").replace("client_id=tool", &format!("client_id={encoded}"));
        let to = browser.sign_in(&setup, &query, "alice").await;
        tokens_of(&setup, id, REDIRECT, &to).await;
    }
    let page = enter(&mut browser, &setup, "alice").await;
    page.says("Claude Code")
        .says("Verified: it belongs to <strong class=\"host\">claude.ai</strong>")
        .says("Mine")
        .says("Not verified")
        .says("read and change your repositories");
    assert!(!page.body.contains("Scopes"), "{}", page.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_connection_opens_nothing_any_more() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    let to = browser.sign_in(&setup, &good("tool"), "alice").await;
    let access = tokens(&setup, "tool", &to).await;
    let call = || async {
        let request = setup.http.get(setup.at("/mcp")).bearer_auth(&access);
        request.send().await.unwrap().status().as_u16()
    };
    assert_ne!(call().await, 401);
    let page = enter(&mut browser, &setup, "alice").await;
    act(
        &mut browser,
        &setup,
        &page,
        &[("do", "revoke"), ("client", "tool")],
    )
    .await;
    assert_eq!(call().await, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn fixation_a_cookie_from_before_is_worth_nothing_after() {
    let setup = Setup::with_app().await;
    let mut attacker = Browser::default();
    enter(&mut attacker, &setup, "bob").await;
    let planted = attacker.cookies["blue-connections"].clone();
    let mut victim = Browser::default();
    for value in [planted.as_str(), "made-up"] {
        let cookies = &mut victim.cookies;
        cookies.insert("blue-connections".to_owned(), value.to_owned());
        enter(&mut victim, &setup, "alice").await.says("alice");
        assert_ne!(victim.cookies["blue-connections"], value);
    }
    let page = attacker.get(&setup, &setup.at("/connections")).await;
    page.says("bob");
    assert!(!page.body.contains("alice"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_sign_in_opens_the_page_and_a_closed_session_stays_closed() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    let url = setup.at("/connections");
    let page = browser.post(&setup, &url, &[("do", "sign-in")]).await;
    let done = page.next().unwrap();
    // Another tab of the browser has seen the end; this one gave up waiting before.
    let mut other = Browser {
        cookies: browser.cookies.clone(),
    };
    other.follow(&setup, page, "alice").await.says("alice");
    let page = browser.get(&setup, done.as_str()).await;
    let page = browser.follow(&setup, page, "nobody").await;
    page.says("Signed in as");
    act(&mut browser, &setup, &page, &[("do", "sign-out")]).await;
    let page = browser.get(&setup, done.as_str()).await;
    let page = browser.follow(&setup, page, "nobody").await;
    page.says("Sign in with");
    assert_eq!(
        Browser::default().get(&setup, done.as_str()).await.status,
        403
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_of_others_change_nothing() {
    let setup = Setup::with_app().await;
    let mut alice = connect(&setup, "tool", "alice").await;
    let page = enter(&mut alice, &setup, "alice").await;
    let mut bob = Browser::default();
    let theirs = enter(&mut bob, &setup, "bob").await;
    let url = setup.at("/connections");
    let own = setup.at("");
    let hidden = page.hidden();
    let mut good = pairs(&hidden[..1]);
    good.push(("do", "revoke-all"));
    for headers in [
        &[("origin", "https://evil.example")][..],
        &[("origin", "null")],
        &[("origin", &own), ("sec-fetch-site", "same-site")],
    ] {
        let page = alice.post_with(&setup, &url, &good, headers).await;
        assert_eq!(page.status, 403);
    }
    let mut other = pairs(&hidden[..0]);
    let token = theirs.hidden().remove(0).1;
    other.extend([("token", token.as_str()), ("do", "revoke-all")]);
    assert_eq!(alice.post(&setup, &url, &other).await.status, 403);
    let none = [("do", "revoke-all")];
    assert_eq!(alice.post(&setup, &url, &none).await.status, 403);
    for form in [&[("do", "revoke")][..], &[("do", "explode")], &[]] {
        let mut all = pairs(&hidden[..1]);
        all.extend(form);
        assert_eq!(alice.post(&setup, &url, &all).await.status, 400);
    }
    // Bob revokes a connection that is not his: it stays.
    act(
        &mut bob,
        &setup,
        &theirs,
        &[("do", "revoke"), ("client", "tool")],
    )
    .await;
    let page = alice.get(&setup, &url).await;
    page.says("A tool");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visit_ends_by_itself_and_at_once_when_asked() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    let page = enter(&mut browser, &setup, "alice").await;
    let kept = browser.cookies.clone();
    act(&mut browser, &setup, &page, &[("do", "sign-out")]).await;
    let mut old = Browser { cookies: kept };
    let page = old.get(&setup, &setup.at("/connections")).await;
    page.says("Sign in with");
    enter(&mut browser, &setup, "alice").await;
    setup.clock.advance(Duration::from_mins(30));
    let page = browser.get(&setup, &setup.at("/connections")).await;
    page.says("Sign in with");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_name_of_this_machine_leads_to_the_one_whose_forms_count() {
    let setup = Setup::start().await;
    let url = setup.at("/connections");
    let port = setup.broker.address().port();
    let request = setup.http.get(&url);
    let request = request.header("host", format!("localhost:{port}"));
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 303);
    assert_eq!(answer.headers()["location"].to_str().unwrap(), url);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visit_alone_leaves_nothing_of_the_forges_behind() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    let state = async || {
        let admin = crate::admin::admin(&setup).await.0;
        admin.users(1).await.unwrap().rows[0].state
    };
    enter(&mut browser, &setup, "alice").await;
    assert_eq!(state().await, "disconnected");
    let to = browser.sign_in(&setup, &good("tool"), "alice").await;
    let access = tokens(&setup, "tool", &to).await;
    // The tokens of a visit are kept for users who are connected.
    let page = enter(&mut browser, &setup, "alice").await;
    assert_eq!(state().await, "connected");
    let request = setup.http.get(setup.at("/mcp")).bearer_auth(&access);
    assert_eq!(request.send().await.unwrap().status(), 200);
    let form = [("do", "revoke"), ("client", "tool")];
    let page = act(&mut browser, &setup, &page, &form).await;
    page.says("alice").says("No app is connected");
    assert!(!page.body.contains("no longer accepts"), "{}", page.body);
    assert_eq!(state().await, "disconnected");
}
