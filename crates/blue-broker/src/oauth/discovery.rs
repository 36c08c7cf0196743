//! Metadata documents that clients read first: RFC 9728 and RFC 8414
//!
//! Everything is built from the configured public URL, whatever the `Host` of a request.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use crate::{
    app::App,
    config::{Config, MetadataHosts},
};

/// `/.well-known/oauth-protected-resource`: the resource `/mcp` and its authorization server
pub(crate) async fn resource(State(app): State<Arc<App>>) -> Response {
    document(&resource_metadata(&app.config))
}

/// `/.well-known/oauth-authorization-server`: the endpoints and what they support
pub(crate) async fn server(State(app): State<Arc<App>>) -> Response {
    document(&server_metadata(&app.config))
}

fn resource_metadata(config: &Config) -> Value {
    json!({
        "resource": config.public_url.resource(),
        "authorization_servers": [config.public_url.origin()],
        "scopes_supported": ["mcp"],
        "bearer_methods_supported": ["header"],
        "resource_name": format!("Blue at {}", config.forge_name),
    })
}

fn server_metadata(config: &Config) -> Value {
    let at = |path: &str| config.public_url.at(path);
    let mut metadata = json!({
        "issuer": config.public_url.origin(),
        "authorization_endpoint": at("/authorize"),
        "token_endpoint": at("/token"),
        "registration_endpoint": at("/register"),
        "revocation_endpoint": at("/revoke"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": [
            "none",
            "client_secret_post",
            "client_secret_basic",
        ],
        "scopes_supported": ["mcp", "offline_access"],
        "client_id_metadata_document_supported": documents(config),
        "authorization_response_iss_parameter_supported": true,
    });
    if let (false, Some(members)) = (config.registration, metadata.as_object_mut()) {
        members.remove("registration_endpoint");
    }
    metadata
}

/// Whether to offer client metadata documents: without fetching, registration works for more
/// clients if it is on
fn documents(config: &Config) -> bool {
    config.metadata_hosts != MetadataHosts::None || !config.registration
}

/// A cacheable response: clients read it again and again
fn document(body: &Value) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "public, max-age=300"),
    ];
    (StatusCode::OK, headers, body.to_string()).into_response()
}
