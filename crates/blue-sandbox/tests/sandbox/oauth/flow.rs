//! Signing in, consent and the way back

use blue_sandbox::Flavor;
use reqwest::Method;

use super::{App, CALLBACK, CHALLENGE, Scene, VERIFIER, pair, refused};

#[tokio::test]
async fn a_confidential_client_gets_tokens_and_consent_is_asked_once() {
    let mut scene = Scene::gitea().await;
    let app = scene.app(true, &[CALLBACK]).await;
    assert_eq!(app.id, 4);

    let first = scene.authorize(&app, &[("state", "s&1 é")]).await;
    assert_eq!(first.status, 303);
    assert!(
        first
            .location
            .starts_with("/user/login?redirect_to=%2Flogin%2Foauth%2Fauthorize"),
        "{first:?}"
    );
    let form = scene.web.get(&first.location.clone()).await;
    assert_eq!(form.field("_csrf"), None);
    let user = scene.sandbox.users()[0].clone();
    // The form posts without the query, and still leads back.
    let fields = [
        ("user_name", user.login.as_str()),
        ("password", user.password.expose()),
    ];
    let back = scene.web.post("/user/login", &fields).await;
    assert_eq!(back.status, 303);
    assert!(
        back.location
            .starts_with("/login/oauth/authorize?client_id="),
        "{back:?}"
    );

    let page = scene.web.get(&back.location.clone()).await;
    assert!(page.text.contains("id=\"authorize-app\""));
    let back = scene.decide(&page, "true").await;
    assert_eq!(back.status, 303);
    assert!(
        back.location
            .starts_with("https://app.example/cb?code=gta_"),
        "{back:?}"
    );
    assert_eq!(back.query("state").as_deref(), Some("s&1 é"));
    let code = back.query("code").unwrap();

    let wrong = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("client_secret", "x"),
    ];
    refused(
        &scene.trade(&app, &wrong).await,
        "unauthorized_client",
        "invalid client secret",
    );
    let other_uri = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("redirect_uri", "https://evil.example"),
    ];
    refused(
        &scene.trade(&app, &other_uri).await,
        "unauthorized_client",
        "unexpected redirect URI",
    );

    let trade = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
    ];
    let (access, refresh) = pair(&scene.trade(&app, &trade).await);
    refused(
        &scene.trade(&app, &trade).await,
        "unauthorized_client",
        "client is not authorized",
    );
    assert_eq!(scene.whoami(&access).await, 200);
    assert_eq!(scene.whoami(&refresh).await, 401);

    let again = scene.authorize(&app, &[("scope", "read:user")]).await;
    assert_eq!(
        again.status, 303,
        "no second page for a confidential client"
    );
    assert!(again.location.contains("code=gta_"));
    assert!(!again.location.contains("state="));
}

#[tokio::test]
async fn a_public_client_needs_pkce_and_asks_every_time() {
    let mut scene = Scene::gitea().await;
    let loopback = "http://127.0.0.1/loop";
    let app = scene.app(false, &[CALLBACK, loopback]).await;
    scene.sign_in().await;

    let without = scene.authorize(&app, &[("state", "x")]).await;
    assert_eq!(without.query("error").as_deref(), Some("invalid_request"));
    assert_eq!(
        without.query("error_description").as_deref(),
        Some("PKCE is required for public clients")
    );
    let odd = scene
        .authorize(&app, &[("code_challenge_method", "S512")])
        .await;
    assert_eq!(odd.query("error").as_deref(), Some("invalid_request"));

    let proof = [
        ("code_challenge_method", "S256"),
        ("code_challenge", CHALLENGE),
        ("scope", "read:user"),
    ];
    let code = scene.code(&app, &proof).await;
    let none = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("client_secret", ""),
    ];
    refused(
        &scene.trade(&app, &none).await,
        "unauthorized_client",
        "failed PKCE code challenge",
    );
    let good = [none[0], none[1], none[2], ("code_verifier", VERIFIER)];
    let (access, refresh) = pair(&scene.trade(&app, &good).await);
    assert_eq!(scene.whoami(&access).await, 200);
    let renewed = scene
        .trade(
            &app,
            &[
                ("grant_type", "refresh_token"),
                ("refresh_token", &refresh),
                ("client_secret", ""),
            ],
        )
        .await;
    pair(&renewed);

    let page = scene.authorize(&app, &proof).await;
    assert_eq!(page.status, 200, "the page is shown again");
    let wider = [proof[0], proof[1], ("scope", "write:user")];
    let page = scene.authorize(&app, &wider).await;
    let back = scene.decide(&page, "true").await;
    assert_eq!(back.query("error").as_deref(), Some("server_error"));
    assert_eq!(
        back.query("error_description").as_deref(),
        Some("a grant exists with different scope")
    );

    let port = [
        proof[0],
        proof[1],
        proof[2],
        ("redirect_uri", "http://127.0.0.1:4711/loop"),
    ];
    let code_there = scene.code(&app, &port).await;
    assert!(code_there.starts_with("gta_"));
    let name = [
        proof[0],
        proof[1],
        proof[2],
        ("redirect_uri", "http://localhost:4711/loop"),
    ];
    assert_eq!(scene.authorize(&app, &name).await.status, 400);
}

#[tokio::test]
async fn a_denial_and_bad_requests_answer_as_gitea_does() {
    let mut scene = Scene::gitea().await;
    let app = scene.app(true, &[CALLBACK]).await;
    scene.sign_in().await;

    let page = scene.authorize(&app, &[("state", "s")]).await;
    let back = scene.decide(&page, "false").await;
    assert_eq!(
        back.location,
        "https://app.example/cb?error=access_denied&error_description=the+request+is+denied&state=s"
    );
    let kind = scene.authorize(&app, &[("response_type", "token")]).await;
    assert_eq!(
        kind.query("error").as_deref(),
        Some("unsupported_response_type")
    );

    let evil = scene
        .authorize(&app, &[("redirect_uri", "https://evil.example/")])
        .await;
    assert_eq!((evil.status, evil.location.as_str()), (400, ""));
    assert!(evil.header("content-type").starts_with("text/html"));
    assert!(evil.text.contains("Unregistered Redirect URI"));
    let unknown = App {
        id: 0,
        client_id: "<b>".to_owned(),
        secret: String::new(),
    };
    let nobody = scene.authorize(&unknown, &[]).await;
    assert_eq!(nobody.status, 400);
    assert!(nobody.text.contains("Client ID not registered"));

    let page = scene.authorize(&app, &[("state", "s")]).await;
    let client_id = page.field("client_id").unwrap();
    let tampered = [
        ("client_id", client_id.as_str()),
        ("state", "other"),
        ("redirect_uri", CALLBACK),
        ("granted", "true"),
    ];
    assert_eq!(
        scene.web.post("/login/oauth/grant", &tampered).await.status,
        400
    );

    let request = scene
        .web
        .request(Method::POST, "/login/oauth/grant")
        .header("sec-fetch-site", "cross-site")
        .header("content-type", "application/x-www-form-urlencoded")
        .body("granted=true");
    let cross = scene.web.send(request).await;
    assert_eq!(cross.status, 403);
    assert!(cross.text.starts_with("cross-origin request detected"));

    let kind = scene.trade(&app, &[("grant_type", "password")]).await;
    let words = "Only refresh_token or authorization_code grant type is supported";
    refused(&kind, "unsupported_grant_type", words);
    assert_eq!(
        kind.header("cache-control"),
        "max-age=0, private, must-revalidate, no-transform"
    );
    let garbage = scene.refresh(&app, "garbage").await;
    refused(
        &garbage,
        "unauthorized_client",
        "unable to parse refresh token",
    );
    let empty = [
        ("grant_type", "refresh_token"),
        ("refresh_token", "x"),
        ("client_secret", ""),
    ];
    refused(
        &scene.trade(&app, &empty).await,
        "invalid_client",
        "invalid empty client secret",
    );
}

#[tokio::test]
async fn forgejo_wants_its_form_token_and_remembers_the_way_in_a_cookie() {
    let mut scene = Scene::new(Flavor::Forgejo, None).await;
    let app = scene.app(true, &[CALLBACK]).await;
    let first = scene.authorize(&app, &[]).await;
    assert_eq!(
        (first.status, first.location.as_str()),
        (303, "/user/login")
    );
    let user = scene.sandbox.users()[0].clone();
    let fields = [
        ("user_name", user.login.as_str()),
        ("password", user.password.expose()),
    ];
    let bare = scene.web.post("/user/login", &fields).await;
    assert_eq!(
        (bare.status, bare.text.as_str()),
        (400, "Invalid CSRF token.\n")
    );
    let back = scene.web.sign_in(&user).await;
    assert!(
        back.location.starts_with("/login/oauth/authorize?"),
        "{back:?}"
    );
    let page = scene.web.get(&back.location.clone()).await;
    assert!(page.field("_csrf").is_some());
    let done = scene.decide(&page, "true").await;
    assert!(done.query("code").is_some(), "{done:?}");
}

#[tokio::test]
async fn a_wrong_password_stays_at_the_form_and_leads_nowhere_else() {
    let mut scene = Scene::gitea().await;
    let fields = [("user_name", "<script>"), ("password", "x")];
    let wrong = scene.web.post("/user/login", &fields).await;
    assert_eq!(wrong.status, 200);
    assert!(wrong.text.contains("Username or password is incorrect."));
    assert!(!wrong.text.contains("<script>"));
    let user = scene.sandbox.users()[0].clone();
    let fields = [
        ("user_name", user.login.as_str()),
        ("password", user.password.expose()),
        ("redirect_to", "https://evil.example/"),
    ];
    let back = scene.web.post("/user/login", &fields).await;
    assert_eq!((back.status, back.location.as_str()), (303, "/"));
}
