//! The OAuth provider, walked through as a client and a browser do

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use blue_core::clock::ManualClock;
use blue_sandbox::{Config, Flavor, Sandbox};
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::visitor::{Answer, Visitor, encode, start};

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const CALLBACK: &str = "https://app.example/cb";

struct Scene {
    sandbox: Sandbox,
    clock: Arc<ManualClock>,
    web: Visitor,
}

struct App {
    id: i64,
    client_id: String,
    secret: String,
}

impl Scene {
    async fn new(flavor: Flavor, rotate: Option<bool>) -> Self {
        let clock = Arc::new(ManualClock::at(
            Timestamp::from_second(1_790_000_000).unwrap(),
        ));
        let config = Config {
            flavor,
            rotate_refresh: rotate,
            clock: Arc::<ManualClock>::clone(&clock),
            ..Config::default()
        };
        let sandbox = start(config).await;
        let web = Visitor::new(&sandbox);
        Self {
            sandbox,
            clock,
            web,
        }
    }

    async fn gitea() -> Self {
        Self::new(Flavor::Gitea, None).await
    }

    fn token(&self) -> String {
        self.sandbox.users()[0].token.expose().to_owned()
    }

    async fn api(&mut self, method: Method, path: &str, token: &str, body: Value) -> Answer {
        let request = self
            .web
            .request(method, &format!("/api/v1{path}"))
            .header("authorization", format!("token {token}"))
            .header("content-type", "application/json")
            .body(body.to_string());
        self.web.send(request).await
    }

    async fn app(&mut self, confidential: bool, uris: &[&str]) -> App {
        let body =
            json!({"name": "tester", "confidential_client": confidential, "redirect_uris": uris});
        let token = self.token();
        let made = self
            .api(Method::POST, "/user/applications/oauth2", &token, body)
            .await;
        assert_eq!(made.status, 201, "{made:?}");
        let made = made.json();
        App {
            id: made["id"].as_i64().unwrap(),
            client_id: made["client_id"].as_str().unwrap().to_owned(),
            secret: made["client_secret"].as_str().unwrap().to_owned(),
        }
    }

    async fn sign_in(&mut self) {
        let user = self.sandbox.users()[0].clone();
        self.web.sign_in(&user).await;
    }

    async fn authorize(&mut self, app: &App, more: &[(&str, &str)]) -> Answer {
        let mut fields = vec![("client_id", app.client_id.as_str())];
        for usual in [("response_type", "code"), ("redirect_uri", CALLBACK)] {
            if more.iter().all(|(name, _)| *name != usual.0) {
                fields.push(usual);
            }
        }
        fields.extend_from_slice(more);
        self.web
            .get(&format!("/login/oauth/authorize?{}", encode(&fields)))
            .await
    }

    async fn decide(&mut self, page: &Answer, granted: &str) -> Answer {
        assert_eq!(page.status, 200, "{page:?}");
        let names = [
            "client_id",
            "state",
            "scope",
            "nonce",
            "redirect_uri",
            "_csrf",
        ];
        let values: Vec<(&str, String)> = names
            .iter()
            .filter_map(|name| Some((*name, page.field(name)?)))
            .collect();
        let mut fields: Vec<(&str, &str)> = values
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        fields.push(("granted", granted));
        self.web.post("/login/oauth/grant", &fields).await
    }

    /// A code, by way of the consent page when it is shown
    async fn code(&mut self, app: &App, more: &[(&str, &str)]) -> String {
        let page = self.authorize(app, more).await;
        let back = if page.status == 200 {
            self.decide(&page, "true").await
        } else {
            page
        };
        assert_eq!(back.status, 303, "{back:?}");
        back.query("code")
            .unwrap_or_else(|| panic!("no code: {back:?}"))
    }

    async fn trade(&mut self, app: &App, more: &[(&str, &str)]) -> Answer {
        let mut fields = vec![("client_id", app.client_id.as_str())];
        if more.iter().all(|(name, _)| *name != "client_secret") {
            fields.push(("client_secret", &app.secret));
        }
        fields.extend_from_slice(more);
        self.web.post("/login/oauth/access_token", &fields).await
    }

    async fn tokens(&mut self, app: &App, scope: &str) -> (String, String) {
        let code = self.code(app, &[("scope", scope)]).await;
        pair(
            &self
                .trade(
                    app,
                    &[("grant_type", "authorization_code"), ("code", &code)],
                )
                .await,
        )
    }

    async fn refresh(&mut self, app: &App, token: &str) -> Answer {
        self.trade(
            app,
            &[("grant_type", "refresh_token"), ("refresh_token", token)],
        )
        .await
    }

    /// Status of an authenticated call that needs `read:user`
    async fn whoami(&mut self, token: &str) -> u16 {
        let request = self
            .web
            .request(Method::GET, "/api/v1/user/applications/oauth2")
            .bearer_auth(token);
        self.web.send(request).await.status
    }
}

fn pair(answer: &Answer) -> (String, String) {
    assert_eq!(answer.status, 200, "{answer:?}");
    let body = answer.json();
    assert_eq!(body["token_type"], "bearer");
    assert_eq!(body["expires_in"], 3600);
    assert!(body.get("scope").is_none());
    let text = |name: &str| body[name].as_str().unwrap().to_owned();
    (text("access_token"), text("refresh_token"))
}

fn refused(answer: &Answer, error: &str, words: &str) {
    assert_eq!(answer.status, 400, "{answer:?}");
    assert_eq!(
        answer.json(),
        json!({"error": error, "error_description": words})
    );
}

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
async fn codes_and_tokens_run_out_by_the_clock() {
    let mut scene = Scene::gitea().await;
    let app = scene.app(true, &[CALLBACK]).await;
    scene.sign_in().await;
    let code = scene.code(&app, &[]).await;
    scene.clock.advance(Duration::from_secs(601));
    let late = scene
        .trade(
            &app,
            &[("grant_type", "authorization_code"), ("code", &code)],
        )
        .await;
    refused(&late, "invalid_grant", "authorization code expired");

    let (access, refresh) = scene.tokens(&app, "").await;
    scene.clock.advance(Duration::from_secs(3599));
    assert_eq!(scene.whoami(&access).await, 200);
    scene.clock.advance(Duration::from_secs(1));
    assert_eq!(scene.whoami(&access).await, 401);
    let (access, _) = pair(&scene.refresh(&app, &refresh).await);
    assert_eq!(scene.whoami(&access).await, 200);
    scene.clock.advance(Duration::from_hours(730));
    let late = scene.refresh(&app, &refresh).await;
    refused(
        &late,
        "unauthorized_client",
        "unable to parse refresh token",
    );
}

#[tokio::test]
async fn rotation_is_off_on_gitea_and_on_in_forgejo() {
    let mut scene = Scene::gitea().await;
    let app = scene.app(true, &[CALLBACK]).await;
    scene.sign_in().await;
    let (access, refresh) = scene.tokens(&app, "").await;
    pair(&scene.refresh(&app, &refresh).await);
    pair(&scene.refresh(&app, &refresh).await);
    // Neither the kind of token nor the client it was made for is looked at.
    pair(&scene.refresh(&app, &access).await);
    let other = scene.app(true, &[CALLBACK]).await;
    pair(&scene.refresh(&other, &refresh).await);

    let mut scene = Scene::new(Flavor::Forgejo, None).await;
    let app = scene.app(true, &[CALLBACK]).await;
    scene.sign_in().await;
    let (_, first) = scene.tokens(&app, "").await;
    let (_, second) = pair(&scene.refresh(&app, &first).await);
    refused(
        &scene.refresh(&app, &first).await,
        "unauthorized_client",
        "token was already used",
    );
    let (access, third) = pair(&scene.refresh(&app, &second).await);
    assert_eq!(scene.whoami(&access).await, 200);
    // Another sign-in of the same user is the same grant, and takes its turn.
    let (_, fresh) = scene.tokens(&app, "").await;
    refused(
        &scene.refresh(&app, &third).await,
        "unauthorized_client",
        "token was already used",
    );
    pair(&scene.refresh(&app, &fresh).await);

    let mut scene = Scene::new(Flavor::Gitea, Some(true)).await;
    let app = scene.app(true, &[CALLBACK]).await;
    scene.sign_in().await;
    let (_, refresh) = scene.tokens(&app, "").await;
    let mut won = 0;
    let asked: Vec<_> = (0..8)
        .map(|_| {
            let fields = [
                ("client_id", app.client_id.as_str()),
                ("client_secret", app.secret.as_str()),
                ("grant_type", "refresh_token"),
                ("refresh_token", refresh.as_str()),
            ];
            let request = scene
                .web
                .request(Method::POST, "/login/oauth/access_token")
                .header("content-type", "application/x-www-form-urlencoded")
                .body(encode(&fields));
            tokio::spawn(async move { request.send().await.unwrap().status().as_u16() })
        })
        .collect();
    for task in asked {
        won += usize::from(task.await.unwrap() == 200);
    }
    assert_eq!(won, 1, "exactly one of eight refreshes wins");
}

#[tokio::test]
async fn scopes_limit_as_measured_and_never_change() {
    let mut scene = Scene::gitea().await;
    scene.sign_in().await;
    let narrow = scene.app(true, &[CALLBACK]).await;
    let (access, _) = scene.tokens(&narrow, "read:repository").await;
    let request = scene
        .web
        .request(Method::GET, "/api/v1/user/applications/oauth2")
        .bearer_auth(&access);
    let denied = scene.web.send(request).await;
    assert_eq!(denied.status, 403);
    assert_eq!(
        denied.json()["message"],
        "token does not have at least one of required scope(s), required=[read:user], token scope=read:repository"
    );
    // The same token as Basic has no limit.
    let request = scene
        .web
        .request(Method::GET, "/api/v1/user/applications/oauth2")
        .basic_auth("oauth2", Some(&access));
    assert_eq!(scene.web.send(request).await.status, 200);
    // Asking for more later changes nothing.
    let (access, _) = scene.tokens(&narrow, "read:user").await;
    assert_eq!(scene.whoami(&access).await, 403);
    let typo = scene.app(true, &[CALLBACK]).await;
    let (access, _) = scene.tokens(&typo, "read:repository write:repo").await;
    assert_eq!(scene.whoami(&access).await, 200);
}

#[tokio::test]
async fn introspection_has_its_quirks() {
    let mut scene = Scene::gitea().await;
    let app = scene.app(true, &[CALLBACK]).await;
    scene.sign_in().await;
    let (access, refresh) = scene.tokens(&app, "read:user").await;
    let ask = |scene: &Scene, secret: &str, kind: &str, body: String| {
        scene
            .web
            .request(Method::POST, "/login/oauth/introspect")
            .basic_auth(&app.client_id, Some(secret))
            .header("content-type", kind.to_owned())
            .body(body)
    };
    let form = "application/x-www-form-urlencoded";
    let request = ask(&scene, &app.secret, form, encode(&[("token", &access)]));
    let live = scene.web.send(request).await;
    let login = scene.sandbox.users()[0].login.clone();
    assert_eq!(
        live.json(),
        json!({"active": true, "scope": "read:user", "username": login,
               "iss": scene.web.url, "sub": "1", "aud": [app.client_id]})
    );
    let request = ask(&scene, &app.secret, form, encode(&[("token", "dead")]));
    let dead = scene.web.send(request).await;
    assert_eq!(
        (dead.status, dead.text.as_str()),
        (401, "Failed to authenticate user\n")
    );
    let request = ask(&scene, &app.secret, form, encode(&[("token", &refresh)]));
    assert_eq!(scene.web.send(request).await.status, 401);

    let json_kind = "application/json";
    let request = ask(
        &scene,
        &app.secret,
        json_kind,
        json!({"token": "dead"}).to_string(),
    );
    assert_eq!(
        scene.web.send(request).await.json(),
        json!({"active": false})
    );
    let request = ask(
        &scene,
        &app.secret,
        json_kind,
        json!({"token": refresh}).to_string(),
    );
    assert_eq!(scene.web.send(request).await.json()["active"], true);
    let request = ask(
        &scene,
        "wrong",
        json_kind,
        json!({"token": access}).to_string(),
    );
    let wrong = scene.web.send(request).await;
    assert_eq!(
        (wrong.status, wrong.text.as_str()),
        (401, "no valid authorization")
    );
    assert_eq!(
        wrong.header("www-authenticate"),
        "Basic realm=\"Gitea OAuth2\""
    );
}

#[tokio::test]
async fn openid_clients_find_everything_and_can_verify() {
    let mut scene = Scene::gitea().await;
    let app = scene.app(true, &[CALLBACK]).await;
    scene.sign_in().await;
    let config = scene
        .web
        .get("/.well-known/openid-configuration")
        .await
        .json();
    assert_eq!(config["issuer"], scene.web.url);
    assert_eq!(
        config["id_token_signing_alg_values_supported"],
        json!(["ES256"])
    );
    for missing in [
        "/.well-known/oauth-authorization-server",
        "/login/oauth/revoke",
    ] {
        assert_eq!(scene.web.get(missing).await.status, 404, "{missing}");
    }
    let code = scene
        .code(&app, &[("scope", "openid profile email"), ("nonce", "n1")])
        .await;
    // JSON and Basic do as well as a form.
    let request = scene
        .web
        .request(Method::POST, config["token_endpoint"].as_str().unwrap())
        .basic_auth(&app.client_id, Some(&app.secret))
        .header("content-type", "application/json")
        .body(json!({"grant_type": "authorization_code", "code": code}).to_string());
    let tokens = scene.web.send(request).await.json();
    let id_token = tokens["id_token"].as_str().unwrap();
    let (signed, signature) = id_token.rsplit_once('.').unwrap();
    let keys = scene.web.get("/login/oauth/keys").await.json();
    let key = &keys["keys"][0];
    let mut point = vec![4];
    for coordinate in ["x", "y"] {
        point.extend(
            URL_SAFE_NO_PAD
                .decode(key[coordinate].as_str().unwrap())
                .unwrap(),
        );
    }
    ring::signature::UnparsedPublicKey::new(&ring::signature::ECDSA_P256_SHA256_FIXED, point)
        .verify(
            signed.as_bytes(),
            &URL_SAFE_NO_PAD.decode(signature).unwrap(),
        )
        .unwrap();
    let claims: Value = serde_json::from_slice(
        &URL_SAFE_NO_PAD
            .decode(signed.split('.').nth(1).unwrap())
            .unwrap(),
    )
    .unwrap();
    assert_eq!(claims["nonce"], "n1");
    assert_eq!(claims["aud"], json!([app.client_id]));
    assert_eq!(claims["preferred_username"], scene.sandbox.users()[0].login);

    let request = scene
        .web
        .request(Method::GET, "/login/oauth/userinfo")
        .bearer_auth(tokens["access_token"].as_str().unwrap());
    let info = scene.web.send(request).await.json();
    assert_eq!(info["sub"], "1");
    assert_eq!(info["groups"], Value::Null);
    let nobody = Visitor::new(&scene.sandbox)
        .get("/login/oauth/userinfo")
        .await;
    assert_eq!(
        (nobody.status, nobody.text.as_str()),
        (401, "no valid authorization")
    );
}

#[tokio::test]
async fn a_grant_can_be_taken_back_and_an_application_removed() {
    for flavor in [Flavor::Gitea, Flavor::Forgejo] {
        let mut scene = Scene::new(flavor, None).await;
        let app = scene.app(true, &[CALLBACK]).await;
        scene.sign_in().await;
        let (access, refresh) = scene.tokens(&app, "").await;
        let page = scene.web.get("/user/settings/applications").await;
        assert!(page.text.contains("tester"));
        let start = format!("/user/settings/applications/oauth2/{}/revoke/", app.id);
        let from = page.text.find(&start).unwrap();
        let path = page.text[from..].split('"').next().unwrap().to_owned();
        let csrf = page.field("_csrf").unwrap_or_default();
        assert_eq!(csrf.is_empty(), flavor == Flavor::Gitea);
        let done = scene.web.post(&path, &[("_csrf", &csrf)]).await;
        assert_eq!(
            done.json(),
            json!({"redirect": "/user/settings/applications"})
        );
        assert_eq!(scene.whoami(&access).await, 401);
        refused(
            &scene.refresh(&app, &refresh).await,
            "invalid_grant",
            "grant does not exist",
        );
        assert_eq!(
            scene.authorize(&app, &[]).await.status,
            200,
            "consent is asked again"
        );

        let (access, refresh) = scene.tokens(&app, "").await;
        let token = scene.token();
        let path = format!("/user/applications/oauth2/{}", app.id);
        let body =
            json!({"name": "renamed", "confidential_client": true, "redirect_uris": [CALLBACK]});
        let renewed = scene.api(Method::PATCH, &path, &token, body).await;
        assert_eq!(renewed.status, 200);
        assert_eq!(scene.whoami(&access).await, 200);
        refused(
            &scene.refresh(&app, &refresh).await,
            "invalid_client",
            "invalid client secret",
        );
        let secret = renewed.json()["client_secret"].as_str().unwrap().to_owned();
        let app = App { secret, ..app };
        pair(&scene.refresh(&app, &refresh).await);
        let listed = scene
            .api(
                Method::GET,
                "/user/applications/oauth2",
                &token,
                Value::Null,
            )
            .await;
        assert_eq!(listed.json()[0]["client_secret"], "");
        assert_eq!(listed.json()[0]["name"], "renamed");

        assert_eq!(
            scene
                .api(Method::DELETE, &path, &token, Value::Null)
                .await
                .status,
            204
        );
        assert_eq!(
            scene
                .api(Method::DELETE, &path, &token, Value::Null)
                .await
                .status,
            404
        );
        assert_eq!(scene.whoami(&access).await, 401);
        let gone = scene.refresh(&app, &refresh).await;
        assert_eq!(gone.json()["error"], "invalid_client");
    }
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

#[tokio::test]
async fn git_takes_an_access_token_whatever_its_scope() {
    let mut scene = Scene::gitea().await;
    let app = scene.app(true, &[CALLBACK]).await;
    scene.sign_in().await;
    let (access, refresh) = scene.tokens(&app, "read:user").await;
    let token = scene.token();
    let private = json!({"name": "hidden", "private": true, "auto_init": true});
    let made = scene
        .api(Method::POST, "/user/repos", &token, private)
        .await;
    assert_eq!(made.status, 201, "{made:?}");
    let owner = scene.sandbox.users()[0].login.clone();
    let refs = format!("/{owner}/hidden.git/info/refs?service=git-receive-pack");
    for (name, password, expected) in [
        ("oauth2", access.as_str(), 200),
        (owner.as_str(), access.as_str(), 200),
        (access.as_str(), "x-oauth-basic", 200),
        ("oauth2", refresh.as_str(), 401),
    ] {
        let request = scene
            .web
            .request(Method::GET, &refs)
            .basic_auth(name, Some(password));
        assert_eq!(scene.web.send(request).await.status, expected, "{name}");
    }
    let request = scene.web.request(Method::GET, &refs).bearer_auth(&access);
    assert_eq!(scene.web.send(request).await.status, 200);
}
