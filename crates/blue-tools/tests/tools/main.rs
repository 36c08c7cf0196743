//! The tools as a caller meets them: JSON in, JSON out, on every forge
//!
//! `make test` runs them on the sandbox in its three dialects, `make e2e` on a real Gitea too. A
//! test is called `TOOL::BACKEND::BEHAVIOUR`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod advice;
mod branch_delete;
mod branch_list;
mod branch_protection_get;
mod desk;
mod dir_list;
mod file_delete;
mod file_read;
mod file_write_branch;
mod missing;
mod names;
mod pr_create;
mod pr_list;
mod pr_merge;
mod pr_verify;
mod proxy;
mod repo_status;
mod requests;
mod surface;
mod tag_create;
mod workflow_run_status;
