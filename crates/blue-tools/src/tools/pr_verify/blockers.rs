//! What is in the way of a merge, as a closed list of codes

use blue_forge::{
    glob,
    model::{Check, CheckState, Mergeability, Ruling},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Checks, facts::Facts, plan::shortened, reviews::Standing};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Blocker {
    // Its names would be a quarter of the schema.
    #[schemars(with = "String")]
    pub code: Code,
    pub message: String,
}

/// What is in the way of a merge, by how sure that is
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Obstacles {
    /// Known to block
    pub(super) blockers: Vec<Blocker>,
    /// May block: what decides could not be read
    pub(super) unknown: Vec<Blocker>,
    /// Rules that are not met, but that the caller may bypass
    pub(super) bypassed: Vec<Blocker>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    Merged,
    Closed,
    Archived,
    NotPermitted,
    Draft,
    Conflict,
    Empty,
    Checking,
    ChecksFailed,
    ChecksPending,
    ChecksMissing,
    Approvals,
    ChangesRequested,
    ReviewRequested,
    Behind,
    ProtectedFiles,
    Signing,
    Dependency,
    Queue,
    Style,
    /// The forge says no, and nothing that can be read says why
    Blocked,
}

/// Checks counted, and the required ones by where they stand
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) counts: Checks,
    failed: Vec<String>,
    pending: Vec<String>,
    missing: Vec<String>,
}

impl Tally {
    pub(super) fn of(facts: &Facts) -> Self {
        let of_state = |wanted: &[CheckState]| {
            let fits = |check: &&Check| wanted.contains(&check.state);
            facts.checks.iter().filter(fits).count()
        };
        let required = &facts.rule.required_checks;
        let (mut failed, mut pending, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        let mut budget = glob::CallBudget::default();
        for wanted in required {
            let wanted_app = facts.rule.check_apps.get(wanted);
            let fits = |check: &&Check| {
                if facts.globs {
                    // `x [1]` is no name there: it is a pattern that means `x 1`, and nothing else.
                    return budget.matches(wanted, &check.context, &[]);
                }
                // Another app's check of the same name does not count; a status tells no app.
                let other_app = |wanted: &u64| check.app.is_some_and(|app| app != *wanted);
                check.context == *wanted && !wanted_app.is_some_and(other_app)
            };
            let mut any = false;
            for check in facts.checks.iter().filter(fits) {
                any = true;
                let list = match check.state {
                    CheckState::Failure => &mut failed,
                    CheckState::Pending => &mut pending,
                    CheckState::Success | CheckState::Skipped => continue,
                };
                if !list.contains(&check.context) {
                    list.push(check.context.clone());
                }
            }
            if !any {
                missing.push(wanted.clone());
            }
        }
        let counts = Checks {
            required: required.len(),
            passed: of_state(&[CheckState::Success, CheckState::Skipped]),
            failed: of_state(&[CheckState::Failure]),
            pending: of_state(&[CheckState::Pending]) + missing.len(),
        };
        Self {
            counts,
            failed,
            pending,
            missing,
        }
    }
}

pub(super) fn find(facts: &Facts, tally: &Tally, standing: &Standing) -> Obstacles {
    let mut found = Obstacles::default();
    let over = match facts.mergeability {
        Mergeability::Merged => Some((Code::Merged, "it is merged already")),
        Mergeability::Closed => Some((Code::Closed, "it is closed")),
        _ => None,
    };
    if let Some((code, message)) = over {
        found.blockers.push(Blocker::new(code, message));
        return found;
    }
    found.add_plain(facts);
    // The forge's own summary is believed: it knows who may write, and which run of a check counts.
    if facts.pr.ruling == Ruling::Clear {
        return found;
    }
    let mut rules = Obstacles::default();
    rules.add_checks(facts, tally);
    rules.add_reviews(facts, standing);
    rules.add_rules(facts);
    let explained = !found.blockers.is_empty() || !rules.blockers.is_empty();
    if facts.pr.ruling == Ruling::Blocked && !explained {
        let message = "the forge says that a rule is in the way, and not which";
        rules.blockers.push(Blocker::new(Code::Blocked, message));
    }
    if facts.may_bypass {
        found.bypassed = rules.blockers;
        found.bypassed.extend(rules.unknown);
    } else {
        found.blockers.extend(rules.blockers);
        found.unknown.extend(rules.unknown);
    }
    found
}

impl Blocker {
    fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }
}

impl Obstacles {
    fn block(&mut self, code: Code, message: impl Into<String>) {
        self.blockers.push(Blocker::new(code, message));
    }

    /// Adds what decides a merge only if a rule says so that could not be read
    fn doubt(&mut self, code: Code, message: &str) {
        let message = format!("{message}; whether that blocks it cannot be read");
        self.unknown.push(Blocker::new(code, message));
    }

    /// Adds what stops a merge whatever the rules of the base are, and a merge queue
    fn add_plain(&mut self, facts: &Facts) {
        let pr = &facts.pr;
        let base = &pr.base.branch;
        if facts.archived {
            self.block(Code::Archived, "the repository is archived");
        } else if facts.may_merge == Some(false) {
            let message = format!("this user or token may not merge into `{base}`");
            self.block(Code::NotPermitted, message);
        }
        if pr.draft {
            self.block(Code::Draft, "it is a draft");
        }
        match facts.mergeability {
            Mergeability::Conflict => {
                self.block(Code::Conflict, format!("the head conflicts with `{base}`"));
            }
            Mergeability::Empty => self.block(Code::Empty, "it has no commits"),
            Mergeability::Checking => {
                let message = format!("{} still computes whether the branches merge", facts.host);
                self.unknown.push(Blocker::new(Code::Checking, message));
            }
            _ => {}
        }
        if facts.waits {
            let message = "it depends on another one that is still open";
            self.block(Code::Dependency, message);
        }
        let styles = facts.styles.as_ref();
        if styles.is_some_and(|styles| styles.allowed.is_empty()) {
            let message = format!("no merge style is allowed for `{base}`");
            self.block(Code::Style, message);
        }
        if facts.rule.merge_queue {
            self.block(Code::Queue, format!("`{base}` is merged through a queue"));
        }
    }

    fn add_checks(&mut self, facts: &Facts, tally: &Tally) {
        for (code, said, names) in [
            (Code::ChecksFailed, "required checks failed", &tally.failed),
            (
                Code::ChecksPending,
                "required checks still run",
                &tally.pending,
            ),
        ] {
            if !names.is_empty() {
                self.block(code, format!("{said}: {}", listed(names)));
            }
        }
        if tally.missing.is_empty() {
            return;
        }
        let names = listed(&tally.missing);
        if facts.hidden_checks {
            let message = format!("required checks have not reported, or cannot be read: {names}");
            self.unknown
                .push(Blocker::new(Code::ChecksMissing, message));
        } else {
            let message = format!("required checks have not reported: {names}");
            self.block(Code::ChecksMissing, message);
        }
    }

    fn add_reviews(&mut self, facts: &Facts, standing: &Standing) {
        let rule = &facts.rule;
        let (given, needed) = (standing.approved.len(), rule.required_approvals as usize);
        if given < needed {
            let message = format!("{given} of {needed} required approvals are given");
            if given + standing.may_approve.len() < needed {
                self.block(Code::Approvals, message);
            } else {
                let names = listed(&standing.may_approve);
                let message = format!("{message}, unless those of {names} count");
                self.unknown.push(Blocker::new(Code::Approvals, message));
            }
        }
        if !standing.rejected.is_empty() {
            let message = format!("changes are requested by {}", listed(&standing.rejected));
            if rule.block_on_rejected_reviews {
                self.block(Code::ChangesRequested, message);
            } else if rule.partial {
                self.doubt(Code::ChangesRequested, &message);
            }
        }
        if !standing.may_reject.is_empty() && (rule.block_on_rejected_reviews || rule.partial) {
            let message = format!("changes are requested by {}", listed(&standing.may_reject));
            self.doubt(Code::ChangesRequested, &message);
        }
        if !standing.asked.is_empty() {
            let message = format!("a review is asked for from {}", listed(&standing.asked));
            if rule.block_on_review_requests {
                self.block(Code::ReviewRequested, message);
            } else if rule.partial {
                self.doubt(Code::ReviewRequested, &message);
            }
        }
    }

    fn add_rules(&mut self, facts: &Facts) {
        let (pr, rule) = (&facts.pr, &facts.rule);
        let base = &pr.base.branch;
        if facts.behind && rule.require_up_to_date || pr.ruling == Ruling::Behind {
            let message = format!("the head lacks commits of `{base}`, which must be in it first");
            self.block(Code::Behind, message);
        } else if facts.behind && rule.partial && pr.ruling == Ruling::Unknown {
            let message = format!("the head lacks commits of `{base}`");
            self.doubt(Code::Behind, &message);
        }
        if !facts.protected.is_empty() {
            let files = listed(&facts.protected);
            let message = format!("it changes files that the rule of `{base}` protects: {files}");
            self.block(Code::ProtectedFiles, message);
        }
        if rule.cannot_sign {
            let message = format!(
                "`{base}` takes signed commits only, and {} has no key to sign a merge with",
                facts.host
            );
            self.block(Code::Signing, message);
        }
    }
}

/// Names in a sentence; of many the first
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 10;
    let first = names.iter().take(SHOWN);
    let shown: Vec<String> = first.map(|name| format!("`{}`", shortened(name))).collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use blue_forge::model::{
        MergeStyles, Mergeable, PrSide, PrState, Protection, PullRequest, Review, ReviewState,
    };

    use super::*;

    fn facts() -> Facts {
        let side = |branch: &str| PrSide {
            branch: branch.to_owned(),
            sha: None,
            repo: None,
        };
        Facts {
            pr: PullRequest {
                number: 1,
                title: String::new(),
                body: String::new(),
                state: PrState::Open,
                draft: false,
                head: side("topic"),
                base: side("main"),
                mergeable: Mergeable::Yes,
                server_time: None,
                last_push: None,
                merge_base: None,
                ruling: Ruling::Unknown,
                archived: false,
                merge_sha: None,
                changed_files: None,
                commits: None,
                styles: None,
                author: String::new(),
                created: None,
                updated: None,
                html_url: String::new(),
            },
            mergeability: Mergeability::Clean,
            rule: Protection::none(),
            reviews: Vec::new(),
            checks: Vec::new(),
            hidden_checks: false,
            behind: false,
            protected: Vec::new(),
            waits: false,
            may_merge: None,
            archived: false,
            styles: None,
            may_bypass: false,
            globs: true,
            host: "git.example".to_owned(),
        }
    }

    fn check(context: &str, state: CheckState) -> Check {
        Check {
            context: context.to_owned(),
            state,
            description: String::new(),
            url: String::new(),
            app: None,
        }
    }

    fn obstacles(facts: &Facts) -> Obstacles {
        let standing = Standing::of(&facts.reviews, &facts.rule);
        find(facts, &Tally::of(facts), &standing)
    }

    fn codes_of(found: &[Blocker]) -> Vec<Code> {
        found.iter().map(|blocker| blocker.code).collect()
    }

    fn codes(facts: &Facts) -> Vec<Code> {
        codes_of(&obstacles(facts).blockers)
    }

    fn unknown(facts: &Facts) -> Vec<Code> {
        codes_of(&obstacles(facts).unknown)
    }

    #[test]
    fn each_fact_has_its_code() {
        assert_eq!(codes(&facts()), []);
        let with = |change: fn(&mut Facts)| {
            let mut facts = facts();
            change(&mut facts);
            codes(&facts)
        };
        assert_eq!(
            with(|f| f.mergeability = Mergeability::Merged),
            [Code::Merged]
        );
        assert_eq!(
            with(|f| f.mergeability = Mergeability::Closed),
            [Code::Closed]
        );
        assert_eq!(
            with(|f| f.mergeability = Mergeability::Empty),
            [Code::Empty]
        );
        assert_eq!(
            with(|f| f.mergeability = Mergeability::Conflict),
            [Code::Conflict]
        );
        assert_eq!(with(|f| f.mergeability = Mergeability::Checking), []);
        assert_eq!(with(|f| f.pr.draft = true), [Code::Draft]);
        assert_eq!(with(|f| f.archived = true), [Code::Archived]);
        assert_eq!(with(|f| f.may_merge = Some(false)), [Code::NotPermitted]);
        assert_eq!(with(|f| f.rule.merge_queue = true), [Code::Queue]);
        assert_eq!(with(|f| f.waits = true), [Code::Dependency]);
        assert_eq!(
            with(|f| f.styles = Some(MergeStyles::default())),
            [Code::Style]
        );
        assert_eq!(with(|f| f.rule.cannot_sign = true), [Code::Signing]);
        assert_eq!(with(|f| f.rule.requires_signatures = true), []);
        assert_eq!(with(|f| f.rule.required_approvals = 1), [Code::Approvals]);
        assert_eq!(with(|f| f.pr.ruling = Ruling::Blocked), [Code::Blocked]);
        assert_eq!(with(|f| f.behind = true), []);
        let both = with(|f| {
            f.behind = true;
            f.rule.require_up_to_date = true;
            f.pr.ruling = Ruling::Blocked;
        });
        assert_eq!(both, [Code::Behind]);
    }

    fn review(author: &str, state: ReviewState, official: Option<bool>) -> Review {
        Review {
            author: author.to_owned(),
            state,
            official,
            stale: false,
            commit: None,
            submitted: None,
        }
    }

    #[test]
    fn a_clear_ruling_overrides_all_but_queue_permission_and_archive() {
        let mut facts = facts();
        facts.rule.required_approvals = 1;
        facts.rule.partial = true;
        facts.rule.block_on_rejected_reviews = true;
        facts.rule.require_up_to_date = true;
        facts.rule.required_checks = vec!["ci".to_owned(), "lint".to_owned()];
        facts.checks = vec![check("lint", CheckState::Failure)];
        facts.reviews = vec![review("amy", ReviewState::ChangesRequested, Some(true))];
        facts.behind = true;
        assert_eq!(
            codes(&facts),
            [
                Code::ChecksFailed,
                Code::ChecksMissing,
                Code::Approvals,
                Code::ChangesRequested,
                Code::Behind
            ]
        );
        facts.pr.ruling = Ruling::Clear;
        assert_eq!(obstacles(&facts), Obstacles::default());
        facts.rule.merge_queue = true;
        facts.may_merge = Some(false);
        assert_eq!(codes(&facts), [Code::NotPermitted, Code::Queue]);
        facts.archived = true;
        assert_eq!(codes(&facts), [Code::Archived, Code::Queue]);
        facts = self::facts();
        facts.pr.ruling = Ruling::Behind;
        assert_eq!(codes(&facts), [Code::Behind]);
    }

    #[test]
    fn checks_that_cannot_be_read_are_unknown() {
        let mut facts = facts();
        facts.rule.required_checks = vec!["ci".to_owned()];
        facts.hidden_checks = true;
        assert_eq!(codes(&facts), []);
        assert_eq!(unknown(&facts), [Code::ChecksMissing]);
        facts.pr.ruling = Ruling::Blocked;
        assert_eq!(codes(&facts), [Code::Blocked]);
    }

    #[test]
    fn a_rule_that_cannot_be_read_makes_a_fact_unknown_and_no_blocker() {
        let mut facts = facts();
        facts.behind = true;
        facts.reviews = vec![review("amy", ReviewState::Pending, Some(true))];
        assert_eq!(obstacles(&facts), Obstacles::default());
        facts.rule.partial = true;
        let found = obstacles(&facts);
        assert_eq!(codes_of(&found.blockers), []);
        let unknown = codes_of(&found.unknown);
        assert_eq!(unknown, [Code::ReviewRequested, Code::Behind]);
        let said = &found.unknown[1].message;
        assert!(said.ends_with("cannot be read"), "{said}");
        // The forge named another reason.
        facts.pr.ruling = Ruling::Blocked;
        assert_eq!(codes(&facts), [Code::Blocked]);
        assert_eq!(self::unknown(&facts), [Code::ReviewRequested]);
    }

    #[test]
    fn reviews_of_reviewers_without_known_rights_are_unknown() {
        let mut facts = facts();
        facts.rule.required_approvals = 1;
        facts.rule.block_on_rejected_reviews = true;
        facts.reviews = vec![review("amy", ReviewState::Approved, None)];
        assert_eq!(codes(&facts), []);
        assert_eq!(unknown(&facts), [Code::Approvals]);
        facts.rule.required_approvals = 2;
        assert_eq!(codes(&facts), [Code::Approvals]);
        facts.rule.required_approvals = 0;
        facts.reviews = vec![review("amy", ReviewState::ChangesRequested, None)];
        assert_eq!(codes(&facts), []);
        assert_eq!(unknown(&facts), [Code::ChangesRequested]);
        facts.reviews = vec![review("amy", ReviewState::ChangesRequested, Some(false))];
        assert_eq!(obstacles(&facts), Obstacles::default());
    }

    #[test]
    fn a_rule_that_the_caller_may_bypass_does_not_block() {
        let mut facts = facts();
        facts.rule.required_approvals = 1;
        facts.pr.ruling = Ruling::Blocked;
        facts.may_bypass = true;
        let found = obstacles(&facts);
        assert_eq!(codes_of(&found.blockers), []);
        assert_eq!(codes_of(&found.bypassed), [Code::Approvals]);
        facts.mergeability = Mergeability::Conflict;
        assert_eq!(codes(&facts), [Code::Conflict]);
    }

    #[test]
    fn a_check_of_another_app_is_not_the_required_one() {
        let mut facts = facts();
        facts.globs = false;
        facts.rule.required_checks = vec!["build".to_owned()];
        facts.rule.check_apps = [("build".to_owned(), 7)].into();
        let of_app = |app, state| Check {
            app: Some(app),
            ..check("build", state)
        };
        facts.checks = vec![
            of_app(7, CheckState::Success),
            of_app(8, CheckState::Failure),
        ];
        assert_eq!(codes(&facts), []);
        facts.checks = vec![of_app(8, CheckState::Success)];
        assert_eq!(codes(&facts), [Code::ChecksMissing]);
        facts.rule.check_apps.clear();
        facts.checks = vec![of_app(8, CheckState::Failure)];
        assert_eq!(codes(&facts), [Code::ChecksFailed]);
    }

    #[test]
    fn required_checks_are_patterns_where_the_forge_has_them() {
        let mut facts = facts();
        facts.rule.required_checks = vec!["ci/*".to_owned(), "lint".to_owned()];
        facts.checks = vec![
            check("ci/a", CheckState::Success),
            check("ci/b", CheckState::Failure),
            check("ci/c", CheckState::Pending),
            check("other", CheckState::Failure),
        ];
        let tally = Tally::of(&facts);
        assert_eq!(
            tally.counts,
            Checks {
                required: 2,
                passed: 1,
                failed: 2,
                pending: 2
            }
        );
        assert_eq!(tally.failed, ["ci/b"]);
        assert_eq!(tally.pending, ["ci/c"]);
        assert_eq!(tally.missing, ["lint"]);
        assert_eq!(
            codes(&facts),
            [Code::ChecksFailed, Code::ChecksPending, Code::ChecksMissing]
        );
        facts.globs = false;
        assert_eq!(Tally::of(&facts).missing, ["ci/*", "lint"]);
        facts.rule.required_checks = vec!["x [1]".to_owned()];
        facts.checks = vec![check("x [1]", CheckState::Success)];
        assert_eq!(codes(&facts), []);
        facts.globs = true;
        assert_eq!(codes(&facts), [Code::ChecksMissing]);
        facts.checks = vec![check("x 1", CheckState::Success)];
        assert_eq!(codes(&facts), []);
    }

    #[test]
    fn a_check_that_nobody_requires_stops_nothing() {
        let mut facts = facts();
        facts.checks = vec![check("ci", CheckState::Failure)];
        assert_eq!(codes(&facts), []);
        facts.rule.required_checks = vec!["*".to_owned()];
        assert_eq!(codes(&facts), [Code::ChecksFailed]);
        facts.checks.clear();
        assert_eq!(codes(&facts), [Code::ChecksMissing]);
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..12).map(|n| n.to_string()).collect();
        assert!(listed(&names).ends_with("`9` and 2 more"));
        let long = vec!["x".repeat(100_000); 12];
        assert!(listed(&long).len() < 5_000);
    }
}
