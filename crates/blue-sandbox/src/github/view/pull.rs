//! Pull requests and reviews

use serde_json::{Value, json};

use super::super::url::{Urls, node_id, segment};
use super::date;
use super::repo::{self, Shown};
use super::user::{self, extend};
use crate::git::Oid;
use crate::store::pulls::{Pull, State};
use crate::store::reviews::Review;
use crate::store::users::User;

/// A pull request with the people and repositories it names
#[derive(Debug)]
pub(in crate::github) struct Seen<'a> {
    pub(in crate::github) pull: &'a Pull,
    /// Without the prefix that marks a draft elsewhere
    pub(in crate::github) title: &'a str,
    pub(in crate::github) draft: bool,
    pub(in crate::github) poster: &'a User,
    pub(in crate::github) base: &'a Shown,
    /// Absent when a fork was deleted
    pub(in crate::github) head: Option<&'a Shown>,
    pub(in crate::github) author_association: &'static str,
    /// The merge that was made, or the one that was tried
    pub(in crate::github) merge_commit: Option<Oid>,
}

/// What only the answer about one pull request tells
#[derive(Debug)]
pub(in crate::github) struct Details<'a> {
    pub(in crate::github) mergeable: Option<bool>,
    pub(in crate::github) mergeable_state: &'static str,
    pub(in crate::github) merged_by: Option<&'a User>,
    pub(in crate::github) comments: usize,
    pub(in crate::github) commits: usize,
    pub(in crate::github) additions: u64,
    pub(in crate::github) deletions: u64,
    pub(in crate::github) changed_files: usize,
}

pub(in crate::github) fn simple(urls: &Urls, seen: &Seen<'_>) -> Value {
    let pull = seen.pull;
    let (api, web) = (seen.base.api(urls), seen.base.web(urls));
    let (own, issue) = (
        format!("{api}/pulls/{}", pull.number),
        format!("{api}/issues/{}", pull.number),
    );
    let page = format!("{web}/pull/{}", pull.number);
    let statuses = format!("{api}/statuses/{}", pull.head_sha);
    let href = |to: &str| json!({"href": to});
    let merged = pull.state == State::Merged;
    json!({
        "url": own,
        "id": pull.id,
        "node_id": node_id("PullRequest", pull.id),
        "html_url": page,
        "diff_url": format!("{page}.diff"),
        "patch_url": format!("{page}.patch"),
        "issue_url": issue,
        "number": pull.number,
        "state": if pull.state == State::Open { "open" } else { "closed" },
        "locked": false,
        "title": seen.title,
        "user": user::simple(urls, seen.poster),
        "body": (!pull.body.is_empty()).then_some(&pull.body),
        "created_at": date(pull.created_at),
        "updated_at": date(pull.updated_at),
        "closed_at": pull.closed_at.map(date),
        "merged_at": pull.closed_at.filter(|_| merged).map(date),
        "merge_commit_sha": seen.merge_commit.map(|oid| oid.to_string()),
        "assignee": null,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "labels": [],
        "milestone": null,
        "draft": seen.draft,
        "commits_url": format!("{own}/commits"),
        "review_comments_url": format!("{own}/comments"),
        "review_comment_url": format!("{api}/pulls/comments{{/number}}"),
        "comments_url": format!("{issue}/comments"),
        "statuses_url": statuses,
        "head": side(urls, &pull.head_branch, pull.head_sha, seen.head),
        "base": side(urls, &pull.base_branch, pull.base_sha, Some(seen.base)),
        "_links": {
            "self": href(&own),
            "html": href(&page),
            "issue": href(&issue),
            "comments": href(&format!("{issue}/comments")),
            "review_comments": href(&format!("{own}/comments")),
            "review_comment": href(&format!("{api}/pulls/comments{{/number}}")),
            "commits": href(&format!("{own}/commits")),
            "statuses": href(&statuses),
        },
        "author_association": seen.author_association,
        "auto_merge": null,
        "active_lock_reason": null,
    })
}

fn side(urls: &Urls, branch: &str, oid: Oid, of: Option<&Shown>) -> Value {
    let owner = of.map(|repo| &repo.owner);
    json!({
        "label": owner.map_or_else(|| branch.to_owned(), |owner| format!("{}:{branch}", owner.login)),
        "ref": branch,
        "sha": oid.to_string(),
        "user": owner.map(|owner| user::simple(urls, owner)),
        "repo": of.map(|repo| repo::simple(urls, repo)),
    })
}

pub(in crate::github) fn full(urls: &Urls, seen: &Seen<'_>, details: &Details<'_>) -> Value {
    let mut shown = simple(urls, seen);
    extend(
        &mut shown,
        json!({
            "merged": seen.pull.state == State::Merged,
            "mergeable": details.mergeable,
            "rebaseable": details.mergeable,
            "mergeable_state": details.mergeable_state,
            "merged_by": details.merged_by.map(|who| user::simple(urls, who)),
            "comments": details.comments,
            "review_comments": 0,
            "maintainer_can_modify": seen.pull.maintainer_edit,
            "commits": details.commits,
            "additions": details.additions,
            "deletions": details.deletions,
            "changed_files": details.changed_files,
        }),
    );
    shown
}

/// `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED`, `DISMISSED` or `PENDING`
fn review_state(review: &Review) -> &'static str {
    match review.state.as_str() {
        _ if review.dismissed => "DISMISSED",
        "APPROVED" => "APPROVED",
        "REQUEST_CHANGES" => "CHANGES_REQUESTED",
        "COMMENT" => "COMMENTED",
        _ => "PENDING",
    }
}

pub(in crate::github) fn review(
    urls: &Urls,
    repo: &Shown,
    number: i64,
    review: &Review,
    author: Option<&User>,
    association: &str,
) -> Value {
    let pull = format!("{}/pulls/{number}", repo.api(urls));
    let page = format!(
        "{}/pull/{number}#pullrequestreview-{}",
        repo.web(urls),
        review.id
    );
    let state = review_state(review);
    let mut shown = json!({
        "id": review.id,
        "node_id": node_id("PullRequestReview", review.id),
        "user": author.map(|who| user::simple(urls, who)),
        "body": review.body,
        "state": state,
        "html_url": page,
        "pull_request_url": pull,
        "author_association": association,
        "_links": {"html": {"href": page}, "pull_request": {"href": pull}},
        "commit_id": review.commit_id.to_string(),
    });
    if state != "PENDING" {
        shown["submitted_at"] = date(review.submitted_at).into();
    }
    shown
}

/// A person with what they may do in a repository
pub(in crate::github) fn collaborator(urls: &Urls, who: &User, role: &str) -> Value {
    let mut shown = user::simple(urls, who);
    let (admin, push) = (role == "admin", matches!(role, "admin" | "write"));
    extend(
        &mut shown,
        json!({
            "permissions": {"admin": admin, "maintain": admin, "push": push, "triage": push, "pull": true},
            "role_name": role,
        }),
    );
    shown["url"] = format!("{}/users/{}", urls.api, segment(&who.login)).into();
    shown
}
