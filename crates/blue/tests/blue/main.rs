//! The program from outside, and the tree it is made from

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[cfg(unix)]
mod broker;
mod cli;
mod docs;
mod mcp;
mod tidy;
