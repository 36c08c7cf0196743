//! The authorization server: what clients ask of it

pub(crate) mod authorize;
pub(crate) mod browser;
pub(crate) mod callback;
mod client_auth;
pub(crate) mod clients;
pub(crate) mod consent;
pub(crate) mod done;
pub(crate) mod error;
pub(crate) mod form;
mod redirect;
mod refresh;
pub(crate) mod resource;
pub(crate) mod revoke;
pub(crate) mod token;
pub(crate) mod trouble;
