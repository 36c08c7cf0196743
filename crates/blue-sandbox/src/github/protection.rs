//! Branch protection, in both of GitHub's shapes

use serde::Deserialize;
use serde_json::Value;

use super::cx::At;
use super::refusal::{Refusal, Result};
use super::reply::Reply;
use super::view::protection;
use crate::ops;
use crate::store::protections::{Protection, Rule};
use crate::store::users::{self, User};

fn not_protected() -> Refusal {
    Refusal::new(http::StatusCode::NOT_FOUND, "Branch not protected")
}

fn branch(at: &At<'_>, name: &str) -> Result<()> {
    match at.git.branch(name)? {
        Some(_) => Ok(()),
        None => Err(Refusal::new(
            http::StatusCode::NOT_FOUND,
            "Branch not found",
        )),
    }
}

pub(super) fn get(at: &At<'_>, name: &str) -> Result<Reply> {
    // Who may not administer is not told that there is something to see.
    if at.admin().is_err() {
        return Err(Refusal::not_found());
    }
    branch(at, name)?;
    let found = ops::protection::of_branch(at.app(), &at.repo.row, name)?;
    let found = found.ok_or_else(not_protected)?;
    Ok(Reply::ok(&show(at, name, &found)?))
}

fn show(at: &At<'_>, name: &str, found: &Protection) -> Result<Value> {
    let pushers: Vec<User> = at.app().store.read(|c| {
        let named = found.rule.push_whitelist_usernames.iter();
        let people: rusqlite::Result<Vec<Option<User>>> =
            named.map(|login| users::by_login(c, login)).collect();
        people.map(|people| people.into_iter().flatten().collect())
    })?;
    Ok(protection::full(
        at.urls(),
        &at.repo,
        name,
        &found.rule,
        &pushers,
    ))
}

#[derive(Debug, Deserialize)]
struct Put {
    required_status_checks: Option<RequiredChecks>,
    enforce_admins: Option<bool>,
    required_pull_request_reviews: Option<Reviews>,
    restrictions: Option<Restrictions>,
    allow_force_pushes: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct RequiredChecks {
    strict: bool,
    #[serde(default)]
    contexts: Vec<String>,
    #[serde(default)]
    checks: Vec<Check>,
}

#[derive(Debug, Deserialize)]
struct Check {
    context: String,
}

#[derive(Debug, Deserialize)]
struct Reviews {
    #[serde(default)]
    dismiss_stale_reviews: bool,
    required_approving_review_count: Option<i64>,
}

#[derive(Debug, Deserialize)]
struct Restrictions {
    #[serde(default)]
    users: Vec<String>,
}

/// Replace the whole protection of a branch
pub(super) fn put(at: &At<'_>, name: &str) -> Result<Reply> {
    at.admin()?;
    at.not_archived()?;
    branch(at, name)?;
    // These four must be given, if only as `null`.
    let given: Value = at.ask().body()?;
    let needed = [
        "required_status_checks",
        "enforce_admins",
        "required_pull_request_reviews",
        "restrictions",
    ];
    if let Some(missing) = needed.iter().find(|field| given.get(**field).is_none()) {
        let message = format!("Invalid request.\n\n\"{missing}\" wasn't supplied.");
        return Err(Refusal::unprocessable(message));
    }
    let rule = rule(at.ask().body()?);
    let repo = &at.repo.row;
    let saved = match ops::protection::get(at.app(), repo, name) {
        Ok(before) => ops::protection::save(at.app(), repo, &Protection { rule, ..before })?,
        Err(ops::Error::NotFound(_)) => ops::protection::create(at.app(), repo, name, None, &rule)?,
        Err(other) => return Err(other.into()),
    };
    Ok(Reply::ok(&show(at, name, &saved)?))
}

fn rule(put: Put) -> Rule {
    let strict = put.required_status_checks.as_ref().map(|it| it.strict);
    let contexts = put.required_status_checks.map(|it| {
        let mut all = it.contexts;
        all.extend(it.checks.into_iter().map(|check| check.context));
        let mut seen = std::collections::HashSet::new();
        all.retain(|context| seen.insert(context.clone()));
        all
    });
    let everyone = put.enforce_admins.unwrap_or(false);
    // Without required reviews or checks, everyone with write access may push.
    let reviews = put.required_pull_request_reviews;
    let by_pull_request = reviews.is_some();
    Rule {
        enable_push: !by_pull_request,
        enable_push_whitelist: put.restrictions.is_some(),
        push_whitelist_usernames: put.restrictions.map(|it| it.users).unwrap_or_default(),
        enable_force_push: put.allow_force_pushes.unwrap_or(false),
        enable_status_check: contexts.is_some(),
        status_check_contexts: contexts.unwrap_or_default(),
        block_on_outdated_branch: strict.unwrap_or(false),
        required_approvals: reviews
            .as_ref()
            .map_or(0, |it| it.required_approving_review_count.unwrap_or(1)),
        block_on_rejected_reviews: by_pull_request,
        dismiss_stale_approvals: reviews.is_some_and(|it| it.dismiss_stale_reviews),
        block_admin_merge_override: everyone,
        apply_to_admins: everyone,
        ..Rule::default()
    }
}

pub(super) fn delete(at: &At<'_>, name: &str) -> Result<Reply> {
    at.admin()?;
    at.not_archived()?;
    let found = ops::protection::of_branch(at.app(), &at.repo.row, name)?;
    let found = found.ok_or_else(not_protected)?;
    ops::protection::delete(at.app(), &at.repo.row, &found.name)?;
    Ok(Reply::no_content())
}

/// The rules that hold for a branch, which need not exist
pub(super) fn rules(at: &At<'_>, name: &str) -> Result<Reply> {
    let found = ops::protection::of_branch(at.app(), &at.repo.row, name)?;
    let rules = found.map(|found| protection::rules(&at.repo, found.id, &found.rule));
    at.cx
        .list(at.ask().page().cut(rules.unwrap_or_default()), Ok)
}

/// One ruleset; no user bypasses a rule here
pub(super) fn ruleset(at: &At<'_>, id: &str) -> Result<Reply> {
    let rules = ops::protection::list(at.app(), &at.repo.row)?;
    let found = rules
        .into_iter()
        .find(|rule| rule.id.to_string() == id)
        .ok_or_else(Refusal::not_found)?;
    Ok(Reply::ok(&protection::ruleset(&at.repo, &found)))
}
