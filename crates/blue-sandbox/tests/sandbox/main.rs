//! The sandbox from outside: over HTTP and with the real git

mod faults;
mod oauth;
mod visitor;
