//! Forges: one interface over GitHub, Gitea and Forgejo
//!
//! Which forge a git remote belongs to, which token may be sent there, the project file that
//! remembers it, and everything that can be asked of a forge. This crate prints nothing, reads no
//! environment and knows no transport, so every role of the program can use it.

// The fuzz target's body is compiled into the tests too, and names the crate from outside.
#[cfg(test)]
extern crate self as blue_forge;

pub mod allow;
mod blob;
pub mod detect;
pub mod error;
mod forge;
pub mod forgejo;
pub mod git_url;
pub mod github;
pub mod glob;
pub mod model;
pub mod open;
pub mod project;
mod recent;
mod rest;
#[cfg(test)]
mod stub;
pub mod token;
mod turns;

pub use error::{ConflictKind, ForgeError, MergeBlock, WITHOUT_TOKEN};
pub use forge::*;
pub use rest::DecodeError;
