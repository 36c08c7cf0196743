use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use super::*;
use crate::{git_url::GitUrl, stub::Stub};
use blue_base::http::HttpConfig;

fn url(text: &str) -> HostedUrl {
    GitUrl::parse(text).unwrap().hosted().unwrap().clone()
}

/// A client whose probes of hosts that do not exist end at once
fn http() -> Http {
    Http::new(HttpConfig {
        retries: 0,
        connect_timeout: Duration::from_millis(300),
        ..HttpConfig::default()
    })
}

async fn at(text: &str) -> Detection {
    detect(&http(), &url(text)).await
}

fn told(found: &Detection) -> (&'static str, FoundBy, bool, String) {
    (
        found.kind.as_str(),
        found.found_by.unwrap(),
        found.guess,
        found.api_url.as_ref().unwrap().to_string(),
    )
}

#[tokio::test]
async fn known_hosts_and_names_are_not_asked() {
    for (text, kind, by, api) in [
        (
            "git@github.com:o/r.git",
            "github",
            FoundBy::KnownHost,
            "https://api.github.com/",
        ),
        (
            "https://acme.ghe.com/o/r",
            "github",
            FoundBy::KnownHost,
            "https://api.acme.ghe.com/",
        ),
        (
            "https://codeberg.org/o/r",
            "forgejo",
            FoundBy::KnownHost,
            "https://codeberg.org/api/v1/",
        ),
        (
            "git@gitea.example.org:o/r",
            "gitea",
            FoundBy::Name,
            "https://gitea.example.org/api/v1/",
        ),
        (
            "https://my-forgejo.example.org:8443/git/o/r",
            "forgejo",
            FoundBy::Name,
            "https://my-forgejo.example.org:8443/git/api/v1/",
        ),
        (
            "http://gitea.localhost:3000/o/r",
            "gitea",
            FoundBy::Name,
            "http://gitea.localhost:3000/api/v1/",
        ),
    ] {
        assert_eq!(
            told(&at(text).await),
            (kind, by, false, api.to_owned()),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_lookalike_is_not_a_known_host() {
    for text in [
        "https://github.com.invalid/o/r",
        "https://evilghe.com.invalid/o/r",
    ] {
        let found = at(text).await;
        assert_eq!(found.found_by, Some(FoundBy::Fallback), "{text}");
        assert!(found.guess);
    }
}

#[tokio::test]
async fn the_probe_finds_gitea_and_forgejo_and_sends_no_token() {
    let gitea = Stub::gitea().await;
    let found = at(&gitea.url("/o/r.git")).await;
    assert_eq!(
        told(&found),
        ("gitea", FoundBy::Probe, false, gitea.url("/api/v1/"))
    );
    assert!(!gitea.got_token());
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "type": "gitea", "host": gitea.host().as_str(), "owner": "o", "repo": "r",
            "api_url": gitea.url("/api/v1"), "found_by": "probe", "guess": false,
        })
    );

    let by_string = Stub::start(|path| match path {
        "/api/v1/version" => (200, None, r#"{"version":"11.0.1+gitea-1.22.0"}"#.into()),
        _ => (404, None, String::new()),
    })
    .await;
    assert_eq!(at(&by_string.url("/o/r")).await.kind, DetectedType::Forgejo);

    let by_route = Stub::start(|path| match path {
        "/git/api/v1/version" => (200, None, r#"{"version":"development"}"#.into()),
        "/git/api/forgejo/v1/version" => (200, None, r#"{"version":"x"}"#.into()),
        _ => (404, None, String::new()),
    })
    .await;
    let found = at(&by_route.url("/git/o/r")).await;
    assert_eq!(
        told(&found),
        (
            "forgejo",
            FoundBy::Probe,
            false,
            by_route.url("/git/api/v1/")
        )
    );
}

#[tokio::test]
async fn a_forge_that_wants_a_sign_in_first_is_found_too() {
    let closed = Stub::start(|path| match path {
        "/api/v1/version" => (
            403,
            None,
            r#"{"message":"Only signed in user is allowed to call APIs."}"#.into(),
        ),
        _ => (404, None, String::new()),
    })
    .await;
    assert_eq!(at(&closed.url("/o/r")).await.kind, DetectedType::Gitea);
}

#[tokio::test]
async fn anything_else_is_a_guess() {
    for (status, body) in [
        (404, "{}"),
        (200, "<html>"),
        (200, "{\"version\":1}"),
        (200, "[]"),
        (403, "{\"message\":\"no\"}"),
        (500, "{\"version\":\"1\"}"),
    ] {
        let other = Stub::start(move |_| (status, None, body.to_owned())).await;
        let found = at(&other.url("/o/r")).await;
        assert_eq!(
            told(&found),
            ("github", FoundBy::Fallback, true, other.url("/api/v3/")),
            "{status} {body}"
        );
    }
}

#[tokio::test]
async fn a_redirect_is_followed_on_the_same_host_only() {
    let real = Stub::gitea().await;
    let to = real.url("/api/v1/version");
    let away = Stub::start(move |_| (302, Some(("location", to.clone())), String::new())).await;
    assert!(at(&away.url("/o/r")).await.guess);
    assert_eq!(real.seen(), []);

    let within = Stub::start(|path| match path {
        "/api/v1/version" => (
            301,
            Some(("location", "/api/v1/version/".into())),
            String::new(),
        ),
        "/api/v1/version/" => (200, None, r#"{"version":"1.24.0"}"#.into()),
        _ => (404, None, String::new()),
    })
    .await;
    assert_eq!(at(&within.url("/o/r")).await.kind, DetectedType::Gitea);

    let count = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&count);
    let endless = Stub::start(move |path| {
        *counted.lock().unwrap() += 1;
        (302, Some(("location", format!("{path}x"))), String::new())
    })
    .await;
    assert!(at(&endless.url("/o/r")).await.guess);
    assert!(*count.lock().unwrap() <= 12);
}

#[tokio::test]
async fn this_machine_may_be_asked_without_encryption() {
    let gitea = Stub::gitea().await;
    let text = format!("https://{}/o/r", gitea.host());
    let found = at(&text).await;
    assert_eq!(
        told(&found),
        ("gitea", FoundBy::Probe, false, gitea.url("/api/v1/"))
    );
}

#[tokio::test]
async fn a_host_that_says_nothing_is_waited_for_three_seconds() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let started = tokio::time::Instant::now();
    let found = at(&format!("http://{}/o/r", listener.local_addr().unwrap())).await;
    assert!(found.guess);
    let took = started.elapsed();
    assert!(
        took >= Duration::from_millis(2900) && took < Duration::from_secs(6),
        "{took:?}"
    );
}

#[tokio::test]
async fn github_enterprise_is_found_by_its_meta_or_its_headers() {
    type Header = Option<(&'static str, String)>;
    let header = |name| Some((name, "3.17.0".to_owned()));
    let cases: [(u16, Header, &str); 4] = [
        (200, None, r#"{"verifiable_password_authentication":true}"#),
        (200, header("x-github-enterprise-version"), "{}"),
        (
            401,
            header("x-github-request-id"),
            r#"{"message":"Must authenticate to access this API."}"#,
        ),
        (403, header("x-github-media-type"), "{}"),
    ];
    for (status, header, body) in cases {
        let server = Stub::start(move |path| match path {
            "/api/v3/meta" => (status, header.clone(), body.to_owned()),
            _ => (404, None, String::new()),
        })
        .await;
        let found = at(&server.url("/o/r")).await;
        assert_eq!(
            told(&found),
            ("github", FoundBy::Probe, false, server.url("/api/v3/")),
            "{status} {body}"
        );
        assert!(!server.got_token());
    }
}

#[tokio::test]
async fn a_guess_tells_whether_anything_answered_and_what_was_tried() {
    let site = Stub::start(|_| (404, None, "<html>".into())).await;
    let failure = at(&site.url("/o/r")).await.failure.unwrap();
    assert!(failure.answered);
    let said = failure.to_string();
    assert!(said.contains("is not a forge (tried "), "{said}");
    assert!(
        said.contains(&format!("{}: 404", site.url("/api/v3/meta"))),
        "{said}"
    );
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let failure = at(&format!("http://{address}/o/r")).await.failure.unwrap();
    assert!(!failure.answered);
    assert!(
        failure.to_string().starts_with("could not reach 127.0.0.1"),
        "{failure}"
    );
}
