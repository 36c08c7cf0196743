//! One set of forge tokens per user, refreshed by one caller at a time

use std::{sync::Arc, time::Duration};

use blue_base::{
    clock::{Clock as _, ManualClock},
    secret::Secret,
};
use futures_util::future::join_all;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Mood, World, until};
use crate::{
    Admin, SystemRng,
    store::{Ask, Authorization, Stage, Store, UserState},
    token::TokenHash,
    upstream::{self, ForgeAccount, SignIn, Tokens},
};

/// Two clients of one user, whose forge tokens have just expired
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
    assert_eq!(world.asked(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_refresh_the_forge_token_once() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    world.tokens("tool", &user).await;
    // Clocks of machines differ.
    let ahead = Arc::new(ManualClock::at(world.clock.now() + Duration::from_mins(1)));
    let replica = world.replica(&ahead).await;
    for round in 1..4 {
        for clock in [&world.clock, &ahead] {
            clock.advance(Duration::from_hours(2));
        }
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
        assert_eq!(world.asked(), round);
    }
    replica.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_tokens_are_kept_although_a_replica_was_refused_with_the_old_ones() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    world.tokens("tool", &user).await;
    world.clock.advance(Duration::from_hours(1));
    world.forge.answers.send_replace(false);
    let meanwhile = async {
        until("it is given", async || {
            *world.forge.current.lock().unwrap() == 1
        })
        .await;
        // The same holds after a replica took our lease for expired, and was refused with the old
        // token.
        let store = &world.app().store;
        let marked = store.must_reconnect(&user, 1, world.app().now()).await;
        assert!(marked.unwrap());
        world.forge.answers.send_replace(true);
    };
    let (fresh, ()) = tokio::join!(upstream::fresh(world.app(), &user), meanwhile);
    assert_eq!(fresh.unwrap().access.expose(), "access-1");
    let again = upstream::fresh(world.app(), &user).await;
    assert_eq!(again.unwrap().access.expose(), "access-1");
    assert_eq!(world.asked(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_hangs_does_not_delay_calls_with_a_valid_token() {
    let (world, one, _) = ended().await;
    world.forge.answers.send_replace(false);
    let calls = join_all((0..4).map(|_| world.call(&one["access_token"])));
    let calls = timeout(Duration::from_secs(10), calls).await.unwrap();
    for (status, said) in calls {
        assert_eq!((status, &said["forge_token"]), (200, &json!("access-0")));
    }
    // The tokens are stored, although the caller is gone.
    world.forge.answers.send_replace(true);
    until("they are kept", async || world.app().tasks.is_empty()).await;
    let (status, said) = world.call(&one["access_token"]).await;
    assert_eq!((status, &said["forge_token"]), (200, &json!("access-1")));
    assert_eq!(world.asked(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_shared_by_all_who_waited_for_it() {
    let (world, one, _) = ended().await;
    let user = &world.app().store.users(1).await.unwrap()[0].id;
    world.clock.advance(Duration::from_mins(1));
    *world.forge.mood.lock().unwrap() = Mood::Broken;
    world.forge.answers.send_replace(false);
    let calls = join_all((0..4).map(|_| world.call(&one["access_token"])));
    let ending = async {
        until("all wait", async || world.app().turns.waiting(user) == 4).await;
        world.forge.answers.send_replace(true);
    };
    let (calls, ()) = tokio::join!(calls, ending);
    for (status, said) in calls {
        assert_eq!(status, 503, "{said}");
    }
    assert_eq!(world.asked(), 1);
    // A later caller tries again.
    *world.forge.mood.lock().unwrap() = Mood::Rotating;
    assert_eq!(world.call(&one["access_token"]).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_outlives_an_older_token_that_the_forge_refuses() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let row = async || world.app().store.user(&user).await.unwrap().unwrap();
    *world.forge.closed.lock().unwrap() = true;
    world.forge.says_who.send_replace(false);
    let refused = upstream::distrust(world.app(), &user, 1);
    let meanwhile = async {
        until("it is renewed", async || row().await.version == 2).await;
        world.sign_in("1").await;
        world.forge.says_who.send_replace(true);
    };
    tokio::join!(refused, meanwhile);
    assert_eq!(
        (row().await.version, row().await.state),
        (3, UserState::Connected)
    );
}

/// An authorization whose browser the forge has just sent back with a code
async fn returned(world: &World) -> Authorization {
    let (store, now) = (&world.app().store, world.app().now());
    let asked = Authorization {
        id: "tx".to_owned(),
        ask: Ask {
            client_id: Some("tool".to_owned()),
            redirect_uri: "http://127.0.0.1/".to_owned(),
            client_state: None,
            scope: "mcp".to_owned(),
            resource: String::new(),
            challenge: String::new(),
        },
        stage: Stage::Asked,
        browser: TokenHash::of("browser"),
        form: TokenHash::of("form"),
        expires_at: now + Duration::from_mins(10),
    };
    store.begin(&asked, now).await.unwrap();
    let approved = store.approve(asked, &TokenHash::of("state"), now).await;
    let approved = approved.unwrap().unwrap();
    store.came_back(approved, now).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_in_progress_does_not_force_another_sign_in() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    world.tokens("tool", &user).await;
    world.clock.advance(Duration::from_hours(1));
    let returned = returned(&world).await;
    // The forge accepted the code, which invalidated the older refresh token.
    *world.forge.current.lock().unwrap() = 1;
    let app = Arc::clone(world.app());
    let mut fresh = tokio::spawn({
        let user = user.clone();
        async move { upstream::fresh(&app, &user).await }
    });
    let early = timeout(Duration::from_millis(300), &mut fresh).await;
    assert!(early.is_err(), "it did not wait");
    world.sign_in("1").await;
    let granted = world.app().store.granted(returned, &user).await;
    assert!(granted.unwrap().is_some());
    let fresh = fresh.await.unwrap();
    assert_eq!(fresh.unwrap().access.expose(), "access-1");
    let row = world.app().store.user(&user).await.unwrap().unwrap();
    assert_eq!((row.version, row.state), (2, UserState::Connected));
    assert_eq!(world.asked(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_gives_the_refused_token_again_is_asked_once() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    *world.forge.mood.lock().unwrap() = Mood::Same;
    let calls = join_all((0..5).map(|_| upstream::distrust(world.app(), &user, 1)));
    timeout(Duration::from_secs(10), calls).await.unwrap();
    assert_eq!(world.asked(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_waits_for_tokens_that_the_forge_is_about_to_give() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    world.tokens("tool", &user).await;
    world.clock.advance(Duration::from_hours(1));
    world.forge.answers.send_replace(false);
    let app = Arc::clone(world.app());
    let call = tokio::spawn({
        let user = user.clone();
        async move { upstream::fresh(&app, &user).await }
    });
    until("it is asked", async || world.asked() == 1).await;
    // Its client has disconnected.
    call.abort();
    let database = world.app().config.database.clone();
    let (forge, clock) = (Arc::clone(&world.forge), Arc::clone(&world.clock));
    let mut stopping = tokio::spawn(world.broker.shutdown());
    let early = timeout(Duration::from_millis(300), &mut stopping).await;
    assert!(early.is_err(), "it did not wait");
    forge.answers.send_replace(true);
    stopping.await.unwrap();
    let row = Store::open_beside(&database)
        .await
        .unwrap()
        .user(&user)
        .await;
    let row = row.unwrap().unwrap();
    assert_eq!(row.version, 2);
    assert!(row.tokens.unwrap().access_expires_at > clock.now());
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
    let asked = world.asked();
    assert!((20..40).contains(&asked), "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_must_sign_in_again_gets_neither_calls_nor_tokens() {
    for word in ["unauthorized_client", "invalid_grant"] {
        let (world, one, two) = ended().await;
        world.clock.advance(Duration::from_mins(1));
        *world.forge.mood.lock().unwrap() = Mood::Refusing(word);
        for tokens in [&one, &two] {
            assert_eq!(world.call(&tokens["access_token"]).await.0, 401, "{word}");
        }
        let asked = world.asked();
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
async fn a_rejected_client_secret_erases_no_tokens() {
    let (world, one, two) = ended().await;
    let user = world.app().store.users(1).await.unwrap().remove(0);
    world.clock.advance(Duration::from_mins(1));
    *world.forge.mood.lock().unwrap() = Mood::Refusing("invalid_client");
    for tokens in [&one, &two] {
        assert_eq!(world.call(&tokens["access_token"]).await.0, 503);
    }
    // A token that the forge answers 401 to is handled alike.
    upstream::distrust(world.app(), &user.id, user.version).await;
    let row = world.app().store.user(&user.id).await.unwrap().unwrap();
    assert_eq!((row.state, row.tokens), (user.state, user.tokens));
    let (status, one) = world.refresh("tool", &one["refresh_token"]).await;
    assert_eq!(status, 200, "{one}");
    let events = world.app().store.audit(100).await.unwrap();
    assert!(events.iter().all(|event| event.event != "reconnect_needed"));

    *world.forge.mood.lock().unwrap() = Mood::Rotating;
    for tokens in [&one, &two] {
        assert_eq!(world.call(&tokens["access_token"]).await.0, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_is_down_ends_nothing() {
    let (world, one, _) = ended().await;
    *world.forge.mood.lock().unwrap() = Mood::Broken;
    // The token is valid for another minute, and is used meanwhile.
    assert_eq!(world.call(&one["access_token"]).await.0, 200);
    world.clock.advance(Duration::from_mins(1));
    assert_eq!(world.call(&one["access_token"]).await.0, 503);
    *world.forge.mood.lock().unwrap() = Mood::Rotating;
    assert_eq!(world.call(&one["access_token"]).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_gives_little_is_asked_no_more_than_needed() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    world.tokens("tool", &user).await;
    *world.forge.mood.lock().unwrap() = Mood::Terse;
    world.clock.advance(Duration::from_mins(59));
    for asked in 1..4 {
        for _ in 0..3 {
            let fresh = upstream::fresh(world.app(), &user).await.unwrap();
            assert_eq!(fresh.access.expose(), "access-terse");
        }
        // The refresh token stayed the one that there was.
        assert_eq!(world.asked(), asked);
        world.clock.advance(Duration::from_mins(1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn older_tokens_do_not_open_in_a_newer_row() {
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

/// Call with a forge that answers 401 to the token, and wait until the broker has reacted
async fn refused_by_forge(world: &World, access: &Value, user: &str, version: i64) {
    let url = world.app().config.public_url.resource();
    let request = world.http.post(url).bearer_auth(access.as_str().unwrap());
    let request = request.header("x-forge-says-401", "1");
    assert_eq!(request.send().await.unwrap().status(), 200);
    let app = world.app();
    until("it draws its conclusions", async || app.tasks.is_empty()).await;
    let row = app.store.user(user).await.unwrap().unwrap();
    assert_eq!(row.version, version);
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
    assert_eq!(world.asked(), 1);
    // After a new sign-in the client's tokens are valid again.
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
    assert_eq!(world.asked(), 1);
    // The forge rejects the new token, too: the user has to sign in again.
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
    upstream::distrust(world.app(), &user, 1).await;
    assert_eq!(world.asked(), 1);
    assert_eq!(world.call(&tokens["access_token"]).await.0, 200);
    // Nor is one that was replaced long ago.
    upstream::distrust(world.app(), &user, 0).await;
    assert_eq!(world.asked(), 1);
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
        // The forge rotated twice; which of the two results is written last is undetermined.
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
