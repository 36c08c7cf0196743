//! Why an action did not happen

use crate::git;

/// What was looked for, or is there already
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    User(String),
    Repo,
    Branch(String),
    Tag(String),
    /// A branch, tag or commit
    Ref(String),
    /// A file or folder
    Path(String),
    Pull,
    Review,
    Rule,
    Token,
    Run,
    Job,
    Workflow(String),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("not found: {0:?}")]
    NotFound(What),
    #[error("exists already: {0:?}")]
    Exists(What),
    /// Open twin of a pull request that was to be made
    #[error("a pull request for these branches is open already")]
    PullExists {
        id: i64,
        number: i64,
        head: String,
        base: String,
        head_repo: i64,
        base_repo: i64,
    },
    #[error("the base and the head are the same branch")]
    SameBranch,
    #[error("the repository is empty")]
    EmptyRepo,
    #[error("the repository is archived")]
    Archived,
    /// A name that git or the forge does not take
    #[error("`{name}` is not a good name")]
    BadName { name: String },
    #[error("`{0}` is not a good path")]
    BadPath(String),
    /// A folder is wanted where a file is
    #[error("`{0}` is a file")]
    FileInTheWay(String),
    /// A name and a folder of the same name cannot both be refs
    #[error("{0}")]
    RefClash(String),
    #[error("the file changed: `{given}` was given, it is `{expected}`")]
    StaleSha { given: String, expected: String },
    /// The branch moved while the change was made
    #[error("the branch moved")]
    BranchMoved,
    #[error("a rule forbids `{0}` to push here")]
    PushForbidden(String),
    #[error("`{0}` is a protected file")]
    ProtectedPath(String),
    #[error("the branch is protected")]
    ProtectedBranch,
    #[error("the default branch cannot go")]
    DefaultBranch,
    #[error("`{0}` is named twice")]
    SamePathTwice(String),
    #[error("an own pull request cannot be approved or rejected")]
    OwnReview,
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Merge(#[from] MergeError),
    #[error(transparent)]
    Git(#[from] git::Error),
    #[error("database error")]
    Store(#[from] rusqlite::Error),
    #[error("cannot reach the folder of the sandbox")]
    Io(#[from] std::io::Error),
}

/// Why a merge or an update of a branch did not happen
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MergeError {
    #[error("not allowed to merge")]
    NotAllowed,
    #[error("merged already")]
    AlreadyMerged,
    #[error("closed")]
    Closed,
    #[error("a draft")]
    Draft,
    /// A check runs, the branches conflict, or there is nothing to merge
    #[error("not mergeable now")]
    NotReady,
    #[error("the branches conflict")]
    Conflict { style: String, words: String },
    #[error("the head is not where the caller thought")]
    HeadMoved,
    #[error("not a fast-forward: {words}")]
    NotFastForward { words: String },
    #[error("the repository does not allow `{0}`")]
    StyleForbidden(String),
    #[error("a rule forbids it: {0:?}")]
    Blocked(Block),
    #[error("scheduled already")]
    Scheduled { pull_id: i64 },
    #[error("nothing is scheduled")]
    NotScheduled,
    #[error("up to date")]
    UpToDate,
}

/// The rule that stands in the way
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Block {
    Checks,
    Approvals,
    RequestedChanges,
    ReviewRequests,
    Outdated,
    ProtectedFiles,
}

pub(crate) type Result<T> = std::result::Result<T, Error>;
