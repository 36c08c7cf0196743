//! Two points side by side

use axum::response::Response;
use maud::html;

use super::commit::{changes, rows};
use crate::{
    ops,
    web::{
        view::{commit as view, diff, repo::Tab},
        visit::{Trouble, Visit},
    },
};

/// `compare/{base}...{head}`, or `compare/{head}` against the default branch
pub(in crate::web) fn show(visit: &Visit<'_>, parts: &[&str]) -> Result<Response, Trouble> {
    let spec = parts.join("/");
    let (base, head) = spec
        .split_once("...")
        .or_else(|| spec.split_once(".."))
        .unwrap_or((&visit.repo().default_branch, &spec));
    // The head may name its owner; within one repository that says nothing.
    let head = head.rsplit_once(':').map_or(head, |(_, head)| head);
    let found = ops::commits::compare(visit.app, visit.repo(), base, head)?;
    let files = changes(visit, found.merge_base.unwrap_or(found.base), found.head)?;
    let link = visit.head.link();
    let content = html! {
        h2 { (base) " … " (head) }
        p.dim { (found.commits.len()) " ahead, " (found.behind) " behind" }
        (view::rows(&link, &rows(found.commits.iter())))
        (diff::show(&files))
    };
    Ok(visit.show(Tab::Code, &format!("{base}...{head}"), &content))
}
