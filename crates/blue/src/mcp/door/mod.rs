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

/// Put beside a request by whoever let it in, to end it later
#[derive(Debug, Clone, Default)]
pub(crate) struct Leave(pub(crate) CancellationToken);

/// Ends when nobody wants the answer to a request any more, or may have it
///
/// A connection that is lost means that in every revision. The older ones would have it mean nothing,
/// for clients that come back for the answer; without sessions nobody can. Over HTTP clients of the
/// older ones may also say so in a request of its own.
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
