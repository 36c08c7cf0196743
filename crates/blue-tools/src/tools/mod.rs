//! The tools, one file each

pub mod branch_list;
pub mod dir_list;
pub mod file_delete;
pub mod pr_list;

use crate::AnyTool;

/// Every tool there is, in the order clients see them
pub static ALL: &[&dyn AnyTool] = &[
    &branch_list::BranchList,
    &pr_list::PrList,
    &dir_list::DirList,
    &file_delete::FileDelete,
];

/// The tool of that name; `blue_<name>` is taken for `<name>`
pub fn find(name: &str) -> Option<&'static dyn AnyTool> {
    let plain = name.strip_prefix("blue_").unwrap_or(name);
    ALL.iter().copied().find(|tool| tool.name() == plain)
}
