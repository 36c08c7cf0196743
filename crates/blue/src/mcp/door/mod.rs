//! How clients get in: stdio and HTTP, for whatever server is behind

mod batch;
pub(crate) mod http;
mod ids;
mod lines;
pub(crate) mod stdio;
mod wire;

use ::http::request::Parts;
use rmcp::{RoleServer, model::ProtocolVersion, service::RequestContext};
use tokio_util::sync::CancellationToken;

/// Revisions of the protocol that are served, oldest first
pub(crate) const VERSIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// Largest message that is taken; a file to write travels inside one
pub(crate) const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// Cancelled when the grant that admitted this request is revoked
#[derive(Debug, Clone, Default)]
pub(crate) struct Leave(pub(crate) CancellationToken);

/// Completes when a request is cancelled or its grant is revoked
///
/// A lost connection cancels the request in every protocol revision. Older revisions do not count
/// it as a cancellation, because a client may resume its session and fetch the answer; this server
/// keeps no sessions, so no client can. Over HTTP, clients of older revisions may also send
/// `notifications/cancelled` in a request of its own.
pub(crate) async fn called_off(context: &RequestContext<RoleServer>) {
    let beside = context
        .extensions
        .get::<Parts>()
        .map(|parts| &parts.extensions);
    let said = beside.and_then(|beside| beside.get::<http::Running>());
    let taken = beside.and_then(|beside| beside.get::<Leave>());
    tokio::select! {
        () = context.ct.cancelled() => {}
        () = cancelled(said.map(http::Running::token)) => {}
        () = cancelled(taken.map(|leave| leave.0.clone())) => {}
    }
}

async fn cancelled(token: Option<CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}
