//! Keys, and what is sealed with them

mod file;
mod keyring;
mod live;
mod seal;

pub(crate) use file::{KeyFileError, load_or_make, write};
pub(crate) use keyring::{KeyRing, Purpose, WrappedKey};
pub(crate) use live::Keys;
pub(crate) use seal::{Bound, DataKey, SealError};
