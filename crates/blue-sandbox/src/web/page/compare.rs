//! Two points side by side

use axum::response::Response;
use maud::html;

use super::commit::{changes, rows, text};
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
    // A branch may end so as well, and then it is meant.
    let form = match ops::commits::resolve(visit.app, visit.repo(), head) {
        Ok(_) => None,
        Err(_) => head
            .rsplit_once('.')
            .filter(|(_, form)| matches!(*form, "diff" | "patch")),
    };
    let (head, form) = form.unwrap_or((head, ""));
    let found = ops::commits::compare(visit.app, visit.repo(), base, head)?;
    let from = found.merge_base.unwrap_or(found.base);
    match form {
        "diff" => return Ok(text(visit.git().patch(from, found.head)?)),
        "patch" => return Ok(text(visit.git().format_patch(from, found.head)?)),
        _ => {}
    }
    let files = changes(visit, from, found.head)?;
    let link = visit.head.link();
    let content = html! {
        h2 { (base) " … " (head) }
        p.dim { (found.commits.len()) " ahead, " (found.behind) " behind" }
        (view::rows(&link, &rows(found.commits.iter())))
        (diff::show(&files))
    };
    Ok(visit.show(Tab::Code, &format!("{base}...{head}"), &content))
}
