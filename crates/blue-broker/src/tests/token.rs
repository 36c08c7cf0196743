//! Codes, refresh tokens, revocation

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;

use super::{REDIRECT, VERIFIER, World};
use crate::Ended;

#[tokio::test(flavor = "multi_thread")]
async fn a_code_becomes_tokens_that_open_the_door_until_they_are_revoked() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let tokens = world.tokens("tool", &user).await;
    assert_eq!(tokens["token_type"], "Bearer");
    assert_eq!(tokens["expires_in"], 3600);
    assert_eq!(tokens["scope"], "mcp");
    let (status, said) = world.call(&tokens["access_token"]).await;
    assert_eq!(status, 200);
    assert_eq!(said["login"], "login-1");
    assert_eq!(said["forge_token"], "access-0");
    assert_eq!(said["scopes"], json!(["mcp"]));
    let headers = said["headers"].to_string();
    assert!(!headers.contains("authorization"), "{headers}");

    // Either token ends both, at once, though the first is remembered.
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let form = [("token", refresh), ("client_id", "tool")];
    assert_eq!(world.post("/oauth/revoke", &form).await.0, 200);
    assert_eq!(world.call(&tokens["access_token"]).await.0, 401);
    let (status, error) = world.refresh("tool", &tokens["refresh_token"]).await;
    assert_eq!((status, &error["error"]), (400, &json!("invalid_grant")));
    let grant = said["grant"].as_str().unwrap().to_owned();
    assert_eq!(*world.echo.ended.lock().unwrap(), [Ended::Grant(grant)]);
    assert_eq!(world.post("/oauth/revoke", &form).await.0, 200, "again");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_belong_to_a_code_leaves_it_alone() {
    let world = World::start().await;
    world.client("other", None).await;
    let user = world.sign_in("1").await;
    let code = world.code("tool", &user).await;
    let good = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("client_id", "tool"),
        ("redirect_uri", REDIRECT),
        ("code_verifier", VERIFIER),
    ];
    let changed = |name: &'static str, value: &'static str| {
        let mut form = good.to_vec();
        form.retain(|(other, _)| *other != name);
        form.push((name, value));
        form
    };
    let other_verifier = "eBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    for (name, value, error) in [
        ("client_id", "other", "invalid_grant"),
        ("client_id", "nobody", "invalid_client"),
        ("client_id", "", "invalid_client"),
        ("client_secret", "x", "invalid_client"),
        (
            "redirect_uri",
            "http://127.0.0.1:7777/callback/",
            "invalid_grant",
        ),
        ("redirect_uri", "", "invalid_request"),
        ("code_verifier", "", "invalid_request"),
        ("code_verifier", other_verifier, "invalid_grant"),
        (
            "resource",
            "https://elsewhere.example.org/mcp",
            "invalid_target",
        ),
        ("grant_type", "password", "unsupported_grant_type"),
        ("grant_type", "", "invalid_request"),
        ("code", "bbac_x", "invalid_grant"),
    ] {
        let (_, body) = world.post("/oauth/token", &changed(name, value)).await;
        assert_eq!(body["error"], error, "{name}={value}");
    }
    let mut twice = good.to_vec();
    twice.push(("code", code.as_str()));
    let (status, body) = world.post("/oauth/token", &twice).await;
    assert_eq!((status, &body["error"]), (400, &json!("invalid_request")));

    let resource = format!("{}/", world.app().config.public_url.resource());
    let mut all = good.to_vec();
    all.push(("resource", &resource));
    let (status, body) = world.post("/token", &all).await;
    assert_eq!(status, 200, "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_short_lived() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let code = world.code("tool", &user).await;
    world.clock.advance(Duration::from_mins(1));
    let (status, body) = world.exchange("tool", &code).await;
    assert_eq!((status, &body["error"]), (400, &json!("invalid_grant")));
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_uses_of_one_code_give_tokens_once_and_then_end_them() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let code = world.code("tool", &user).await;
    let attempts = (0..50).map(|_| world.exchange("tool", &code));
    let answers = join_all(attempts).await;
    let good: Vec<_> = answers
        .iter()
        .filter(|(status, _)| *status == 200)
        .collect();
    assert_eq!(good.len(), 1);
    for (status, body) in answers.iter().filter(|(status, _)| *status != 200) {
        assert_eq!((*status, &body["error"]), (400, &json!("invalid_grant")));
    }
    assert_eq!(world.call(&good[0].1["access_token"]).await.0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confidential_client_shows_its_secret() {
    let world = World::start().await;
    world.client("secretive", Some("s3cret")).await;
    let user = world.sign_in("1").await;
    let code = world.code("secretive", &user).await;
    let (status, body) = world.exchange("secretive", &code).await;
    assert_eq!((status, &body["error"]), (401, &json!("invalid_client")));
    let mut form = vec![
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("client_id", "secretive"),
        ("redirect_uri", REDIRECT),
        ("code_verifier", VERIFIER),
        ("client_secret", "wrong"),
    ];
    assert_eq!(world.post("/oauth/token", &form).await.0, 401);
    form.pop();
    form.push(("client_secret", "s3cret"));
    assert_eq!(world.post("/oauth/token", &form).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_token_may_come_again_for_a_moment_and_is_a_replay_later() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let first = world.tokens("tool", &user).await;
    let (status, second) = world.refresh("tool", &first["refresh_token"]).await;
    assert_eq!(status, 200, "{second}");
    // Its answer may have been lost.
    let (status, again) = world.refresh("tool", &first["refresh_token"]).await;
    assert_eq!(status, 200, "{again}");
    assert_ne!(second["access_token"], again["access_token"]);
    assert_eq!(world.call(&again["access_token"]).await.0, 200);

    world.clock.advance(Duration::from_secs(61));
    let (status, body) = world.refresh("tool", &first["refresh_token"]).await;
    assert_eq!((status, &body["error"]), (400, &json!("invalid_grant")));
    for tokens in [&second, &again] {
        assert_eq!(world.call(&tokens["access_token"]).await.0, 401);
        let (status, _) = world.refresh("tool", &tokens["refresh_token"]).await;
        assert_eq!(status, 400);
    }
    let events = world.app().store.audit(100).await.unwrap();
    assert!(events.iter().any(|event| event.event == "replayed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn refreshes_of_one_grant_are_limited() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let tokens = world.tokens("tool", &user).await;
    let mut limited = 0;
    for _ in 0..125 {
        let (status, _) = world.refresh("tool", &tokens["refresh_token"]).await;
        limited += u32::from(status == 429);
    }
    assert_eq!(limited, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_of_use_to_their_own_client_only() {
    let world = World::start().await;
    world.client("other", None).await;
    let user = world.sign_in("1").await;
    let tokens = world.tokens("tool", &user).await;
    let (status, body) = world.refresh("other", &tokens["refresh_token"]).await;
    assert_eq!((status, &body["error"]), (400, &json!("invalid_grant")));
    let access = tokens["access_token"].as_str().unwrap();
    let form = [("token", access), ("client_id", "other")];
    assert_eq!(world.post("/oauth/revoke", &form).await.0, 400);
    assert_eq!(world.call(&tokens["access_token"]).await.0, 200);
    // One kind of token is not the other.
    assert_eq!(world.refresh("tool", &tokens["access_token"]).await.0, 400);
    assert_eq!(world.call(&tokens["refresh_token"]).await.0, 401);
    assert_eq!(world.refresh("tool", &tokens["refresh_token"]).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_file_holds_a_token_a_code_or_a_secret() {
    let world = World::start().await;
    world.client("secretive", Some("s3cret-of-a-client")).await;
    let user = world.sign_in("1").await;
    let code = world.code("tool", &user).await;
    let (_, first) = world.exchange("tool", &code).await;
    world.clock.advance(Duration::from_mins(59));
    let (_, second) = world.refresh("tool", &first["refresh_token"]).await;
    assert_eq!(
        world.call(&second["access_token"]).await.1["forge_token"],
        "access-1"
    );
    let mut secrets = vec![
        code.as_str(),
        VERIFIER,
        "s3cret-of-a-client",
        "gto_secret",
        "access-0",
        "access-1",
        "refresh-0",
        "refresh-1",
    ];
    for tokens in [&first, &second] {
        secrets
            .extend(["access_token", "refresh_token"].map(|kind| tokens[kind].as_str().unwrap()));
    }
    let mut seen = 0;
    for file in std::fs::read_dir(world.dir.path().join("data")).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        seen += bytes.len();
        for secret in &secrets {
            let mut parts = bytes.windows(secret.len());
            assert!(!parts.any(|part| part == secret.as_bytes()), "{path:?}");
        }
    }
    assert!(seen > 10_000, "the database and its log were read");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_no_small_form_are_refused() {
    let world = World::start().await;
    let large = "x".repeat(70_000);
    let (status, body) = world.post("/oauth/token", &[("grant_type", &large)]).await;
    assert_eq!((status, &body["error"]), (413, &json!("invalid_request")));
    for path in ["/oauth/token", "/oauth/revoke"] {
        let url = world.app().config.public_url.at(path);
        let nested = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
        let request = world
            .http
            .post(&url)
            .header("content-type", "application/json");
        let answer = request.body(nested).send().await.unwrap();
        assert_eq!(answer.status(), 400);
        assert_eq!(world.http.get(&url).send().await.unwrap().status(), 405);
        let query = world.http.post(format!("{url}?token=x&client_id=tool"));
        assert_eq!(query.send().await.unwrap().status(), 400);
    }
}
