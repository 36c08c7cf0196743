//! What is in the way of a merge, as a closed list of codes

use blue_core::forge::{
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
    /// It may be none: whether the rule wants it could not be read
    #[serde(skip)]
    #[schemars(skip)]
    pub(super) doubt: bool,
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
        for wanted in required {
            // `x [1]` is no name there: it is a pattern that means `x 1`, and nothing else.
            let fits = |check: &&Check| {
                if facts.globs {
                    glob::matches(wanted, &check.context, &[])
                } else {
                    check.context == *wanted
                }
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

pub(super) fn find(facts: &Facts, tally: &Tally, standing: &Standing) -> Vec<Blocker> {
    let mut found = Vec::new();
    let pr = &facts.pr;
    let mut add = |code, message: String| found.push(Blocker::known(code, message));
    let base = &pr.base.branch;
    match facts.mergeability {
        Mergeability::Merged => {
            add(Code::Merged, "it is merged already".to_owned());
            return found;
        }
        Mergeability::Closed => {
            add(Code::Closed, "it is closed".to_owned());
            return found;
        }
        _ => {}
    }
    if facts.archived {
        add(Code::Archived, "the repository is archived".to_owned());
    } else if facts.may_merge == Some(false) {
        let message = format!("this user or token may not merge into `{base}`");
        add(Code::NotPermitted, message);
    }
    if pr.draft {
        add(Code::Draft, "it is a draft".to_owned());
    }
    match facts.mergeability {
        Mergeability::Conflict => {
            add(Code::Conflict, format!("the head conflicts with `{base}`"));
        }
        Mergeability::Empty => add(Code::Empty, "it changes nothing".to_owned()),
        Mergeability::Checking => {
            let message = format!("{} still computes whether the branches merge", facts.host);
            add(Code::Checking, message);
        }
        _ => {}
    }
    if facts.waits {
        let message = "it depends on another one that is still open".to_owned();
        found.push(Blocker::known(Code::Dependency, message));
    }
    checks(facts, tally, &mut found);
    rules(facts, standing, &mut found);
    if found.iter().all(|blocker| blocker.doubt) && pr.ruling == Ruling::Blocked {
        let message = "the forge says that a rule is in the way, and not which".to_owned();
        found.push(Blocker::known(Code::Blocked, message));
    }
    found
}

impl Blocker {
    fn known(code: Code, message: String) -> Self {
        Self {
            code,
            message,
            doubt: false,
        }
    }

    /// Of a rule that may not be read
    fn doubtful(code: Code, message: &str) -> Self {
        Self {
            code,
            message: format!("{message}; whether that blocks it cannot be read"),
            doubt: true,
        }
    }
}

fn checks(facts: &Facts, tally: &Tally, found: &mut Vec<Blocker>) {
    let mut add = |code, said: &str, names: &[String]| {
        if !names.is_empty() {
            found.push(Blocker::known(code, format!("{said}: {}", listed(names))));
        }
    };
    add(Code::ChecksFailed, "required checks failed", &tally.failed);
    add(
        Code::ChecksPending,
        "required checks still run",
        &tally.pending,
    );
    if !facts.hidden_checks {
        let said = "required checks have not reported";
        add(Code::ChecksMissing, said, &tally.missing);
    } else if facts.pr.ruling != Ruling::Clear {
        let said = "required checks have not reported, or cannot be read";
        add(Code::ChecksMissing, said, &tally.missing);
    }
}

fn rules(facts: &Facts, standing: &Standing, found: &mut Vec<Blocker>) {
    let (pr, rule) = (&facts.pr, &facts.rule);
    let base = &pr.base.branch;
    // The forge has the last word on its own rules.
    let clear = pr.ruling == Ruling::Clear;
    // Of a rule that may not be read the safe half is believed.
    let in_doubt = rule.partial && !clear;
    let mut add = |code, stops: bool, message: String| {
        if stops {
            found.push(Blocker::known(code, message));
        } else if in_doubt {
            found.push(Blocker::doubtful(code, &message));
        }
    };
    let given = standing.approved.len();
    let needed = rule.required_approvals;
    // Who counts can only be guessed on GitHub.
    if given < needed as usize && !clear {
        let message = format!("{given} of {needed} required approvals are given");
        add(Code::Approvals, true, message);
    }
    if !standing.rejected.is_empty() {
        let message = format!("changes are requested by {}", listed(&standing.rejected));
        add(
            Code::ChangesRequested,
            rule.block_on_rejected_reviews,
            message,
        );
    }
    if !standing.asked.is_empty() {
        let message = format!("a review is asked for from {}", listed(&standing.asked));
        add(
            Code::ReviewRequested,
            rule.block_on_review_requests,
            message,
        );
    }
    if facts.behind && rule.require_up_to_date || pr.ruling == Ruling::Behind {
        let message = format!("the head lacks commits of `{base}`, which must be in it first");
        add(Code::Behind, true, message);
    } else if facts.behind && pr.ruling == Ruling::Unknown {
        let message = format!("the head lacks commits of `{base}`");
        add(Code::Behind, false, message);
    }
    if !facts.protected.is_empty() {
        let files = listed(&facts.protected);
        let message = format!("it changes files that the rule of `{base}` protects: {files}");
        add(Code::ProtectedFiles, true, message);
    }
    if rule.cannot_sign {
        let message = format!(
            "`{base}` takes signed commits only, and {} has no key to sign a merge with",
            facts.host
        );
        add(Code::Signing, true, message);
    }
    if rule.merge_queue {
        let message = format!("`{base}` is merged through a queue");
        add(Code::Queue, true, message);
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
    use blue_core::forge::model::{
        Mergeable, PrSide, PrState, Protection, PullRequest, Review, ReviewState,
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
                quiet_since: None,
                merge_base: None,
                ruling: Ruling::Unknown,
                archived: false,
                merge_sha: None,
                changed_files: None,
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
        }
    }

    fn codes(facts: &Facts) -> Vec<Code> {
        let standing = Standing::of(&facts.reviews, &facts.rule);
        let found = find(facts, &Tally::of(facts), &standing);
        found.into_iter().map(|blocker| blocker.code).collect()
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
        assert_eq!(
            with(|f| f.mergeability = Mergeability::Checking),
            [Code::Checking]
        );
        assert_eq!(with(|f| f.pr.draft = true), [Code::Draft]);
        assert_eq!(with(|f| f.archived = true), [Code::Archived]);
        assert_eq!(with(|f| f.may_merge = Some(false)), [Code::NotPermitted]);
        assert_eq!(with(|f| f.rule.merge_queue = true), [Code::Queue]);
        assert_eq!(with(|f| f.waits = true), [Code::Dependency]);
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

    #[test]
    fn the_forge_has_the_last_word_on_its_own_rules() {
        let mut facts = facts();
        facts.rule.required_approvals = 1;
        facts.rule.partial = true;
        facts.rule.required_checks = vec!["ci".to_owned()];
        facts.hidden_checks = true;
        facts.behind = true;
        assert_eq!(
            codes(&facts),
            [Code::ChecksMissing, Code::Approvals, Code::Behind]
        );
        facts.pr.ruling = Ruling::Clear;
        assert_eq!(codes(&facts), []);
        // A check that can be read is not explained away.
        facts.hidden_checks = false;
        assert_eq!(codes(&facts), [Code::ChecksMissing]);
        facts.rule = Protection::none();
        facts.pr.ruling = Ruling::Behind;
        facts.behind = false;
        assert_eq!(codes(&facts), [Code::Behind]);
    }

    #[test]
    fn what_may_not_be_read_is_a_doubt() {
        let mut facts = facts();
        facts.behind = true;
        facts.reviews = vec![Review {
            author: "amy".to_owned(),
            state: ReviewState::Pending,
            official: Some(true),
            stale: false,
            commit: None,
            submitted: None,
        }];
        assert_eq!(codes(&facts), []);
        facts.rule.partial = true;
        assert_eq!(codes(&facts), [Code::ReviewRequested, Code::Behind]);
        let standing = Standing::of(&facts.reviews, &facts.rule);
        let found = find(&facts, &Tally::of(&facts), &standing);
        assert!(found.iter().all(|blocker| blocker.doubt), "{found:?}");
        assert!(found[1].message.ends_with("cannot be read"), "{found:?}");
        // The forge named another reason.
        facts.pr.ruling = Ruling::Blocked;
        assert_eq!(codes(&facts), [Code::ReviewRequested, Code::Blocked]);
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
