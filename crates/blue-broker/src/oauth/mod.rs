//! The authorization server: what clients ask of it

mod builtin;
pub(crate) mod cimd;
mod claims;
mod client_auth;
pub(crate) mod clients;
pub(crate) mod discovery;
pub(crate) mod error;
pub(crate) mod form;
pub(crate) mod redirect;
mod refresh;
pub(crate) mod register;
pub(crate) mod resource;
pub(crate) mod revoke;
pub(crate) mod token;
