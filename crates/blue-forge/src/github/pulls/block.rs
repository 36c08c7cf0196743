//! Why GitHub will not merge, read from its words: all of it is one status

use crate::MergeBlock;

/// The first that fits counts; one message may hold several reasons
const WORDS: &[(&str, MergeBlock)] = &[
    ("merge queue", MergeBlock::Queue),
    ("still a draft", MergeBlock::Draft),
    ("draft", MergeBlock::Draft),
    ("due to conflicts", MergeBlock::Conflict),
    ("merge conflict", MergeBlock::Conflict),
    ("are not allowed on this repository", MergeBlock::Style),
    ("must not contain merge commits", MergeBlock::Style),
    ("not an allowed merge method", MergeBlock::Style),
    ("verified signatures", MergeBlock::Signing),
    ("must be signed", MergeBlock::Signing),
    ("status check", MergeBlock::Checks),
    ("code scanning", MergeBlock::Checks),
    ("deployments", MergeBlock::Checks),
    ("requesting changes", MergeBlock::ChangesRequested),
    ("changes requested", MergeBlock::ChangesRequested),
    ("changes have been requested", MergeBlock::ChangesRequested),
    ("requested changes", MergeBlock::ChangesRequested),
    ("code owner review", MergeBlock::ReviewRequested),
    ("approving review", MergeBlock::Approvals),
    ("review is required", MergeBlock::Approvals),
    ("not up to date", MergeBlock::Behind),
    ("out-of-date", MergeBlock::Behind),
    ("out of date", MergeBlock::Behind),
    ("not authorized", MergeBlock::NotPermitted),
    ("not permitted", MergeBlock::NotPermitted),
    ("can't be rebased", MergeBlock::Conflict),
];

pub(super) fn of_words(message: &str) -> MergeBlock {
    let message = message.to_lowercase();
    WORDS
        .iter()
        .find(|(words, _)| message.contains(words))
        .map_or(MergeBlock::Other, |(_, block)| *block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_github() {
        for (message, block) in [
            (
                "Changes must be made through the merge queue",
                MergeBlock::Queue,
            ),
            ("Pull Request is still a draft", MergeBlock::Draft),
            (
                "Squash merges are not allowed on this repository.",
                MergeBlock::Style,
            ),
            (
                "Required status check \"ci\" is expected.",
                MergeBlock::Checks,
            ),
            (
                "2 of 3 required status checks have not succeeded: 1 expected.",
                MergeBlock::Checks,
            ),
            (
                "At least 1 approving review is required by reviewers with write access.",
                MergeBlock::Approvals,
            ),
            (
                "Waiting on code owner review from octo/team.",
                MergeBlock::ReviewRequested,
            ),
            (
                "Commits must have verified signatures.",
                MergeBlock::Signing,
            ),
            (
                "You're not authorized to push to this branch.",
                MergeBlock::NotPermitted,
            ),
            (
                "This branch can't be rebased due to conflicts",
                MergeBlock::Conflict,
            ),
            ("Something new", MergeBlock::Other),
        ] {
            assert_eq!(of_words(message), block, "{message}");
        }
    }
}
