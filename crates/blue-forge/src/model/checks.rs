//! Statuses, checks, workflow runs

use jiff::Timestamp;
use serde::Serialize;

use super::Sha;

/// State of one check; an unknown state counts as pending, never as success
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    Success,
    Failure,
    Pending,
    /// Did not need to run; counts as passed
    Skipped,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub context: String,
    pub state: CheckState,
    pub description: String,
    pub url: String,
    /// App that reported it, where the forge tells (GitHub)
    #[serde(skip)]
    pub app: Option<u64>,
}

/// All statuses and check runs of a commit, the newest per context
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Checks {
    pub items: Vec<Check>,
    /// There may be more that the caller may not see
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

/// One word for all checks together
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Success,
    Failure,
    Pending,
    /// Nothing reported
    None,
}

impl Checks {
    pub fn verdict(&self) -> Verdict {
        let any = |state| self.items.iter().any(|c| c.state == state);
        if self.items.is_empty() {
            Verdict::None
        } else if any(CheckState::Failure) {
            Verdict::Failure
        } else if any(CheckState::Pending) {
            Verdict::Pending
        } else {
            Verdict::Success
        }
    }
}

/// A status to report on a commit
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusOpts {
    pub context: String,
    pub state: CheckState,
    pub description: Option<String>,
    pub target_url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Run {
    pub id: u64,
    pub number: u64,
    pub name: String,
    /// What runs of one workflow have in common, mostly its file; empty where it is not told
    pub workflow: String,
    pub event: String,
    pub branch: String,
    pub head_sha: Option<Sha>,
    pub state: RunState,
    pub html_url: String,
    pub created: Option<Timestamp>,
    /// Put together from tasks, where the forge lists no runs: its id is its number
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_tasks: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Queued,
    Running,
    /// Waits for the approval of a maintainer
    ActionRequired,
    Success,
    Failure,
    Cancelled,
    Skipped,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunFilter {
    pub branch: Option<String>,
    pub head_sha: Option<Sha>,
    pub event: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Job {
    pub id: u64,
    pub run_id: u64,
    pub name: String,
    pub state: RunState,
    pub html_url: String,
    /// Told by a task, whose id is not the job's: no log can be asked for by it
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_task: bool,
}

/// The end of a job's log
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogTail {
    pub text: String,
    /// Something before it was left out
    pub cut: bool,
}

impl LogTail {
    /// As text, without a mark at its start; a cut may have gone through a character
    pub(crate) fn of(bytes: &[u8], cut: bool) -> Self {
        let inside = |byte: &&u8| cut && **byte & 0xC0 == 0x80;
        let broken = bytes.iter().take(3).take_while(inside).count();
        let text = String::from_utf8_lossy(&bytes[broken..]);
        Self {
            text: text.trim_start_matches('\u{feff}').to_owned(),
            cut,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_log_begins_with_a_whole_character() {
        assert_eq!(LogTail::of("é\n".as_bytes(), false).text, "é\n");
        assert_eq!(LogTail::of("\u{feff}a日".as_bytes(), false).text, "a日");
        let cut = LogTail::of(&"aé日\n".as_bytes()[2..], true);
        assert_eq!((cut.text.as_str(), cut.cut), ("日\n", true));
    }
}
