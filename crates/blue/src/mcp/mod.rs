//! The tools by the Model Context Protocol
//!
//! [`server`] is what a client sees of the tools; the crate `blue_mcp` is the transport, by stdio or
//! HTTP, and knows nothing of tools. Both eras of the protocol are served side by side: requests that
//! carry their version in `_meta` (2026-07-28), and connections that begin with `initialize`.

mod call;
mod server;
#[cfg(test)]
mod tests;
mod toolbox;

use std::sync::Arc;

use axum::Extension;
use blue_base::load::{Load, LoadLimits};
use blue_tools::{Cx, ToolError};
use http::request::Parts;
use tokio_util::sync::CancellationToken;

pub(crate) use server::Server;
pub(crate) use toolbox::{Choice, Toolbox};

/// Most calls that run at once where all clients are those of one user
const MAX_CALLS: usize = 64;

/// The tools over HTTP; `caller` tells from each request whose forge token it works with
///
/// All clients count as one user.
pub(crate) fn service(
    tools: Toolbox,
    caller: impl Fn(&Parts) -> Result<Cx, ToolError> + Send + Sync + 'static,
    guard: blue_mcp::http::Guard,
    stop: CancellationToken,
) -> axum::Router {
    let caller = move |parts: Option<&Parts>| caller(parts.expect("a request over HTTP has parts"));
    let load = Load::new(LoadLimits {
        calls: MAX_CALLS,
        calls_per_user: MAX_CALLS,
        requests_per_user: 2 * MAX_CALLS,
        ..LoadLimits::default()
    });
    let server = Server::new(tools, Arc::new(caller));
    blue_mcp::http::router(server, guard, stop).layer(Extension(load.user("owner")))
}
