//! Rows of branch protection rules

use rusqlite::{Connection, OptionalExtension, Result, Row, params};
use serde::{Deserialize, Serialize};

/// What a rule asks for; the field names are Gitea's
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own in the forge's rule"
)]
pub(crate) struct Rule {
    pub(crate) enable_push: bool,
    pub(crate) enable_push_whitelist: bool,
    pub(crate) push_whitelist_usernames: Vec<String>,
    pub(crate) push_whitelist_deploy_keys: bool,
    pub(crate) enable_force_push: bool,
    pub(crate) enable_force_push_allowlist: bool,
    pub(crate) force_push_allowlist_usernames: Vec<String>,
    pub(crate) force_push_allowlist_deploy_keys: bool,
    pub(crate) enable_merge_whitelist: bool,
    pub(crate) merge_whitelist_usernames: Vec<String>,
    pub(crate) enable_status_check: bool,
    pub(crate) status_check_contexts: Vec<String>,
    pub(crate) required_approvals: i64,
    pub(crate) enable_approvals_whitelist: bool,
    pub(crate) approvals_whitelist_username: Vec<String>,
    pub(crate) block_on_rejected_reviews: bool,
    pub(crate) block_on_official_review_requests: bool,
    pub(crate) block_on_outdated_branch: bool,
    pub(crate) dismiss_stale_approvals: bool,
    pub(crate) ignore_stale_approvals: bool,
    pub(crate) require_signed_commits: bool,
    pub(crate) protected_file_patterns: String,
    pub(crate) unprotected_file_patterns: String,
    pub(crate) block_admin_merge_override: bool,
    /// Forgejo's name for the opposite of an admin's way around the rule
    pub(crate) apply_to_admins: bool,
    /// Merge methods that a ruleset of GitHub allows; empty is all
    pub(crate) allowed_merge_methods: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Protection {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) priority: i64,
    pub(crate) rule: Rule,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
}

const COLUMNS: &str = "id, name, priority, rule, created_at, updated_at";

impl Protection {
    fn row(row: &Row<'_>) -> Result<Self> {
        let rule: String = row.get(3)?;
        Ok(Self {
            id: row.get(0)?,
            name: row.get(1)?,
            priority: row.get(2)?,
            rule: serde_json::from_str(&rule).unwrap_or_default(),
            created_at: row.get(4)?,
            updated_at: row.get(5)?,
        })
    }
}

pub(crate) fn of_repo(c: &Connection, repo_id: i64) -> Result<Vec<Protection>> {
    let sql = format!("SELECT {COLUMNS} FROM protections WHERE repo_id = ?1 ORDER BY priority, id");
    c.prepare_cached(&sql)?
        .query_map([repo_id], Protection::row)?
        .collect()
}

pub(crate) fn by_name(c: &Connection, repo_id: i64, name: &str) -> Result<Option<Protection>> {
    let sql = format!("SELECT {COLUMNS} FROM protections WHERE repo_id = ?1 AND name = ?2");
    c.prepare_cached(&sql)?
        .query_row(params![repo_id, name], Protection::row)
        .optional()
}

/// Make or replace a rule by its name
pub(crate) fn put(
    c: &Connection,
    repo_id: i64,
    name: &str,
    priority: i64,
    rule: &Rule,
    now: i64,
) -> Result<()> {
    let rule = serde_json::to_string(rule).expect("plain data");
    c.execute(
        "INSERT INTO protections (repo_id, name, priority, rule, created_at, updated_at) \
         VALUES (?1,?2,?3,?4,?5,?5) ON CONFLICT (repo_id, name) \
         DO UPDATE SET rule = ?4, priority = ?3, updated_at = ?5",
        params![repo_id, name, priority, rule, now],
    )?;
    Ok(())
}

pub(crate) fn delete(c: &Connection, repo_id: i64, name: &str) -> Result<bool> {
    let gone = c.execute(
        "DELETE FROM protections WHERE repo_id = ?1 AND name = ?2",
        params![repo_id, name],
    )?;
    Ok(gone > 0)
}
