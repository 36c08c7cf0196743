//! The client against servers that misbehave

mod bodies;
mod cache;
mod flow;
mod proxy;
mod retries;
mod server;
mod tls;
mod tokens;

use std::time::Duration;

use super::*;

/// A client that does not make a test wait
fn quick() -> HttpConfig {
    HttpConfig {
        backoff: Duration::from_millis(2),
        ..HttpConfig::default()
    }
}

fn get(url: &str) -> Request {
    Request::new(Method::GET, url.parse().unwrap())
}
