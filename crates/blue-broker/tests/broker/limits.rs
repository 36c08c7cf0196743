//! How often strangers may come

use std::time::Duration;

use crate::{
    register::{native, register},
    setup::Setup,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_registrations_is_held_up_and_ends() {
    let setup = Setup::start().await;
    let mut taken = 0;
    // The clock stands still, so nothing comes back meanwhile.
    let held = loop {
        let (status, body) = register(&setup, &native(&format!("client {taken}"), 1)).await;
        match status {
            201 => taken += 1,
            _ => break (status, body),
        }
        assert!(taken < 5000, "there is no limit");
    };
    assert_eq!(held.0, 429, "{}", held.1);
    assert!(taken >= 100, "{taken}: hosted clients share an address");
    // One that is known already costs nothing.
    let (status, _) = register(&setup, &native("client 0", 2)).await;
    assert_eq!(status, 201);
    setup.clock.advance(Duration::from_secs(5));
    let (status, _) = register(&setup, &native("late", 1)).await;
    assert_eq!(status, 201);
}
