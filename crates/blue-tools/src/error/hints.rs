//! What to do about a failure

use std::time::Duration;

use blue_base::host::Host;
use blue_forge::{ConflictKind, ForgeError, MergeBlock, WITHOUT_TOKEN};

use super::commit::Denial;

/// For a call that was not begun because too much runs already
pub(super) const BUSY_HINT: &str =
    "wait a few seconds and send the same call again; send fewer calls at once";

const RIGHTS_HINT: &str =
    "`blue forge status` shows the user, the token's scopes and the rights in the repository";
const SCOPE_HINT: &str = "the token lacks a scope or permission, whatever its user may do: use one that has it; \
     `blue forge status` shows the scopes of this one";
pub(super) const READ_ONLY_USER_HINT: &str = "this user may not write to the repository: commit to a fork, and give its `owner:branch` as \
     `head` to pr_create; `blue forge status` shows the rights in the repository";

pub(super) fn forge_hint(error: &ForgeError) -> Option<String> {
    let hint = match error {
        ForgeError::NotFound { host, what, .. } => return Some(missing_hint(host, what)),
        ForgeError::Unauthorized { host, sent, .. } => return Some(token_hint(host, *sent)),
        ForgeError::Forbidden { message, .. } if message.contains("is a mirror") => {
            "a mirror copies another repository: make the change there"
        }
        ForgeError::Forbidden {
            status: Some(413), ..
        } => "make room, or have an admin of the forge raise the quota; then try again",
        ForgeError::Forbidden { message, .. } => match Denial::of(message) {
            Denial::Scope => SCOPE_HINT,
            _ => RIGHTS_HINT,
        },
        ForgeError::MissingScope { scope, .. } => return Some(scope_hint(scope)),
        ForgeError::NotPublic { to, .. } => {
            return Some(format!(
                "if `{to}` belongs to this forge, the person who runs Blue can name it in \
                 `BLUE_PRIVATE_HOSTS`"
            ));
        }
        ForgeError::NotMergeable {
            reason: MergeBlock::Conflict,
            ..
        } => return Some(conflict_advice(None)),
        ForgeError::NotMergeable { reason, .. } => return merge_hint(*reason).map(str::to_owned),
        ForgeError::Conflict { kind, .. } => return Some(conflict_hint(kind)),
        ForgeError::Archived { .. } => "unarchive the repository first, or use another one",
        ForgeError::RateLimited { retry_after, .. } => return Some(rate_hint(*retry_after)),
        ForgeError::Busy { .. } => BUSY_HINT,
        ForgeError::Unreachable { host, .. } => return Some(unreachable_hint(host.as_str())),
        ForgeError::NoAnswer { write, .. } => no_answer_hint(*write),
        ForgeError::TooLarge { .. } => return Some(too_large_hint()),
        ForgeError::TokenHost { host, .. } => return Some(trust_hint(host.as_str())),
        ForgeError::NotAllowed(_) => NOT_ALLOWED_HINT,
        ForgeError::Moved { to, .. } => {
            return Some(format!(
                "use {to}, and update the remote with `git remote set-url`"
            ));
        }
        ForgeError::Unexpected { status: 507, .. } => {
            "free some space on the disk of the forge, then try again"
        }
        ForgeError::Unexpected { .. } if error.retryable() => {
            "the forge has a problem of its own; try again, and see its log if that does not help"
        }
        ForgeError::Unexpected { status, .. } if *status >= 500 => {
            "the forge failed, and its log says why; the same call will likely fail again"
        }
        ForgeError::Decode { .. } => {
            "is this address really a forge, and of the type that `blue forge status` shows?"
        }
        ForgeError::Invalid { .. }
        | ForgeError::Unsupported { .. }
        | ForgeError::ReadOnly { .. }
        | ForgeError::Unexpected { .. } => return None,
    };
    Some(hint.to_owned())
}

/// Where to look for what is there
fn missing_hint(host: &Host, what: &str) -> String {
    let is_path = what.starts_with("file `")
        || what.starts_with('`') && (what.contains("` in `") || what.contains("` at `"));
    let named = what.split('`').nth(1).unwrap_or_default();
    let hint = if what.ends_with(&format!("({WITHOUT_TOKEN})")) {
        return format!(
            "check owner and name; to see a private one, set {}, or an entry in `hosts.yaml`",
            token_names(host)
        );
    } else if what.ends_with("(the repository is empty)") {
        "file_write_branch makes the first commit"
    } else if what.starts_with("branch `") {
        "check the spelling: branch_list lists the branches"
    } else if what.starts_with("pull request #") {
        "check the number: pr_list state=all lists the pull requests"
    } else if is_path {
        return what_there_is(named);
    } else {
        "check the spelling; a forge also says this if the token cannot see it, or if that \
         feature is switched off"
    };
    hint.to_owned()
}

/// Where else a file may be
pub(crate) fn what_there_is(path: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, _)) if !folder.contains(char::is_whitespace) => {
            format!("dir_list path={folder} shows what there is")
        }
        _ => "dir_list path=/ shows what there is".to_owned(),
    }
}

pub(super) fn merge_hint(reason: MergeBlock) -> Option<&'static str> {
    Some(match reason {
        MergeBlock::Checking => "the forge is still computing; try again in a moment",
        MergeBlock::Empty => "there is nothing to merge: push a commit, or close the pull request",
        MergeBlock::Draft => "mark the pull request as ready first",
        MergeBlock::Closed => "reopen the pull request first",
        MergeBlock::Checks => "wait for the required checks, or see why they fail",
        MergeBlock::Approvals => "ask for the missing approvals",
        MergeBlock::ChangesRequested => "address the review that requests changes",
        MergeBlock::ReviewRequested => "a requested review is still missing",
        MergeBlock::Behind => "update the branch with its base, then try again",
        MergeBlock::ProtectedFiles => "the change touches protected files; leave them out",
        MergeBlock::NotPermitted => "ask someone who may merge into this branch",
        MergeBlock::Style => "the repository does not allow this merge style; try another",
        MergeBlock::Signing => "the branch wants signed commits",
        MergeBlock::Dependency => "merge the pull requests that this one depends on first",
        MergeBlock::FastForward => "rebase onto the base branch, or choose another merge style",
        MergeBlock::Queue => "the branch is merged through a queue; add the pull request to it",
        MergeBlock::Conflict | MergeBlock::Other => return None,
    })
}

/// What to do about a pull request whose head conflicts with its base
///
/// Every tool that meets a conflict gives this advice. A commit on the head does not resolve it; a
/// merge of the base does, which no tool makes and git does in a clone.
pub(crate) fn conflict_advice(base: Option<&str>) -> String {
    let (from, base) = match base {
        Some(base) => (format!("base \"{base}\""), format!("`{base}`")),
        None => ("from its base".to_owned(), "its base".to_owned()),
    };
    format!(
        "redo the change on a new branch with file_write_branch, {from}, then pr_create; or merge \
         {base} into the head in a clone, resolve the conflict and push"
    )
}

pub(super) fn conflict_hint(kind: &ConflictKind) -> String {
    match kind {
        ConflictKind::StaleFile { path, .. } => {
            format!("`{path}` was changed in the meantime: read it again and redo the change")
        }
        ConflictKind::HeadMoved { .. } => {
            "the branch moved in the meantime: look at the new commits, then try again".to_owned()
        }
        ConflictKind::Landed { commit } => format!(
            "the change is made, so do not send it again: see whether it goes with the commits \
             before it, and if not, undo commit {}",
            commit.short()
        ),
        ConflictKind::Exists => "use the one that exists, or choose another name".to_owned(),
        ConflictKind::EmptyRepository => "file_write_branch makes the first commit".to_owned(),
        ConflictKind::NameClash => {
            "`a` and `a/b` cannot both exist: choose another name".to_owned()
        }
        ConflictKind::Merge => conflict_advice(None),
        ConflictKind::Other => "read the current state and try again".to_owned(),
    }
}

/// How to give a token of GitHub what it lacks
fn scope_hint(scope: &str) -> String {
    format!(
        "give the token the scope `{scope}` (with the GitHub command line: `gh auth refresh -s \
         {scope}`), or use one that has it; `blue forge status` shows the scopes"
    )
}

pub(super) const NOT_ALLOWED_HINT: &str = "only the person who runs Blue can allow it, with `--allow` or `BLUE_ALLOW`; work with what is \
     allowed, or ask them";

pub(super) const GIT_URL_HINT: &str = "a git URL is like `https://host/owner/repo`, `ssh://git@host/owner/repo` or `git@host:owner/repo`";

pub(super) fn rate_hint(after: Option<Duration>) -> String {
    match after {
        Some(wait) if wait > Duration::from_hours(24) => {
            "it says to wait for more than a day; ask its administrator".to_owned()
        }
        Some(wait) if wait > Duration::from_mins(2) => {
            format!("try again in {} minutes", wait.as_secs().div_ceil(60))
        }
        Some(wait) => format!("try again in {} s", wait.as_secs().max(1)),
        None => "wait a while; `blue forge status` shows what is left".to_owned(),
    }
}

pub(super) fn token_hint(host: &Host, sent: bool) -> String {
    let names = token_names(host);
    let why = if sent {
        "the token may be wrong, expired or revoked"
    } else {
        "no token was sent"
    };
    format!("{why}; set {names}, or an entry in `hosts.yaml`")
}

fn token_names(host: &Host) -> &'static str {
    if host.as_str() == "github.com" {
        "`GITHUB_TOKEN`"
    } else {
        "`FORGEJO_TOKEN`, `GITEA_TOKEN` or `GITHUB_TOKEN`"
    }
}

pub(super) const LENT_TOKEN_HINT: &str = "a new token is being requested: try again in a moment; if that does not help, the person has to \
     reconnect Blue in the app that calls it";

pub(super) fn trust_hint(host: &str) -> String {
    format!("if the token is meant for this host too, run `blue forge trust {host}`")
}

pub(super) fn plain_hint() -> String {
    "use https; if plain HTTP is intended, write `http://` in `FORGEJO_URL`, or in `api_url` of \
     `hosts.yaml`"
        .to_owned()
}

pub(super) fn unreachable_hint(host: &str) -> String {
    format!(
        "is `{host}` spelled right, and is it running? behind a proxy set `HTTPS_PROXY`, for a \
         private certificate `BLUE_CA_FILE`"
    )
}

pub(super) fn no_answer_hint(write: bool) -> &'static str {
    if write {
        "the change may have been made anyway: look at what is there before trying again"
    } else {
        "try again; if that does not help, the forge or a proxy in front of it has a problem"
    }
}

pub(super) fn too_large_hint() -> String {
    "ask for less, such as a smaller page or a part of the file, or use a clone".to_owned()
}

pub(super) fn setup_hint() -> String {
    "check `BLUE_CA_FILE`, the proxy variables and the token".to_owned()
}
