//! Answers that went wrong, in Gitea's words

use axum::{body::Body, response::Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use super::reply::CACHE;
use crate::{
    app::App,
    config::Flavor,
    git,
    ops::{self, MergeError, What, error::Block},
};

/// An error answer
#[derive(Debug)]
pub(super) struct Fail {
    status: u16,
    body: Shape,
}

/// Gitea has several shapes of error
#[derive(Debug)]
enum Shape {
    /// `message` and `url`
    Message(String),
    /// `message`, `url` and `errors`, as every 404 has
    Missing {
        message: String,
        errors: Option<Vec<String>>,
    },
    Text(&'static str),
    Json(Value),
    Empty,
}

impl Fail {
    pub(super) fn new(status: u16, message: &str) -> Self {
        Self {
            status,
            body: Shape::Message(message.to_owned()),
        }
    }

    pub(super) fn invalid(message: &str) -> Self {
        Self::new(422, message)
    }

    pub(super) fn forbidden(message: &str) -> Self {
        Self::new(403, message)
    }

    pub(super) fn token_required() -> Self {
        Self::new(401, "token is required")
    }

    pub(super) fn not_found() -> Self {
        Self {
            status: 404,
            body: Shape::Missing {
                message: String::new(),
                errors: None,
            },
        }
    }

    /// A 404 that says what is missing
    pub(super) fn missing(message: &str, errors: &[&str]) -> Self {
        let errors =
            (!errors.is_empty()).then(|| errors.iter().map(|&text| text.to_owned()).collect());
        Self {
            status: 404,
            body: Shape::Missing {
                message: message.to_owned(),
                errors,
            },
        }
    }

    pub(super) fn no_route() -> Self {
        Self {
            status: 404,
            body: Shape::Text("404 page not found\n"),
        }
    }

    pub(super) fn wrong_verb() -> Self {
        Self {
            status: 405,
            body: Shape::Empty,
        }
    }

    pub(super) fn empty(status: u16) -> Self {
        Self {
            status,
            body: Shape::Empty,
        }
    }

    pub(super) fn json(status: u16, value: Value) -> Self {
        Self {
            status,
            body: Shape::Json(value),
        }
    }

    /// Keep the server's own trouble from those who cannot mend it
    pub(super) fn seen_by(self, app: &App, admin: bool) -> Self {
        let words = if app.is_forgejo() {
            "internal server error"
        } else {
            ""
        };
        match self.body {
            Shape::Message(_) if self.status == 500 && !admin => Self::new(500, words),
            _ => self,
        }
    }

    /// The words, for tests
    #[cfg(test)]
    pub(super) fn message(&self) -> &str {
        match &self.body {
            Shape::Message(message) | Shape::Missing { message, .. } => message,
            _ => "",
        }
    }

    pub(super) fn into_response(self, app: &App) -> Response {
        let url = format!("{}/api/swagger", app.root_url);
        let (kind, body) = match self.body {
            Shape::Message(message) => (
                "application/json;charset=utf-8",
                json!({"message": message, "url": url}).to_string(),
            ),
            Shape::Missing { message, errors } => {
                let (message, errors) = if app.is_forgejo() {
                    let message = if message.is_empty() {
                        "The target couldn't be found.".to_owned()
                    } else {
                        message
                    };
                    let none = (app.flavor != Flavor::Forgejo7).then(Vec::new);
                    (message, json!(errors.or(none)))
                } else {
                    let message = if message.is_empty() {
                        "not found".to_owned()
                    } else {
                        message
                    };
                    (message, json!(errors))
                };
                let body = json!({"errors": errors, "message": message, "url": url});
                ("application/json;charset=utf-8", body.to_string())
            }
            Shape::Text(text) => ("text/plain; charset=utf-8", text.to_owned()),
            Shape::Json(value) => ("application/json;charset=utf-8", value.to_string()),
            Shape::Empty => ("", String::new()),
        };
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::from_u16(self.status).expect("a status of ours");
        let headers = response.headers_mut();
        if !kind.is_empty() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(CACHE));
        response
    }
}

/// A credential that is not good
pub(super) fn bad_credentials(app: &App) -> Fail {
    if app.flavor == Flavor::Forgejo15 {
        return Fail::new(401, "access token does not exist [sha: deadbeef]");
    }
    Fail::new(
        401,
        if app.is_forgejo() {
            "user does not exist [uid: 0, name: ]"
        } else {
            "invalid username, password or token"
        },
    )
}

/// What Gitea says of an object it does not have
pub(super) fn no_object(id: &str, path: &str) -> String {
    format!("object does not exist [id: {id}, rel_path: {path}]")
}

impl From<ops::Error> for Fail {
    fn from(error: ops::Error) -> Self {
        use ops::Error as E;
        match error {
            E::NotFound(what) => not_found(&what),
            E::Exists(what) => exists(&what),
            E::PullExists {
                id,
                number,
                head,
                base,
                head_repo,
                base_repo,
            } => Self::new(
                409,
                &format!(
                    "pull request already exists for these targets [id: {id}, issue_id: {number}, \
                     head_repo_id: {head_repo}, base_repo_id: {base_repo}, head_branch: {head}, base_branch: {base}]"
                ),
            ),
            E::SameBranch => Self::invalid(
                "Invalid PullRequest: There are no changes between the head and the base",
            ),
            E::EmptyRepo => Self::new(409, "Git Repository is empty."),
            E::Archived => Self::new(423, "repository is archived"),
            E::BadName { name } => Self::invalid(&format!("invalid name [name: {name}]")),
            E::BadPath(path) => Self::invalid(&format!(
                "path contains a malformed path component [path: {path}]"
            )),
            E::FileInTheWay(path) => Self::invalid(&format!(
                "a file exists where you’re trying to create a subdirectory [path: {path}]"
            )),
            E::RefClash(words) => Self::forbidden(&words),
            E::StaleSha { given, expected } => Self::invalid(&format!(
                "sha does not match [given: {given}, expected: {expected}]"
            )),
            E::BranchMoved => Self::new(409, "merge push out of date"),
            E::PushForbidden(user) => {
                Self::forbidden(&format!("user cannot commit to repo [user: {user}]"))
            }
            E::ProtectedPath(path) => Self::forbidden(&format!(
                "path is protected and can not be changed [path: {path}]"
            )),
            E::ProtectedBranch => Self::forbidden("branch protected"),
            E::DefaultBranch => {
                Self::forbidden("can not delete default or pull request target branch")
            }
            E::SamePathTwice(path) => {
                Self::invalid(&format!("repository file already exists [path: {path}]"))
            }
            E::OwnReview => Self::invalid("approve your own pull is not allowed"),
            E::Invalid(words) => Self::invalid(&words),
            E::Merge(error) => merge(error),
            E::Git(git::Error::Missing(oid)) => {
                Self::missing("", &[&no_object(&oid.to_string(), "")])
            }
            error @ (E::Git(_) | E::Store(_) | E::Io(_)) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::error!(%error, cause, "request failed");
                Self::new(500, &error.to_string())
            }
        }
    }
}

impl From<git::Error> for Fail {
    fn from(error: git::Error) -> Self {
        ops::Error::from(error).into()
    }
}

fn not_found(what: &What) -> Fail {
    match what {
        What::Branch(name) => {
            Fail::missing("", &[&format!("branch does not exist [name: {name}]")])
        }
        What::Ref(name) => Fail::missing("", &[&no_object(name, "")]),
        What::Path(path) => Fail::missing("GetContentsOrList", &[&no_object("", path)]),
        What::User(name) => Fail::new(404, &format!("user redirect does not exist [name: {name}]")),
        What::Workflow(name) => Fail::new(404, &format!("workflow \"{name}\" not found")),
        _ => Fail::not_found(),
    }
}

fn exists(what: &What) -> Fail {
    match what {
        What::Repo => Fail::new(409, "The repository with the same name already exists."),
        What::Branch(name) => Fail::invalid(&format!("branch already exists [name: {name}]")),
        What::Tag(name) => Fail::new(409, &format!("tag already exists [name: {name}]")),
        What::Path(path) => {
            Fail::invalid(&format!("repository file already exists [path: {path}]"))
        }
        What::Rule => Fail::forbidden("Branch protection already exist"),
        What::User(name) => Fail::invalid(&format!("user already exists [name: {name}]")),
        What::Token => Fail::new(400, "access token name has been used already"),
        _ => Fail::new(409, "already exists"),
    }
}

fn merge(error: MergeError) -> Fail {
    let refused = |words: &str| Fail::new(405, words);
    match error {
        MergeError::NotAllowed => refused("User not allowed to merge PR"),
        MergeError::AlreadyMerged => refused("The PR is already merged"),
        MergeError::Closed | MergeError::NotScheduled => Fail::not_found(),
        MergeError::Draft => refused("Work in progress PRs cannot be merged"),
        MergeError::NotReady => refused("Please try again later"),
        MergeError::Conflict { style, words } => Fail::json(
            409,
            json!({"Style": style, "StdOut": words, "StdErr": "", "Err": {}}),
        ),
        MergeError::HeadMoved => Fail::new(409, "head out of date"),
        MergeError::NotFastForward { words } => Fail::new(
            500,
            &format!(
                "Merge DivergingFastForwardOnly Error: exit status 128 - {words}: {words}\n\n"
            ),
        ),
        MergeError::StyleForbidden(style) => refused(&format!(
            "{style} is not allowed an allowed merge style for this repository"
        )),
        MergeError::Blocked(block) => refused(words_of(block)),
        MergeError::Scheduled { pull_id } => Fail::new(
            409,
            &format!(
                "pull request is already scheduled to auto merge when checks succeed [pull_id: {pull_id}]"
            ),
        ),
        MergeError::UpToDate => Fail::new(500, "HeadBranch of PR is up to date"),
    }
}

fn words_of(block: Block) -> &'static str {
    match block {
        Block::Checks => "Not all required status checks successful",
        Block::Approvals => "Does not have enough approvals",
        Block::RequestedChanges => "There are requested changes",
        Block::ReviewRequests => "There are official review requests",
        Block::Outdated => "The head branch is behind the base branch",
        Block::Unsigned => "wont sign: nokey",
        Block::ProtectedFiles => "Changed protected files",
    }
}

/// Forgejo's refusal of a merge that a rule forbids: it names the caller's right before every
/// reason
pub(super) fn blocked_on_forgejo(block: Block) -> Fail {
    let words = match block {
        Block::Unsigned => "won't sign: nokey".to_owned(),
        other => format!("not allowed to merge [reason: {}]", words_of(other)),
    };
    Fail::new(405, &words)
}

/// What git says on Forgejo when it refuses the push that the server makes by itself: with the
/// folder of the repository in it
pub(super) fn push_rejected(app: &App, repo_id: i64, reason: &str) -> Fail {
    let folder = app.repo_path(repo_id);
    Fail::new(
        500,
        &format!(
            "PushRejected Error: exit status 1 - remote: error: {reason}\nTo {}\n \
             ! [remote rejected] (pre-receive hook declined)\nerror: failed to push some refs",
            folder.display()
        ),
    )
}
