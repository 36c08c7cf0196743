//! The authorization server: what clients ask of it

mod client_auth;
pub(crate) mod clients;
pub(crate) mod error;
pub(crate) mod form;
mod refresh;
pub(crate) mod resource;
pub(crate) mod revoke;
pub(crate) mod token;
