//! The tools, one file each

pub mod branch_delete;
pub mod branch_list;
pub mod branch_protection_get;
pub mod dir_list;
pub mod file_delete;
pub mod file_read;
pub mod file_write_branch;
pub mod pr_create;
pub mod pr_list;
pub mod pr_merge;
pub mod pr_verify;
pub mod repo_status;
pub mod tag_create;
pub mod workflow_run_status;

use crate::AnyTool;

/// Every tool there is, in the order clients see them
pub static ALL: &[&dyn AnyTool] = &[
    &repo_status::RepoStatus,
    &branch_list::BranchList,
    &branch_delete::BranchDelete,
    &branch_protection_get::BranchProtectionGet,
    &pr_list::PrList,
    &pr_create::PrCreate,
    &pr_verify::PrVerify,
    &pr_merge::PrMerge,
    &dir_list::DirList,
    &file_read::FileRead,
    &file_write_branch::FileWriteBranch,
    &file_delete::FileDelete,
    &tag_create::TagCreate,
    &workflow_run_status::WorkflowRunStatus,
];

/// The name of a tool as it is listed: some clients and models put `blue_` before it
pub fn plain(name: &str) -> &str {
    name.strip_prefix("blue_").unwrap_or(name)
}

/// The tool of that name
pub fn find(name: &str) -> Option<&'static dyn AnyTool> {
    let name = plain(name);
    ALL.iter().copied().find(|tool| tool.name() == name)
}
