//! What an agent can ask Blue for, written once for every door
//!
//! A tool is one file in [`tools`]: its input, output, effect and code. From its types come the
//! JSON Schemas, the command line and the reference page; no transport is known here.

pub mod args;
mod charset;
pub mod cx;
pub mod error;
mod id;
pub mod page;
mod path;
mod pr_selector;
pub mod reply;
pub mod rows;
pub mod schema;
mod similar;
pub mod tool;
pub mod tools;

pub use cx::{Cx, Opener, Progress, Repo};
pub use error::{ErrorCode, ToolError};
pub use page::{Cell, Page, Style};
pub use reply::{Answer, Reply};
pub use similar::nearest;
pub use tool::{AnyTool, Effect, Tool, Verdict};
