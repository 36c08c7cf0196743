//! Who approves, who does not, and who was asked

use std::collections::BTreeMap;

use blue_forge::model::{Protection, Review, ReviewState};

/// Logins by where they stand
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) approved: Vec<String>,
    /// Whose approval may count: the forge does not tell whether they may write
    pub(super) may_approve: Vec<String>,
    pub(super) rejected: Vec<String>,
    /// Whose request for changes may count
    pub(super) may_reject: Vec<String>,
    pub(super) asked: Vec<String>,
}

impl Standing {
    /// The last word of each reviewer counts; a comment is none, and a dismissed word is taken back
    pub(super) fn of(reviews: &[Review], rule: &Protection) -> Self {
        let mut in_order: Vec<&Review> = reviews.iter().collect();
        // Where one has no time the forge's own order is kept.
        in_order.sort_by(|a, b| match (a.submitted, b.submitted) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => std::cmp::Ordering::Equal,
        });
        let mut words: BTreeMap<&str, &Review> = BTreeMap::new();
        for review in in_order {
            match review.state {
                ReviewState::Commented => {}
                // A pending review that its author has not submitted does not count; a review
                // request is marked `official` by the forge.
                ReviewState::Pending if review.official != Some(true) => {}
                _ => {
                    words.insert(&review.author, review);
                }
            }
        }
        let mut standing = Self::default();
        for (author, review) in words {
            let stale = review.stale && rule.ignore_stale_approvals;
            let list = match (review.state, review.official) {
                (ReviewState::Approved, Some(true)) if !stale => &mut standing.approved,
                (ReviewState::Approved, None) if !stale => &mut standing.may_approve,
                (ReviewState::ChangesRequested, Some(true)) => &mut standing.rejected,
                (ReviewState::ChangesRequested, None) => &mut standing.may_reject,
                (ReviewState::Pending, _) => &mut standing.asked,
                _ => continue,
            };
            list.push(author.to_owned());
        }
        standing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review(author: &str, state: ReviewState, second: i64) -> Review {
        Review {
            author: author.to_owned(),
            state,
            official: Some(true),
            stale: false,
            commit: None,
            submitted: format!("2026-01-01T00:00:{second:02}Z").parse().ok(),
        }
    }

    fn standing(reviews: &[Review]) -> (String, String, String) {
        let found = Standing::of(reviews, &Protection::none());
        (
            found.approved.join(","),
            found.rejected.join(","),
            found.asked.join(","),
        )
    }

    fn told(a: &str, b: &str, c: &str) -> (String, String, String) {
        (a.to_owned(), b.to_owned(), c.to_owned())
    }

    #[test]
    fn the_last_word_counts() {
        use ReviewState::{Approved, ChangesRequested, Commented, Dismissed, Pending};
        let bob = |state, second| review("bob", state, second);
        assert_eq!(standing(&[bob(Approved, 1)]), told("bob", "", ""));
        let words = [bob(Approved, 1), bob(ChangesRequested, 2)];
        assert_eq!(standing(&words), told("", "bob", ""));
        let words = [bob(ChangesRequested, 2), bob(Approved, 1)];
        assert_eq!(standing(&words), told("", "bob", ""));
        let words = [bob(Approved, 1), bob(Commented, 2)];
        assert_eq!(standing(&words), told("bob", "", ""));
        let words = [bob(Approved, 1), bob(Dismissed, 2)];
        assert_eq!(standing(&words), told("", "", ""));
        let words = [review("amy", Approved, 1), bob(Pending, 2)];
        assert_eq!(standing(&words), told("amy", "", "bob"));
    }

    #[test]
    fn a_word_without_weight_is_not_counted() {
        let mut reader = review("carol", ReviewState::Approved, 1);
        reader.official = Some(false);
        assert_eq!(standing(&[reader]), told("", "", ""));
        let mut unsent = review("carol", ReviewState::Pending, 1);
        unsent.official = Some(false);
        assert_eq!(standing(&[unsent]), told("", "", ""));
        let mut unknown = review("carol", ReviewState::Approved, 1);
        unknown.official = None;
        let found = Standing::of(&[unknown], &Protection::none());
        assert_eq!(
            (found.approved.len(), found.may_approve.join(",").as_str()),
            (0, "carol")
        );
        let mut old = review("carol", ReviewState::Approved, 1);
        old.stale = true;
        assert_eq!(standing(&[old.clone()]), told("carol", "", ""));
        let strict = Protection {
            ignore_stale_approvals: true,
            ..Protection::none()
        };
        assert_eq!(Standing::of(&[old], &strict), Standing::default());
    }
}
