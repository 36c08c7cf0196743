//! The reference loop: ten steps, the same for every program

use serde_json::Value;

/// One step of the loop, in this order
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Repository,
    Branches,
    Prs,
    Read,
    Write,
    OpenPr,
    Verify,
    Merge,
    Delete,
    Tag,
}

impl Step {
    pub(crate) const ALL: [Self; 10] = [
        Self::Repository,
        Self::Branches,
        Self::Prs,
        Self::Read,
        Self::Write,
        Self::OpenPr,
        Self::Verify,
        Self::Merge,
        Self::Delete,
        Self::Tag,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Repository => "repository",
            Self::Branches => "branches",
            Self::Prs => "open PRs",
            Self::Read => "read a file",
            Self::Write => "write to a branch",
            Self::OpenPr => "open a PR",
            Self::Verify => "verify it",
            Self::Merge => "merge it",
            Self::Delete => "delete the branch",
            Self::Tag => "tag",
        }
    }
}

/// What the steps of one round are about
#[derive(Debug, Clone, Default)]
pub(crate) struct At {
    pub(crate) owner: String,
    pub(crate) repo: String,
    pub(crate) branch: String,
    pub(crate) title: String,
    pub(crate) content: String,
    pub(crate) tag: String,
    /// Blob of the file on `main`
    pub(crate) file_sha: String,
    /// Head of `main`
    pub(crate) main_sha: String,
    /// Head of the branch, once it is written
    pub(crate) head_sha: String,
    /// Of the pull request, once it is open
    pub(crate) number: u64,
}

/// One call: a tool and its arguments, or for bare REST `METHOD path` and a body
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) args: Value,
}

pub(crate) fn call(tool: impl Into<String>, args: Value) -> Call {
    Call {
        tool: tool.into(),
        args,
    }
}

/// How a program does a step
#[derive(Debug, Clone)]
pub(crate) enum Plan {
    Calls(Vec<Call>),
    /// An earlier step's answer holds this already
    Told,
    /// It has no tool for it
    Lacks,
}
