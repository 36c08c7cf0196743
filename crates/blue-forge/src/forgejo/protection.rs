//! Branch protection, for those who may see the rules and for those who may not

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Forgejo, branches::WireBranch, wire};
use crate::{
    ForgeError, Result, glob,
    model::{Protection, RepoId},
};

#[derive(Debug, Deserialize, Default)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "the server's own shape")]
pub(super) struct Rule {
    #[serde(rename = "rule_name", deserialize_with = "wire::or_default")]
    own_name: String,
    /// What older servers have instead
    #[serde(deserialize_with = "wire::or_default")]
    branch_name: String,
    /// Gitea from 1.23; smaller is stronger
    priority: Option<i64>,
    enable_push: Option<bool>,
    #[serde(deserialize_with = "wire::or_default")]
    enable_push_whitelist: bool,
    #[serde(deserialize_with = "wire::or_default")]
    push_whitelist_usernames: Vec<String>,
    #[serde(deserialize_with = "wire::or_default")]
    push_whitelist_teams: Vec<String>,
    #[serde(deserialize_with = "wire::or_default")]
    enable_merge_whitelist: bool,
    #[serde(deserialize_with = "wire::or_default")]
    merge_whitelist_usernames: Vec<String>,
    #[serde(deserialize_with = "wire::or_default")]
    merge_whitelist_teams: Vec<String>,
    #[serde(deserialize_with = "wire::or_default")]
    required_approvals: u32,
    #[serde(deserialize_with = "wire::or_default")]
    enable_status_check: bool,
    #[serde(deserialize_with = "wire::or_default")]
    status_check_contexts: Vec<String>,
    #[serde(deserialize_with = "wire::or_default")]
    block_on_outdated_branch: bool,
    #[serde(deserialize_with = "wire::or_default")]
    block_on_rejected_reviews: bool,
    #[serde(deserialize_with = "wire::or_default")]
    block_on_official_review_requests: bool,
    #[serde(deserialize_with = "wire::or_default")]
    ignore_stale_approvals: bool,
    #[serde(deserialize_with = "wire::or_default")]
    require_signed_commits: bool,
    #[serde(deserialize_with = "wire::or_default")]
    protected_file_patterns: String,
}

impl Rule {
    pub(super) fn name(&self) -> &str {
        if self.own_name.is_empty() {
            &self.branch_name
        } else {
            &self.own_name
        }
    }

    fn applies_to(&self, branch: &str) -> bool {
        self.name().to_lowercase() == branch.to_lowercase()
            || glob::matches(self.name(), branch, &['/'])
    }

    pub(super) fn into_model(self, row: Option<&WireBranch>) -> Protection {
        let who = |users: Vec<String>, teams: Vec<String>| -> Vec<String> {
            let teams = teams.into_iter().map(|team| format!("@{team}"));
            users.into_iter().chain(teams).collect()
        };
        let rule = self.name().to_owned();
        let push_whitelist = if self.enable_push == Some(false) {
            Some(Vec::new())
        } else if self.enable_push_whitelist {
            Some(who(
                self.push_whitelist_usernames,
                self.push_whitelist_teams,
            ))
        } else {
            None
        };
        Protection {
            protected: true,
            rule: Some(rule),
            required_approvals: self.required_approvals,
            requires_pr: false,
            push_whitelist,
            merge_whitelist: self
                .enable_merge_whitelist
                .then(|| who(self.merge_whitelist_usernames, self.merge_whitelist_teams)),
            required_checks: required(self.enable_status_check, self.status_check_contexts),
            check_apps: BTreeMap::new(),
            merge_styles: None,
            require_up_to_date: self.block_on_outdated_branch,
            block_on_rejected_reviews: self.block_on_rejected_reviews,
            block_on_review_requests: self.block_on_official_review_requests,
            ignore_stale_approvals: self.ignore_stale_approvals,
            requires_signatures: self.require_signed_commits,
            cannot_sign: false,
            protected_files: glob::file_patterns(&self.protected_file_patterns),
            merge_queue: false,
            can_push: row.and_then(|r| r.user_can_push),
            can_merge: row.and_then(|r| r.user_can_merge),
            tip: None,
            binds_admins: None,
            rulesets: Vec::new(),
            partial: false,
        }
    }
}

impl Forgejo {
    pub(super) async fn read_protection(&self, repo: &RepoId, branch: &str) -> Result<Protection> {
        let mut rule = self.rule_for(repo, branch).await?;
        rule.cannot_sign = rule.requires_signatures && self.has_no_key().await;
        self.recent.saw_rule(repo, branch, rule.require_up_to_date);
        Ok(rule)
    }

    async fn rule_for(&self, repo: &RepoId, branch: &str) -> Result<Protection> {
        let row = match self.wire_branch(repo, branch).await {
            Ok(row) => row,
            Err(ForgeError::NotFound { what, .. }) => {
                return match self.matching_rule(repo, branch).await? {
                    Some(rule) => Ok(rule.into_model(None)),
                    None => Err(self.missing(repo, what).await),
                };
            }
            Err(error) => return Err(error),
        };
        if !row.protected {
            return Ok(unprotected(&row));
        }
        if let Some(rule) = self.rule_of(repo, branch, &row).await? {
            return Ok(rule.into_model(Some(&row)));
        }
        Ok(told_by(row))
    }

    /// Whether the server is known to have no key to sign a merge with
    async fn has_no_key(&self) -> bool {
        let Ok(answer) = self.rest.get(&["signing-key.gpg"]).answer().await else {
            return false;
        };
        match answer.status.as_u16() {
            200 => answer.body.trim_ascii().is_empty(),
            // A key of another kind is "not found" here, too.
            404 => answer.says("no signing key"),
            _ => false,
        }
    }

    async fn rule_of(&self, repo: &RepoId, branch: &str, row: &WireBranch) -> Result<Option<Rule>> {
        let name = &row.effective_branch_protection_name;
        if name.is_empty() {
            return self.matching_rule(repo, branch).await;
        }
        // Only newer Gitea takes a rule's slashes as they are; encoded they work everywhere.
        let answer = self
            .repo_get(repo, &["branch_protections"])
            .segment(name)
            .answer()
            .await?;
        match answer.status.as_u16() {
            401 | 403 => Ok(None),
            404 => self.matching_rule(repo, branch).await,
            _ => answer.ok()?.json().map(Some),
        }
    }

    /// The rule that the server would take; `None` also when the caller may not see the rules
    async fn matching_rule(&self, repo: &RepoId, branch: &str) -> Result<Option<Rule>> {
        let rules = self.visible_rules(repo).await?;
        Ok(rules.and_then(|rules| strongest(rules, branch)))
    }

    /// All rules; `None` when the caller may not see them
    pub(super) async fn visible_rules(&self, repo: &RepoId) -> Result<Option<Vec<Rule>>> {
        let answer = self
            .repo_get(repo, &["branch_protections"])
            .answer()
            .await?;
        if matches!(answer.status.as_u16(), 401 | 403 | 404) {
            return Ok(None);
        }
        answer.ok()?.list().map(Some)
    }
}

/// What a branch and all rules of its repository tell together
pub(super) fn combined(row: WireBranch, rules: Option<Vec<Rule>>) -> Protection {
    if !row.protected {
        return unprotected(&row);
    }
    let mut rules = rules.unwrap_or_default();
    let named = &row.effective_branch_protection_name;
    let rule = match rules.iter().position(|rule| rule.name() == named) {
        Some(at) => Some(rules.swap_remove(at)),
        None => strongest(rules, &row.name),
    };
    match rule {
        Some(rule) => rule.into_model(Some(&row)),
        None => told_by(row),
    }
}

/// No rule, but still a caller who may or may not write
fn unprotected(row: &WireBranch) -> Protection {
    Protection {
        can_push: row.user_can_push,
        can_merge: row.user_can_merge,
        ..Protection::none()
    }
}

/// What the branch itself tells those who may not see its rule
fn told_by(row: WireBranch) -> Protection {
    Protection {
        protected: true,
        required_approvals: row.required_approvals,
        required_checks: required(row.enable_status_check, row.status_check_contexts),
        can_push: row.user_can_push,
        can_merge: row.user_can_merge,
        partial: true,
        ..Protection::none()
    }
}

/// A rule that wants checks and names none wants all there are, and at least one
fn required(enabled: bool, contexts: Vec<String>) -> Vec<String> {
    match enabled {
        true if contexts.is_empty() => vec!["*".to_owned()],
        true => contexts,
        false => Vec::new(),
    }
}

/// Priority first, then plain names before globs, then the oldest, which is listed first
pub(super) fn strongest(rules: Vec<Rule>, branch: &str) -> Option<Rule> {
    rules
        .into_iter()
        .filter(|rule| rule.applies_to(branch))
        .min_by_key(|rule| {
            let priority = rule.priority.filter(|p| *p > 0).unwrap_or(i64::MAX);
            (priority, glob::is_glob(rule.name()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(name: &str, priority: Option<i64>) -> Rule {
        Rule {
            own_name: name.to_owned(),
            priority,
            ..Rule::default()
        }
    }

    #[test]
    fn which_rule_wins() {
        let pick = |rules: Vec<Rule>, branch| strongest(rules, branch).map(|r| r.own_name);
        assert_eq!(
            pick(vec![rule("rel/*", None), rule("rel/1", None)], "rel/1").as_deref(),
            Some("rel/1")
        );
        assert_eq!(
            pick(
                vec![rule("rel/1", Some(2)), rule("rel/*", Some(1))],
                "rel/1"
            )
            .as_deref(),
            Some("rel/*")
        );
        assert_eq!(
            pick(vec![rule("a*", None), rule("ab*", None)], "abc").as_deref(),
            Some("a*")
        );
        assert_eq!(
            pick(vec![rule("MAIN", None)], "main").as_deref(),
            Some("MAIN")
        );
        assert_eq!(pick(vec![rule("rel/*", None)], "rel/1/2"), None);
    }

    #[test]
    fn lists_that_are_off_are_no_lists() {
        let read = |text: &str| serde_json::from_str::<Rule>(text).unwrap().into_model(None);
        let open = read(
            r#"{"rule_name":"main","enable_push":true,"push_whitelist_usernames":["x"],
                "enable_status_check":false,"status_check_contexts":["ci"],"merge_whitelist_teams":null}"#,
        );
        assert_eq!(open.push_whitelist, None);
        assert_eq!(open.merge_whitelist, None);
        assert!(open.required_checks.is_empty());
        let shut = read(
            r#"{"branch_name":"main","enable_push":false,"enable_merge_whitelist":true,
                "merge_whitelist_usernames":["bob"],"merge_whitelist_teams":["core"]}"#,
        );
        assert_eq!(shut.rule.as_deref(), Some("main"));
        assert_eq!(shut.push_whitelist, Some(vec![]));
        assert_eq!(
            shut.merge_whitelist,
            Some(vec!["bob".to_owned(), "@core".to_owned()])
        );
    }
}
