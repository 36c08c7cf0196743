//! Clients whose id is the address of a document

use std::time::{Duration, Instant};

use crate::{register::token_error, setup::Setup};

#[tokio::test(flavor = "multi_thread")]
async fn well_known_clients_need_no_internet() {
    let setup = Setup::start().await;
    for id in [
        "https://claude.ai/oauth/mcp-oauth-client-metadata",
        "https://claude.ai/oauth/claude-code-client-metadata",
        "https://chatgpt.com/oauth/codex/client.json",
        "https://vscode.dev/oauth/client-metadata.json",
    ] {
        // The client is known: what is wrong is the token.
        assert_eq!(token_error(&setup, id, None).await, "invalid_grant", "{id}");
        assert_eq!(token_error(&setup, id, Some("x")).await, "invalid_client");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_inside_is_never_asked() {
    let setup = Setup::start().await;
    let inside = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = inside.local_addr().unwrap().port();
    let start = Instant::now();
    for host in [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "0x7f.1",
        "2130706433",
        "[::ffff:127.0.0.1]",
        "127.0.0.1.",
    ] {
        for id in [
            format!("https://{host}:{port}/client"),
            format!("https://{host}/client"),
            format!("https://claude.ai@{host}:{port}/client"),
        ] {
            let error = token_error(&setup, &id, None).await;
            assert_eq!(error, "invalid_client", "{id}");
        }
    }
    assert!(start.elapsed() < Duration::from_secs(10));
    let asked = tokio::time::timeout(Duration::from_millis(50), inside.accept()).await;
    assert!(asked.is_err(), "somebody came");
}
