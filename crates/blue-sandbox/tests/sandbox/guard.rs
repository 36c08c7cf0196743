//! What a foreign web page can make a browser send

use blue_sandbox::{Config, Flavor, Seed};
use reqwest::Method;

use crate::visitor::{Visitor, start};

const PATHS: &[&str] = &[
    "/api/v1/user/repos",
    "/api/v3/user/repos",
    "/acme/storefront.git/git-receive-pack",
    "/user/login",
    "/login/oauth/access_token",
];

async fn demo(flavor: Flavor) -> (blue_sandbox::Sandbox, Visitor) {
    let sandbox = start(Config {
        seed: Seed::Demo,
        flavor,
        ..Config::default()
    })
    .await;
    let web = Visitor::new(&sandbox);
    (sandbox, web)
}

#[tokio::test]
async fn a_cross_site_form_post_makes_no_repository() {
    for flavor in [Flavor::Gitea, Flavor::Forgejo] {
        let (sandbox, mut web) = demo(flavor).await;
        let token = sandbox.users()[1].token.expose().to_owned();
        let form = |web: &Visitor, api: &str| {
            let path = format!("/api/{api}/user/repos?access_token={token}");
            web.request(Method::POST, &path)
                .header("content-type", "application/x-www-form-urlencoded")
                .body("name=planted")
        };
        for (name, value) in [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("origin", "https://evil.example"),
            ("origin", "http://127.0.0.1:1"),
            ("origin", "null"),
        ] {
            for api in ["v1", "v3"] {
                let request = form(&web, api).header(name, value);
                let answer = web.send(request).await;
                assert_eq!(answer.status, 403, "{name}: {value}: {answer:?}");
            }
        }
        let planted = web.get("/api/v1/repos/bob/planted").await;
        assert_eq!(planted.status, 404, "{planted:?}");
        // The same form without a browser is an API client of its own.
        let request = form(&web, "v1");
        assert_eq!(web.send(request).await.status, 201);
    }
}

#[tokio::test]
async fn a_foreign_host_is_refused_on_every_route() {
    let (_sandbox, mut web) = demo(Flavor::Gitea).await;
    for path in PATHS.iter().chain(&["/", "/api/v1/version", "/nothing"]) {
        for method in [Method::GET, Method::POST] {
            let request = web.request(method, path).header("host", "evil.example");
            assert_eq!(web.send(request).await.status, 421, "{path}");
        }
    }
    for host in ["localhost", "localhost:3000", "[::1]:3000", "127.0.0.1"] {
        let request = web.request(Method::GET, "/api/v1/version");
        let answer = web.send(request.header("host", host)).await;
        assert_eq!(answer.status, 200, "{host}");
    }
}

#[tokio::test]
async fn a_foreign_origin_is_refused_on_every_route() {
    let (_sandbox, mut web) = demo(Flavor::Gitea).await;
    for path in PATHS {
        let request = web
            .request(Method::POST, path)
            .header("origin", "https://evil.example");
        assert_eq!(web.send(request).await.status, 403, "{path}");
    }
    // A preflight is answered without leave.
    let request = web
        .request(Method::OPTIONS, "/api/v1/user/repos")
        .header("origin", "https://evil.example")
        .header("access-control-request-method", "POST");
    let answer = web.send(request).await;
    assert_eq!(answer.status, 403);
    assert_eq!(answer.header("access-control-allow-origin"), "");
}

#[tokio::test]
async fn a_link_and_an_oauth_redirect_of_another_site_arrive() {
    let (_sandbox, mut web) = demo(Flavor::Forgejo).await;
    for (path, status) in [("/acme/storefront", 200), ("/login/oauth/authorize", 303)] {
        let request = web
            .request(Method::GET, path)
            .header("sec-fetch-site", "cross-site")
            .header("sec-fetch-mode", "navigate")
            .header("sec-fetch-dest", "document");
        let answer = web.send(request).await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
    }
}
