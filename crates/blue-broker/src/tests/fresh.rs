//! One set of forge tokens per person, refreshed by one caller at a time

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use blue_core::secret::Secret;
use futures_util::future::join_all;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Mood, World};
use crate::{
    Admin, SystemRng,
    upstream::{self, ForgeAccount, SignIn, Tokens},
};

/// Two clients of one person, with forge tokens that have just ended
async fn ended() -> (World, Value, Value) {
    let world = World::start().await;
    world.client("other", None).await;
    let user = world.sign_in("1").await;
    let one = world.tokens("tool", &user).await;
    world.clock.advance(Duration::from_mins(59));
    let two = world.tokens("other", &user).await;
    let (status, one) = world.refresh("tool", &one["refresh_token"]).await;
    assert_eq!(status, 200);
    (world, one, two)
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_at_once_refresh_the_forge_token_once() {
    let (world, one, two) = ended().await;
    let calls = (0..20).map(|n| {
        let tokens = if n % 2 == 0 { &one } else { &two };
        world.call(&tokens["access_token"])
    });
    for (status, said) in join_all(calls).await {
        assert_eq!((status, &said["forge_token"]), (200, &json!("access-1")));
    }
    assert_eq!(*world.forge.asked.lock().unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_refresh_the_forge_token_once() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    world.tokens("tool", &user).await;
    let replica = world.replica().await;
    for round in 1..4 {
        world.clock.advance(Duration::from_hours(1));
        let all = (0..10).map(|n| {
            let app = if n % 2 == 0 {
                world.app()
            } else {
                replica.app()
            };
            upstream::fresh(app, &user)
        });
        for fresh in join_all(all).await {
            assert_eq!(fresh.unwrap().access.expose(), format!("access-{round}"));
        }
        assert_eq!(*world.forge.asked.lock().unwrap(), round);
    }
    replica.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_connections_live_through_a_day_on_a_rotating_forge() {
    let (world, mut one, mut two) = ended().await;
    for round in 0..100 {
        for (client, tokens) in [("tool", &mut one), ("other", &mut two)] {
            let (status, new) = world.refresh(client, &tokens["refresh_token"]).await;
            assert_eq!(status, 200, "{round} {new}");
            *tokens = new;
            let (status, said) = world.call(&tokens["access_token"]).await;
            assert_eq!(status, 200, "{round} {said}");
        }
        world.clock.advance(Duration::from_mins(15));
    }
    let asked = *world.forge.asked.lock().unwrap();
    assert!((20..40).contains(&asked), "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_must_sign_in_again_gets_neither_calls_nor_tokens() {
    for word in ["unauthorized_client", "invalid_grant", "invalid_client"] {
        let (world, one, two) = ended().await;
        world.clock.advance(Duration::from_mins(1));
        *world.forge.mood.lock().unwrap() = Mood::Refusing(word);
        for tokens in [&one, &two] {
            assert_eq!(world.call(&tokens["access_token"]).await.0, 401, "{word}");
        }
        let asked = *world.forge.asked.lock().unwrap();
        assert_eq!(asked, 1, "no blind retry");
        let (status, body) = world.refresh("tool", &one["refresh_token"]).await;
        assert_eq!((status, &body["error"]), (400, &json!("invalid_grant")));

        *world.forge.mood.lock().unwrap() = Mood::Rotating;
        world.sign_in("1").await;
        let (status, one) = world.refresh("tool", &one["refresh_token"]).await;
        assert_eq!(status, 200);
        assert_eq!(world.call(&one["access_token"]).await.0, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_is_down_ends_nothing() {
    let (world, one, _) = ended().await;
    *world.forge.mood.lock().unwrap() = Mood::Broken;
    // The token has a minute left, which is better than nothing.
    assert_eq!(world.call(&one["access_token"]).await.0, 200);
    world.clock.advance(Duration::from_mins(1));
    assert_eq!(world.call(&one["access_token"]).await.0, 503);
    *world.forge.mood.lock().unwrap() = Mood::Rotating;
    assert_eq!(world.call(&one["access_token"]).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_row_does_not_open() {
    let world = World::start().await;
    let id = world.sign_in("1").await;
    let app = world.app();
    let old = app.store.user(&id).await.unwrap().unwrap();
    world.sign_in("1").await;
    let mut new = app.store.user(&id).await.unwrap().unwrap();
    assert!(upstream::open(app, &new).unwrap().is_some());
    new.tokens = old.tokens;
    assert!(upstream::open(app, &new).is_err());
}

/// Call with a forge that answers 401 to the token, and wait until the broker drew its conclusions
async fn refused_by_forge(world: &World, access: &Value, user: &str, version: i64) {
    let url = world.app().config.public_url.resource();
    let request = world.http.post(url).bearer_auth(access.as_str().unwrap());
    let request = request.header("x-forge-says-401", "1");
    assert_eq!(request.send().await.unwrap().status(), 200);
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let row = world.app().store.user(user).await.unwrap().unwrap();
        // The one that refreshes still has the turn until it has looked at what it got.
        if row.version >= version {
            return;
        }
        assert!(Instant::now() < until, "nothing happened");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_that_is_taken_back_at_the_forge_is_noticed_at_the_next_call() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let tokens = world.tokens("tool", &user).await;
    *world.forge.mood.lock().unwrap() = Mood::Refusing("unauthorized_client");
    refused_by_forge(&world, &tokens["access_token"], &user, 2).await;
    let (status, said) = world.call(&tokens["access_token"]).await;
    assert_eq!(status, 401, "{said}");
    let (status, said) = world.refresh("tool", &tokens["refresh_token"]).await;
    assert_eq!((status, &said["error"]), (400, &json!("invalid_grant")));
    assert_eq!(*world.forge.asked.lock().unwrap(), 1);
    // After a new sign-in the same tokens are good again.
    *world.forge.mood.lock().unwrap() = Mood::Rotating;
    world.sign_in("1").await;
    assert_eq!(world.call(&tokens["access_token"]).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_the_forge_refuses_is_replaced_once() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let tokens = world.tokens("tool", &user).await;
    refused_by_forge(&world, &tokens["access_token"], &user, 2).await;
    let (status, said) = world.call(&tokens["access_token"]).await;
    assert_eq!((status, &said["forge_token"]), (200, &json!("access-1")));
    assert_eq!(*world.forge.asked.lock().unwrap(), 1);
    // The forge refuses the new one, too: there is nothing left but to sign in.
    *world.forge.closed.lock().unwrap() = true;
    refused_by_forge(&world, &tokens["access_token"], &user, 4).await;
    assert_eq!(world.call(&tokens["access_token"]).await.0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_is_down_is_no_reason_to_sign_in_again() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let tokens = world.tokens("tool", &user).await;
    *world.forge.mood.lock().unwrap() = Mood::Broken;
    let refused = Secret::new("access-0");
    upstream::distrust(world.app(), &user, &refused).await;
    assert_eq!(*world.forge.asked.lock().unwrap(), 1);
    assert_eq!(world.call(&tokens["access_token"]).await.0, 200);
    // Nor is one that was replaced long ago.
    upstream::distrust(world.app(), &user, &Secret::new("another")).await;
    assert_eq!(*world.forge.asked.lock().unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_of_the_master_keys_beside_a_running_broker_breaks_nothing() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let tokens = world.tokens("tool", &user).await;
    let admin = Admin::open(
        &world.app().config,
        Arc::clone(&world.clock) as _,
        Arc::new(SystemRng::default()),
    );
    let rotated = admin.await.unwrap().rotate_keys(&world.app().config).await;
    assert_eq!(rotated.unwrap().rewrapped, 1);
    world.clock.advance(Duration::from_mins(59));
    let (status, said) = world.call(&tokens["access_token"]).await;
    assert_eq!((status, &said["forge_token"]), (200, &json!("access-1")));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sign_ins_of_one_person_that_meet_keep_the_newer_tokens() {
    for mine_is_newer in [false, true] {
        let world = World::start().await;
        let user = world.sign_in("1").await;
        // The forge counted twice; which of the two comes here last says nothing.
        *world.forge.current.lock().unwrap() = if mine_is_newer { 2 } else { 1 };
        let theirs = Tokens {
            access: Secret::new("access-1"),
            refresh: Secret::new("refresh-1"),
            expires_in: Duration::from_hours(1),
        };
        let mine = Tokens {
            access: Secret::new("access-2"),
            refresh: Secret::new("refresh-2"),
            expires_in: Duration::from_hours(1),
        };
        let account = ForgeAccount {
            id: "1".to_owned(),
            login: "login-1".to_owned(),
        };
        let since = world.app().now();
        for (tokens, since) in [(theirs, Timestamp::MAX), (mine, since)] {
            let new = SignIn {
                account: &account,
                scope: "read:user",
                tokens,
                since,
            };
            assert_eq!(upstream::sign_in(world.app(), new).await.unwrap(), user);
        }
        world.clock.advance(Duration::from_hours(1));
        let fresh = upstream::fresh(world.app(), &user).await;
        assert!(fresh.is_ok(), "{mine_is_newer} {fresh:?}");
    }
}
