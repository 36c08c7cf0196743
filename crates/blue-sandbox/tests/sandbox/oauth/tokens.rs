//! What tokens are good for, and for how long

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use blue_sandbox::Flavor;
use reqwest::Method;
use serde_json::{Value, json};

use super::{App, CALLBACK, Scene, pair, refused};
use crate::visitor::{Visitor, encode};

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
    for (path, without) in [("notifications", 403), ("user/orgs", 403), ("version", 200)] {
        let path = format!("/api/v1/{path}");
        let request = scene.web.request(Method::GET, &path).bearer_auth(&access);
        assert_eq!(scene.web.send(request).await.status, without, "{path}");
    }
    // The same token as Basic has no limit.
    let request = scene.web.request(Method::GET, "/api/v1/notifications");
    let request = request.basic_auth("oauth2", Some(&access));
    assert_eq!(scene.web.send(request).await.status, 200);
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
