//! The authorization server: what clients ask of it

pub(crate) mod builtin;
mod client_auth;
pub(crate) mod clients;
pub(crate) mod error;
pub(crate) mod form;
pub(crate) mod redirect;
mod refresh;
pub(crate) mod resource;
pub(crate) mod revoke;
pub(crate) mod token;
