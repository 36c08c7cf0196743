//! The sandbox from outside: over HTTP and with the real git

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod faults;
mod git;
mod oauth;
mod pages;
mod seed;
mod visitor;
