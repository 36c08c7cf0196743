//! Rate limits for unauthenticated callers

use std::time::Duration;

use blue_broker::config::Network;

use crate::{
    register::{native, register},
    setup::Setup,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_registrations_is_held_up_and_ends() {
    let setup = Setup::start().await;
    let mut taken = 0;
    // The clock stands still, so no allowance is refilled meanwhile.
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
    // A client that is registered already costs nothing.
    let (status, _) = register(&setup, &native("client 0", 2)).await;
    assert_eq!(status, 201);
    setup.clock.advance(Duration::from_secs(5));
    let (status, _) = register(&setup, &native("late", 1)).await;
    assert_eq!(status, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_behind_a_trusted_proxy_are_told_apart() {
    let mut setup = Setup::start().await;
    let proxy = Network::parse("127.0.0.1").unwrap();
    setup
        .restart(|config| config.trusted_proxies = vec![proxy])
        .await;
    let send = async |forwarded: &str, number: u32| {
        let request = setup.http.post(setup.at("/register"));
        let request = request.header("content-type", "application/json");
        let request = request.header("x-forwarded-for", forwarded);
        let body = native(&format!("client {number}"), 1).to_string();
        request.body(body).send().await.unwrap().status().as_u16()
    };
    let mut taken = 0;
    // Whatever they write in front of what the proxy adds.
    while send(&format!("198.51.100.{}, 203.0.113.9", taken % 250), taken).await == 201 {
        taken += 1;
        assert!(taken < 500, "one stranger took it all");
    }
    assert_eq!(send("203.0.113.10", taken + 1).await, 201);
}
