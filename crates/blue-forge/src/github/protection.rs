//! What a branch demands: the branch's summary, its classic rule, and the rulesets, together
//!
//! None of the three alone is the truth, and who asks decides which of them can be read.

use serde::Deserialize;

use super::{
    GitHub, PAGE_LIMIT,
    branches::{WireBranch, is_ref_name},
    wire,
};
use crate::{
    ForgeError, Result,
    model::{MergeStrategy, Protection, RepoId},
};

#[derive(Debug, Deserialize)]
pub(super) struct Classic {
    required_status_checks: Option<ClassicChecks>,
    required_pull_request_reviews: Option<ClassicReviews>,
    restrictions: Option<Restrictions>,
    #[serde(default)]
    enforce_admins: Switch,
    #[serde(default)]
    required_signatures: Switch,
    #[serde(default)]
    lock_branch: Switch,
    #[serde(default)]
    required_linear_history: Switch,
}

#[derive(Debug, Default, Deserialize)]
struct Switch {
    #[serde(default)]
    enabled: bool,
}

#[derive(Debug, Deserialize)]
struct ClassicChecks {
    #[serde(default)]
    strict: bool,
    #[serde(default)]
    contexts: Vec<String>,
    #[serde(default)]
    checks: Vec<Context>,
}

#[derive(Debug, Deserialize)]
struct ClassicReviews {
    #[serde(default)]
    required_approving_review_count: u32,
}

#[derive(Debug, Deserialize)]
struct Restrictions {
    #[serde(default)]
    users: Vec<wire::User>,
    #[serde(default)]
    teams: Vec<Slug>,
    #[serde(default)]
    apps: Vec<Slug>,
}

#[derive(Debug, Deserialize)]
struct Slug {
    slug: String,
}

#[derive(Debug, Deserialize)]
struct Context {
    context: String,
    /// App that must report it; -1 is any (in rulesets `integration_id`)
    #[serde(alias = "integration_id")]
    app_id: Option<i64>,
}

/// Merge styles that keep a history linear
const LINEAR_STYLES: &[MergeStrategy] = &[MergeStrategy::Squash, MergeStrategy::Rebase];

#[derive(Debug, Deserialize)]
pub(super) struct Rule {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    parameters: Option<Parameters>,
    ruleset_id: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Ruleset {
    current_user_can_bypass: Option<String>,
}

/// Of all kinds of rules; other kinds have other parameters
#[derive(Debug, Default, Deserialize)]
struct Parameters {
    #[serde(default)]
    required_approving_review_count: u32,
    #[serde(default)]
    required_status_checks: Vec<Context>,
    #[serde(default)]
    strict_required_status_checks_policy: bool,
    allowed_merge_methods: Option<Vec<String>>,
}

/// What the classic rule's own route told
#[derive(Debug)]
pub(super) enum ClassicRule {
    Known(Classic),
    Absent,
    Hidden,
}

impl GitHub {
    pub(super) async fn read_protection(&self, repo: &RepoId, branch: &str) -> Result<Protection> {
        if !is_ref_name(branch) {
            let what = format!("branch `{branch}` of `{repo}`");
            return Err(self.not_found(what).answered(None));
        }
        let (summary, rules) =
            tokio::join!(self.wire_branch(repo, branch), self.rules(repo, branch));
        let rules = rules?;
        match summary {
            Ok(summary) => {
                let tip = Some(summary.sha().clone());
                let classic = if summary.protected {
                    Some((summary, self.classic(repo, branch).await?))
                } else {
                    None
                };
                Ok(Protection {
                    tip,
                    ..combined(classic, rules)
                })
            }
            // Rulesets also cover branches that are yet to come.
            Err(ForgeError::NotFound { .. }) if rules.as_ref().is_some_and(|r| !r.is_empty()) => {
                Ok(combined(None, rules))
            }
            Err(error) => Err(error),
        }
    }

    pub(super) async fn classic(&self, repo: &RepoId, branch: &str) -> Result<ClassicRule> {
        let answer = self
            .get(repo, &["branches", branch, "protection"])
            .answer()
            .await?;
        match answer.status.as_u16() {
            404 if answer.says("not protected") => Ok(ClassicRule::Absent),
            // A plan without this feature has no rules.
            403 if answer.unmasked().starts_with("Upgrade to") => Ok(ClassicRule::Absent),
            403 | 404 => Ok(ClassicRule::Hidden),
            _ => Ok(ClassicRule::Known(answer.ok()?.json()?)),
        }
    }

    /// Whether the caller is exempt from every rule of the branch
    pub(super) async fn can_bypass(&self, repo: &RepoId, rule: &Protection) -> bool {
        let is_admin = || self.recent.permissions(repo).is_some_and(|may| may.admin);
        let bound = match rule.binds_admins {
            Some(binds_admins) => binds_admins || !is_admin(),
            None => rule.rulesets.is_empty(),
        };
        if rule.partial || bound {
            return false;
        }
        let asked = rule.rulesets.iter().map(async |id| {
            let path = ["rulesets", &id.to_string()];
            let found: Result<Ruleset> = match self.get(repo, &path).send().await {
                Ok(answer) => answer.json(),
                Err(error) => Err(error),
            };
            let may = found.ok().and_then(|found| found.current_user_can_bypass);
            matches!(
                may.as_deref(),
                Some("always" | "pull_requests_only" | "exempt")
            )
        });
        let told = futures_util::future::join_all(asked).await;
        told.into_iter().all(|may| may)
    }

    /// All active rules of rulesets; nothing where they may not be seen
    pub(super) async fn rules(&self, repo: &RepoId, branch: &str) -> Result<Option<Vec<Rule>>> {
        let rules = self
            .get(repo, &["rules", "branches", branch])
            .all(PAGE_LIMIT)
            .await;
        match rules {
            Ok(rules) => Ok(Some(rules)),
            // A server that is too old for rulesets; a missing repository shows elsewhere.
            Err(ForgeError::NotFound { .. }) => Ok(Some(Vec::new())),
            Err(ForgeError::Forbidden { message, .. }) => {
                Ok(message.starts_with("Upgrade to").then(Vec::new))
            }
            Err(error) => Err(error),
        }
    }
}

/// All three sources together; `classic` is there when the branch says that it is protected
pub(super) fn combined(
    classic: Option<(WireBranch, ClassicRule)>,
    rules: Option<Vec<Rule>>,
) -> Protection {
    let mut found = Protection::none();
    if let Some((summary, classic)) = classic {
        found.protected = true;
        match classic {
            ClassicRule::Absent => {}
            ClassicRule::Known(rule) => add_classic_rule(&mut found, rule),
            ClassicRule::Hidden => {
                found.partial = true;
                let checks = summary.protection.and_then(|p| p.required_status_checks);
                for context in checks.map(|c| c.contexts).unwrap_or_default() {
                    add_check(&mut found, context, None);
                }
            }
        }
    }
    match rules {
        Some(rules) => rules
            .into_iter()
            .for_each(|rule| add_rule(&mut found, rule)),
        None => found.partial = true,
    }
    found.block_on_rejected_reviews = found.required_approvals > 0;
    found
}

fn add_classic_rule(found: &mut Protection, rule: Classic) {
    found.requires_signatures |= rule.required_signatures.enabled;
    found.binds_admins = Some(rule.enforce_admins.enabled);
    if rule.required_linear_history.enabled {
        found.limit_styles(LINEAR_STYLES);
    }
    // Only an admin can read this rule, and may be free of it.
    if rule.lock_branch.enabled && rule.enforce_admins.enabled {
        found.can_push = Some(false);
        found.can_merge = Some(false);
    }
    if let Some(checks) = rule.required_status_checks {
        // A new commit has passed nothing yet; only an admin can read this rule, and may be free of it.
        found.requires_pr |= rule.enforce_admins.enabled;
        let named = !checks.checks.is_empty() || !checks.contexts.is_empty();
        found.require_up_to_date |= checks.strict && named;
        for context in checks.contexts {
            add_check(found, context, None);
        }
        for check in checks.checks {
            add_check(found, check.context, check.app_id);
        }
    }
    if let Some(reviews) = rule.required_pull_request_reviews {
        let count = reviews.required_approving_review_count;
        found.requires_pr = true;
        found.required_approvals = found.required_approvals.max(count);
    }
    if let Some(who) = rule.restrictions {
        let users = who.users.into_iter().map(|u| u.login);
        let teams = who.teams.into_iter().map(|t| format!("@{}", t.slug));
        let apps = who.apps.into_iter().map(|a| a.slug);
        found.push_whitelist = Some(users.chain(teams).chain(apps).collect());
    }
}

fn add_rule(found: &mut Protection, rule: Rule) {
    found.protected = true;
    if let Some(id) = rule.ruleset_id
        && !found.rulesets.contains(&id)
    {
        found.rulesets.push(id);
    }
    let parameters = rule.parameters.unwrap_or_default();
    match rule.kind.as_str() {
        "pull_request" => {
            let count = parameters.required_approving_review_count;
            found.requires_pr = true;
            found.required_approvals = found.required_approvals.max(count);
            if let Some(methods) = parameters.allowed_merge_methods {
                let all = [
                    MergeStrategy::Merge,
                    MergeStrategy::Squash,
                    MergeStrategy::Rebase,
                ];
                let named = |style: &MergeStrategy| methods.iter().any(|m| m == style.as_str());
                let allowed: Vec<_> = all.into_iter().filter(named).collect();
                found.limit_styles(&allowed);
            }
        }
        "required_linear_history" => found.limit_styles(LINEAR_STYLES),
        "required_status_checks" => {
            found.requires_pr = true;
            // Without a check that is required, GitHub asks for no newest base either.
            let named = !parameters.required_status_checks.is_empty();
            found.require_up_to_date |= parameters.strict_required_status_checks_policy && named;
            for check in parameters.required_status_checks {
                add_check(found, check.context, check.app_id);
            }
        }
        "required_signatures" => found.requires_signatures = true,
        "merge_queue" => {
            found.requires_pr = true;
            found.merge_queue = true;
        }
        // The first three need results for a commit before it arrives, and `update` forbids every push.
        "workflows" | "required_deployments" | "code_scanning" | "update" => {
            found.requires_pr = true;
        }
        _ => {}
    }
}

fn add_check(found: &mut Protection, context: String, app: Option<i64>) {
    if let Some(app) = app.and_then(|app| u64::try_from(app).ok()) {
        found.check_apps.insert(context.clone(), app);
    }
    if !found.required_checks.contains(&context) {
        found.required_checks.push(context);
    }
}
