//! Rules for branches

use serde_json::{Value, json};

use super::{Outcome, body::Form, fail::Fail, reply::Reply, request::InRepo, wire};
use crate::{
    ops::{self, protection},
    store::protections::{Protection, Rule},
};

pub(super) fn answer(cx: &InRepo<'_>, path: &[&str]) -> Outcome {
    cx.need_admin()?;
    let (app, repo) = (cx.app(), cx.repo());
    let name = path[1..].join("/");
    match (cx.req.verb(), name.as_str()) {
        ("GET", "") => {
            let rules = protection::list(app, repo)?;
            Ok(Reply::ok(
                &rules.iter().map(|rule| shown(cx, rule)).collect(),
            ))
        }
        ("POST", "") => {
            cx.need_unarchived()?;
            let form = cx.req.form()?;
            let name = [form.text("rule_name")?, form.text("branch_name")?]
                .into_iter()
                .find(|name| !name.is_empty())
                .ok_or_else(|| Fail::new(400, "both rule_name and branch_name are empty"))?;
            let mut rule = Rule::default();
            fill(cx, &form, &mut rule)?;
            let made = protection::create(app, repo, name, form.opt_number("priority")?, &rule)?;
            Ok(Reply::created(&shown(cx, &made)))
        }
        ("GET", name) => Ok(Reply::ok(&shown(cx, &protection::get(app, repo, name)?))),
        ("PATCH", name) if !name.is_empty() => {
            cx.need_unarchived()?;
            let form = cx.req.form()?;
            let mut found = protection::get(app, repo, name)?;
            fill(cx, &form, &mut found.rule)?;
            if let Some(priority) = form.opt_number("priority")? {
                found.priority = priority;
            }
            Ok(Reply::ok(&shown(cx, &protection::save(app, repo, &found)?)))
        }
        ("DELETE", name) if !name.is_empty() => {
            cx.need_unarchived()?;
            protection::delete(app, repo, name)?;
            Ok(Reply::empty(204))
        }
        _ => Err(Fail::wrong_verb()),
    }
}

fn fill(cx: &InRepo<'_>, form: &Form, rule: &mut Rule) -> Result<(), Fail> {
    let flag = |name: &str, field: &mut bool| -> Result<(), Fail> {
        *field = form.opt_flag(name)?.unwrap_or(*field);
        Ok(())
    };
    flag("enable_push", &mut rule.enable_push)?;
    flag("enable_push_whitelist", &mut rule.enable_push_whitelist)?;
    flag(
        "push_whitelist_deploy_keys",
        &mut rule.push_whitelist_deploy_keys,
    )?;
    flag("enable_force_push", &mut rule.enable_force_push)?;
    flag(
        "enable_force_push_allowlist",
        &mut rule.enable_force_push_allowlist,
    )?;
    flag(
        "force_push_allowlist_deploy_keys",
        &mut rule.force_push_allowlist_deploy_keys,
    )?;
    flag("enable_merge_whitelist", &mut rule.enable_merge_whitelist)?;
    flag("enable_status_check", &mut rule.enable_status_check)?;
    flag(
        "enable_approvals_whitelist",
        &mut rule.enable_approvals_whitelist,
    )?;
    flag(
        "block_on_rejected_reviews",
        &mut rule.block_on_rejected_reviews,
    )?;
    flag(
        "block_on_official_review_requests",
        &mut rule.block_on_official_review_requests,
    )?;
    flag(
        "block_on_outdated_branch",
        &mut rule.block_on_outdated_branch,
    )?;
    flag("dismiss_stale_approvals", &mut rule.dismiss_stale_approvals)?;
    flag("ignore_stale_approvals", &mut rule.ignore_stale_approvals)?;
    flag("require_signed_commits", &mut rule.require_signed_commits)?;
    flag(
        "block_admin_merge_override",
        &mut rule.block_admin_merge_override,
    )?;
    flag("apply_to_admins", &mut rule.apply_to_admins)?;
    let people = |name: &str, field: &mut Vec<String>| -> Result<(), Fail> {
        let Some(logins) = form.opt_texts(name)? else {
            return Ok(());
        };
        for login in &logins {
            ops::users::find(cx.app(), login).map_err(|_| {
                Fail::invalid(&format!("user does not exist [uid: 0, name: {login}]"))
            })?;
        }
        *field = logins;
        Ok(())
    };
    people(
        "push_whitelist_usernames",
        &mut rule.push_whitelist_usernames,
    )?;
    people(
        "force_push_allowlist_usernames",
        &mut rule.force_push_allowlist_usernames,
    )?;
    people(
        "merge_whitelist_usernames",
        &mut rule.merge_whitelist_usernames,
    )?;
    people(
        "approvals_whitelist_username",
        &mut rule.approvals_whitelist_username,
    )?;
    if let Some(contexts) = form.opt_texts("status_check_contexts")? {
        rule.status_check_contexts = contexts;
    }
    if let Some(approvals) = form.opt_number("required_approvals")? {
        rule.required_approvals = approvals.max(0);
    }
    if let Some(patterns) = form.opt_text("protected_file_patterns")? {
        patterns.clone_into(&mut rule.protected_file_patterns);
    }
    if let Some(patterns) = form.opt_text("unprotected_file_patterns")? {
        patterns.clone_into(&mut rule.unprotected_file_patterns);
    }
    Ok(())
}

fn shown(cx: &InRepo<'_>, found: &Protection) -> Value {
    let rule = &found.rule;
    let plain = !found.name.contains(['*', '?', '[', '{']);
    let contexts = (!rule.status_check_contexts.is_empty()).then_some(&rule.status_check_contexts);
    let mut value = json!({
        "branch_name": if plain { found.name.as_str() } else { "" },
        "rule_name": found.name,
        "priority": found.priority,
        "enable_push": rule.enable_push,
        "enable_push_whitelist": rule.enable_push_whitelist,
        "push_whitelist_usernames": rule.push_whitelist_usernames,
        "push_whitelist_teams": [],
        "push_whitelist_deploy_keys": rule.push_whitelist_deploy_keys,
        "enable_force_push": rule.enable_force_push,
        "enable_force_push_allowlist": rule.enable_force_push_allowlist,
        "force_push_allowlist_usernames": rule.force_push_allowlist_usernames,
        "force_push_allowlist_teams": [],
        "force_push_allowlist_deploy_keys": rule.force_push_allowlist_deploy_keys,
        "enable_merge_whitelist": rule.enable_merge_whitelist,
        "merge_whitelist_usernames": rule.merge_whitelist_usernames,
        "merge_whitelist_teams": [],
        "enable_status_check": rule.enable_status_check,
        "status_check_contexts": contexts,
        "required_approvals": rule.required_approvals,
        "enable_approvals_whitelist": rule.enable_approvals_whitelist,
        "approvals_whitelist_username": rule.approvals_whitelist_username,
        "approvals_whitelist_teams": [],
        "block_on_rejected_reviews": rule.block_on_rejected_reviews,
        "block_on_official_review_requests": rule.block_on_official_review_requests,
        "block_on_outdated_branch": rule.block_on_outdated_branch,
        "dismiss_stale_approvals": rule.dismiss_stale_approvals,
        "ignore_stale_approvals": rule.ignore_stale_approvals,
        "require_signed_commits": rule.require_signed_commits,
        "protected_file_patterns": rule.protected_file_patterns,
        "unprotected_file_patterns": rule.unprotected_file_patterns,
        "block_admin_merge_override": rule.block_admin_merge_override,
        "created_at": wire::time(found.created_at),
        "updated_at": wire::time(found.updated_at),
    });
    if cx.app().is_forgejo() {
        let fields = value.as_object_mut().expect("made as an object");
        for gitea in [
            "priority",
            "enable_force_push",
            "enable_force_push_allowlist",
            "force_push_allowlist_usernames",
            "force_push_allowlist_teams",
            "force_push_allowlist_deploy_keys",
            "block_admin_merge_override",
        ] {
            fields.shift_remove(gitea);
        }
        fields.insert("apply_to_admins".to_owned(), rule.apply_to_admins.into());
    }
    value
}
