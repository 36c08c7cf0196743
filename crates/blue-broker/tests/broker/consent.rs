//! The consent page: bound to its browser, answered once, whatever the browser does

use std::time::Duration;

use crate::{
    browser::{Browser, Page, pairs, param},
    register::{native, register},
    setup::{Setup, good},
};

/// Whether the page still waits for its answer
async fn is_open(browser: &mut Browser, setup: &Setup, asked: &Page) -> bool {
    let page = browser.get(setup, asked.url.as_str()).await;
    page.body.contains("value=\"approve\"")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_of_our_page_counts_for_nothing() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    let asked = browser.asked(&setup, &good("tool")).await;
    let hidden = asked.hidden();
    let mut form = pairs(&hidden);
    form.push(("answer", "approve"));
    let own = setup.at("");
    let port = setup.broker.address().port();
    let local = format!("http://localhost:{port}");
    let upper = own.to_uppercase();
    let longer = format!("{own}0");
    for headers in [
        &[("origin", "null")][..],
        &[("origin", "null"), ("sec-fetch-site", "same-origin")],
        &[("origin", "https://evil.example")],
        &[
            ("origin", "http://127.0.0.1:1"),
            ("sec-fetch-site", "same-site"),
        ],
        &[("origin", &local)],
        &[("origin", &upper)],
        &[("origin", &longer)],
        &[("origin", "")],
        &[("origin", &own), ("origin", "https://evil.example")],
        &[("origin", &own), ("sec-fetch-site", "cross-site")],
        &[("origin", &own), ("sec-fetch-site", "same-site")],
        &[("origin", &own), ("sec-fetch-site", "none")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-origin")],
    ] {
        let url = setup.at("/oauth/consent");
        let page = browser.post_with(&setup, &url, &form, headers).await;
        assert_eq!(page.status, 403, "{headers:?}");
        assert_eq!(page.next(), None, "{headers:?}");
        assert!(is_open(&mut browser, &setup, &asked).await, "{headers:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_without_tls_and_a_program_that_is_none_may_answer() {
    let setup = Setup::with_app().await;
    let own = setup.at("");
    for headers in [&[("origin", own.as_str())][..], &[]] {
        let mut browser = Browser::default();
        let asked = browser.asked(&setup, &good("tool")).await;
        let hidden = asked.hidden();
        let mut form = pairs(&hidden);
        form.push(("answer", "approve"));
        let url = setup.at("/oauth/consent");
        let page = browser.post_with(&setup, &url, &form, headers).await;
        assert_eq!(page.status, 303, "{headers:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cookie_and_form_token_must_be_of_this_authorization() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    let asked = browser.asked(&setup, &good("tool")).await;
    let mut attacker = Browser::default();
    let theirs = attacker.asked(&setup, &good("tool")).await;
    let url = setup.at("/oauth/consent");
    let [tx, token] = ["tx", "token"].map(|name| value(&asked, name));
    let other_token = value(&theirs, "token");
    let other_tx = value(&theirs, "tx");
    for (tx, token, status) in [
        (tx.as_str(), "", 403),
        (&tx, "x", 403),
        (&tx, &other_token, 403),
        (&other_tx, &token, 403),
        (&other_tx, &other_token, 403),
        ("", &token, 400),
        ("nothing", &token, 400),
    ] {
        let form = [("tx", tx), ("token", token), ("answer", "approve")];
        let page = browser.post(&setup, &url, &form).await;
        assert_eq!(page.status, status, "{tx} {token}");
    }
    // A valid form, from a browser without the cookie, and with the cookie of another
    // authorization.
    let form = [
        ("tx", tx.as_str()),
        ("token", &token),
        ("answer", "approve"),
    ];
    let page = attacker.post(&setup, &url, &form).await;
    assert_eq!(page.status, 403);
    let stolen = attacker.cookies.values().next().unwrap().clone();
    attacker.cookies.insert(format!("blue-tx-{tx}"), stolen);
    assert_eq!(attacker.post(&setup, &url, &form).await.status, 403);
    let page = attacker.get(&setup, asked.url.as_str()).await;
    assert_eq!(page.status, 403, "the page itself is for its browser alone");
    assert!(is_open(&mut browser, &setup, &asked).await);
}

fn value(page: &Page, name: &str) -> String {
    let hidden = page.hidden();
    hidden.into_iter().find(|(n, _)| n == name).unwrap().1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_makes_no_sense_is_refused() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    let asked = browser.asked(&setup, &good("tool")).await;
    let (tx, token) = (value(&asked, "tx"), value(&asked, "token"));
    let url = setup.at("/oauth/consent");
    for answer in ["", "yes", "APPROVE"] {
        let form = [("tx", tx.as_str()), ("token", &token), ("answer", answer)];
        assert_eq!(browser.post(&setup, &url, &form).await.status, 400);
    }
    let twice = [
        ("tx", tx.as_str()),
        ("token", &token),
        ("answer", "deny"),
        ("answer", "approve"),
    ];
    assert_eq!(browser.post(&setup, &url, &twice).await.status, 400);
    for kind in [
        "text/plain",
        "application/json",
        "multipart/form-data; boundary=x",
    ] {
        let body = format!("tx={tx}&token={token}&answer=approve");
        let request = setup
            .http
            .post(&url)
            .header("content-type", kind)
            .body(body);
        let request = request.header("origin", setup.at(""));
        let cookie = browser
            .cookies
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .next();
        let answer = request
            .header("cookie", cookie.unwrap())
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 400, "{kind}");
    }
    let large = "x".repeat(100_000);
    let form = [("tx", tx.as_str()), ("token", &token), ("answer", &large)];
    assert_eq!(browser.post(&setup, &url, &form).await.status, 413);
    assert!(is_open(&mut browser, &setup, &asked).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn controls_of_the_consent_page_are_hidden_for_its_first_second() {
    let setup = Setup::with_app().await;
    let (_, made) = register(&setup, &native("Mine", 4711)).await;
    let id = made["client_id"].as_str().unwrap();
    let unverified = good("tool")
        .replace("client_id=tool", &format!("client_id={id}"))
        .replace("127.0.0.1", "localhost");
    for query in [good("tool"), unverified] {
        let page = Browser::default().asked(&setup, &query).await;
        let (_, form) = page.body.split_once("<form").unwrap();
        let (form, _) = form.split_once("</form>").unwrap();
        let controls: Vec<_> = ["<button", "<label", "<select", "<textarea", "<a "]
            .into_iter()
            .flat_map(|tag| form.split(tag).skip(1))
            .map(|rest| rest.split('>').next().unwrap())
            .collect();
        assert!(controls.len() >= 2, "{form}");
        for control in &controls {
            assert!(control.contains("late"), "{control}");
        }
        // The box is inside of its label.
        let boxes = form.matches("type=\"checkbox\"").count();
        assert_eq!(boxes, controls.len() - 2, "{form}");
    }
    // Nothing else may set the animation: reduced motion keeps the delay, and the end of the
    // animation shows the controls.
    let page = Browser::default().asked(&setup, &good("tool")).await;
    page.says(".late { animation: late 1s step-end; }")
        .says("@keyframes late { from, to { visibility: hidden; } }");
    assert_eq!(page.body.matches("animation").count(), 1);
    assert!(!page.body.contains("prefers-reduced-motion"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_press_leads_to_the_same_place() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    let asked = browser.asked(&setup, &good("tool")).await;
    let before = browser.cookies.clone();
    let first = browser.answer(&setup, &asked, "approve").await;
    assert_eq!(first.status, 303);
    let done = first.next().unwrap();
    assert_eq!(done.path(), "/oauth/done");
    assert_ne!(
        browser.cookies, before,
        "the value changes, so that Back asks us"
    );
    let forge = browser.get(&setup, done.as_str()).await;
    assert_eq!(forge.header("referrer-policy"), "no-referrer");
    // The second press was on its way with the old cookie.
    let mut late = Browser { cookies: before };
    let second = late.answer(&setup, &asked, "approve").await;
    assert_eq!(second.next(), Some(done.clone()));
    let again = late.get(&setup, done.as_str()).await;
    assert_eq!(again.next(), forge.next());
    let to = forge.next().unwrap();
    assert_eq!(to.path(), "/login/oauth/authorize");
    assert_eq!(param(&to, "code_challenge_method").as_deref(), Some("S256"));
    assert_eq!(
        param(&to, "scope").as_deref(),
        Some("read:user write:repository")
    );
    assert_eq!(
        param(&to, "redirect_uri"),
        Some(setup.at("/oauth/callback"))
    );
    let page = browser.get(&setup, asked.url.as_str()).await;
    page.says("You have answered this already");
    assert!(!page.body.contains("<form"), "{}", page.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_is_told_to_the_client() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    let asked = browser.asked(&setup, &good("tool")).await;
    let page = browser.answer(&setup, &asked, "deny").await;
    let page = browser.follow(&setup, page, "alice").await;
    page.says("Access was denied");
    let to = page.next().unwrap();
    assert_eq!(param(&to, "error").as_deref(), Some("access_denied"));
    assert_eq!(param(&to, "state").as_deref(), Some("s&1 é"));
    assert_eq!(param(&to, "iss"), Some(setup.at("")));
    // An approval from a page that the browser cached does not change it.
    let page = browser.answer(&setup, &asked, "approve").await;
    let page = browser.follow(&setup, page, "alice").await;
    page.says("Access was denied");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_after_a_yes_counts_until_the_forge_answered() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    let asked = browser.asked(&setup, &good("tool")).await;
    let yes = browser.answer(&setup, &asked, "approve").await;
    let forge = browser.get(&setup, yes.next().unwrap().as_str()).await;
    browser.answer(&setup, &asked, "deny").await;
    let page = browser.follow(&setup, forge, "alice").await;
    page.says("Access was denied");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tabs_do_not_end_each_other() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    let first = browser.asked(&setup, &good("tool")).await;
    let second = browser.asked(&setup, &good("site")).await;
    for asked in [second, first] {
        let page = browser.answer(&setup, &asked, "approve").await;
        let page = browser.follow(&setup, page, "alice").await;
        let to = page.next().unwrap();
        assert!(param(&to, "code").is_some(), "{to}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_minutes_are_enough_before_the_answer_and_after_it() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    let asked = browser.asked(&setup, &good("tool")).await;
    setup.clock.advance(Duration::from_secs(599));
    let page = browser.answer(&setup, &asked, "approve").await;
    let forge = browser.get(&setup, page.next().unwrap().as_str()).await;
    setup.clock.advance(Duration::from_secs(599));
    let page = browser.follow(&setup, forge, "alice").await;
    assert!(param(&page.next().unwrap(), "code").is_some());

    let asked = browser.asked(&setup, &good("tool")).await;
    setup.clock.advance(Duration::from_mins(10));
    let page = browser.answer(&setup, &asked, "approve").await;
    assert_eq!(page.status, 400);
    page.says("This sign-in is over");
}
