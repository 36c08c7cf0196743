//! Branch protection

use std::collections::BTreeMap;

use serde::Serialize;

use super::{MergeStrategy, Sha};

/// What a branch demands, from every source the forge has
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own that a forge tells"
)]
pub struct Protection {
    pub protected: bool,
    /// Name of the rule that applies, where the caller may see it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    pub required_approvals: u32,
    /// A direct push is refused: changes come by pull request (GitHub; elsewhere `can_push` tells)
    pub requires_pr: bool,
    /// Who may push; `None` is "no such list"
    pub push_whitelist: Option<Vec<String>>,
    pub merge_whitelist: Option<Vec<String>>,
    /// Contexts that must pass; globs on Gitea and Forgejo
    pub required_checks: Vec<String>,
    /// App that must report a required check, by its context, where the rule names one (GitHub)
    #[serde(skip)]
    pub check_apps: BTreeMap<String, u64>,
    /// Merge styles that the rule allows; `None` where it does not limit them (GitHub)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_styles: Option<Vec<MergeStrategy>>,
    /// The branch must contain the newest base before a merge
    pub require_up_to_date: bool,
    pub block_on_rejected_reviews: bool,
    /// A review that was asked for must come first (Gitea and Forgejo)
    pub block_on_review_requests: bool,
    /// An approval of an older head does not count (Gitea and Forgejo)
    pub ignore_stale_approvals: bool,
    /// Commits must be signed, also the one that a merge makes
    pub requires_signatures: bool,
    /// And the forge has no key to sign it with (Gitea and Forgejo)
    pub cannot_sign: bool,
    /// Patterns of files that nothing may change (Gitea and Forgejo)
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protected_files: Vec<String>,
    /// Merges go through a queue
    pub merge_queue: bool,
    /// What the caller may do, where the forge tells
    pub can_push: Option<bool>,
    pub can_merge: Option<bool>,
    /// Where the branch was when its rule was read, if the forge told it along (GitHub)
    #[serde(skip)]
    pub tip: Option<Sha>,
    /// Whether the classic rule binds admins too; `None` where there is no such rule (GitHub)
    #[serde(skip)]
    pub binds_admins: Option<bool>,
    /// Rulesets with a rule for the branch (GitHub)
    #[serde(skip)]
    pub rulesets: Vec<u64>,
    /// The token may not see the whole rule
    pub partial: bool,
}

impl Protection {
    /// Limits the merge styles to those that one more rule allows
    pub(crate) fn limit_styles(&mut self, allowed: &[MergeStrategy]) {
        match &mut self.merge_styles {
            Some(styles) => styles.retain(|style| allowed.contains(style)),
            None => self.merge_styles = Some(allowed.to_vec()),
        }
    }

    pub fn none() -> Self {
        Self::default()
    }
}
