//! A refused merge in the forge's words, sorted by what is in the way
//!
//! The servers use one status (405) for nearly everything, and 500 for some mistakes of the
//! caller, so only the text tells.

use crate::{ConflictKind, ForgeError, MergeBlock, rest::Answer};
use blue_base::{host::Host, text::clean_line};

/// What a refused merge means
#[derive(Debug)]
pub(super) enum Refusal {
    /// Still checking, or a conflict, or nothing to merge: the server says the same for all
    TryAgain(String),
    /// The base moved while the merge was made
    BaseMoved(String),
    AlreadyMerged,
    Final(ForgeError),
}

/// Words of a 405 or 500 and what they mean
const WORDS: &[(&str, MergeBlock)] = &[
    ("work in progress", MergeBlock::Draft),
    ("required status checks", MergeBlock::Checks),
    ("enough approvals", MergeBlock::Approvals),
    ("code owner", MergeBlock::Approvals),
    ("codeowner", MergeBlock::Approvals),
    ("requested changes", MergeBlock::ChangesRequested),
    ("official review requests", MergeBlock::ReviewRequested),
    ("behind the base branch", MergeBlock::Behind),
    ("protected files", MergeBlock::ProtectedFiles),
    ("allowed merge style", MergeBlock::Style),
    ("merge style", MergeBlock::Style),
    ("wont sign", MergeBlock::Signing),
    ("won't sign", MergeBlock::Signing),
    ("open dependency", MergeBlock::Dependency),
    ("blocked by", MergeBlock::Dependency),
    ("divergingfastforwardonly", MergeBlock::FastForward),
    ("not possible to fast-forward", MergeBlock::FastForward),
    ("unrelated histories", MergeBlock::Conflict),
    ("is closed", MergeBlock::Closed),
    // The head: the pull request is closed for it a moment later.
    ("branch does not exist", MergeBlock::Closed),
    // Last: Forgejo says it before every reason, and alone it means the caller's right.
    ("not allowed to merge", MergeBlock::NotPermitted),
];

/// Returns the reason of `not allowed to merge [reason: …]`, which Forgejo writes for every rule
fn reason_in(message: &str) -> Option<&str> {
    let (_, reason) = message.split_once("not allowed to merge [reason: ")?;
    let reason = reason.strip_suffix(']').unwrap_or(reason).trim();
    (!reason.is_empty()).then_some(reason)
}

pub(super) fn read(answer: Answer) -> Refusal {
    let message = answer.message();
    let said = answer.unmasked();
    let reason = reason_in(&said).map(|reason| answer.mask(reason));
    let low = reason_in(&said).unwrap_or(&said).to_lowercase();
    let status = answer.status.as_u16();
    let block = || WORDS.iter().find(|(words, _)| low.contains(words));
    let refuse = |block| {
        Refusal::Final(ForgeError::NotMergeable {
            reason: block,
            message: reason.clone().unwrap_or_else(|| answer.message_or_reason()),
            status: Some(status),
        })
    };
    match status {
        405 if low.contains("try again later") => Refusal::TryAgain(message),
        405 if low.contains("already merged") => Refusal::AlreadyMerged,
        405 | 500 if block().is_some() => refuse(block().map_or(MergeBlock::Other, |(_, b)| *b)),
        405 => refuse(MergeBlock::Other),
        409 => conflict(&answer, &low, message),
        _ => Refusal::Final(answer.into_error()),
    }
}

fn conflict(answer: &Answer, low: &str, message: String) -> Refusal {
    let conflict = |kind, message| {
        Refusal::Final(ForgeError::Conflict {
            kind,
            message,
            status: Some(answer.status.as_u16()),
        })
    };
    if low.contains("head out of date") {
        return conflict(ConflictKind::HeadMoved { current: None }, message);
    }
    if low.contains("push out of date") {
        return Refusal::BaseMoved(message);
    }
    if low.contains("already scheduled") {
        return conflict(ConflictKind::Exists, message);
    }
    // Some builds fail to write the object and send nothing at all.
    let object = conflict_object(&answer.body).or_else(|| {
        message
            .is_empty()
            .then(|| "the branches conflict".to_owned())
    });
    if let Some(message) = object {
        return Refusal::Final(ForgeError::NotMergeable {
            reason: MergeBlock::Conflict,
            message,
            status: Some(answer.status.as_u16()),
        });
    }
    conflict(ConflictKind::Other, answer.message_or_reason())
}

/// The object of git's output that stands for a conflict: it has no message of its own
fn conflict_object(body: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    if value.get("Style").is_none() && value.get("StdOut").is_none() {
        return None;
    }
    let text = |key: &str| value.get(key).and_then(|v| v.as_str()).unwrap_or_default();
    let lines: Vec<&str> = text("StdOut")
        .lines()
        .chain(text("StdErr").lines())
        .map(str::trim)
        .filter(|l| l.contains("CONFLICT") || l.contains("unrelated histories"))
        .collect();
    Some(if lines.is_empty() {
        let all = clean_line(&format!("{} {}", text("StdOut"), text("StdErr")));
        if all.is_empty() {
            "the branches conflict".to_owned()
        } else {
            all
        }
    } else {
        clean_line(&lines.join("; "))
    })
}

/// The error for a merge that still was refused with "try again later" after all patience
pub(super) fn still_checking(host: &Host, message: &str) -> ForgeError {
    ForgeError::NotMergeable {
        reason: MergeBlock::Checking,
        message: if message.is_empty() {
            format!("{host} is still checking whether the branches merge")
        } else {
            message.to_owned()
        },
        status: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, body: &str) -> Refusal {
        read(Answer::for_test(status, body))
    }

    fn reason(status: u16, message: &str) -> Option<MergeBlock> {
        let body = serde_json::json!({"message": message, "url": "http://x"}).to_string();
        match refusal(status, &body) {
            Refusal::Final(ForgeError::NotMergeable {
                reason, message: m, ..
            }) => {
                assert!(m.contains(message), "{m} keeps {message}");
                Some(reason)
            }
            _ => None,
        }
    }

    #[test]
    fn reasons_by_message() {
        for (status, message, expected) in [
            (
                405,
                "User not allowed to merge PR",
                MergeBlock::NotPermitted,
            ),
            (
                405,
                "Work in progress PRs cannot be merged",
                MergeBlock::Draft,
            ),
            (
                405,
                "Not all required status checks successful",
                MergeBlock::Checks,
            ),
            (405, "Does not have enough approvals", MergeBlock::Approvals),
            (
                405,
                "There are requested changes",
                MergeBlock::ChangesRequested,
            ),
            (
                405,
                "There are official review requests",
                MergeBlock::ReviewRequested,
            ),
            (
                405,
                "The head branch is behind the base branch",
                MergeBlock::Behind,
            ),
            (405, "Changed protected files", MergeBlock::ProtectedFiles),
            (
                405,
                "rebase is not allowed an allowed merge style for this repository",
                MergeBlock::Style,
            ),
            (405, "wont sign: nokey", MergeBlock::Signing),
            (405, "something new", MergeBlock::Other),
            (
                500,
                "is blocked by an open dependency",
                MergeBlock::Dependency,
            ),
            (
                500,
                "Merge DivergingFastForwardOnly Error: exit status 128",
                MergeBlock::FastForward,
            ),
            (
                500,
                "branch does not exist [repo_id: 0 name: gone]",
                MergeBlock::Closed,
            ),
        ] {
            assert_eq!(reason(status, message), Some(expected), "{message}");
        }
    }

    #[test]
    fn reason_after_the_right_to_merge_is_the_one_that_counts() {
        for (reason, expected) in [
            (
                "Not all required status checks successful",
                MergeBlock::Checks,
            ),
            ("Does not have enough approvals", MergeBlock::Approvals),
            ("There are requested changes", MergeBlock::ChangesRequested),
            (
                "There are official review requests",
                MergeBlock::ReviewRequested,
            ),
            (
                "The head branch is behind the base branch",
                MergeBlock::Behind,
            ),
            ("Changed protected files", MergeBlock::ProtectedFiles),
            ("A rule of tomorrow", MergeBlock::Other),
        ] {
            let said = format!("not allowed to merge [reason: {reason}]");
            let body = serde_json::json!({ "message": said }).to_string();
            let Refusal::Final(ForgeError::NotMergeable {
                reason: block,
                message,
                ..
            }) = refusal(405, &body)
            else {
                panic!("{said}");
            };
            assert_eq!((block, message.as_str()), (expected, reason));
        }
        assert_eq!(
            reason(405, "User not allowed to merge PR"),
            Some(MergeBlock::NotPermitted)
        );
        assert_eq!(reason(405, "won't sign: nokey"), Some(MergeBlock::Signing));
    }

    #[test]
    fn the_other_refusals() {
        let text = |m: &str| serde_json::json!({ "message": m }).to_string();
        assert!(matches!(
            refusal(405, &text("Please try again later")),
            Refusal::TryAgain(_)
        ));
        assert!(matches!(
            refusal(405, &text("The PR is already merged")),
            Refusal::AlreadyMerged
        ));
        assert!(matches!(
            refusal(409, &text("merge push out of date")),
            Refusal::BaseMoved(_)
        ));
        assert!(matches!(
            refusal(409, &text("head out of date")),
            Refusal::Final(ForgeError::Conflict {
                kind: ConflictKind::HeadMoved { .. },
                ..
            })
        ));
        assert!(matches!(
            refusal(500, &text("disk full")),
            Refusal::Final(ForgeError::Unexpected { status: 500, .. })
        ));
        assert!(matches!(
            refusal(405, ""),
            Refusal::Final(ForgeError::NotMergeable {
                reason: MergeBlock::Other,
                ..
            })
        ));
    }

    #[test]
    fn a_conflict_object_is_made_readable() {
        let body = r#"{"Style":"merge","StdOut":"Auto-merging a.txt\nCONFLICT (content): Merge conflict in a.txt\nAutomatic merge failed","StdErr":"","Err":{}}"#;
        let Refusal::Final(ForgeError::NotMergeable {
            reason,
            message,
            status: Some(409),
        }) = refusal(409, body)
        else {
            panic!("not a conflict");
        };
        assert_eq!(reason, MergeBlock::Conflict);
        assert_eq!(message, "CONFLICT (content): Merge conflict in a.txt");
        assert!(matches!(
            refusal(409, ""),
            Refusal::Final(ForgeError::NotMergeable {
                reason: MergeBlock::Conflict,
                ..
            })
        ));
    }
}
