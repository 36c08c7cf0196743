//! Malformed and hostile requests to every endpoint

use reqwest::Method;

use crate::{
    browser::{Browser, pairs, param},
    setup::{Setup, good, tokens},
};

const FORM: &str = "application/x-www-form-urlencoded";

/// Every path, and the methods that it has beside HEAD and OPTIONS
const DOORS: &[(&str, &[&str])] = &[
    ("/healthz", &["GET"]),
    ("/readyz", &["GET"]),
    ("/oauth/authorize", &["GET"]),
    ("/authorize", &["GET"]),
    ("/oauth/consent", &["GET", "POST"]),
    ("/oauth/callback", &["GET"]),
    ("/oauth/done", &["GET"]),
    ("/connections", &["GET", "POST"]),
    ("/oauth/token", &["POST"]),
    ("/token", &["POST"]),
    ("/oauth/revoke", &["POST"]),
    ("/revoke", &["POST"]),
    ("/oauth/register", &["POST"]),
    ("/register", &["POST"]),
    ("/.well-known/oauth-protected-resource", &["GET"]),
    ("/.well-known/oauth-protected-resource/mcp", &["GET"]),
    ("/.well-known/oauth-authorization-server", &["GET"]),
    ("/.well-known/oauth-authorization-server/mcp", &["GET"]),
];

#[tokio::test(flavor = "multi_thread")]
async fn wrong_methods_are_refused_at_every_door() {
    let setup = Setup::start().await;
    for (path, own) in DOORS {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"] {
            if own.contains(&method) {
                continue;
            }
            let parsed: Method = method.parse().unwrap();
            let answer = setup.http.request(parsed, setup.at(path)).send().await;
            let answer = answer.unwrap();
            assert_eq!(answer.status(), 405, "{method} {path}");
            assert_eq!(answer.headers()["cache-control"], "no-store");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_and_wrong_bodies_are_refused_at_every_door() {
    let setup = Setup::start().await;
    let own = setup.at("");
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    let bodies = [
        (FORM, format!("a={}", "x".repeat(70_000)), 413),
        ("application/json", "x".repeat(2_000_000), 413),
        ("application/json", deep, 400),
        (FORM, "a=%zz".to_owned(), 400),
        (FORM, "a=1&a=2".to_owned(), 400),
        (FORM, "&a=b".repeat(100), 400),
        ("text/plain", "a=b".to_owned(), 400),
        ("multipart/form-data; boundary=x", "--x--".to_owned(), 400),
        ("", String::new(), 400),
    ];
    for (path, own_methods) in DOORS {
        if !own_methods.contains(&"POST") {
            continue;
        }
        for (kind, body, wanted) in &bodies {
            let request = setup.http.post(setup.at(path)).body(body.clone());
            let request = request.header("content-type", *kind).header("origin", &own);
            let sent = request.send().await;
            // A client that is still sending when the connection is closed may not receive the
            // reason.
            if sent.is_err() && body.len() > 1_000_000 {
                continue;
            }
            let status = sent.unwrap().status().as_u16();
            // A registration that is too large has an error message of its own.
            let fits = status == *wanted || (path.ends_with("register") && status == 400);
            assert!(fits, "{path} {kind} {status}, not {wanted}");
        }
    }
    // It still works.
    assert_eq!(setup.get("/healthz").await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_in_the_address_or_the_body_opens_nothing() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    let to = browser.sign_in(&setup, &good("tool"), "alice").await;
    let access = tokens(&setup, "tool", &to).await;
    let url = setup.at("/mcp");
    for request in [
        setup.http.post(format!("{url}?access_token={access}")),
        setup.http.get(format!("{url}?token={access}")),
        setup
            .http
            .post(&url)
            .header("content-type", FORM)
            .body(format!("access_token={access}")),
        setup
            .http
            .post(&url)
            .header("cookie", format!("access_token={access}")),
        setup.http.post(&url).header("x-access-token", &access),
        setup.http.post(&url).header("authorization", &access),
        setup
            .http
            .post(&url)
            .header("authorization", format!("Basic {access}")),
        setup
            .http
            .post(&url)
            .header("authorization", format!("token {access}")),
        setup
            .http
            .post(&url)
            .header("authorization", format!("Bearer {access} x")),
        setup
            .http
            .post(&url)
            .header("authorization", format!("Bearer {access}"))
            .header("authorization", "Bearer x"),
    ] {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 401);
        let challenge = answer.headers()["www-authenticate"].to_str().unwrap();
        assert!(challenge.contains("resource_metadata="), "{challenge}");
    }
    let good = setup.http.post(&url).bearer_auth(&access).send().await;
    let good = good.unwrap();
    assert_eq!(good.status(), 200);
    assert_eq!(good.headers()["cache-control"], "no-store");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_detour_leads_around_the_token() {
    let setup = Setup::start().await;
    for path in [
        "/mcp/",
        "//mcp",
        "/./mcp",
        "/healthz/../mcp",
        "/healthz/mcp",
        "/healthz%2f..%2fmcp",
        "/%6dcp",
        "/MCP",
        "/mcp;x",
        "/mcp%00",
        "/mcp?x=/healthz",
        "/mcp?resource_metadata=1",
    ] {
        let answer = setup.http.post(setup.at(path)).send().await.unwrap();
        let status = answer.status().as_u16();
        assert!(matches!(status, 401 | 404), "{path} {status}");
    }
    for (name, value) in [
        ("x-forwarded-user", "alice"),
        ("x-original-url", "/healthz"),
        ("x-rewrite-url", "/healthz"),
        ("x-forwarded-for", "127.0.0.1"),
        ("x-http-method-override", "OPTIONS"),
        ("forwarded", "for=127.0.0.1"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "evil.example"),
    ] {
        let request = setup.http.post(setup.at("/mcp")).header(name, value);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 401, "{name}");
        let challenge = answer.headers()["www-authenticate"].to_str().unwrap();
        assert!(challenge.contains(&setup.at("/.well-known")), "{challenge}");
        assert!(!challenge.contains("evil"), "{challenge}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_that_come_twice_are_refused_on_the_way_back_too() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    let asked = browser.asked(&setup, &good("tool")).await;
    let hidden = asked.hidden();
    let mut form = pairs(&hidden);
    form.extend([("answer", "deny"), ("answer", "approve")]);
    let url = setup.at("/oauth/consent");
    assert_eq!(browser.post(&setup, &url, &form).await.status, 400);
    let page = browser.answer(&setup, &asked, "approve").await;
    let page = browser.get(&setup, page.next().unwrap().as_str()).await;
    let state = param(&page.next().unwrap(), "state").unwrap();
    for query in [
        format!("code=a&code=b&state={state}"),
        format!("code=a&state={state}&state={state}"),
        format!("code=a&state={state}&state=x"),
    ] {
        let url = setup.at(&format!("/oauth/callback?{query}"));
        let page = browser.get(&setup, &url).await;
        assert_eq!((page.status.as_u16(), page.next()), (400, None), "{query}");
    }
    // None of these requests used up the state.
    let page = browser.get(&setup, page.url.as_str()).await;
    let page = browser.follow(&setup, page, "alice").await;
    assert!(param(&page.next().unwrap(), "code").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn mix_up_every_answer_names_the_issuer_of_the_metadata() {
    let setup = Setup::with_app().await;
    let text = setup.get("/.well-known/oauth-authorization-server").await;
    let text = text.text().await.unwrap();
    let metadata: serde_json::Value = serde_json::from_str(&text).unwrap();
    let supported = &metadata["authorization_response_iss_parameter_supported"];
    assert_eq!(supported, true);
    let issuer = metadata["issuer"].as_str().unwrap().to_owned();
    let mut browser = Browser::default();
    let yes = browser.sign_in(&setup, &good("tool"), "alice").await;
    let asked = browser.asked(&setup, &good("site")).await;
    let page = browser.answer(&setup, &asked, "deny").await;
    let no = browser.get(&setup, page.next().unwrap().as_str()).await;
    let bad = setup.at(&format!("/oauth/authorize?{}&prompt=none", good("tool")));
    let bad = browser.get(&setup, &bad).await;
    for to in [yes, no.next().unwrap(), bad.next().unwrap()] {
        assert_eq!(param(&to, "iss").as_ref(), Some(&issuer), "{to}");
    }
    // An `iss` that the client, or an attacker in between, adds is not passed on.
    let query = format!("{}&iss=https%3A%2F%2Fevil.example", good("tool"));
    let to = browser.sign_in(&setup, &query, "alice").await;
    let named: Vec<_> = to.query_pairs().filter(|(name, _)| name == "iss").collect();
    assert_eq!((named.len(), named[0].1.as_ref()), (1, issuer.as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_can_be_framed_sniffed_or_kept() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    let asked = browser.asked(&setup, &good("tool")).await;
    let refused = setup.at("/oauth/authorize?client_id=nobody");
    let mut pages = vec![
        browser.get(&setup, &refused).await,
        browser.get(&setup, &setup.at("/connections")).await,
        browser.get(&setup, &setup.at("/oauth/callback")).await,
    ];
    let done = browser.answer(&setup, &asked, "deny").await;
    pages.push(browser.get(&setup, done.next().unwrap().as_str()).await);
    pages.extend([asked, done]);
    for page in pages {
        let policy = page.header("content-security-policy");
        assert!(policy.contains("default-src 'none'"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("script-src"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header("x-frame-options"), "DENY");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        assert_eq!(page.header("cache-control"), "no-store", "{}", page.url);
        assert!(!page.body.contains("<script"), "{}", page.body);
        assert_eq!(page.header("cross-origin-opener-policy"), "", "popups live");
    }
}
