//! The broker as a whole, on a port of its own

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod authorize;
mod browser;
mod callback;
mod connections;
mod consent;
mod health;
mod ladder;
mod real;
mod setup;
