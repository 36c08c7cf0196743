//! The authorization server: who may ask, for what, and where the answer goes

pub(crate) mod builtin;
pub(crate) mod clients;
pub(crate) mod redirect;
pub(crate) mod resource;
