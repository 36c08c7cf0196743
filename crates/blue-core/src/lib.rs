//! What Blue knows: forges, git and projects
//!
//! This crate prints nothing, reads no environment and knows no transport, so every role of the
//! program can use it.

// The fuzz target's body is compiled into the tests too, and names the crate from outside.
#[cfg(test)]
extern crate self as blue_core;

pub mod clock;
pub mod forge;
pub mod git;
pub mod http;
pub mod load;
pub mod project;
pub mod secret;
pub mod text;
pub mod yaml;
