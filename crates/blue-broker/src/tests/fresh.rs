//! One set of forge tokens per person, refreshed by one caller at a time

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{Mood, World};
use crate::upstream;

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
