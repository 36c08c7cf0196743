//! Branches and tags

use axum::response::{IntoResponse as _, Redirect, Response};

use crate::{
    ops,
    web::{
        link::At,
        view::{
            refs::{self as view, BranchRow, TagRow},
            repo::Tab,
        },
        visit::{Trouble, Visit},
    },
};

pub(in crate::web) fn branches(visit: &Visit<'_>) -> Result<Response, Trouble> {
    let mut rows = Vec::new();
    for (name, oid) in ops::branches::list(visit.app, visit.repo())? {
        rows.push(BranchRow {
            sha: oid.to_string(),
            title: visit.git().commit(oid)?.title().to_owned(),
            default: name == visit.repo().default_branch,
            protected: ops::protection::of_branch(visit.app, visit.repo(), &name)?.is_some(),
            name,
        });
    }
    rows.sort_by_key(|row| !row.default);
    let content = view::branches(&visit.head.link(), &rows);
    Ok(visit.show(Tab::Branches, "Branches", &content))
}

pub(in crate::web) fn tags(visit: &Visit<'_>) -> Result<Response, Trouble> {
    let tags = ops::tags::list(visit.app, visit.repo())?;
    let rows: Vec<TagRow> = tags
        .into_iter()
        .map(|tag| TagRow {
            name: tag.name,
            sha: tag.commit.to_string(),
            message: tag.message.lines().next().unwrap_or_default().to_owned(),
        })
        .collect();
    Ok(visit.show(Tab::Tags, "Tags", &view::tags(&visit.head.link(), &rows)))
}

/// `releases/tag/{name}`: there are no releases, so the files of the tag
pub(in crate::web) fn tag(visit: &Visit<'_>, name: &str) -> Result<Response, Trouble> {
    let tag = ops::tags::get(visit.app, visit.repo(), name)?;
    let to = visit.head.link().source(&At::Tag(tag.name), "");
    Ok(Redirect::to(&to).into_response())
}
