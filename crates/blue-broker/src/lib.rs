//! An OAuth 2.1 server in front of an MCP back end
//!
//! Users sign in with their account at a Forgejo or Gitea; their clients get tokens of the broker,
//! and the forge's own tokens stay here, sealed. A program that checks the sign-in of other people's
//! users must be readable alone: of Blue's crates it uses `blue-base` only, and what is behind `/mcp`
//! is a [`Backend`] that the caller hands in.

mod admin;
mod app;
mod audit;
mod backend;
mod broker;
mod causes;
pub mod config;
mod crypto;
#[cfg(any(test, feature = "fuzz"))]
pub mod fuzz;
mod http;
mod limits;
mod oauth;
mod rng;
mod store;
mod sweep;
#[cfg(test)]
mod tests;
mod token;
mod upstream;

pub use admin::{
    Admin, AdminError, ClientLine, EventLine, GrantLine, Listed, Rotated, UserLine, key_ids,
};
pub use backend::{Backend, Caller, Ended, Refused};
pub use broker::{Broker, Build, Parts, StartError};
pub use crypto::KeyFileError;
pub use http::{HEAD, serve};
pub use rng::{Rng, SystemRng};
pub use store::StoreError;
