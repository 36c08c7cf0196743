//! The authorization server: the endpoints that clients and browsers use

pub(crate) mod authorize;
pub(crate) mod browser;
mod builtin;
pub(crate) mod callback;
pub(crate) mod cimd;
mod claims;
mod client_auth;
pub(crate) mod clients;
pub(crate) mod consent;
pub(crate) mod discovery;
pub(crate) mod done;
pub(crate) mod error;
pub(crate) mod form;
pub(crate) mod redirect;
mod refresh;
pub(crate) mod register;
pub(crate) mod resource;
pub(crate) mod revoke;
pub(crate) mod token;
pub(crate) mod trouble;
