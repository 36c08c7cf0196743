//! One protection rule in the two shapes GitHub has: a protected branch and a list of rules

use serde_json::{Value, json};

use super::super::url::{Urls, segment};
use super::repo::Shown;
use super::user;
use crate::store::protections::{Protection, Rule};
use crate::store::users::User;

pub(in crate::github) fn url(urls: &Urls, repo: &Shown, branch: &str) -> String {
    format!("{}/branches/{}/protection", repo.api(urls), segment(branch))
}

fn contexts(rule: &Rule) -> &[String] {
    if rule.enable_status_check {
        &rule.status_check_contexts
    } else {
        &[]
    }
}

fn checks(rule: &Rule) -> Vec<Value> {
    contexts(rule)
        .iter()
        .map(|context| json!({"context": context, "app_id": null}))
        .collect()
}

/// Changes reach the branch through pull requests only
fn needs_pull_request(rule: &Rule) -> bool {
    rule.required_approvals > 0
        || rule.block_on_rejected_reviews
        || !rule.enable_push
        || !rule.allowed_merge_methods.is_empty()
}

const MERGE_METHODS: &[&str] = &["merge", "squash", "rebase"];

/// Whether the rule allows a merge method
pub(in crate::github) fn allows_method(rule: &Rule, method: &str) -> bool {
    let named = &rule.allowed_merge_methods;
    named.is_empty() || named.iter().any(|name| name == method)
}

/// What everyone who can read the branch is told
pub(in crate::github) fn summary(rule: Option<&Rule>) -> Value {
    let level = match rule {
        Some(rule) if !contexts(rule).is_empty() => {
            if rule.block_admin_merge_override || rule.apply_to_admins {
                "everyone"
            } else {
                "non_admins"
            }
        }
        _ => "off",
    };
    json!({
        "enabled": rule.is_some(),
        "required_status_checks": {
            "enforcement_level": level,
            "contexts": rule.map_or(&[][..], contexts),
            "checks": rule.map(checks).unwrap_or_default(),
        },
    })
}

/// Shows a classic protection in full, for admins; `pushers` are the users on the push list
pub(in crate::github) fn full(
    urls: &Urls,
    repo: &Shown,
    branch: &str,
    rule: &Rule,
    pushers: &[User],
) -> Value {
    let at = url(urls, repo, branch);
    let switch = |on: bool| json!({"enabled": on});
    let mut shown = json!({
        "url": at,
        "required_signatures": {"url": format!("{at}/required_signatures"), "enabled": rule.require_signed_commits},
        "enforce_admins": {
            "url": format!("{at}/enforce_admins"),
            "enabled": rule.block_admin_merge_override || rule.apply_to_admins,
        },
        "required_linear_history": switch(false),
        "allow_force_pushes": switch(rule.enable_force_push),
        "allow_deletions": switch(false),
        "block_creations": switch(false),
        "required_conversation_resolution": switch(false),
        "lock_branch": switch(false),
        "allow_fork_syncing": switch(false),
    });
    if rule.enable_status_check {
        shown["required_status_checks"] = json!({
            "url": format!("{at}/required_status_checks"),
            "strict": rule.block_on_outdated_branch,
            "contexts": contexts(rule),
            "contexts_url": format!("{at}/required_status_checks/contexts"),
            "checks": checks(rule),
        });
    }
    if needs_pull_request(rule) {
        shown["required_pull_request_reviews"] = json!({
            "url": format!("{at}/required_pull_request_reviews"),
            "dismiss_stale_reviews": rule.dismiss_stale_approvals,
            "require_code_owner_reviews": false,
            "require_last_push_approval": false,
            "required_approving_review_count": rule.required_approvals,
        });
    }
    if rule.enable_push && rule.enable_push_whitelist {
        let users: Vec<Value> = pushers.iter().map(|who| user::simple(urls, who)).collect();
        shown["restrictions"] = json!({
            "url": format!("{at}/restrictions"),
            "users_url": format!("{at}/restrictions/users"),
            "teams_url": format!("{at}/restrictions/teams"),
            "apps_url": format!("{at}/restrictions/apps"),
            "users": users,
            "teams": [],
            "apps": [],
        });
    }
    shown
}

/// Shows a protection as the rules of a ruleset, which every reader of the repository may see
pub(in crate::github) fn rules(repo: &Shown, id: i64, rule: &Rule) -> Vec<Value> {
    let mut rules = vec![json!({"type": "deletion"})];
    if !rule.enable_force_push {
        rules.push(json!({"type": "non_fast_forward"}));
    }
    if rule.require_signed_commits {
        rules.push(json!({"type": "required_signatures"}));
    }
    if needs_pull_request(rule) {
        let allowed = |method: &&&str| allows_method(rule, method);
        let methods: Vec<&&str> = MERGE_METHODS.iter().filter(allowed).collect();
        rules.push(json!({"type": "pull_request", "parameters": {
            "required_approving_review_count": rule.required_approvals,
            "dismiss_stale_reviews_on_push": rule.dismiss_stale_approvals,
            "require_code_owner_review": false,
            "require_last_push_approval": false,
            "required_review_thread_resolution": false,
            "allowed_merge_methods": methods,
        }}));
    }
    if rule.enable_status_check {
        let checks: Vec<Value> = contexts(rule)
            .iter()
            .map(|context| json!({"context": context}))
            .collect();
        rules.push(json!({"type": "required_status_checks", "parameters": {
            "strict_required_status_checks_policy": rule.block_on_outdated_branch,
            "do_not_enforce_on_create": false,
            "required_status_checks": checks,
        }}));
    }
    for shown in &mut rules {
        shown["ruleset_source_type"] = "Repository".into();
        shown["ruleset_source"] = format!("{}/{}", repo.owner.login, repo.row.name).into();
        shown["ruleset_id"] = id.into();
    }
    rules
}

/// A ruleset by itself
pub(in crate::github) fn ruleset(repo: &Shown, found: &Protection) -> Value {
    let include = format!("refs/heads/{}", found.name);
    json!({
        "id": found.id,
        "name": found.name,
        "target": "branch",
        "source_type": "Repository",
        "source": format!("{}/{}", repo.owner.login, repo.row.name),
        "enforcement": "active",
        "conditions": {"ref_name": {"include": [include], "exclude": []}},
        "current_user_can_bypass": "never",
    })
}
