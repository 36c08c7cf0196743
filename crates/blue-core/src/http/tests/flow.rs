use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use axum::{Router, routing::get as route};

use super::*;

/// How many requests are inside at once, and a gate that lets them go
#[derive(Debug, Default)]
struct Room {
    inside: AtomicUsize,
    most: AtomicUsize,
}

async fn until(what: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !what() {
        assert!(Instant::now() < deadline, "it did not happen");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn no_more_requests_at_once_than_allowed() {
    let room = Arc::new(Room::default());
    let gate = Arc::new(Semaphore::new(0));
    let (inner, door) = (Arc::clone(&room), Arc::clone(&gate));
    let app = Router::new().route(
        "/",
        route(move || async move {
            let now = inner.inside.fetch_add(1, Ordering::SeqCst) + 1;
            inner.most.fetch_max(now, Ordering::SeqCst);
            door.acquire().await.unwrap().forget();
            inner.inside.fetch_sub(1, Ordering::SeqCst);
            "fine"
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move { axum::serve(listener, app).await });
    let http = Arc::new(Http::new(HttpConfig {
        in_flight: 3,
        ..quick()
    }));
    let calls: Vec<_> = (0..12)
        .map(|_| {
            let (http, request) = (Arc::clone(&http), get(&url));
            tokio::spawn(async move { http.send(request).await })
        })
        .collect();
    for _ in 0..12 {
        until(|| {
            let inside = room.inside.load(Ordering::SeqCst);
            inside == 3 || calls.iter().filter(|c| !c.is_finished()).count() <= inside
        })
        .await;
        gate.add_permits(1);
    }
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().status, 200);
    }
    assert_eq!(room.most.load(Ordering::SeqCst), 3);
    server.abort();
}
