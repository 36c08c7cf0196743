//! The four steps by which other brokers lost their users, each after the one before was closed
//!
//! In all of them the victim is signed in at the forge and granted the broker before, so that the
//! forge asks nothing any more.

use crate::{
    browser::{Browser, param},
    setup::{Setup, good},
};

/// A victim whose forge sends them straight through
async fn victim(setup: &Setup) -> Browser {
    let mut browser = Browser::default();
    let client = browser.sign_in(setup, &good("tool"), "alice").await;
    assert!(param(&client, "code").is_some());
    browser
}

#[tokio::test(flavor = "multi_thread")]
async fn step_one_a_link_to_authorize_asks_the_victim() {
    let setup = Setup::with_app().await;
    let mut victim = victim(&setup).await;
    let link = setup.at(&format!("/oauth/authorize?{}", good("site")));
    let page = victim.get(&setup, &link).await;
    let page = victim.follow(&setup, page, "alice").await;
    assert_eq!(page.url.path(), "/oauth/consent", "it stops here");
    assert_eq!(page.next(), None);
    page.says("client.example");
}

#[tokio::test(flavor = "multi_thread")]
async fn step_two_the_attackers_yes_does_not_count_in_the_victims_browser() {
    let setup = Setup::with_app().await;
    let mut victim = victim(&setup).await;
    let mut attacker = Browser::default();
    let asked = attacker.asked(&setup, &good("site")).await;
    let done = attacker.answer(&setup, &asked, "approve").await;
    let done = done.next().unwrap();
    let forge = attacker.get(&setup, done.as_str()).await.next().unwrap();
    // The victim follows the forge's address: the forge gives a code without a question.
    let page = victim.get(&setup, forge.as_str()).await;
    let page = victim.follow(&setup, page, "alice").await;
    assert_eq!(
        (page.url.path(), page.status.as_u16()),
        ("/oauth/callback", 403)
    );
    assert_eq!(page.next(), None);
    // Nothing was done for the attacker either.
    let page = attacker.get(&setup, done.as_str()).await;
    assert_eq!(page.next(), Some(forge));
    // And the page behind it is not the victim's to open.
    assert_eq!(victim.get(&setup, done.as_str()).await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn step_three_the_attackers_form_token_opens_nothing_in_the_victims_browser() {
    let setup = Setup::with_app().await;
    let mut victim = victim(&setup).await;
    let mut attacker = Browser::default();
    let theirs = attacker.asked(&setup, &good("site")).await;
    let page = victim.answer(&setup, &theirs, "approve").await;
    assert_eq!(page.status, 403);
    // Also when the victim has the same question open, and even from our own page's origin.
    victim.asked(&setup, &good("site")).await;
    let page = victim.answer(&setup, &theirs, "approve").await;
    assert_eq!(page.status, 403);
    let page = attacker.get(&setup, theirs.url.as_str()).await;
    page.says("value=\"approve\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn step_four_a_yes_is_not_remembered() {
    let setup = Setup::with_app().await;
    let mut victim = victim(&setup).await;
    // The same client, the same address, the same browser, a moment later.
    let link = setup.at(&format!("/oauth/authorize?{}", good("tool")));
    for prompt in ["", "&prompt=none", "&prompt=login"] {
        let page = victim.get(&setup, &format!("{link}{prompt}")).await;
        let page = victim.follow(&setup, page, "alice").await;
        match page.next() {
            None => assert_eq!(page.url.path(), "/oauth/consent"),
            Some(next) => assert_eq!(param(&next, "error").as_deref(), Some("consent_required")),
        }
    }
}
