//! The sandbox from outside: over HTTP and with the real git

mod faults;
mod git;
mod oauth;
mod pages;
mod seed;
mod visitor;
