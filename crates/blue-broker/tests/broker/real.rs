//! A sign-in at a real forge

use blue_testkit::{Backend, run};

use crate::{
    browser::{Browser, param},
    setup::{Setup, good, tokens},
};

const PASSWORD: &str = "Long-pass-1";

#[test]
fn two_people_sign_in_at_a_real_gitea() {
    run(
        Backend::Gitea,
        module_path!(),
        "two_people_sign_in",
        async |cx| {
            let server = cx.lab.server();
            let setup =
                Setup::in_front_of(server.url.as_str(), &server.admin.token, PASSWORD).await;
            for hint in ["ann", "ben"] {
                let user = cx.lab.user(hint).await?;
                let mut browser = Browser::default();
                // The second time the forge asks the user nothing any more.
                for _ in 0..2 {
                    let to = browser.sign_in(&setup, &good("tool"), &user.login).await;
                    assert_eq!(param(&to, "iss"), Some(setup.at("")), "{to}");
                    let access = tokens(&setup, "tool", &to).await;
                    let request = setup.http.get(setup.at("/mcp")).bearer_auth(access);
                    let said = request.send().await?.text().await?;
                    assert!(said.contains(&user.login), "{said}");
                }
                let url = setup.at("/connections");
                let page = browser.post(&setup, &url, &[("do", "sign-in")]).await;
                let page = browser.follow(&setup, page, &user.login).await;
                page.says(&user.login).says("A tool").says("(2 times)");
            }
            Ok(())
        },
    );
}

#[test]
fn an_older_grant_at_a_real_gitea_is_noticed() {
    run(
        Backend::Gitea,
        module_path!(),
        "an_older_grant_is_noticed",
        async |cx| {
            let server = cx.lab.server();
            let setup =
                Setup::in_front_of(server.url.as_str(), &server.admin.token, PASSWORD).await;
            let user = cx.lab.user("cem").await?;
            let mut browser = Browser::default();
            let asked = browser.asked(&setup, &good("tool")).await;
            let page = browser.answer(&setup, &asked, "approve").await;
            let page = browser.get(&setup, page.next().unwrap().as_str()).await;
            let forge = page.next().unwrap();
            let narrow = forge
                .as_str()
                .replace("scope=read%3Auser+write%3Arepository", "scope=read%3Auser");
            assert_ne!(narrow, forge.as_str());
            let page = browser.get(&setup, &narrow).await;
            let page = browser.follow(&setup, page, &user.login).await;
            page.says("An older permission is in the way");
            Ok(())
        },
    );
}
