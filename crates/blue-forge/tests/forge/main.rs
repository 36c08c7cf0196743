//! The contract of [`blue_forge::Forge`]: one body per behaviour, on every back end
//!
//! `make test` runs it on the sandbox, `make e2e` on a real Gitea too. A test is called
//! `CONCERN::BACKEND::BEHAVIOUR`, so `merge::`, `::gitea::` and `conflict` are useful filters.

/// Insist on an error of one kind; gives what the pattern binds
macro_rules! refused {
    ($result:expr, $pattern:pat $(if $guard:expr)? $(=> $value:expr)?) => {
        match $result {
            Err($pattern) $(if $guard)? => { $($value)? }
            other => panic!(
                "expected {}, got {other:?}",
                stringify!($pattern $(if $guard)?)
            ),
        }
    };
}

mod agit;
mod allow;
mod attempts;
mod branches;
mod commit_conflicts;
mod commit_files;
mod commits;
mod contents;
mod faults;
mod members;
mod merge;
mod merge_blocks;
mod mergeability;
mod openapi_examples;
mod openapi_requests;
mod protection;
mod prs;
mod repo;
mod runs;
mod silent;
mod status;
mod statuses;
mod tags;
mod tokens;
mod words;
