//! A server with everything that MCP's conformance suite looks for, behind Blue's own transports
//!
//! Blue serves tools only; the suite wants prompts, resources and odd tools as well to find out
//! whether the transport carries them. `mcp-fixture [ADDR]` prints its address and runs until it
//! is ended. Sessions are on here, unlike in Blue: older clients can be asked back only within one.

#![expect(deprecated, reason = "the older revisions have logging")]

mod input;
mod server;
mod tools;

use std::sync::Arc;

use blue_mcp::http::{Guard, build};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

#[expect(
    clippy::print_stdout,
    reason = "the process that starts it needs the address"
)]
#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:0")).await?;
    println!("http://{}{}", listener.local_addr()?, blue_mcp::http::PATH);
    let sessions = Arc::new(LocalSessionManager::default());
    let server = server::Fixture::default();
    let stop = CancellationToken::new();
    let router = build(server, Guard::loopback(None), sessions, true, stop);
    axum::serve(listener, router).await
}
