//! The sandbox from outside: over HTTP and with the real git

mod faults;
mod git;
mod github_door;
mod github_git;
mod github_hub;
mod github_pulls;
mod oauth;
mod pages;
mod seed;
mod visitor;
