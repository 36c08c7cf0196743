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

#[tokio::test]
async fn nobody_waits_for_slow_answers_to_another_token() {
    let gate = Arc::new(Semaphore::new(0));
    let door = Arc::clone(&gate);
    let app = Router::new()
        .route(
            "/slow",
            route(move || async move { door.acquire().await.map(drop).is_ok().to_string() }),
        )
        .route("/", route(|| async { "fine" }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move { axum::serve(listener, app).await });
    let http = Arc::new(Http::new(HttpConfig {
        in_flight: 1,
        ..quick()
    }));
    let of = |path: &str, token: &str| {
        let mut request = get(&format!("{url}{path}"));
        request.credential = Some(Credential {
            host: crate::host::Host::of_url(&request.url).unwrap(),
            scheme: AuthScheme::Bearer,
            token: crate::secret::Secret::new(token),
        });
        request
    };
    let slow = {
        let (http, request) = (Arc::clone(&http), of("/slow", "a"));
        tokio::spawn(async move { http.send(request).await })
    };
    until(|| http.turns.lock().unwrap().len() == 1).await;
    assert_eq!(http.send(of("/", "b")).await.unwrap().status, 200);
    assert!(!slow.is_finished());
    gate.add_permits(1);
    assert_eq!(slow.await.unwrap().unwrap().status, 200);
    // What is over is not remembered.
    http.send(of("/", "c")).await.unwrap();
    assert_eq!(http.turns.lock().unwrap().len(), 1);
    server.abort();
}
