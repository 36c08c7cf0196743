//! Keys, and what is sealed with them

mod file;
mod keyring;
mod live;
mod seal;
mod token_key;

pub use file::KeyFileError;
pub(crate) use file::{load_or_make, lock, read, write};
pub(crate) use keyring::{KeyRing, Purpose, WrappedKey};
pub(crate) use live::Keys;
pub(crate) use seal::{Bound, DataKey, SealError};
pub(crate) use token_key::{TokenKey, token_key_place};
