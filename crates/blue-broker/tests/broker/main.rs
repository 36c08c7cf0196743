//! The broker as a whole, on a port of its own

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod admin;
mod attacks;
mod authorize;
mod browser;
mod callback;
mod cimd;
mod connections;
mod consent;
mod discovery;
mod health;
mod ladder;
mod limits;
mod pages;
mod real;
mod register;
mod setup;
