//! Files of a commit: read, write, delete

mod get;
mod write;

pub(super) use get::get;
pub(super) use write::{delete, put};
