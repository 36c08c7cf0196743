//! What Blue knows: forges, git and projects
//!
//! This crate prints nothing, reads no environment and knows no transport, so every role of the
//! program can use it.

pub mod clock;
pub mod forge;
pub mod git;
pub mod http;
pub mod project;
pub mod secret;
pub mod text;
