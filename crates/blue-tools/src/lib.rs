//! What an agent can ask Blue for, written once for every door
//!
//! For now this is the vocabulary of failures: [`ToolError`] with its closed list of codes and all
//! the advice that Blue gives. No transport is known here.

pub mod error;

pub use error::{ErrorCode, ToolError};
