//! The story by rmcp's own client: rmcp-story MCP ROBOT PERSON OWN FOREIGN
//!
//! `story.mjs` beside it says what these are, and tells the same.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rmcp::{
    ClientLifecycleMode, ClientServiceExt as _, RoleClient,
    model::{CallToolRequestParams, CallToolResult, ProtocolVersion},
    service::RunningService,
    transport::{
        StreamableHttpClientTransport,
        auth::{
            AuthClient, AuthorizationManager, AuthorizationRequest, CredentialStore as _,
            InMemoryCredentialStore, OAuthState,
        },
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
};
use url::Url;

const PATIENCE: Duration = Duration::from_secs(90);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [mcp, robot, person, own, foreign] = args.as_slice() else {
        bail!("usage: rmcp-story MCP ROBOT PERSON OWN FOREIGN");
    };
    let http = reqwest::Client::builder().no_proxy().build()?;
    let store = InMemoryCredentialStore::new();
    let manager = sign_in(&http, &store, mcp, robot, person).await?;
    let config = StreamableHttpClientTransportConfig::with_uri(mcp.as_str());
    let client = AuthClient::new(http.clone(), manager);
    let lifecycle = ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    };
    let transport = StreamableHttpClientTransport::with_client(client, config);
    let client = ().serve_with_lifecycle(transport, lifecycle).await?;

    ensure!(client.list_all_tools().await?.len() == 14);
    let status = call(&client, own).await?;
    ensure!(status.is_error != Some(true), "{status:?}");
    let branch = &status.structured_content.context("no content")?["default_branch"];
    ensure!(branch == &json!(format!("home-of-{person}")), "{branch}");
    let other = call(&client, foreign).await?;
    ensure!(
        other.is_error == Some(true),
        "{person} sees {foreign}: {other:?}"
    );
    ensure!(format!("{other:?}").contains("not_found"), "{other:?}");

    let before = kept(&store).await?;
    let deadline = Instant::now() + PATIENCE;
    while kept(&store).await?["token_response"]["access_token"]
        == before["token_response"]["access_token"]
    {
        ensure!(Instant::now() < deadline, "the token was never refreshed");
        let status = call(&client, own).await?;
        ensure!(status.is_error != Some(true), "{status:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }

    let now = kept(&store).await?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let form = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("token", &text(&now["token_response"]["refresh_token"]))
        .append_pair("client_id", &text(&now["client_id"]))
        .finish();
    let revoke = http
        .post(Url::parse(mcp)?.join("/revoke")?)
        .header("content-type", "application/x-www-form-urlencoded");
    ensure!(revoke.body(form).send().await?.status() == 200);
    let token = text(&now["token_response"]["access_token"]);
    let refused = http.get(mcp).bearer_auth(token).send().await?;
    ensure!(refused.status() == 401, "{refused:?}");
    ensure!(
        call(&client, own).await.is_err(),
        "a client that signed out was answered"
    );
    Ok(())
}

async fn call(client: &RunningService<RoleClient, ()>, repo: &str) -> Result<CallToolResult> {
    let (owner, name) = repo.split_once('/').context("a repository is OWNER/NAME")?;
    let mut params = CallToolRequestParams::new("repo_status");
    params.arguments = json!({ "owner": owner, "name": name }).as_object().cloned();
    Ok(tokio::time::timeout(PATIENCE, client.call_tool(params)).await??)
}

/// What the client keeps of its sign-in
async fn kept(store: &InMemoryCredentialStore) -> Result<Value> {
    let stored = store.load().await?.context("nothing is kept")?;
    Ok(serde_json::to_value(stored)?)
}

async fn sign_in(
    http: &reqwest::Client,
    store: &InMemoryCredentialStore,
    mcp: &str,
    robot: &str,
    person: &str,
) -> Result<AuthorizationManager> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let back = format!("http://{}/callback", listener.local_addr()?);
    let mut manager = AuthorizationManager::new(mcp).await?;
    manager.set_credential_store(store.clone());
    let mut state = OAuthState::Unauthorized(manager);
    let request = AuthorizationRequest::new(&back).with_client_name("rmcp story");
    state.start_authorization(request).await?;
    let visit = format!("{robot}/visit?person={person}");
    let url = state.get_authorization_url().await?;
    http.post(visit).body(url).send().await?;
    let called = tokio::time::timeout(PATIENCE, called(&listener)).await??;
    state
        .handle_callback_url(Url::parse(&back)?.join(&called)?.as_str())
        .await?;
    state
        .into_authorization_manager()
        .context("the sign-in did not end")
}

/// Wait until the browser comes back; gives path and query
async fn called(listener: &TcpListener) -> Result<String> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let mut line = String::new();
        BufReader::new(&mut stream).read_line(&mut line).await?;
        let page = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nDone";
        stream.write_all(page.as_bytes()).await?;
        if let Some(path) = line
            .split(' ')
            .nth(1)
            .filter(|path| path.starts_with("/callback?"))
        {
            return Ok(path.to_owned());
        }
    }
}
