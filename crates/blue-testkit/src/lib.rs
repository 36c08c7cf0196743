//! Real forges, the sandbox and a vocabulary to set them up, for tests
//!
//! A test names a [`Backend`] and gets a [`Cx`]: a [`Lab`] to arrange things and forges to look at
//! them with. A back end that cannot run here is skipped and counted, never silently passed.

mod backend;
mod contract;
mod env;
mod git_repo;
mod lab;
pub mod openapi;
#[cfg(unix)]
mod postgres;
mod report;
mod server;
mod wait;

pub use backend::Backend;
/// The forges that the sandbox can answer as
pub use blue_sandbox::Flavor as SandboxFlavor;
pub use contract::{Cx, run};
pub use env::Settings;
pub use git_repo::GitRepo;
pub use lab::{Answer, Import, Lab, Repo, User};
#[cfg(unix)]
pub use postgres::Postgres;
pub use report::Skip;
pub use server::Server;
pub use wait::eventually;

pub use anyhow::{Context, Result, bail, ensure};
