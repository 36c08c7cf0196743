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

pub(crate) use server::Server;
pub(crate) use toolbox::{Choice, Toolbox};
