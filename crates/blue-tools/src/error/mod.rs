//! Every failure as a tool or command reports it, and all advice in one place
//!
//! Scripts and models branch on [`ErrorCode`]; people read the message and the hint. The message
//! never repeats its source: the code that prints it walks the chain once.

mod commit;
mod forge_code;
mod hints;

use std::{error::Error, fmt};

use blue_base::{
    git::GitError,
    host::BadName,
    http::HttpError,
    load::Busy,
    text::{clean_line, reveal},
};
use blue_forge::{
    ForgeError,
    allow::BadAllow,
    detect::ProbeFailure,
    git_url::GitUrlError,
    open::{Ask, OpenError, ReadsOnly},
    project::ConfigError,
    token::{Binding, HostsError, TokenError},
};

use self::forge_code::forge_code;
use self::hints::{
    BUSY_HINT, GIT_URL_HINT, LENT_TOKEN_HINT, NOT_ALLOWED_HINT, forge_hint, no_answer_hint,
    plain_hint, setup_hint, too_large_hint, trust_hint, unreachable_hint,
};
pub(crate) use self::{
    commit::{Resend, branch_beside},
    hints::{conflict_advice, what_there_is},
};

use crate::reply::cut_notes;

type Source = Box<dyn Error + Send + Sync>;

/// What kind of failure it is; a new kind is a new variant, never a new meaning
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    NotFound,
    Unauthorized,
    Forbidden,
    NotMergeable,
    Conflict,
    Invalid,
    Unsupported,
    Archived,
    RateLimited,
    Busy,
    Unreachable,
    NoAnswer,
    TooLarge,
    TokenHost,
    ReadOnly,
    NotAllowed,
    Moved,
    UnexpectedAnswer,
    NoForge,
    Ambiguous,
    Git,
    Config,
    Io,
    Usage,
    Internal,
}

impl ErrorCode {
    /// Every code there is, in the order the documentation shows them
    pub const ALL: &'static [Self] = &[
        Self::NotFound,
        Self::Unauthorized,
        Self::Forbidden,
        Self::NotMergeable,
        Self::Conflict,
        Self::Invalid,
        Self::Unsupported,
        Self::Archived,
        Self::RateLimited,
        Self::Busy,
        Self::Unreachable,
        Self::NoAnswer,
        Self::TooLarge,
        Self::TokenHost,
        Self::ReadOnly,
        Self::NotAllowed,
        Self::Moved,
        Self::UnexpectedAnswer,
        Self::NoForge,
        Self::Ambiguous,
        Self::Git,
        Self::Config,
        Self::Io,
        Self::Usage,
        Self::Internal,
    ];

    /// As it is written in JSON
    pub fn as_str(self) -> &'static str {
        self.entry().0
    }

    /// What it means, for the reference page
    pub fn meaning(self) -> &'static str {
        self.entry().1
    }

    fn entry(self) -> (&'static str, &'static str) {
        match self {
            Self::NotFound => ("not_found", "it does not exist, or this user cannot see it"),
            Self::Unauthorized => ("unauthorized", "the forge refused the token, or needs one"),
            Self::Forbidden => ("forbidden", "the user or the token may not do this"),
            Self::NotMergeable => ("not_mergeable", "the pull request cannot be merged now"),
            Self::Conflict => (
                "conflict",
                "something changed in the meantime, or exists already",
            ),
            Self::Invalid => (
                "invalid",
                "an argument is invalid; the same call will never work",
            ),
            Self::Unsupported => (
                "unsupported",
                "this forge, or its version, does not support it",
            ),
            Self::Archived => ("archived", "the repository is archived"),
            Self::RateLimited => ("rate_limited", "the forge accepts no more requests for now"),
            Self::Busy => (
                "busy",
                "Blue has too much to do for this now; nothing was changed, try again",
            ),
            Self::Unreachable => ("unreachable", "no connection to the forge"),
            Self::NoAnswer => (
                "no_answer",
                "the forge was asked, but did not answer; a change may have been made",
            ),
            Self::TooLarge => ("too_large", "the answer is larger than Blue accepts"),
            Self::TokenHost => ("token_host", "the token belongs to another host"),
            Self::ReadOnly => ("read_only", "only reading is allowed"),
            Self::NotAllowed => (
                "not_allowed",
                "the owner is not on the list of allowed ones",
            ),
            Self::Moved => ("moved", "the repository was renamed or moved"),
            Self::UnexpectedAnswer => (
                "unexpected_answer",
                "the forge sent an answer that Blue does not understand",
            ),
            Self::NoForge => ("no_forge", "no forge was found here"),
            Self::Ambiguous => ("ambiguous", "more than one candidate; say which"),
            Self::Git => ("git", "git itself failed"),
            Self::Config => ("config", "a setting is wrong or missing"),
            Self::Io => (
                "io",
                "a file, folder or port of this machine cannot be used",
            ),
            Self::Usage => ("usage", "the command line is wrong"),
            Self::Internal => ("internal", "a bug in Blue; the log says more"),
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failure as it leaves Blue
#[derive(Debug)]
pub struct ToolError {
    pub code: ErrorCode,
    /// One line, lower case, no full stop; a forge's own words are kept whole
    pub message: String,
    /// What to do about it
    pub hint: Option<String>,
    /// The hint for a user of the command line, where a command does what no JSON call does
    pub typed_hint: Option<String>,
    /// Whether repeating the call unchanged may succeed later
    pub retryable: bool,
    /// Status of the answer of the forge that led to this, where there was one
    pub forge_status: Option<u16>,
    /// What was noticed during the call that failed
    pub notes: Vec<String>,
    source: Option<Source>,
}

impl ToolError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            typed_hint: None,
            retryable: false,
            forge_status: None,
            notes: Vec::new(),
            source: None,
        }
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self.typed_hint = None;
        self
    }

    /// Replaces the hint on the command line; names of tools in it become commands
    #[must_use]
    pub fn with_typed_hint(mut self, hint: impl Into<String>) -> Self {
        self.typed_hint = Some(hint.into());
        self
    }

    /// Adds what was noticed before the failure, each line once
    #[must_use]
    pub fn with_notes(mut self, notes: Vec<String>) -> Self {
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self
    }

    #[must_use]
    pub fn with_source(mut self, source: impl Into<Source>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Rewrites the hints for a caller whose token comes from the broker
    ///
    /// Such a caller can neither set another token nor run `blue` commands on the server.
    pub(crate) fn of_lent_token(mut self) -> Self {
        if self.code == ErrorCode::Unauthorized {
            self.hint = Some(LENT_TOKEN_HINT.to_owned());
            self.retryable = true;
        }
        let theirs =
            |advice: &&str| !advice.contains("`blue ") && !advice.contains("`HTTPS_PROXY`");
        let hint = self.hint.take().unwrap_or_default();
        let left: Vec<&str> = hint.split("; ").filter(theirs).collect();
        self.hint = Some(left.join("; ")).filter(|hint| !hint.is_empty());
        self
    }

    /// The message and each cause under it, without repeating one that says the same
    pub fn chain(&self) -> Vec<String> {
        let mut lines = vec![self.message.clone()];
        let mut cause = self.source();
        while let Some(error) = cause {
            let line = clean_line(&error.to_string());
            let is_said = |said: &String| clean_line(said).contains(&line);
            if !line.is_empty() && !lines.iter().any(is_said) {
                lines.push(line);
            }
            cause = error.source();
        }
        lines
    }

    /// As scripts and models read it
    pub fn json(&self) -> serde_json::Value {
        let mut object = serde_json::json!({
            "code": self.code.as_str(),
            // It may name what only looks like something else.
            "message": clean_line(&reveal(&self.message)),
            // So may this, in the words of the forge.
            "hint": self.hint.as_deref().map(|hint| clean_line(&reveal(hint))),
            "retryable": self.retryable,
            "forge_status": self.forge_status,
        });
        let causes = &self.chain()[1..];
        if !causes.is_empty() {
            object["causes"] = serde_json::json!(causes);
        }
        let notes = cut_notes(&self.notes);
        if !notes.is_empty() {
            object["notes"] = notes.into();
        }
        object
    }

    /// Take message and cause of `error` apart
    fn of(code: ErrorCode, error: impl Error + Send + Sync + 'static) -> Self {
        let message = error.to_string();
        Self::new(code, message).with_source(error)
    }

    fn hinted(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ToolError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|s| s as _)
    }
}

impl From<ForgeError> for ToolError {
    fn from(error: ForgeError) -> Self {
        let code = forge_code(&error);
        let hint = forge_hint(&error);
        let retryable = error.retryable();
        let forge_status = error.status();
        Self {
            retryable,
            forge_status,
            ..Self::of(code, error).hinted(hint)
        }
    }
}

impl From<HttpError> for ToolError {
    fn from(error: HttpError) -> Self {
        let (code, hint) = match &error {
            HttpError::Unreachable { host, .. } => {
                (ErrorCode::Unreachable, Some(unreachable_hint(host)))
            }
            HttpError::Timeout { .. } | HttpError::Broken { .. } => {
                (ErrorCode::NoAnswer, Some(no_answer_hint(false).to_owned()))
            }
            HttpError::RateLimited { .. } => (ErrorCode::RateLimited, None),
            HttpError::Busy(_) => (ErrorCode::Busy, Some(BUSY_HINT.to_owned())),
            HttpError::TokenPlain { .. } => (ErrorCode::TokenHost, Some(plain_hint())),
            HttpError::TooLarge { .. } => (ErrorCode::TooLarge, Some(too_large_hint())),
            HttpError::TokenHost { host, .. } => (ErrorCode::TokenHost, Some(trust_hint(host))),
            HttpError::ReadOnly { .. } => (ErrorCode::ReadOnly, None),
            HttpError::NotPublic { .. } => (ErrorCode::UnexpectedAnswer, None),
            HttpError::Setup { .. } => (ErrorCode::Config, Some(setup_hint())),
        };
        let retryable = matches!(
            code,
            ErrorCode::Unreachable | ErrorCode::NoAnswer | ErrorCode::RateLimited | ErrorCode::Busy
        );
        Self {
            retryable,
            ..Self::of(code, error).hinted(hint)
        }
    }
}

impl From<Busy> for ToolError {
    fn from(busy: Busy) -> Self {
        Self {
            retryable: true,
            ..Self::of(ErrorCode::Busy, busy).with_hint(BUSY_HINT)
        }
    }
}

impl From<OpenError> for ToolError {
    fn from(error: OpenError) -> Self {
        let (code, hint) = match error {
            OpenError::Noticed { notices, error } => return Self::from(*error).with_notes(notices),
            OpenError::Name(error) => return error.into(),
            OpenError::Config(error) => return error.into(),
            OpenError::Hosts(error) => return error.into(),
            OpenError::Token(error) => return error.into(),
            OpenError::Git(error) => return error.into(),
            OpenError::NotAllowed(_) => (ErrorCode::NotAllowed, NOT_ALLOWED_HINT),
            OpenError::NoForge => (
                ErrorCode::NoForge,
                "run it in a clone of a repository, or set `FORGEJO_URL` or `GITHUB_SERVER_URL`",
            ),
            OpenError::NoRepository { .. } => (
                ErrorCode::NoForge,
                "name the owner and the repository, or run it in a clone that has a remote",
            ),
            OpenError::Unnamed => (ErrorCode::NoForge, "name it with `owner` and `name`"),
            OpenError::OtherForge { .. } => (ErrorCode::NotAllowed, "leave the host out"),
            OpenError::Ambiguous { .. } => (ErrorCode::Ambiguous, "name the host"),
            OpenError::Remotes { .. } => (
                ErrorCode::Ambiguous,
                "say which with `--remote`, or write `forge:` into `.blue/config.yaml`",
            ),
            OpenError::NoSuchRemote { .. } => {
                (ErrorCode::NotFound, "`git remote -v` lists the remotes")
            }
            OpenError::Local { .. } => (
                ErrorCode::NoForge,
                "only a remote on a server has one; choose another with `--remote`",
            ),
            OpenError::Url { .. } => (ErrorCode::Invalid, GIT_URL_HINT),
        };
        Self::of(code, error).with_hint(hint)
    }
}

impl ToolError {
    /// Converts the error for a tool call, whose arguments cannot name a remote
    pub(crate) fn of_call(error: OpenError, ask: &Ask) -> Self {
        if let OpenError::Noticed { notices, error } = error {
            return Self::of_call(*error, ask).with_notes(notices);
        }
        let forge = "or write `forge:` into `.blue/config.yaml`";
        let (owner, name) = (ask.owner.is_some(), ask.name.is_some());
        let hint = match &error {
            OpenError::Remotes { .. } if owner && name => format!("name the `host` too, {forge}"),
            OpenError::Remotes { .. } => {
                format!("name the repository with `owner` and `name`, {forge}")
            }
            OpenError::Local { .. } => "only a remote on a server has one; name the repository \
                                        with `owner` and `name`"
                .to_owned(),
            OpenError::NoRepository { .. } | OpenError::Unnamed if owner || name => {
                let half = if owner { "owner" } else { "name" };
                let message = format!("only the {half} of the repository is named");
                return Self::new(ErrorCode::NoForge, message)
                    .with_hint("name it with `owner` and `name`");
            }
            OpenError::NoRepository { .. } => "name it with `owner` and `name`, or run it in a \
                                               clone that has a remote"
                .to_owned(),
            OpenError::Ambiguous { .. } => "name the `host`".to_owned(),
            _ => return error.into(),
        };
        Self::from(error).with_hint(hint)
    }
}

impl ToolError {
    /// A write where a file of the clone has a say in which repository is meant
    pub(crate) fn of_reads_only(why: &ReadsOnly) -> Self {
        let hint = match why {
            ReadsOnly::FileDisagrees { .. } => {
                "name the repository with `owner` and `name`, or correct the file"
            }
            ReadsOnly::FileAlone { .. } => "name the repository and the `host`, or add a remote",
        };
        Self::new(ErrorCode::Ambiguous, why.to_string()).with_hint(hint)
    }
}

impl From<ProbeFailure> for ToolError {
    fn from(failure: ProbeFailure) -> Self {
        if failure.answered {
            return Self::new(ErrorCode::NoForge, failure.to_string()).with_hint(
                "check the address; if the forge is below a folder, name that too, as in \
                 `https://HOST/FOLDER/OWNER/NAME`",
            );
        }
        let hint = unreachable_hint(failure.host.as_str());
        Self {
            retryable: true,
            ..Self::new(ErrorCode::Unreachable, failure.to_string()).with_hint(hint)
        }
    }
}

impl From<TokenError> for ToolError {
    fn from(error: TokenError) -> Self {
        let (code, hint) = match error {
            TokenError::Hosts(error) => return error.into(),
            TokenError::Refused {
                ref host,
                ref bound,
                ..
            } if bound.is_empty() => (
                ErrorCode::TokenHost,
                format!(
                    "the person who runs Blue decides where it may go: with `blue forge trust {host}`, \
                     or by naming its host in `FORGEJO_URL`, `GITEA_URL` or `GITHUB_SERVER_URL`"
                ),
            ),
            TokenError::Refused {
                ref host, ref by, ..
            } => (
                ErrorCode::TokenHost,
                match by {
                    Binding::Variable(name) => format!(
                        "`{name}` says where it belongs; if it is meant for this host too, run `blue \
                         forge trust {host}`"
                    ),
                    Binding::Trust => trust_hint(host.as_str()),
                },
            ),
            TokenError::Guess { ref host, .. } => (
                ErrorCode::TokenHost,
                format!(
                    "if {host} is a forge, give it a `type:` in `hosts.yaml`; `blue forge hosts` \
                     shows where that is, and `blue forge detect` what was tried"
                ),
            ),
            TokenError::BadUrl { .. } => (
                ErrorCode::Config,
                "write it like `https://git.example.org`, without user, query or fragment"
                    .to_owned(),
            ),
            TokenError::Unfit { .. } => (
                ErrorCode::Config,
                "a token is one word; is it the right file or variable?".to_owned(),
            ),
            TokenError::File { .. } | TokenError::EmptyFile { .. } => (
                ErrorCode::Config,
                "the file should hold the token and nothing else".to_owned(),
            ),
            TokenError::Unset { ref variable, .. } => (
                ErrorCode::Config,
                format!("set `{variable}`, or change the entry in `hosts.yaml`"),
            ),
            TokenError::Command { .. } => (
                ErrorCode::Config,
                "run the `token_command` of `hosts.yaml` by hand to see why".to_owned(),
            ),
        };
        Self::of(code, error).with_hint(hint)
    }
}

impl From<HostsError> for ToolError {
    fn from(error: HostsError) -> Self {
        let (code, hint) = match &error {
            HostsError::Read { .. } | HostsError::Write { .. } => (
                ErrorCode::Io,
                "look at the folder's permissions, or choose another with `BLUE_HOME`",
            ),
            HostsError::Invalid { .. } => (
                ErrorCode::Config,
                "`blue forge hosts --help` shows what an entry looks like",
            ),
            HostsError::Uneditable { .. } => {
                (ErrorCode::Config, "add the line to the file by hand")
            }
        };
        Self::of(code, error).with_hint(hint)
    }
}

impl From<ConfigError> for ToolError {
    fn from(error: ConfigError) -> Self {
        let code = match &error {
            ConfigError::Read { .. } => ErrorCode::Io,
            ConfigError::Unusable { .. } | ConfigError::Invalid { .. } => ErrorCode::Config,
        };
        Self::of(code, error).with_hint("correct the file, or delete its `forge:` part")
    }
}

impl From<GitError> for ToolError {
    fn from(error: GitError) -> Self {
        let hint = match &error {
            GitError::Spawn { program, .. } => Some(format!("is `{program}` installed?")),
            _ => None,
        };
        Self::of(ErrorCode::Git, error).hinted(hint)
    }
}

impl From<GitUrlError> for ToolError {
    fn from(error: GitUrlError) -> Self {
        Self::of(ErrorCode::Invalid, error).with_hint(GIT_URL_HINT)
    }
}

impl From<BadAllow> for ToolError {
    fn from(error: BadAllow) -> Self {
        let hint = match &error {
            BadAllow::Empty => "name at least one owner, `*` for all, or leave the setting out",
            BadAllow::Entry { .. } => {
                "an entry is `owner`, `owner/repo`, `host/owner` or `host/owner/repo`; `*` stands \
                 for any part of a name"
            }
        };
        Self::of(ErrorCode::Config, error).with_hint(hint)
    }
}

impl From<BadName> for ToolError {
    fn from(error: BadName) -> Self {
        Self::of(ErrorCode::Invalid, error)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, time::Duration};

    use blue_base::host::Host;
    use blue_forge::{
        ConflictKind, MergeBlock,
        allow::{Allow, NotAllowed},
        model::Sha,
    };

    use super::*;

    fn host() -> Host {
        Host::parse("git.example.org").unwrap()
    }

    fn not_allowed() -> NotAllowed {
        let allow = Allow::parse("alice").unwrap();
        allow.check(&host(), "mallory", "x").unwrap_err()
    }

    fn merge(reason: MergeBlock) -> ForgeError {
        ForgeError::NotMergeable {
            reason,
            message: "no".to_owned(),
            status: None,
        }
    }

    fn conflict(kind: ConflictKind) -> ForgeError {
        ForgeError::Conflict {
            kind,
            message: "no".to_owned(),
            status: None,
        }
    }

    fn unexpected(status: u16) -> ForgeError {
        ForgeError::Unexpected {
            host: host(),
            status,
            message: "oops".to_owned(),
        }
    }

    /// Error, code, a part of the hint (none: no hint at all), retryable
    #[expect(clippy::too_many_lines, reason = "it is a table")]
    fn table() -> Vec<(ForgeError, &'static str, Option<&'static str>, bool)> {
        let said = || "no".to_owned();
        let stale = ConflictKind::StaleFile {
            path: "a.txt".to_owned(),
            current: Some(Sha::parse(&"a".repeat(40)).unwrap()),
        };
        vec![
            (
                ForgeError::NotFound {
                    host: host(),
                    what: said(),
                    status: None,
                },
                "not_found",
                Some("cannot see"),
                false,
            ),
            (
                ForgeError::Unauthorized {
                    host: host(),
                    message: said(),
                    sent: false,
                },
                "unauthorized",
                Some("no token was sent; set `FORGEJO_TOKEN`"),
                false,
            ),
            (
                ForgeError::Unauthorized {
                    host: Host::parse("github.com").unwrap(),
                    message: said(),
                    sent: true,
                },
                "unauthorized",
                Some("revoked; set `GITHUB_TOKEN`"),
                false,
            ),
            (
                ForgeError::Forbidden {
                    host: host(),
                    message: said(),
                    status: None,
                },
                "forbidden",
                Some("blue forge status"),
                false,
            ),
            (
                ForgeError::MissingScope {
                    host: host(),
                    scope: "workflow",
                    message: said(),
                    status: Some(404),
                },
                "forbidden",
                Some("gh auth refresh -s workflow"),
                false,
            ),
            (
                ForgeError::NotPublic {
                    host: host(),
                    to: "10.0.0.1".to_owned(),
                },
                "unexpected_answer",
                Some("`BLUE_PRIVATE_HOSTS`"),
                false,
            ),
            (
                conflict(ConflictKind::EmptyRepository),
                "conflict",
                Some("the first commit"),
                false,
            ),
            (
                merge(MergeBlock::Checking),
                "not_mergeable",
                Some("in a moment"),
                true,
            ),
            (
                merge(MergeBlock::Conflict),
                "not_mergeable",
                Some("file_write_branch"),
                false,
            ),
            (merge(MergeBlock::Other), "not_mergeable", None, false),
            (conflict(stale), "conflict", Some("`a.txt`"), false),
            (
                conflict(ConflictKind::HeadMoved { current: None }),
                "conflict",
                Some("then try again"),
                false,
            ),
            (
                conflict(ConflictKind::Landed {
                    commit: Sha::parse(&"c".repeat(40)).unwrap(),
                }),
                "conflict",
                Some("do not send it again"),
                false,
            ),
            (
                conflict(ConflictKind::Exists),
                "conflict",
                Some("another name"),
                false,
            ),
            (
                ForgeError::Invalid {
                    message: said(),
                    status: None,
                },
                "invalid",
                None,
                false,
            ),
            (
                ForgeError::Unsupported {
                    message: said(),
                    status: None,
                },
                "unsupported",
                None,
                false,
            ),
            (
                ForgeError::Archived {
                    message: said(),
                    status: None,
                },
                "archived",
                Some("unarchive"),
                false,
            ),
            (
                ForgeError::RateLimited {
                    host: host(),
                    message: said(),
                    retry_after: Some(Duration::from_secs(30)),
                    status: 403,
                },
                "rate_limited",
                Some("in 30 s"),
                true,
            ),
            (
                ForgeError::Unreachable {
                    host: host(),
                    source: "refused".into(),
                },
                "unreachable",
                Some("`git.example.org`"),
                true,
            ),
            (
                ForgeError::NoAnswer {
                    host: host(),
                    write: true,
                    status: None,
                    source: "broke off".into(),
                },
                "no_answer",
                Some("look at what is there before"),
                false,
            ),
            (
                ForgeError::NoAnswer {
                    host: host(),
                    write: false,
                    status: None,
                    source: "broke off".into(),
                },
                "no_answer",
                Some("try again"),
                true,
            ),
            (
                ForgeError::TooLarge {
                    host: host(),
                    limit: 1,
                },
                "too_large",
                Some("less"),
                false,
            ),
            (
                ForgeError::TokenHost {
                    bound: host(),
                    host: host(),
                },
                "token_host",
                Some("blue forge trust git.example.org"),
                false,
            ),
            (
                ForgeError::ReadOnly {
                    host: host(),
                    method: "POST".to_owned(),
                },
                "read_only",
                None,
                false,
            ),
            (
                ForgeError::NotAllowed(not_allowed()),
                "not_allowed",
                Some("`BLUE_ALLOW`"),
                false,
            ),
            (
                ForgeError::Moved {
                    what: said(),
                    to: "`alice/new`".to_owned(),
                    status: None,
                },
                "moved",
                Some("use `alice/new`, and"),
                false,
            ),
            (unexpected(418), "unexpected_answer", None, false),
            (
                unexpected(500),
                "unexpected_answer",
                Some("likely fail again"),
                false,
            ),
            (
                unexpected(503),
                "unexpected_answer",
                Some("try again"),
                true,
            ),
        ]
    }

    #[test]
    fn each_error_of_a_forge_has_its_code_and_advice() {
        for (error, code, hint, retryable) in table() {
            let shown = format!("{error:?}");
            let message = error.to_string();
            let tool = ToolError::from(error);
            assert_eq!(tool.code.as_str(), code, "{shown}");
            assert_eq!(tool.message, message, "{shown}");
            assert_eq!(tool.retryable, retryable, "{shown}");
            match (hint, &tool.hint) {
                (None, None) => {}
                (Some(part), Some(whole)) => assert!(whole.contains(part), "{shown}: {whole}"),
                other => panic!("{shown}: {other:?}"),
            }
        }
    }

    #[test]
    fn the_status_of_the_answer_is_told() {
        let limited = ForgeError::RateLimited {
            host: host(),
            message: String::new(),
            retry_after: None,
            status: 429,
        };
        let blocked = ForgeError::NotMergeable {
            reason: MergeBlock::Conflict,
            message: "no".to_owned(),
            status: Some(405),
        };
        for (error, status) in [
            (unexpected(418), Some(418)),
            (limited, Some(429)),
            (blocked, Some(405)),
            // Found out without asking.
            (merge(MergeBlock::Conflict), None),
        ] {
            assert_eq!(ToolError::from(error).forge_status, status);
        }
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "it is a table")]
    fn what_is_wrong_on_this_machine_has_its_code_and_advice() {
        let path = || std::path::PathBuf::from("hosts.yaml");
        let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let refused = |by| TokenError::Refused {
            variable: "GITEA_TOKEN".to_owned(),
            host: host(),
            bound: vec![Host::parse("other.example.org").unwrap()],
            by,
        };
        let table: Vec<(ToolError, &str, &str)> = vec![
            (OpenError::NoForge.into(), "no_forge", "FORGEJO_URL"),
            (
                OpenError::NotAllowed(not_allowed()).into(),
                "not_allowed",
                "ask them",
            ),
            (BadAllow::Empty.into(), "config", "at least one owner"),
            (
                Allow::parse("a/b/c/d").unwrap_err().into(),
                "config",
                "`host/owner/repo`",
            ),
            (
                OpenError::Remotes {
                    remotes: vec!["a".to_owned(), "b".to_owned()],
                }
                .into(),
                "ambiguous",
                "--remote",
            ),
            (
                OpenError::Url {
                    remote: None,
                    source: GitUrlError::Empty,
                }
                .into(),
                "invalid",
                "git@host:owner/repo",
            ),
            (
                OpenError::Token(refused(Binding::Trust)).into(),
                "token_host",
                "blue forge trust git.",
            ),
            (
                refused(Binding::Variable("GITEA_URL".to_owned())).into(),
                "token_host",
                "`GITEA_URL` says",
            ),
            (
                TokenError::BadUrl {
                    variable: "GITEA_URL".to_owned(),
                }
                .into(),
                "config",
                "https://git.example.org",
            ),
            (
                TokenError::Unset {
                    host: host(),
                    variable: "MINE".to_owned(),
                }
                .into(),
                "config",
                "set `MINE`",
            ),
            (
                TokenError::Hosts(HostsError::Read {
                    path: path(),
                    source: missing(),
                })
                .into(),
                "io",
                "BLUE_HOME",
            ),
            (
                HostsError::Invalid {
                    path: path(),
                    line: Some(3),
                    message: "no".to_owned(),
                }
                .into(),
                "config",
                "blue forge hosts --help",
            ),
            (
                ConfigError::Invalid {
                    path: path(),
                    line: None,
                    message: "no".to_owned(),
                }
                .into(),
                "config",
                "`forge:`",
            ),
            (
                GitError::Spawn {
                    program: "git".to_owned(),
                    source: missing(),
                }
                .into(),
                "git",
                "installed",
            ),
            (
                HttpError::Setup {
                    message: "no".to_owned(),
                }
                .into(),
                "config",
                "BLUE_CA_FILE",
            ),
        ];
        for (error, code, hint) in table {
            assert_eq!(error.code.as_str(), code, "{error:?}");
            assert!(
                error.hint.as_ref().is_some_and(|h| h.contains(hint)),
                "{error:?}"
            );
        }
    }

    #[test]
    fn a_call_is_told_what_a_call_can_name() {
        let ask = |owner: Option<&str>, name: Option<&str>| Ask {
            owner: owner.map(str::to_owned),
            name: name.map(str::to_owned),
            ..Ask::default()
        };
        let remotes = || OpenError::Remotes {
            remotes: vec!["a".to_owned(), "b".to_owned()],
        };
        let local = || OpenError::Local {
            remote: "a".to_owned(),
        };
        let none = || OpenError::NoRepository { cwd: "x".into() };
        for (error, ask, hint) in [
            (remotes(), ask(None, None), "`owner` and `name`"),
            (remotes(), ask(Some("a"), Some("b")), "`host`"),
            (local(), ask(None, None), "`owner` and `name`"),
            (none(), ask(None, None), "clone"),
            (none(), ask(Some("a"), None), "`owner` and `name`"),
            (OpenError::Unnamed, ask(None, None), "`owner` and `name`"),
        ] {
            let error = ToolError::of_call(error, &ask);
            let said = error.hint.clone().unwrap_or_default();
            assert!(
                said.contains(hint) && !said.contains("--remote"),
                "{error:?}"
            );
        }
        for error in [none(), OpenError::Unnamed] {
            let half = ToolError::of_call(error, &ask(None, Some("b")));
            assert_eq!(half.message, "only the name of the repository is named");
        }
    }

    #[test]
    fn a_caller_elsewhere_is_not_sent_to_this_machine() {
        let refused = |message: &str| ForgeError::Forbidden {
            host: host(),
            message: message.to_owned(),
            status: Some(403),
        };
        let hint = |error: ToolError| error.of_lent_token().hint;
        assert_eq!(hint(refused("no").into()), None);
        let resend = Resend {
            sent: "send it again".to_owned(),
            typed: "run it again".to_owned(),
        };
        let protected = refused("branch protected");
        let protected = ToolError::from(protected);
        let commit = hint(protected.of_denial(commit::Denial::Branch, "main", &resend)).unwrap();
        assert_eq!(
            commit,
            "send it again, then pr_create, head \"main-changes\", base \"main\""
        );
        let scope = hint(refused("token lacks scope").into()).unwrap();
        assert!(!scope.contains("blue forge"), "{scope}");
        let away = ForgeError::Unreachable {
            host: host(),
            source: "refused".into(),
        };
        assert_eq!(hint(away.into()), None);
        let kept = hint(ToolError::new(ErrorCode::Invalid, "x").with_hint("did you mean `y`?"));
        assert_eq!(kept.as_deref(), Some("did you mean `y`?"));
    }

    #[test]
    fn codes_are_snake_case_and_unlike() {
        let names: HashSet<_> = ErrorCode::ALL.iter().map(|c| c.as_str()).collect();
        assert_eq!(names.len(), ErrorCode::ALL.len());
        for code in ErrorCode::ALL {
            let snake = code
                .as_str()
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b == b'_');
            assert!(snake && !code.meaning().is_empty(), "{code}");
        }
    }

    #[test]
    fn a_chain_says_each_thing_once() {
        let error = ToolError::from(ForgeError::Unreachable {
            host: host(),
            source: "connection\nrefused".into(),
        });
        assert_eq!(
            error.chain(),
            ["could not reach git.example.org", "connection refused"]
        );
    }
}
