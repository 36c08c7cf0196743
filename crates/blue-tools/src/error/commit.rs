//! Advice on a commit that the forge refused

use blue_forge::ForgeError;

use super::{ToolError, hints};
use crate::Repo;

/// What forges say where a rule of the branch is in the way
const BRANCH_WORDS: [&str; 5] = [
    "protected",
    "target branch",
    "cannot commit to repo",
    "rule violation",
    "pull request",
];

/// Why a forge does not let this caller do something, as far as its message tells
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Denial {
    /// The token lacks a scope or a permission that its user may well have
    Scope,
    /// The user may not write to the repository at all
    Repository,
    /// A rule protects the name of a branch that does not exist yet
    NewName,
    /// A rule protects the branch
    Branch,
    Unknown,
}

impl Denial {
    pub(super) fn of(message: &str) -> Self {
        let said = message.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
        if says(&["scope", "resource not accessible by"]) {
            Self::Scope
        } else if says(&["permission to write to a repo"]) {
            Self::Repository
        } else if says(&["cannot be created"]) {
            Self::NewName
        } else if says(&BRANCH_WORDS) {
            Self::Branch
        } else {
            Self::Unknown
        }
    }

    /// Reads the message, and asks for the caller's rights where it says too little
    ///
    /// Gitea has one message for a user who may only read and for a protected branch.
    async fn find(repo: &Repo, message: &str) -> Self {
        let denial = Self::of(message);
        if !matches!(denial, Self::Branch | Self::Unknown) {
            return denial;
        }
        let found = repo.forge.repository(&repo.id).await.ok();
        match found.and_then(|found| found.permissions) {
            Some(may) if !may.push => Self::Repository,
            _ => denial,
        }
    }
}

/// How the same change is sent to another branch, in the words of each interface
pub(crate) struct Resend {
    /// For a caller that sends JSON
    pub(crate) sent: String,
    /// For a user who types a command
    pub(crate) typed: String,
}

/// Returns the name that advice proposes for a branch beside `branch`
///
/// Without a slash, so that a rule for `release/*` does not hold for it.
pub(crate) fn branch_beside(branch: &str) -> String {
    format!("{}-changes", branch.replace('/', "-"))
}

impl ToolError {
    /// Converts the refusal of a commit to `branch`
    ///
    /// A protected branch has a way around it, which `resend` describes; a missing scope or a missing
    /// right has another one, and must not be mistaken for it.
    pub(crate) async fn of_commit(
        repo: &Repo,
        error: ForgeError,
        branch: &str,
        resend: &Resend,
    ) -> Self {
        let denial = match &error {
            // No other branch of a mirror, or beside a used-up quota, takes a commit either.
            ForgeError::Forbidden {
                message, status, ..
            } if !message.contains("is a mirror") && *status != Some(413) => {
                Denial::find(repo, message).await
            }
            _ => return Self::from(error),
        };
        Self::from(error).of_denial(denial, branch, resend)
    }

    pub(super) fn of_denial(self, denial: Denial, branch: &str, resend: &Resend) -> Self {
        let error = self;
        let other = branch_beside(branch);
        let open = format!("pr_create, head \"{other}\", base \"{branch}\"");
        match denial {
            Denial::Branch => error
                .with_hint(format!("{}, then {open}", resend.sent))
                .with_typed_hint(format!("{}, then {open}", resend.typed)),
            Denial::NewName => error
                .with_hint(format!(
                    "choose another name, such as `branch: \"{other}\"`"
                ))
                .with_typed_hint(format!("choose another name, such as `--branch {other}`")),
            Denial::Repository => error.with_hint(hints::READ_ONLY_USER_HINT),
            Denial::Scope | Denial::Unknown => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_scope_is_not_taken_for_a_protected_branch() {
        for (message, denial) in [
            (
                "token does not have at least one of required scope(s): [write:repository]",
                Denial::Scope,
            ),
            (
                "Resource not accessible by personal access token",
                Denial::Scope,
            ),
            (
                "user should have a permission to write to a repo",
                Denial::Repository,
            ),
            (
                "user should have a permission to write to the target branch",
                Denial::Branch,
            ),
            (
                "Repository rule violations found\n\nChanges must be made through a pull request.",
                Denial::Branch,
            ),
            ("user cannot commit to repo [user: alice]", Denial::Branch),
            ("branch protected", Denial::Branch),
            (
                "branch `rel/2` cannot be created: its name is protected",
                Denial::NewName,
            ),
            ("no", Denial::Unknown),
        ] {
            assert_eq!(Denial::of(message), denial, "{message}");
        }
        assert_eq!(branch_beside("rel/2"), "rel-2-changes");
    }
}
