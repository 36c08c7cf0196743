//! The sandbox from outside: over HTTP and with the real git

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod api;
mod crash;
mod faults;
mod git;
mod github_door;
mod github_git;
mod github_hub;
mod github_pulls;
mod guard;
mod lifecycle;
mod merges;
mod oauth;
mod pages;
mod rules;
mod seed;
mod visitor;
mod writers;
