//! Expired rows are deleted

use std::{sync::Arc, time::Duration};

use blue_base::clock::{Clock as _, ManualClock};

use super::World;
use crate::{audit::Fields, store::AuditEvent, sweep};

const DAY: Duration = Duration::from_hours(24);

/// Let days go by, with a sweep on each
async fn days_go_by(world: &World, days: u32) {
    for _ in 0..days {
        world.clock.advance(DAY);
        sweep::once(world.app()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_events_are_kept_as_long_as_the_settings_say() {
    let world = World::start().await;
    let app = world.app();
    app.audit(AuditEvent::Denied, Fields::default()).await;
    days_go_by(&world, 80).await;
    app.audit(AuditEvent::Issued, Fields::default()).await;
    for (days, left) in [(9, 2), (2, 1), (80, 0)] {
        days_go_by(&world, days).await;
        assert_eq!(app.store.audit(10).await.unwrap().len(), left, "{days}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_far_ahead_for_a_while_loses_neither_clients_nor_grants() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let tokens = world.tokens("tool", &user).await;
    world.client("new", None).await;
    // As the same broker started again with the time of another year.
    for years in [1, 10, 50] {
        let ahead = world.clock.now() + years * 365 * DAY;
        let replica = world.replica(&Arc::new(ManualClock::at(ahead))).await;
        sweep::once(replica.app()).await.unwrap();
        replica.shutdown().await;
    }
    world.clock.advance(Duration::from_mins(5));
    sweep::once(world.app()).await.unwrap();
    for client in ["tool", "new"] {
        let row = world.app().store.client(client).await.unwrap();
        assert!(row.is_some(), "{client} was swept away");
    }
    assert_eq!(world.call(&tokens["access_token"]).await.0, 200);
    let (status, said) = world.refresh("tool", &tokens["refresh_token"]).await;
    assert_eq!(status, 200, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_was_never_used_is_forgotten_after_a_day() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    world.tokens("tool", &user).await;
    world
        .app()
        .store
        .client_used("tool", world.app().now())
        .await
        .unwrap();
    world.client("new", None).await;
    let there = async |id: &str| world.app().store.client(id).await.unwrap().is_some();
    world.clock.advance(DAY);
    sweep::once(world.app()).await.unwrap();
    assert!(there("new").await);
    world.clock.advance(Duration::from_secs(1));
    sweep::once(world.app()).await.unwrap();
    assert!(!there("new").await && there("tool").await);
}
