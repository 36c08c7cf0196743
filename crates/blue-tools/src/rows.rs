//! Rows that more than one tool lists

use blue_core::forge::model::{Branch, PrState, PullRequest};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Cell, Style};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BranchRow {
    pub name: String,
    pub sha: String,
}

impl From<Branch> for BranchRow {
    fn from(branch: Branch) -> Self {
        Self {
            name: branch.name,
            sha: branch.sha.to_string(),
        }
    }
}

impl BranchRow {
    pub const HEAD: &'static [&'static str] = &["BRANCH", "COMMIT"];

    pub fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::from(&self.name),
            Cell::new(short(&self.sha), Style::Dim),
        ]
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PrRow {
    pub number: u64,
    pub title: String,
    /// `open`, `closed` or `merged`
    pub state: String,
    pub head_branch: String,
    pub base_branch: String,
    pub draft: bool,
    pub html_url: String,
}

impl From<PullRequest> for PrRow {
    fn from(pr: PullRequest) -> Self {
        Self {
            number: pr.number,
            title: pr.title,
            state: pr_state(pr.state).to_owned(),
            head_branch: pr.head.branch,
            base_branch: pr.base.branch,
            draft: pr.draft,
            html_url: pr.html_url,
        }
    }
}

impl PrRow {
    pub const HEAD: &'static [&'static str] = &["PR", "TITLE", "HEAD", "BASE", "STATE"];

    pub fn cells(&self) -> Vec<Cell> {
        let (state, style) = match self.state.as_str() {
            "open" if self.draft => ("draft", Style::Dim),
            "open" => ("open", Style::Good),
            other => (other, Style::Dim),
        };
        vec![
            Cell::new(&format!("#{}", self.number), Style::Bold).linked(&self.html_url),
            Cell::from(&self.title),
            Cell::from(&self.head_branch),
            Cell::from(&self.base_branch),
            Cell::new(state, style),
        ]
    }
}

/// One word for where a pull request stands
pub fn pr_state(state: PrState) -> &'static str {
    match state {
        PrState::Open => "open",
        PrState::Closed => "closed",
        PrState::Merged => "merged",
    }
}

/// As much of a commit id as people read
pub fn short(sha: &str) -> &str {
    sha.get(..10).unwrap_or(sha)
}
