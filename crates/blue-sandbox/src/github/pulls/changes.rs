//! What a pull request changes

use super::super::commits;
use super::super::cx::At;
use super::super::refusal::Result;
use super::super::reply::Reply;
use crate::ops;

/// Files and commits a list shows at most
const MOST_FILES: usize = 3000;
const MOST_COMMITS: usize = 250;

pub(in crate::github) fn files(at: &At<'_>, number: i64) -> Result<Reply> {
    let pull = ops::pulls::get(at.app(), &at.repo.row, number)?;
    let diff = ops::pulls::diff(at.app(), &pull)?;
    let mut files = commits::files(at, &diff, pull.merge_base, pull.head_sha)?;
    files.truncate(MOST_FILES);
    at.cx.list(at.ask().page().cut(files), Ok)
}

/// Oldest first
pub(in crate::github) fn commits(at: &At<'_>, number: i64) -> Result<Reply> {
    let pull = ops::pulls::get(at.app(), &at.repo.row, number)?;
    let mut all = ops::pulls::commits(at.app(), &pull)?;
    all.reverse();
    all.truncate(MOST_COMMITS);
    at.cx.list(at.ask().page().cut(all), |(oid, commit)| {
        at.show_commit(oid, &commit)
    })
}
