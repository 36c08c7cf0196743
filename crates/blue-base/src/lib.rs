//! What every role of Blue needs: clock, secrets, text, hosts, HTTP, YAML, git and limits
//!
//! This crate prints nothing, reads no environment and knows no other crate of Blue.

pub mod clock;
pub mod git;
pub mod host;
pub mod http;
pub mod load;
pub mod secret;
pub mod text;
pub mod yaml;
