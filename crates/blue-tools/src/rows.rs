//! Rows that more than one tool lists

use blue_forge::model::{Branch, PrState, PullRequest};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Cell, Page, Style};

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
            Cell::name(&self.name, Style::Plain),
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
    /// Absent where a push made the pull request, without a branch
    #[serde(skip_serializing_if = "String::is_empty")]
    pub head_branch: String,
    pub base_branch: String,
    pub draft: bool,
    pub html_url: String,
    /// For people, whose terminal cuts it where it must
    #[serde(skip)]
    #[schemars(skip)]
    whole_title: String,
}

impl From<PullRequest> for PrRow {
    fn from(pr: PullRequest) -> Self {
        let mut row = Self {
            number: pr.number,
            title: String::new(),
            state: pr_state(pr.state).to_owned(),
            head_branch: pr.head.branch,
            base_branch: pr.base.branch,
            draft: pr.draft,
            html_url: pr.html_url,
            whole_title: pr.title,
        };
        let rest = serde_json::to_string(&row).map_or(ROW, |text| text.len());
        row.title = cut(&row.whole_title, ROW.saturating_sub(rest));
        row
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
            Cell::from(&self.whole_title),
            Cell::name(&self.head_branch, Style::Plain),
            Cell::name(&self.base_branch, Style::Plain),
            Cell::new(state, style),
        ]
    }
}

/// A pull request where only open ones are listed, beside much else
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OpenPrRow {
    pub number: u64,
    pub title: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub head_branch: String,
    /// Absent where it is the default branch
    #[serde(skip_serializing_if = "String::is_empty")]
    pub base_branch: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
    #[serde(skip)]
    whole: PrRow,
}

impl From<PullRequest> for OpenPrRow {
    fn from(pr: PullRequest) -> Self {
        let whole = PrRow::from(pr);
        Self {
            number: whole.number,
            title: whole.title.clone(),
            head_branch: whole.head_branch.clone(),
            base_branch: whole.base_branch.clone(),
            draft: whole.draft,
            whole,
        }
    }
}

impl OpenPrRow {
    /// Leaves the base out where it is the default branch, which the answer names once
    #[must_use]
    pub fn beside_default(mut self, default_branch: &str) -> Self {
        if self.base_branch == default_branch {
            self.base_branch.clear();
        }
        self
    }

    pub fn cells(&self) -> Vec<Cell> {
        self.whole.cells()
    }
}

/// Bytes of a row, as JSON: it stays small whatever people write
const ROW: usize = 300;
/// Bytes of a title in a list, and what is left of it beside the longest names
const TITLE: usize = 100;
const SHORTEST: usize = 20;

/// As much of a title as `room` has for it, as JSON
fn cut(title: &str, room: usize) -> String {
    let size = |text: &str| serde_json::to_string(text).map_or(0, |json| json.len() - 2);
    let room = room.clamp(SHORTEST, TITLE);
    if size(title) <= room {
        return title.to_owned();
    }
    let mut used = '…'.len_utf8();
    let fits = title.chars().take_while(|c| {
        used += size(c.encode_utf8(&mut [0; 4]));
        used <= room
    });
    fits.chain(['…']).collect()
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

/// A sentence of a hint as a step, which begins with a capital letter
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// `1 branch`, `2 branches`
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Say under a table that it is not all, and how to see the rest
pub fn more(page: &mut Page, shown: usize, total: Option<u64>, next_page: Option<u32>) {
    let Some(next) = next_page else { return };
    let all = total.map_or(String::new(), |total| format!(" of {total}"));
    page.line(
        &format!("{shown}{all} shown; `--page {next}` shows more"),
        Style::Dim,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_cut_between_characters() {
        assert_eq!(cut("short", 500), "short");
        let long = cut(&"é".repeat(80), 500);
        assert_eq!((long.len() <= TITLE, long.ends_with("é…")), (true, true));
        assert_eq!(cut(&"x".repeat(100), 500).len(), 100);
        // A quote is two bytes where it is sent.
        assert_eq!(cut(&"\"".repeat(60), 43), format!("{}…", "\"".repeat(20)));
        assert_eq!(cut(&"x".repeat(100), 0).chars().count(), 18);
    }
}
