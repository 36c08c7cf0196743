//! `GET /oauth/authorize`: what is shown, what is refused, and to whom that is said

use crate::{
    browser::{Browser, param},
    register::register,
    setup::{CHALLENGE, Setup, good},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_good_request_leads_to_a_page_that_asks() {
    let setup = Setup::with_app().await;
    let mut browser = Browser::default();
    let first = setup.at(&format!("/oauth/authorize?{}", good("tool")));
    let page = browser.get(&setup, &first).await;
    let cookie = page.header("set-cookie");
    assert!(cookie.starts_with("blue-tx-"), "{cookie}");
    let end = "; Path=/; HttpOnly; SameSite=Lax; Max-Age=600";
    assert!(cookie.ends_with(end), "{cookie}");
    let page = browser.get(&setup, page.next().unwrap().as_str()).await;
    page.says("A tool")
        .says("127.0.0.1:4711")
        .says("Only go on if you just started this yourself")
        .says("Set up by the people who run this service")
        .says("read and change your repositories");
    let policy = page.header("content-security-policy");
    for part in [
        "default-src 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert_eq!(page.header("x-frame-options"), "DENY");
    assert_eq!(page.header("cache-control"), "no-store");
    assert_eq!(page.header("referrer-policy"), "same-origin");
    assert_eq!(page.header("cross-origin-opener-policy"), "");
    assert!(!page.body.contains("<script") && !page.body.contains("login/oauth"));
}

#[tokio::test(flavor = "multi_thread")]
async fn it_can_be_repeated_by_two_user_agents() {
    let setup = Setup::with_app().await;
    for path in ["/oauth/authorize", "/authorize"] {
        // A request without cookies comes first, as some clients send it.
        let mut first = Browser::default();
        let url = setup.at(&format!("{path}?{}", good("tool")));
        assert_eq!(first.get(&setup, &url).await.status, 303);
        let mut second = Browser::default();
        let client = second.sign_in(&setup, &good("tool"), "alice").await;
        assert!(param(&client, "code").is_some(), "{client}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_client_or_redirect_is_a_page_and_never_a_redirect() {
    let setup = Setup::with_app().await;
    let mut bad = vec![
        good("nobody"),
        "client_id=tool".to_owned(),
        String::new(),
        good("tool").replace("client_id=tool", "client_id="),
        // A repeated parameter is invalid, wherever the second one is.
        format!("{}&client_id=site", good("tool")),
        format!("{}&redirect_uri=https%3A%2F%2Fevil.example", good("tool")),
        format!("{}&state=x", good("tool")),
        format!("{}&x=1&x=2&client_id=site", good("tool")),
        format!("{}&x=1&x=2&state=", good("tool")),
        format!("{}&x=%ff", good("tool")),
        format!("{}&x=%zz", good("tool")),
    ];
    for uri in [
        "https://evil.example/cb",
        "https://client.example.evil.example/cb",
        "https://client.example@evil.example/cb",
        "https://user@client.example/cb",
        "https://client.example:8443/cb",
        "https://client.example/cb/",
        "https://client.example/cb?x=1",
        "https://client.example/cb#x",
        "https://client.example/cb/../x",
        "https://client.example//cb",
        "https://client.example\\@evil.example/cb",
        "https:\\\\client.example\\cb",
        "//client.example/cb",
        "/cb",
        "http://client.example/cb",
        "HTTPS://client.example/cb",
        "https://CLIENT.example/cb",
        "https://client.example/CB",
        "https://client.exampl\u{435}/cb",
        "https://client.example\u{ff0f}cb",
        " https://client.example/cb",
        "https://client.example/cb\n",
        "javascript:alert(1)",
        "data:text/html,x",
        "https://client.example/%63b",
    ] {
        let encoded: String = url::form_urlencoded::byte_serialize(uri.as_bytes()).collect();
        bad.push(good("site").replace("https%3A%2F%2Fclient.example%2Fcb", &encoded));
    }
    for query in bad {
        let url = setup.at(&format!("/oauth/authorize?{query}"));
        let page = Browser::default().get(&setup, &url).await;
        assert_eq!(page.status, 400, "{query}");
        assert_eq!(page.next(), None, "{query}");
        assert_eq!(page.header("set-cookie"), "", "{query}");
        assert!(page.header("content-type").starts_with("text/html"));
        assert!(!page.body.contains("evil"), "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_errors_are_told_to_the_client_with_state_and_issuer() {
    let setup = Setup::with_app().await;
    let challenge = format!("code_challenge={CHALLENGE}");
    for (from, to, error) in [
        ("response_type=code", "", "invalid_request"),
        (
            "response_type=code",
            "response_type=token",
            "unsupported_response_type",
        ),
        ("=S256", "=plain", "invalid_request"),
        ("&code_challenge_method=S256", "", "invalid_request"),
        (challenge.as_str(), "", "invalid_request"),
        (
            challenge.as_str(),
            "code_challenge=short",
            "invalid_request",
        ),
        (
            "state=",
            "resource=https%3A%2F%2Fother.example%2Fmcp&state=",
            "invalid_target",
        ),
        ("state=", "scope=a&scope=b&state=", "invalid_request"),
        ("state=", "resource=a&resource=a&state=", "invalid_request"),
        ("state=", "code_challenge=x&state=", "invalid_request"),
        ("state=", "x=1&y=2&x=&state=", "invalid_request"),
        ("state=", "prompt=none&state=", "consent_required"),
        (
            "state=",
            "response_mode=form_post&state=",
            "invalid_request",
        ),
        (
            "state=",
            "request_uri=https%3A%2F%2Fevil.example&state=",
            "request_not_supported",
        ),
    ] {
        for client in ["tool", "site"] {
            let query = good(client).replace(from, to);
            let url = setup.at(&format!("/oauth/authorize?{query}"));
            let page = Browser::default().get(&setup, &url).await;
            assert_eq!(page.status, 303, "{query}");
            let next = page.next().unwrap();
            assert!(matches!(next.path(), "/cb" | "/callback"), "{next}");
            assert_eq!(param(&next, "error").as_deref(), Some(error), "{next}");
            assert_eq!(param(&next, "state").as_deref(), Some("s&1 é"), "{next}");
            assert_eq!(param(&next, "iss"), Some(setup.at("")), "{next}");
            assert_eq!(param(&next, "code"), None);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_clients_really_send_is_taken() {
    let setup = Setup::with_app().await;
    let resource: String =
        url::form_urlencoded::byte_serialize(setup.at("/mcp").as_bytes()).collect();
    for more in [
        "scope=mcp%20offline_access&prompt=consent".to_owned(),
        "scope=whatever".to_owned(),
        "nonce=1&unknown=x&audience=y".to_owned(),
        format!("resource={resource}"),
        format!("resource={resource}%2F"),
    ] {
        let query = format!("{}&{more}", good("tool"));
        Browser::default().asked(&setup, &query).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_methods_are_refused() {
    let setup = Setup::with_app().await;
    let url = setup.at(&format!("/oauth/authorize?{}", good("tool")));
    for method in ["POST", "PUT", "DELETE"] {
        let method = method.parse().unwrap();
        let answer = setup.http.request(method, &url).send().await.unwrap();
        assert_eq!(answer.status(), 405);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_text_and_cannot_hide() {
    let setup = Setup::with_app().await;
    let page = Browser::default().asked(&setup, &good("hostile")).await;
    assert!(!page.body.contains("<script>"), "{}", page.body);
    page.says("&lt;script&gt;");
    assert!(!page.body.contains('\u{202e}'), "{}", page.body);
    let page = Browser::default().asked(&setup, &good("cursor")).await;
    page.says("cursor://editor.example")
        .says("an app that is installed")
        .says("Only go on if you just started this yourself.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisoned_host_header_changes_nothing() {
    let setup = Setup::with_app().await;
    let url = setup.at(&format!("/oauth/authorize?{}", good("tool")));
    for (name, value) in [
        ("host", "evil.example"),
        ("x-forwarded-host", "evil.example"),
        ("forwarded", "host=evil.example;proto=https"),
    ] {
        let answer = setup.http.get(&url).header(name, value).send().await;
        let answer = answer.unwrap();
        assert_eq!(answer.status(), 303);
        let to = answer.headers()["location"].to_str().unwrap();
        assert!(to.starts_with("/oauth/consent?tx="), "{to}");
    }
    // An error names us by the configuration too.
    let bad = url.replace("=S256", "=plain");
    let answer = setup
        .http
        .get(&bad)
        .header("host", "evil.example")
        .send()
        .await;
    let answer = answer.unwrap();
    let to = answer.headers()["location"].to_str().unwrap();
    assert!(!to.contains("evil"), "{to}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_name_of_this_machine_is_led_to_the_right_one() {
    let setup = Setup::with_app().await;
    let port = setup.broker.address().port();
    let query = good("tool");
    let url = setup.at(&format!("/oauth/authorize?{query}"));
    for host in ["localhost", "[::1]"] {
        let request = setup
            .http
            .get(&url)
            .header("host", format!("{host}:{port}"));
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 303);
        assert_eq!(answer.headers()["location"].to_str().unwrap(), url);
        assert!(!answer.headers().contains_key("set-cookie"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_free_port_does_not_lead_to_the_broker_itself() {
    let setup = Setup::with_app().await;
    let own = setup.broker.address().port();
    for (port, status) in [(own, 400), (own ^ 1, 303)] {
        let query = good("tool").replace("4711", &port.to_string());
        let answer = setup.get(&format!("/oauth/authorize?{query}")).await;
        assert_eq!(answer.status(), status, "{query}");
    }
}

/// Registers a client, and gives the query of its authorization request
async fn registered(setup: &Setup, name: &str, redirect_uri: &str) -> String {
    let said = serde_json::json!({
        "client_name": name,
        "redirect_uris": [redirect_uri],
        "token_endpoint_auth_method": "none",
    });
    let (status, made) = register(setup, &said).await;
    assert_eq!(status, 201, "{made}");
    query_of(made["client_id"].as_str().unwrap(), redirect_uri)
}

/// The query of an authorization request of this client
fn query_of(client: &str, redirect_uri: &str) -> String {
    url::form_urlencoded::Serializer::new(String::new())
        .append_pair("response_type", "code")
        .append_pair("client_id", client)
        .append_pair("redirect_uri", redirect_uri)
        .append_pair("code_challenge", CHALLENGE)
        .append_pair("code_challenge_method", "S256")
        .finish()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unverified_client_is_warned_of_and_has_a_box_wherever_it_leads() {
    const WARNING: &str = "Only go on if you just started this yourself.";
    let setup = Setup::with_app().await;
    let claude = "https://claude.ai/oauth/mcp-oauth-client-metadata";
    let code = "https://claude.ai/oauth/claude-code-client-metadata";
    for (query, verified, warned) in [
        (
            registered(&setup, "Claude", "https://evil.example/cb").await,
            None,
            true,
        ),
        (
            registered(&setup, "Claude", "http://127.0.0.1:1/cb").await,
            None,
            true,
        ),
        (
            registered(&setup, "Claude", "cursor://evil/cb").await,
            None,
            true,
        ),
        (
            query_of(claude, "https://claude.ai/api/mcp/auth_callback"),
            Some("claude.ai"),
            false,
        ),
        (
            query_of(code, "http://127.0.0.1:1/callback"),
            Some("claude.ai"),
            true,
        ),
    ] {
        let page = Browser::default().asked(&setup, &query).await;
        assert_eq!(page.body.contains(WARNING), warned, "{query}");
        let has_box = page.body.contains("<input type=\"checkbox\" required");
        assert_eq!(has_box, verified.is_none(), "{query}");
        match verified {
            Some(host) => page.says("Verified: it belongs to").says(host),
            None => page
                .says("Not verified.")
                .says("Nothing about this app was verified")
                .says("I started this sign-in"),
        };
        // A user who does not want to go on need not tick it.
        page.says("value=\"deny\" formnovalidate");
        // In words that users know, with the name of the service and its host.
        let host = setup.broker.public_url().authority();
        page.says(&format!("<strong>Blue</strong> at {host}"));
        for jargon in [
            "Answer goes to",
            "Scopes",
            "Described by",
            "which was checked",
            ">mcp<",
        ] {
            assert!(!page.body.contains(jargon), "{jargon}: {}", page.body);
        }
    }
    let page = registered(&setup, "Claude", "https://evil.example/cb").await;
    let page = Browser::default().asked(&setup, &page).await;
    page.says("If you do not know <strong class=\"host\">evil.example</strong>");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_registered_itself_is_not_called_verified() {
    let setup = Setup::with_app().await;
    let name = "<img src=x> \u{202e}Bank";
    let query = registered(&setup, name, "http://127.0.0.1:4711/callback").await;
    let mut browser = Browser::default();
    let page = browser.asked(&setup, &query).await;
    page.says("Not verified").says("127.0.0.1:4711");
    assert!(!page.body.contains("<img") && !page.body.contains('\u{202e}'));
    let to = browser.sign_in(&setup, &query, "alice").await;
    assert!(param(&to, "code").is_some(), "{to}");
}
