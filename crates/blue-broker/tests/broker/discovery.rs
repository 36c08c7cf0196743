//! Metadata documents

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::setup::Setup;

const RESOURCE: [&str; 2] = [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
];
const SERVER: [&str; 2] = [
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/mcp",
];

async fn document(setup: &Setup, path: &str) -> Value {
    let answer = setup.get(path).await;
    assert_eq!(answer.status(), 200, "{path}");
    assert_eq!(answer.headers()["content-type"], "application/json");
    assert_eq!(answer.headers()["access-control-allow-origin"], "*");
    let text = answer.text().await.unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documents_have_exactly_their_members() {
    let setup = Setup::start().await;
    let origin = setup.broker.public_url().origin().to_owned();
    let resource = json!({
        "resource": format!("{origin}/mcp"),
        "authorization_servers": [origin],
        "scopes_supported": ["mcp"],
        "bearer_methods_supported": ["header"],
        "resource_name": document(&setup, RESOURCE[0]).await["resource_name"],
    });
    let server = json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "revocation_endpoint": format!("{origin}/revoke"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported":
            ["none", "client_secret_post", "client_secret_basic"],
        "scopes_supported": ["mcp", "offline_access"],
        "client_id_metadata_document_supported": true,
        "authorization_response_iss_parameter_supported": true,
    });
    for path in RESOURCE {
        assert_eq!(document(&setup, path).await, resource, "{path}");
    }
    for path in SERVER {
        assert_eq!(document(&setup, path).await, server, "{path}");
    }
}

/// The members of RFC 8414, section 2, with the types it gives them
fn rfc_8414() -> Value {
    let url = json!({ "type": "string", "pattern": "^https?://[^?#]+$" });
    let list = json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 });
    json!({
        "type": "object",
        "required": ["issuer", "authorization_endpoint", "token_endpoint",
            "response_types_supported", "code_challenge_methods_supported"],
        "properties": {
            "issuer": { "type": "string", "pattern": "^https?://[^?#]*[^/?#]$" },
            "authorization_endpoint": url, "token_endpoint": url, "registration_endpoint": url,
            "revocation_endpoint": url, "introspection_endpoint": url, "jwks_uri": url,
            "scopes_supported": list, "response_types_supported": list,
            "response_modes_supported": list, "grant_types_supported": list,
            "token_endpoint_auth_methods_supported": list,
            "revocation_endpoint_auth_methods_supported": list,
            "code_challenge_methods_supported": list,
            "service_documentation": url, "ui_locales_supported": list,
            "client_id_metadata_document_supported": { "type": "boolean" },
            "authorization_response_iss_parameter_supported": { "type": "boolean" },
        },
        "additionalProperties": false,
    })
}

/// The members of RFC 9728, section 2
fn rfc_9728() -> Value {
    let url = json!({ "type": "string", "pattern": "^https?://[^#]+$" });
    let list = json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 });
    json!({
        "type": "object",
        "required": ["resource", "authorization_servers"],
        "properties": {
            "resource": url,
            "authorization_servers": { "type": "array", "items": url, "minItems": 1 },
            "jwks_uri": url, "scopes_supported": list,
            "bearer_methods_supported": {
                "type": "array", "items": { "enum": ["header", "body", "query"] },
            },
            "resource_name": { "type": "string", "minLength": 1 },
            "resource_documentation": url,
        },
        "additionalProperties": false,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documents_validate_against_their_schemas() {
    let setup = Setup::start().await;
    for (path, schema) in [(SERVER[0], rfc_8414()), (RESOURCE[0], rfc_9728())] {
        let check = jsonschema::validator_for(&schema).unwrap();
        let found = document(&setup, path).await;
        let faults: Vec<_> = check.iter_errors(&found).map(|e| e.to_string()).collect();
        assert!(faults.is_empty(), "{path}: {faults:?}");
        assert!(!check.is_valid(&json!({ "issuer": 1 })), "the schema sees");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisoned_host_changes_nothing() {
    let setup = Setup::start().await;
    let address = setup.broker.address();
    for path in [RESOURCE[0], SERVER[0], "/mcp"] {
        for host in ["evil.example", "evil.example:80", "127.0.0.1@evil.example"] {
            let mut socket = TcpStream::connect(address).await.unwrap();
            let request = format!(
                "GET {path} HTTP/1.1\r\nHost: {host}\r\nX-Forwarded-Host: evil.example\r\n\
                 X-Forwarded-Proto: gopher\r\nX-Forwarded-Port: 1\r\nX-Forwarded-Prefix: /evil\r\n\
                 Forwarded: host=evil.example;proto=gopher\r\nX-Original-URL: /evil\r\n\
                 Connection: close\r\n\r\n"
            );
            socket.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            socket.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1"), "{answer}");
            assert!(
                !answer.contains("evil") && !answer.contains("gopher"),
                "{path} {host}: {answer}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_well_knowns_are_a_quick_404_in_json() {
    let setup = Setup::start().await;
    for path in [
        "/.well-known/openid-configuration",
        "/.well-known/openid-configuration/mcp",
        "/mcp/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server/other",
        "/.well-known/oauth-protected-resource/other",
        "/.well-known/jwks.json",
    ] {
        let answer = setup.get(path).await;
        assert_eq!(answer.status(), 404, "{path}");
        assert_eq!(answer.headers()["content-type"], "application/json");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preflight_lets_the_protocol_version_through() {
    let setup = Setup::start().await;
    let open = ["/register", "/oauth/register", "/token", "/oauth/token"];
    for path in RESOURCE.into_iter().chain(SERVER).chain(open) {
        let preflight = setup
            .http
            .request(reqwest::Method::OPTIONS, setup.at(path))
            .header("Origin", "https://page.example")
            .header("Access-Control-Request-Method", "GET")
            .header("Access-Control-Request-Headers", "mcp-protocol-version")
            .send()
            .await
            .unwrap();
        assert_eq!(preflight.status(), 204, "{path}");
        let headers = preflight.headers();
        assert_eq!(headers["access-control-allow-origin"], "*");
        assert!(!headers.contains_key("access-control-allow-credentials"));
        let allowed = headers["access-control-allow-headers"].to_str().unwrap();
        assert!(allowed.to_lowercase().contains("mcp-protocol-version"));
    }
    for path in ["/mcp", "/connections", "/authorize", "/healthz"] {
        let answer = setup
            .http
            .request(reqwest::Method::OPTIONS, setup.at(path))
            .header("Origin", "https://page.example")
            .header("Access-Control-Request-Method", "GET")
            .send()
            .await
            .unwrap();
        let open = answer.headers().get("access-control-allow-origin");
        assert_ne!(
            open.map(reqwest::header::HeaderValue::as_bytes),
            Some(&b"*"[..]),
            "{path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_method_is_refused() {
    let setup = Setup::start().await;
    for path in [RESOURCE[0], SERVER[0]] {
        let answer = setup.http.post(setup.at(path)).send().await.unwrap();
        assert_eq!(answer.status(), 405, "{path}");
    }
    for path in ["/register", "/oauth/register"] {
        assert_eq!(setup.get(path).await.status(), 405, "{path}");
    }
}
