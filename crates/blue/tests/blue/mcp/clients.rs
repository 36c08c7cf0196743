//! rmcp's own client on the program's pipes

use blue_tools::tools::ALL;
use rmcp::{
    ClientLifecycleMode, ClientServiceExt as _,
    model::{CallToolRequestParams, ProtocolVersion},
};
use serde_json::json;

use super::Forge;

#[tokio::test]
async fn both_eras_list_and_call() {
    let forge = Forge::start();
    let blue = forge.for_client();
    let modern = vec![ProtocolVersion::V_2026_07_28];
    for lifecycle in [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover {
            preferred_versions: modern.clone(),
        },
        ClientLifecycleMode::Auto {
            preferred_versions: modern,
            legacy_version: None,
        },
    ] {
        let mut child = tokio::process::Command::from(blue.command(&["mcp"]))
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let pipes = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let client = ().serve_with_lifecycle(pipes, lifecycle).await.unwrap();
        assert_eq!(client.list_all_tools().await.unwrap().len(), ALL.len());
        let mut params = CallToolRequestParams::new("repo_status");
        params.arguments = json!({"owner": "acme", "name": "storefront"})
            .as_object()
            .cloned();
        let result = client.call_tool(params).await.unwrap();
        assert_ne!(result.is_error, Some(true), "{result:?}");
        assert_eq!(result.structured_content.unwrap()["default_branch"], "main");
        client.cancel().await.unwrap();
        assert!(child.wait().await.unwrap().success());
    }
}
