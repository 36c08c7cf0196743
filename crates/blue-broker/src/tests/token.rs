//! Codes, refresh tokens, revocation

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use futures_util::future::join_all;
use ring::digest::{SHA256, digest};
use serde_json::json;

use super::{Mood, REDIRECT, VERIFIER, World, until};
use crate::{
    Admin, Ended, SystemRng,
    audit::Fields,
    store::{AuditEvent, Code, CodeUse, Grant, NewPair, UserState},
    token::{Kind, Token, TokenHash},
    upstream,
};

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

    // Either token revokes both, at once, though the first is cached.
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
async fn client_disconnect_does_not_leave_a_revocation_half_done() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    world.tokens("tool", &user).await;
    let store = &world.app().store;
    let mut grants = Vec::new();
    for n in 0..20 {
        let code = world.code("tool", &user).await;
        let (_, tokens) = world.exchange("tool", &code).await;
        let access = tokens["access_token"].as_str().unwrap();
        let owner = store.token_owner(&TokenHash::of(access)).await.unwrap();
        grants.push(owner.unwrap().0);
        // One client revokes its grant, and one replays a token and disconnects to leave no trace.
        let (path, form) = if n % 2 == 0 {
            ("/oauth/revoke", vec![("token", access)])
        } else {
            let form = vec![
                ("grant_type", "authorization_code"),
                ("code", &code),
                ("redirect_uri", REDIRECT),
                ("code_verifier", VERIFIER),
            ];
            ("/oauth/token", form)
        };
        world.hang_up(path, &form).await;
    }
    until("all are ended, told and noted", async || {
        let open = store.grants(100).await.unwrap();
        let events = store.audit(1000).await.unwrap();
        let told = world.echo.ended.lock().unwrap().clone();
        grants.iter().all(|id| {
            let ends = events
                .iter()
                .filter(|event| matches!(event.event.as_str(), "revoked" | "replayed"));
            let mut noted = ends.filter(|event| event.grant.as_ref() == Some(id));
            open.iter().all(|grant| grant.id != *id)
                && told.contains(&Ended::Grant(id.clone()))
                && noted.next().is_some()
        })
    })
    .await;
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
    // The response may have been lost.
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
async fn a_refresh_token_two_generations_old_revokes_the_grant_within_the_grace() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let first = world.tokens("tool", &user).await;
    let (_, second) = world.refresh("tool", &first["refresh_token"]).await;
    let (_, third) = world.refresh("tool", &second["refresh_token"]).await;
    assert_eq!(world.call(&third["access_token"]).await.0, 200);
    // A copy of the first token, a moment later.
    let (status, body) = world.refresh("tool", &first["refresh_token"]).await;
    assert_eq!((status, &body["error"]), (400, &json!("invalid_grant")));
    assert_eq!(world.call(&third["access_token"]).await.0, 401);
    assert_eq!(world.refresh("tool", &third["refresh_token"]).await.0, 400);
    let events = world.app().store.audit(100).await.unwrap();
    assert_eq!(events.iter().filter(|e| e.event == "replayed").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thief_who_comes_first_is_found_out_by_the_rightful_holder() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let first = world.tokens("tool", &user).await;
    let (_, rightful) = world.refresh("tool", &first["refresh_token"]).await;
    world.clock.advance(Duration::from_secs(62));
    // Indistinguishable from a client whose response was lost.
    let (status, thief) = world.refresh("tool", &first["refresh_token"]).await;
    assert_eq!(status, 200, "{thief}");
    assert_eq!(world.call(&thief["access_token"]).await.0, 200);
    let (status, _) = world.refresh("tool", &rightful["refresh_token"]).await;
    assert_eq!(status, 400);
    assert_eq!(world.call(&thief["access_token"]).await.0, 401);
    let events = world.app().store.audit(100).await.unwrap();
    assert_eq!(events.iter().filter(|e| e.event == "replayed").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_end_erases_the_forges_tokens_and_is_told_whole() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let tokens = world.tokens("tool", &user).await;
    let store = &world.app().store;
    let row = store.user(&user).await.unwrap().unwrap();
    let sealed = row.tokens.unwrap();
    let access = tokens["access_token"].as_str().unwrap();
    let form = [("token", access), ("client_id", "tool")];
    assert_eq!(world.post("/oauth/revoke", &form).await.0, 200);
    let left = store.user(&user).await.unwrap().unwrap();
    assert_eq!((left.state, left.tokens), (UserState::Disconnected, None));
    for file in std::fs::read_dir(world.dir.path().join("data")).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        for secret in [&row.key.sealed, &sealed.access, &sealed.refresh] {
            let mut parts = bytes.windows(secret.len());
            assert!(!parts.any(|part| part == secret), "{path:?}");
        }
    }
    let events = store.audit(10).await.unwrap();
    let event = events.iter().find(|event| event.event == "revoked");
    let event = event.unwrap();
    assert_eq!(event.client_id.as_deref(), Some("tool"));
    assert_eq!(event.user, Some(user.clone()));
    assert!(event.grant.is_some() && event.request_id.is_some());
    // The user keeps their id.
    assert_eq!(world.sign_in("1").await, user);
    let tokens = world.tokens("tool", &user).await;
    let (status, said) = world.call(&tokens["access_token"]).await;
    assert_eq!((status, &said["forge_token"]), (200, &json!("access-0")));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_readiness_checks_share_one_result() {
    let world = World::start().await;
    for (mood, expected) in [(Mood::Broken, 503), (Mood::Rotating, 200)] {
        *world.forge.mood.lock().unwrap() = mood;
        let ask = || async {
            let url = world.app().config.public_url.at("/readyz");
            world.http.get(url).send().await.unwrap().status()
        };
        // The cached result is used for a moment.
        let until = Instant::now() + Duration::from_secs(20);
        while ask().await != expected {
            assert!(Instant::now() < until, "nobody noticed");
        }
        *world.forge.asked.lock().unwrap() = 0;
        for status in join_all((0..20).map(|_| ask())).await {
            assert_eq!(status, expected);
        }
        let asked = *world.forge.asked.lock().unwrap();
        assert!(asked <= 2, "{asked}: each asked the forge");
    }
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
    // A client that waits as long as `Retry-After` says is served again, and is not told to wait
    // for longer than that.
    world.clock.advance(Duration::from_secs(400));
    let url = world.app().config.public_url.at("/oauth/token");
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let body = format!("grant_type=refresh_token&client_id=tool&refresh_token={refresh}");
    let form = "application/x-www-form-urlencoded";
    let request = world.http.post(url).header("content-type", form);
    let answer = request.body(body).send().await.unwrap();
    assert_eq!(answer.status(), 429);
    assert_eq!(answer.headers()["retry-after"], "200");
    world.clock.advance(Duration::from_secs(200));
    let (status, _) = world.refresh("tool", &tokens["refresh_token"]).await;
    assert_ne!(status, 429);
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

#[tokio::test(flavor = "multi_thread")]
async fn fifty_uses_of_one_refresh_token_all_live_and_one_later_ends_them() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let tokens = world.tokens("tool", &user).await;
    let attempts = (0..50).map(|_| world.refresh("tool", &tokens["refresh_token"]));
    let answers = join_all(attempts).await;
    let mut seen = std::collections::BTreeSet::new();
    for (status, body) in &answers {
        assert_eq!(*status, 200, "{body}");
        assert!(
            seen.insert(body["refresh_token"].to_string()),
            "given twice"
        );
    }
    // Each may be the one that reached the client.
    for (_, body) in [&answers[0], &answers[49]] {
        assert_eq!(world.call(&body["access_token"]).await.0, 200);
    }
    world.clock.advance(Duration::from_secs(61));
    assert_eq!(world.refresh("tool", &tokens["refresh_token"]).await.0, 400);
    for (_, body) in &answers {
        assert_eq!(world.call(&body["access_token"]).await.0, 401);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_code_or_one_with_more_behind_it_does_nothing() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let code = world.code("tool", &user).await;
    let short = &code[..code.len() - 1];
    let longer = format!("{code}x");
    let upper = code.to_uppercase();
    let spaced = format!("{code} ");
    let dotted = format!("{code}.evil");
    for bad in [short, &longer, &upper, &spaced, &dotted, "bbac_"] {
        let (status, body) = world.exchange("tool", bad).await;
        assert_eq!(
            (status, &body["error"]),
            (400, &json!("invalid_grant")),
            "{bad}"
        );
    }
    assert_eq!(world.exchange("tool", &code).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_for_another_audience_is_refused() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let app = world.app();
    // As the rows of a broker are that had another public address before.
    let (code, hash) = (Token::new(Kind::Code, &*app.rng), TokenHash::of("x"));
    let row = Code {
        client_id: "tool".to_owned(),
        user: user.clone(),
        redirect_uri: REDIRECT.to_owned(),
        challenge: URL_SAFE_NO_PAD.encode(digest(&SHA256, VERIFIER.as_bytes())),
        resource: "https://elsewhere.example.org/mcp".to_owned(),
        scope: "mcp".to_owned(),
        expires_at: app.now() + Duration::from_mins(1),
    };
    for hash in [code.hash(), hash] {
        app.store.put_code(&hash, &row, app.now()).await.unwrap();
    }
    let (status, body) = world.exchange("tool", code.expose()).await;
    assert_eq!((status, &body["error"]), (400, &json!("invalid_grant")));
    let [access, refresh] = [Kind::Access, Kind::Refresh].map(|kind| Token::new(kind, &*app.rng));
    let grant = Grant {
        id: app.id(),
        user,
        client_id: row.client_id.clone(),
        scope: row.scope.clone(),
        resource: row.resource.clone(),
        created_at: app.now(),
        last_used_at: app.now(),
    };
    let pair = NewPair {
        id: app.id(),
        access: access.hash(),
        refresh: refresh.hash(),
        access_expires_at: app.now() + Duration::from_hours(1),
        refresh_expires_at: app.now() + Duration::from_hours(1),
    };
    let event = app.event(AuditEvent::Issued, Fields::default());
    let issued = app
        .store
        .use_code(&hash, &grant, &pair, &event, app.now())
        .await;
    assert!(matches!(issued.unwrap(), CodeUse::Issued { .. }));
    assert_eq!(world.call(&json!(access.expose())).await.0, 401);
    assert_eq!(world.refresh("tool", &json!(refresh.expose())).await.0, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_another_process_ended_opens_nothing_afterwards() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    world.client("other", None).await;
    world.tokens("other", &user).await;
    let tokens = world.tokens("tool", &user).await;
    // A call that began before, and is held up by the forge until after.
    world.clock.advance(Duration::from_mins(59));
    let (_, tokens) = world.refresh("tool", &tokens["refresh_token"]).await;
    world.clock.advance(Duration::from_mins(2));
    world.forge.answers.send_replace(false);
    let admin = async {
        until("it is asked", async || world.asked() == 1).await;
        let (config, clock) = (&world.app().config, Arc::clone(&world.clock));
        let admin = Admin::open(config, clock, Arc::new(SystemRng::default())).await;
        let grants = world.app().store.grants(2).await.unwrap();
        let grant = grants.iter().find(|g| g.client_id == "tool").unwrap();
        admin.unwrap().revoke_grant(&grant.id).await.unwrap();
        world.forge.answers.send_replace(true);
    };
    let (held_up, ()) = tokio::join!(world.call(&tokens["access_token"]), admin);
    assert_eq!(held_up.0, 200, "it was let in before the end");
    assert_eq!(world.call(&tokens["access_token"]).await.0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_registration_leaves_behind_is_small() {
    let world = World::start().await;
    let uris = [
        format!("https://a.example/{}", "x".repeat(900)),
        format!("https://a.example/{}", "y".repeat(900)),
        "http://127.0.0.1:7/cb".to_owned(),
        "cursor://anysphere.cursor-mcp/oauth/callback".to_owned(),
    ];
    let said = json!({ "client_name": "x", "redirect_uris": uris });
    let url = world.app().config.public_url.at("/oauth/register");
    let request = world.http.post(url).body(said.to_string());
    let request = request.header("content-type", "application/json");
    assert_eq!(request.send().await.unwrap().status(), 201);
    let events = world.app().store.audit(10).await.unwrap();
    let hosts = ["127.0.0.1", "a.example", "anysphere.cursor-mcp"];
    let detail = json!({ "name": "x", "redirect_hosts": hosts });
    assert_eq!(events[0].detail, detail);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_in_plain_text_does_not_open() {
    let world = World::start().await;
    let id = world.sign_in("1").await;
    let mut user = world.app().store.user(&id).await.unwrap().unwrap();
    let tokens = user.tokens.as_mut().unwrap();
    tokens.access = b"access-0".to_vec();
    assert!(upstream::open(world.app(), &user).is_err());
    user.key.sealed = vec![7; 32];
    assert!(upstream::open(world.app(), &user).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_gets_nothing_by_the_code_or_token_of_another() {
    let world = World::start().await;
    let (ann, ben) = (world.sign_in("1").await, world.sign_in("2").await);
    let (a, b) = (
        world.tokens("tool", &ann).await,
        world.tokens("tool", &ben).await,
    );
    // Revoking a user's own token leaves the grants of other users alone.
    let form = [
        ("token", b["refresh_token"].as_str().unwrap()),
        ("client_id", "tool"),
    ];
    assert_eq!(world.post("/oauth/revoke", &form).await.0, 200);
    assert_eq!(world.call(&b["access_token"]).await.0, 401);
    let (status, said) = world.call(&a["access_token"]).await;
    assert_eq!((status, &said["login"]), (200, &json!("login-1")));
    // A refresh stays with the user of the grant.
    let (_, new) = world.refresh("tool", &a["refresh_token"]).await;
    assert_eq!(world.call(&new["access_token"]).await.1["login"], "login-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_fails_is_no_fault_of_the_client() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let tokens = world.tokens("tool", &user).await;
    world.app().store.close().await;
    let (status, body) = world.refresh("tool", &tokens["refresh_token"]).await;
    assert_eq!((status, &body["error"]), (500, &json!("server_error")));
    let at = |path: &str| world.app().config.public_url.at(path);
    let authorize = at("/oauth/authorize?client_id=tool&redirect_uri=http://127.0.0.1/");
    for url in [
        authorize,
        at("/oauth/consent?tx=x"),
        at("/oauth/callback?state=x"),
    ] {
        let answer = world.http.get(&url).send().await.unwrap();
        assert_eq!(answer.status(), 500, "{url}");
    }
    let answer = world.http.get(at("/readyz")).send().await.unwrap();
    assert_eq!(answer.status(), 503);
    let access = tokens["access_token"].as_str().unwrap();
    let answer = world.http.post(at("/mcp")).bearer_auth(access).send().await;
    assert_eq!(answer.unwrap().status(), 500);
}
