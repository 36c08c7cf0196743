//! Pages as browsers get them, apart from those of a sign-in

use reqwest::Method;

use crate::setup::{Setup, good};

/// What a browser accepts
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

async fn visit(setup: &Setup, method: &Method, path: &str, accept: &str) -> (u16, String, String) {
    let request = setup.http.request(method.clone(), setup.at(path));
    let request = request.header("accept", accept);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let answer = request.body(body(path)).send().await.unwrap();
    let status = answer.status().as_u16();
    let header = |name: &str| {
        let value = answer.headers().get(name);
        value.map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
    };
    let kind = header("content-type");
    let id = header("x-request-id");
    assert_eq!(header("x-frame-options"), "DENY", "{path}");
    assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
    assert_eq!(header("cache-control"), "no-store", "{path}");
    assert!(header("content-security-policy").contains("frame-ancestors 'none'"));
    let text = answer.text().await.unwrap();
    if status >= 400 && kind.starts_with("text/html") {
        assert!(
            text.contains(&format!("Request <code>{id}</code>")),
            "{path}: {text}"
        );
    }
    (status, kind, text)
}

fn body(path: &str) -> String {
    if path.contains("large") {
        "x".repeat(100_000)
    } else {
        String::new()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_root_is_a_page_that_names_the_service() {
    let setup = Setup::start().await;
    for accept in [BROWSER, "*/*"] {
        let (status, kind, text) = visit(&setup, &Method::GET, "/", accept).await;
        assert_eq!(status, 200);
        assert!(kind.starts_with("text/html"), "{kind}");
        let host = setup.broker.public_url().authority();
        for words in [
            &format!("<strong>Blue</strong> at {host}"),
            &format!("<code>http://{host}/mcp</code>"),
            "href=\"/connections\"",
            setup.forge.host_str().unwrap(),
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
    // A client that was given the wrong address is told so as before.
    let (status, kind, text) = visit(&setup, &Method::POST, "/", "application/json").await;
    assert_eq!((status, kind.as_str()), (404, "application/json"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_error_page_has_the_id_of_its_request() {
    let setup = Setup::with_app().await;
    let wrong_redirect = good("tool").replace("4711", "4711x");
    for (method, path, status) in [
        (Method::GET, "/nothing/here".to_owned(), 404),
        (
            Method::GET,
            "/oauth/authorize?client_id=nobody".to_owned(),
            400,
        ),
        (
            Method::GET,
            format!("/oauth/authorize?{wrong_redirect}"),
            400,
        ),
        (
            Method::GET,
            "/oauth/authorize?client_id=https://a.invalid/x".to_owned(),
            503,
        ),
        (Method::GET, "/oauth/consent?tx=gone".to_owned(), 400),
        (Method::GET, "/oauth/callback?state=gone".to_owned(), 400),
        (Method::GET, "/oauth/done?tx=gone".to_owned(), 400),
        (Method::POST, "/oauth/consent".to_owned(), 400),
        (Method::POST, "/oauth/consent?large".to_owned(), 413),
        (Method::POST, "/connections?large".to_owned(), 413),
        (Method::PUT, "/oauth/consent".to_owned(), 405),
        (Method::DELETE, "/connections".to_owned(), 405),
    ] {
        let (found, kind, text) = visit(&setup, &method, &path, BROWSER).await;
        assert_eq!(found, status, "{method} {path}: {text}");
        assert!(kind.starts_with("text/html"), "{method} {path}: {kind}");
        assert!(text.contains("<strong>Blue</strong> at "), "{path}: {text}");
    }
    // What is not a browser gets what it can read, and so does one that looks for a document.
    for (path, accept) in [
        ("/nothing/here", "application/json"),
        ("/.well-known/openid-configuration", BROWSER),
        ("/mcp/.well-known/openid-configuration", BROWSER),
    ] {
        let (status, kind, _) = visit(&setup, &Method::GET, path, accept).await;
        assert_eq!((status, kind.as_str()), (404, "application/json"), "{path}");
    }
}
