//! The broker as a whole, on a port of its own

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod admin;
mod cimd;
mod discovery;
mod health;
mod limits;
mod register;
mod setup;
