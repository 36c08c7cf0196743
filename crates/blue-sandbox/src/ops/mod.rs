//! What a forge does
//!
//! Plain functions over the store and git. They know no HTTP and no dialect: a door checks who may
//! call (`access`), calls one of these, and puts the outcome in its own words.

pub(crate) mod access;
pub(crate) mod cache;
pub(crate) mod error;
pub(crate) mod glob;
pub(crate) mod repos;
pub(crate) mod settle;
pub(crate) mod users;

pub(crate) use self::error::{Error, MergeError, Result, What};
