//! Commits: list, show, compare

use serde_json::{Value, json};

use super::ask::decode;
use super::cx::At;
use super::media::Media;
use super::network;
use super::refusal::{Refusal, Result};
use super::reply::Reply;
use super::url::path;
use super::view::commit;
use crate::git::{Diff, Oid};
use crate::ops;

const TEXT: &str = "application/vnd.github.diff; charset=utf-8";
const PATCH: &str = "application/vnd.github.patch; charset=utf-8";

/// Files of a comparison or commit that are shown
const MOST_FILES: usize = 300;

pub(super) fn list(at: &At<'_>) -> Result<Reply> {
    if at.is_empty()? {
        return Err(Refusal::empty_repository());
    }
    let rev = at.ask().param("sha").unwrap_or(&at.repo.row.default_branch);
    let from = at.resolve(rev)?.ok_or_else(Refusal::not_found)?;
    let mut all = match at.ask().param("path") {
        Some(path) => at.git.log_path(from, path.trim_matches('/'))?,
        None => at.git.log(from, None)?,
    };
    if let Some(author) = at.ask().param("author") {
        let email = ops::users::find(at.app(), author).map_or(author.to_owned(), |who| who.email);
        all.retain(|(_, commit)| commit.author.email.eq_ignore_ascii_case(&email));
    }
    let when = |name: &str| {
        let text = at.ask().param(name)?;
        text.parse::<jiff::Timestamp>()
            .ok()
            .map(jiff::Timestamp::as_second)
    };
    let (since, until) = (when("since"), when("until"));
    all.retain(|(_, commit)| {
        let at = commit.committer.seconds;
        since.is_none_or(|since| at >= since) && until.is_none_or(|until| at <= until)
    });
    at.cx.list(at.ask().page().cut(all), |(oid, commit)| {
        at.show_commit(oid, &commit)
    })
}

/// The commit a caller names, or the refusal GitHub has for it
pub(super) fn find(at: &At<'_>, rev: &str) -> Result<Oid> {
    match at.resolve(rev)? {
        Some(oid) => Ok(oid),
        None if at.is_empty()? => Err(Refusal::empty_repository()),
        None => Err(Refusal::unprocessable(format!(
            "No commit found for SHA: {rev}"
        ))),
    }
}

pub(super) fn get(at: &At<'_>, rev: &str) -> Result<Reply> {
    let oid = find(at, rev)?;
    let commit = at.git.commit(oid)?;
    let before = commit.parents.first().copied().unwrap_or(Oid::EMPTY_TREE);
    match at.ask().media() {
        Media::Sha => {
            let kind = "application/vnd.github.sha; charset=utf-8";
            return Ok(Reply::bytes(kind, oid.to_string().into_bytes()));
        }
        Media::Diff => return Ok(Reply::bytes(TEXT, at.git.patch(before, oid)?.into_bytes())),
        Media::Patch if !commit.parents.is_empty() => {
            return Ok(Reply::bytes(
                PATCH,
                at.git.format_patch(before, oid)?.into_bytes(),
            ));
        }
        _ => {}
    }
    let diff = ops::commits::between(at.app(), &at.repo.row, before, oid)?;
    let mut shown = at.show_commit(oid, &commit)?;
    let (additions, deletions) = (diff.additions(), diff.deletions());
    shown["stats"] = json!({
        "additions": additions,
        "deletions": deletions,
        "total": additions + deletions,
    });
    let page = at.ask().page();
    let total = diff.files.len();
    let files = files(at, &diff, before, oid)?;
    shown["files"] = page.cut(files).rows.into();
    Ok(at.cx.linked(Reply::ok(&shown), page, total))
}

/// Every changed file with its hunks
pub(super) fn files(at: &At<'_>, diff: &Diff, from: Oid, to: Oid) -> Result<Vec<Value>> {
    if diff.files.is_empty() {
        return Ok(Vec::new());
    }
    let text = at.git.patch(from, to)?;
    let hunks = split(&text);
    let rows = diff.files.iter().enumerate().map(|(index, change)| {
        commit::file(
            at.urls(),
            &at.repo,
            to,
            change,
            hunks.get(index).copied().flatten(),
        )
    });
    Ok(rows.collect())
}

/// The hunks of each file of a patch, in order; a binary or a mere rename has none
fn split(patch: &str) -> Vec<Option<&str>> {
    let mut starts: Vec<usize> = Vec::new();
    let mut offset = 0;
    for line in patch.split_inclusive('\n') {
        if line.starts_with("diff --git ") {
            starts.push(offset);
        }
        offset += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([patch.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| {
            let file = &patch[*start..end];
            let hunks = file.find("\n@@ ").map(|at| &file[at + 1..])?;
            Some(hunks.strip_suffix('\n').unwrap_or(hunks))
        })
        .collect()
}

/// `base...head`, each a branch, a tag or a commit, also as `owner:branch` of this repository or of a fork
pub(super) fn compare(at: &At<'_>, basehead: &str) -> Result<Reply> {
    let (base_name, head_name) = basehead.split_once("...").ok_or_else(Refusal::not_found)?;
    let (base_name, head_name) = (decode(base_name), decode(head_name));
    if at.is_empty()? {
        return Err(Refusal::not_found());
    }
    let (base, head) = (side(at, &base_name)?, side(at, &head_name)?);
    let Some(fork_point) = at.git.merge_base(base, head)? else {
        let message = format!("No common ancestor between {base_name} and {head_name}.");
        return Err(Refusal::new(http::StatusCode::NOT_FOUND, message));
    };
    match at.ask().media() {
        Media::Diff => {
            return Ok(Reply::bytes(
                TEXT,
                at.git.patch(fork_point, head)?.into_bytes(),
            ));
        }
        Media::Patch => {
            return Ok(Reply::bytes(
                PATCH,
                at.git.format_patch(fork_point, head)?.into_bytes(),
            ));
        }
        _ => {}
    }
    let (ahead, behind) = at.git.ahead_behind(head, base)?;
    let mut commits = at.git.log(head, Some(base))?;
    commits.reverse();
    let paged = at.ask().param("page").is_some() || at.ask().param("per_page").is_some();
    let page = at.ask().page();
    // Asked for without pages, the first 250 commits come at once.
    let (first, size) = if paged {
        (page.start(), page.size())
    } else {
        (0, 250)
    };
    let rows: Vec<Value> = commits
        .iter()
        .skip(first)
        .take(size)
        .map(|(oid, commit)| at.show_commit(*oid, commit))
        .collect::<Result<_>>()?;
    let show = |oid: Oid| at.show_commit(oid, &at.git.commit(oid)?);
    let diff = ops::commits::between(at.app(), &at.repo.row, fork_point, head)?;
    // Files are on the first page only.
    let mut files = if first == 0 {
        files(at, &diff, fork_point, head)?
    } else {
        Vec::new()
    };
    files.truncate(MOST_FILES);
    let status = match (ahead, behind) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        _ => "diverged",
    };
    let (api, web) = (at.repo.api(at.urls()), at.repo.web(at.urls()));
    let range = format!("{}...{}", path(&base_name), path(&head_name));
    let reply = Reply::ok(&json!({
        "url": format!("{api}/compare/{range}"),
        "html_url": format!("{web}/compare/{range}"),
        "permalink_url": format!("{web}/compare/{base}...{head}"),
        "diff_url": format!("{web}/compare/{range}.diff"),
        "patch_url": format!("{web}/compare/{range}.patch"),
        "base_commit": show(base)?,
        "merge_base_commit": show(fork_point)?,
        "status": status,
        "ahead_by": ahead,
        "behind_by": behind,
        "total_commits": commits.len(),
        "commits": rows,
        "files": files,
    }));
    Ok(if paged {
        at.cx.linked(reply, page, commits.len())
    } else {
        reply
    })
}

fn side(at: &At<'_>, name: &str) -> Result<Oid> {
    let found = match name.split_once(':') {
        None => at.resolve(name)?,
        Some((owner, branch)) => match network::find(at, owner, None)? {
            Some(repo) if repo.id == at.id() => at.resolve(branch)?,
            Some(fork) => network::borrow(at, &fork, branch)?,
            None => None,
        },
    };
    found.ok_or_else(Refusal::not_found)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_patch_falls_apart_into_files() {
        let patch = "diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\
                     diff --git a/y b/z\nsimilarity index 100%\n";
        assert_eq!(split(patch), [Some("@@ -1 +1 @@\n-a\n+b"), None]);
    }
}
