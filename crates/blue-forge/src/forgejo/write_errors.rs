//! Reason for a refused write, read from the error message of the server
//!
//! The status does not tell: a stale file is 422, 409 or 400, depending on the server's version, and a
//! lost race is 403, 409 or 500.

use super::{Forgejo, write::Operation};
use crate::{
    ConflictKind, ForgeError, Result,
    model::{RepoId, Sha},
    rest::Answer,
};
use blue_base::text::clean_line;

/// A write as it was sent
#[derive(Debug)]
pub(super) struct Sent<'a> {
    pub(super) repo: &'a RepoId,
    pub(super) branch: &'a str,
    /// Where the branch was; none when it was not there
    pub(super) before: Option<&'a Sha>,
    /// What the files were looked up in; none for the default branch
    pub(super) head: Option<&'a Sha>,
    pub(super) operations: &'a [Operation],
}

/// What the words mean
#[derive(Debug, PartialEq, Eq)]
enum Meaning {
    /// The file is another by now; what was given and what is there, where told
    Stale {
        given: Option<String>,
        current: Option<Sha>,
        path: Option<String>,
    },
    /// Another push moved the branch first
    Race,
    /// `a` and `a/b` cannot both be branches
    NameClash,
    BranchExists,
    NoBranch,
    BadBranch,
    BadPath,
    LongPath,
    Other,
}

impl Forgejo {
    pub(super) async fn write_error(&self, sent: &Sent<'_>, answer: Answer) -> ForgeError {
        let status = answer.status.as_u16();
        self.why(sent, answer).await.answered(status)
    }

    async fn why(&self, sent: &Sent<'_>, answer: Answer) -> ForgeError {
        let message = answer.message_or_reason();
        // Gitea says of a mirror what it says of an archived repository.
        if answer.status.as_u16() == 423
            && let Some(mirror) = self.mirror_refusal(sent.repo).await
        {
            return mirror;
        }
        let said = match answer.unmasked() {
            said if said.is_empty() => message.clone(),
            said => said,
        };
        match meaning(answer.status.as_u16(), &said) {
            Meaning::Stale {
                given,
                current,
                path,
            } => self.stale(sent, message, given, current, path).await,
            Meaning::NameClash => ForgeError::Conflict {
                kind: ConflictKind::NameClash,
                message,
                status: None,
            },
            // A branch that exists was not there a moment ago.
            Meaning::Race | Meaning::BranchExists => self.head_moved(sent, message).await,
            Meaning::NoBranch => {
                let what = format!("branch `{}` of `{}`", sent.branch, sent.repo);
                self.missing(sent.repo, what).await
            }
            // The server names a rule of its own, and not the branch.
            Meaning::BadBranch => ForgeError::Invalid {
                message: format!("`{}` is not a branch name: {message}", sent.branch),
                status: None,
            },
            // The server's text has a path of its own disk in it.
            Meaning::BadPath => ForgeError::Invalid {
                message: "a path leads out of the repository".to_owned(),
                status: None,
            },
            Meaning::LongPath => {
                let lengths = sent.operations.iter().map(|op| op.path.chars().count());
                let longest = lengths.max().unwrap_or_default();
                ForgeError::Invalid {
                    message: format!(
                        "a path of {longest} characters is longer than this server takes: {message}"
                    ),
                    status: None,
                }
            }
            // All that the server says is the path.
            Meaning::Other if sent.operations.iter().any(|op| op.path == said) => {
                ForgeError::Invalid {
                    message: format!("this server takes no file called `{message}`"),
                    status: None,
                }
            }
            Meaning::Other => {
                if answer.status.as_u16() == 500
                    && let Some(error) = self.silent(sent, &message).await
                {
                    return error;
                }
                let error: Result<()> = Err(answer.into_error());
                match self.explain(sent.repo, error).await {
                    Err(error) => error,
                    Ok(()) => ForgeError::Invalid {
                        message,
                        status: None,
                    },
                }
            }
        }
    }

    /// What a 500 without words was about: only site admins get to see them
    async fn silent(&self, sent: &Sent<'_>, message: &str) -> Option<ForgeError> {
        // The server hands the path to git, which takes it for an option.
        if let Some(op) = sent.operations.iter().find(|op| op.path.starts_with('-')) {
            return Some(ForgeError::Invalid {
                message: format!(
                    "this server cannot write `{}`: its path starts with a dash",
                    clean_line(&op.path)
                ),
                status: None,
            });
        }
        let now = self.branch_if_any(sent.repo, sent.branch).await.ok()?;
        let now = now.map(|branch| branch.sha);
        if now.as_ref() != sent.before {
            return Some(ForgeError::Conflict {
                kind: ConflictKind::HeadMoved { current: now },
                message: message.to_owned(),
                status: None,
            });
        }
        if sent.before.is_none()
            && let Some(clash) = self.name_clash(sent.repo, sent.branch).await
        {
            return Some(clash);
        }
        self.mirror_refusal(sent.repo).await
    }

    async fn head_moved(&self, sent: &Sent<'_>, message: String) -> ForgeError {
        let now = self.branch_if_any(sent.repo, sent.branch).await;
        // After its reason git names where it pushed to.
        let reason = message.split(" - To ").next().unwrap_or(&message);
        ForgeError::Conflict {
            kind: ConflictKind::HeadMoved {
                current: now.ok().flatten().map(|b| b.sha),
            },
            message: reason.to_owned(),
            status: None,
        }
    }

    async fn stale(
        &self,
        sent: &Sent<'_>,
        message: String,
        given: Option<String>,
        current: Option<Sha>,
        path: Option<String>,
    ) -> ForgeError {
        let path = path
            .or_else(|| {
                let given = given?;
                let mut same = sent
                    .operations
                    .iter()
                    .filter(|op| op.sha.as_ref().is_some_and(|s| s.as_str() == given));
                same.next().map(Operation::looked_at)
            })
            .or_else(|| sent.operations.first().map(Operation::looked_at))
            .unwrap_or_default();
        let current = match current {
            Some(current) => Some(current),
            None => self.blob_now(sent, &path).await,
        };
        ForgeError::Conflict {
            kind: ConflictKind::StaleFile { path, current },
            message,
            status: None,
        }
    }

    async fn blob_now(&self, sent: &Sent<'_>, path: &str) -> Option<Sha> {
        let tip = self
            .branch_if_any(sent.repo, sent.branch)
            .await
            .ok()
            .flatten()
            .map(|b| b.sha)
            .or_else(|| sent.head.cloned());
        let now = self
            .now_at(sent.repo, path, tip.as_ref())
            .await
            .ok()
            .flatten();
        now.map(|(sha, _)| sha)
    }
}

fn meaning(status: u16, message: &str) -> Meaning {
    let low = message.to_lowercase();
    let has = |words: &str| low.contains(words);
    if has("sha does not match") || has("sha doesn't match") {
        return Meaning::Stale {
            given: field(message, "given: "),
            current: field(message, "expected: ").and_then(|s| Sha::parse(&s).ok()),
            path: None,
        };
    }
    if has("file already exists") {
        return Meaning::Stale {
            given: None,
            current: None,
            path: field_to_end(message, "path: "),
        };
    }
    if has("branch does not exist") || has("branch doesn't exist") {
        return Meaning::NoBranch;
    }
    if has("branch already exists") {
        return Meaning::BranchExists;
    }
    if has("branchname]: gitrefname") || has("branchname]: maxsize") {
        return Meaning::BadBranch;
    }
    if has("path]: maxsize") {
        return Meaning::LongPath;
    }
    if has("does not exist") && (has("rel_path") || has("path: ")) {
        return Meaning::Stale {
            given: None,
            current: None,
            path: field_to_end(message, "rel_path: ").or_else(|| field_to_end(message, "path: ")),
        };
    }
    if has("; cannot create") && has("exists") {
        return Meaning::NameClash;
    }
    if [
        "push out of date",
        "pushoutofdate",
        "non-fast-forward",
        "fetch first",
        "reference already exists",
        "cannot lock ref",
        "failed to update ref",
        "but expected",
        "stale info",
        "file has changed",
        "commit id does not match",
    ]
    .iter()
    .any(|words| has(words))
    {
        return Meaning::Race;
    }
    if status == 500 && (has("outside repository") || has("invalid path")) {
        return Meaning::BadPath;
    }
    Meaning::Other
}

/// The value after a key in `[given: X, expected: Y]`
fn field(message: &str, key: &str) -> Option<String> {
    let rest = &message[message.find(key)? + key.len()..];
    let value = rest.split([',', ']']).next()?.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// Returns the value of the last key of a message, which may contain commas and brackets itself
fn field_to_end(message: &str, key: &str) -> Option<String> {
    let rest = &message[message.find(key)? + key.len()..];
    let value = rest
        .rsplit_once(']')
        .map_or(rest, |(value, _)| value)
        .trim();
    (!value.is_empty()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_their_meaning() {
        let sha = "b".repeat(40);
        assert_eq!(
            meaning(
                422,
                &format!("sha does not match [given: abc, expected: {sha}]")
            ),
            Meaning::Stale {
                given: Some("abc".to_owned()),
                current: Sha::parse(&sha).ok(),
                path: None
            }
        );
        assert_eq!(
            meaning(422, "repository file already exists [path: a, b]/c.txt]"),
            Meaning::Stale {
                given: None,
                current: None,
                path: Some("a, b]/c.txt".to_owned())
            }
        );
        assert_eq!(
            meaning(404, "object does not exist [id: , rel_path: a.txt]"),
            Meaning::Stale {
                given: None,
                current: None,
                path: Some("a.txt".to_owned())
            }
        );
        for (status, message, expected) in [
            (
                404,
                "branch does not exist [repo_id: 2 name: nope]",
                Meaning::NoBranch,
            ),
            (
                422,
                "branch already exists [name: x]",
                Meaning::BranchExists,
            ),
            (422, "[NewBranchName]: GitRefName", Meaning::BadBranch),
            (422, "[NewBranchName]: MaxSize", Meaning::BadBranch),
            (422, "[Path]: MaxSize", Meaning::LongPath),
            (
                403,
                "cannot lock ref 'refs/heads/a/b': 'refs/heads/a' exists; cannot create 'refs/heads/a/b'",
                Meaning::NameClash,
            ),
            (
                500,
                "remote: error: cannot lock ref 'refs/heads/main': is at aa but expected bb",
                Meaning::Race,
            ),
            (409, "PushOutOfDate Error: exit status 1", Meaning::Race),
            (
                500,
                "! [rejected] main -> main (non-fast-forward)",
                Meaning::Race,
            ),
            (
                403,
                "user cannot commit to repo [user: bob]",
                Meaning::Other,
            ),
            (500, "is outside repository at '/x'", Meaning::BadPath),
        ] {
            assert_eq!(meaning(status, message), expected, "{message}");
        }
    }
}
