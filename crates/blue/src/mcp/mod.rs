//! The tools by the Model Context Protocol
//!
//! [`server`] is what a client sees of the tools; [`door`] is how it gets there, by stdio or HTTP,
//! and knows nothing of tools. Both eras of the protocol are served side by side: requests that
//! carry their version in `_meta` (2026-07-28), and connections that begin with `initialize`.

mod call;
pub(crate) mod door;
mod server;
#[cfg(test)]
mod tests;
mod toolbox;

use std::sync::Arc;

use blue_tools::{Cx, ToolError};
use http::request::Parts;
use tokio_util::sync::CancellationToken;

pub(crate) use server::Server;
pub(crate) use toolbox::{Choice, Toolbox};

/// The tools over HTTP; `caller` tells from each request whose forge token it works with
pub(crate) fn service(
    tools: Toolbox,
    caller: impl Fn(&Parts) -> Result<Cx, ToolError> + Send + Sync + 'static,
    guard: door::http::Guard,
    stop: CancellationToken,
) -> axum::Router {
    let caller = move |parts: Option<&Parts>| caller(parts.expect("a request over HTTP has parts"));
    door::http::router(Server::new(tools, Arc::new(caller)), guard, stop)
}
