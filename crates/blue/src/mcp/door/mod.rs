//! How clients get in: stdio and HTTP, for whatever server is behind

mod batch;
pub(crate) mod http;
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

/// Tells when nobody wants the answer to a request any more
///
/// A connection that is lost means that in the newest revision only. In the older ones over HTTP it
/// means nothing; there the client has to say so.
pub(crate) fn called_off(context: &RequestContext<RoleServer>) -> CancellationToken {
    let parts = context.extensions.get::<Parts>();
    let older = parts.and_then(|parts| parts.extensions.get::<http::Running>());
    older.map_or_else(|| context.ct.clone(), http::Running::token)
}
