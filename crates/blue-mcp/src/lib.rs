//! The Model Context Protocol on the wire: stdio and Streamable HTTP, for any server behind it
//!
//! Reads lines and bodies, keeps the revisions of the protocol apart, maps request ids, and checks
//! `Host`, `Origin` and bearer before it reads a body. Knows no tool and no OAuth.

mod batch;
pub mod http;
mod ids;
mod lines;
pub mod stdio;
mod wire;

use ::http::request::Parts;
use rmcp::{RoleServer, model::ProtocolVersion, service::RequestContext};
use tokio_util::sync::CancellationToken;

/// Revisions of the protocol that are served, oldest first
pub const VERSIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// Largest message that is taken; a file to write travels inside one
pub const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// Identifies the caller of a request to the transport
///
/// Set as an extension of the request by the code that authenticated it. Without one, the bearer
/// token that the request carries identifies its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerId(pub String);

/// Cancelled when the grant that admitted this request is revoked
///
/// Travels as an extension of the request.
#[derive(Debug, Clone, Default)]
pub struct RevocationToken(pub CancellationToken);

/// Waits until a request is cancelled: by its client, by a lost connection, or by a revoked grant
///
/// A lost connection cancels the request in every revision. The older ones let it run on, for
/// clients that reconnect and fetch the answer; without sessions there is nothing to fetch it from.
/// Over HTTP, clients of the older revisions may also cancel by a request of its own.
pub async fn until_cancelled(context: &RequestContext<RoleServer>) {
    let extensions = context
        .extensions
        .get::<Parts>()
        .map(|parts| &parts.extensions);
    let running = extensions.and_then(|extensions| extensions.get::<http::Running>());
    let revocation = extensions.and_then(|extensions| extensions.get::<RevocationToken>());
    tokio::select! {
        () = context.ct.cancelled() => {}
        () = cancelled(running.map(http::Running::token)) => {}
        () = cancelled(revocation.map(|token| token.0.clone())) => {}
    }
}

async fn cancelled(token: Option<CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}
