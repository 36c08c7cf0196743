//! A small Gitea- and GitHub-shaped forge over bare git repositories
//!
//! ```text
//!   gitea/   github/   web/   oauth/   git_http     doors: each speaks one dialect over HTTP
//!        └──────┴───────┴──────┴─────────┘
//!                     ops/                          what a forge does; knows no HTTP
//!                 ┌─────┴─────┐
//!              store/        git/                   SQLite rows; bare repositories
//! ```
//!
//! Everything lies in one folder, and a process killed at any moment leaves it whole.

// The shape of a repository is one long literal.
#![recursion_limit = "256"]

mod app;
mod auth;
mod background;
mod config;
mod disk;
mod faults;
mod git;
mod git_http;
mod gitea;
mod github;
mod glob;
mod guard;
mod hex;
mod oauth;
mod ops;
mod recovery;
mod routes;
mod sandbox;
mod seed;
mod store;
mod web;

pub use self::{
    config::{Config, Flavor, Seed, Timing, UserInfo},
    sandbox::{Error, Sandbox},
};
