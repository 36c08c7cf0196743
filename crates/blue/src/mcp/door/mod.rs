//! How clients get in: stdio and HTTP, for whatever server is behind

mod batch;
pub(crate) mod http;
mod ids;
mod lines;
pub(crate) mod stdio;
mod wire;

use ::http::request::Parts;
use rmcp::{RoleServer, model::ProtocolVersion, service::RequestContext};

/// Revisions of the protocol that are served, oldest first
pub(crate) const VERSIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// Largest message that is taken; a file to write travels inside one
pub(crate) const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// Ends when nobody wants the answer to a request any more
///
/// A connection that is lost means that in every revision. The older ones would have it mean nothing,
/// for clients that come back for the answer; without sessions nobody can. Over HTTP clients of the
/// older ones may also say so in a request of its own.
pub(crate) async fn called_off(context: &RequestContext<RoleServer>) {
    let parts = context.extensions.get::<Parts>();
    match parts.and_then(|parts| parts.extensions.get::<http::Running>()) {
        None => context.ct.cancelled().await,
        Some(older) => {
            let said = older.token();
            tokio::select! {
                () = context.ct.cancelled() => {}
                () = said.cancelled() => {}
            }
        }
    }
}
