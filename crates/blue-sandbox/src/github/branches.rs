//! Branches and tags, read

use super::cx::At;
use super::refusal::{Refusal, Result};
use super::reply::Reply;
use super::view::branch;
use crate::git::Kind;
use crate::ops::protection;
use crate::store::protections::Rule;

pub(super) fn list(at: &At<'_>) -> Result<Reply> {
    let all = crate::ops::branches::list(at.app(), &at.repo.row)?;
    let wanted = at.ask().param("protected").map(|word| word == "true");
    let mut rows = Vec::with_capacity(all.len());
    // Most repositories have no rule at all: then no branch needs a look.
    let any = !protection::list(at.app(), &at.repo.row)?.is_empty();
    match wanted {
        Some(wanted) => {
            for (name, oid) in all {
                if (any && rule(at, &name)?.is_some()) == wanted {
                    rows.push((name, oid));
                }
            }
        }
        None => rows = all,
    }
    at.cx.list(at.ask().page().cut(rows), |(name, oid)| {
        let rule = if any { rule(at, &name)? } else { None };
        Ok(branch::row(at.urls(), &at.repo, &name, oid, rule.as_ref()))
    })
}

pub(super) fn rule(at: &At<'_>, name: &str) -> Result<Option<Rule>> {
    let found = protection::of_branch(at.app(), &at.repo.row, name)?;
    Ok(found.map(|found| found.rule))
}

pub(super) fn get(at: &At<'_>, name: &str) -> Result<Reply> {
    let Some(oid) = at.git.branch(name)? else {
        return Err(Refusal::new(
            http::StatusCode::NOT_FOUND,
            "Branch not found",
        ));
    };
    let commit = at.show_commit(oid, &at.git.commit(oid)?)?;
    let rule = rule(at, name)?;
    Ok(Reply::ok(&branch::full(
        at.urls(),
        &at.repo,
        name,
        &commit,
        rule.as_ref(),
    )))
}

/// Newest name first, as GitHub sorts tags
pub(super) fn tags(at: &At<'_>) -> Result<Reply> {
    let mut all = at.git.refs("refs/tags/")?;
    all.reverse();
    at.cx.list(at.ask().page().cut(all), |(name, oid)| {
        let commit = match at.git.stat(oid)?.0 {
            Kind::Tag => at.git.peel(oid)?.unwrap_or(oid),
            _ => oid,
        };
        Ok(branch::tag(at.urls(), &at.repo, &name, commit))
    })
}
