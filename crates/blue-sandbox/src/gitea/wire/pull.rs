//! Pull requests

use serde_json::{Value, json};

use super::{View, opt_time, repo, time, user};
use crate::{
    app::App,
    gitea::{fail::Fail, request::InRepo},
    ops::{
        self, access,
        agit::is_agit,
        mergeability,
        pulls::{diff, head_repo, is_draft},
        repos::Found,
        reviews,
    },
    store::pulls::{self, Pull, State},
};

/// One pull request with its counts
pub(in crate::gitea) fn full(cx: &InRepo<'_>, pull: &mut Pull) -> Result<Value, Fail> {
    let app = cx.app();
    let mut value = shape(cx, pull)?;
    let files = diff(app, pull)?;
    value["additions"] = files.additions().into();
    value["deletions"] = files.deletions().into();
    // The servers count nothing of a pull request whose head is no branch.
    value["changed_files"] = match (is_agit(app, pull)?, app.is_forgejo()) {
        (false, _) => files.files.len().into(),
        (true, true) => 0.into(),
        (true, false) => Value::Null,
    };
    value["assignees"] = json!([]);
    value["requested_reviewers_teams"] = json!([]);
    let mut reviewers: Vec<Value> = Vec::new();
    let mut seen = Vec::new();
    for review in reviews::list(app, pull)? {
        if !seen.contains(&review.user_id)
            && !review.dismissed
            && matches!(
                review.state.as_str(),
                "REQUEST_REVIEW" | "APPROVED" | "REQUEST_CHANGES" | "COMMENT"
            )
            && let Some(reviewer) = ops::users::by_id(app, review.user_id)?
        {
            seen.push(review.user_id);
            reviewers.push(user(app, &reviewer, View::Public));
        }
    }
    value["requested_reviewers"] = reviewers.into();
    Ok(value)
}

/// One of a list: without counts
pub(in crate::gitea) fn listed(cx: &InRepo<'_>, pull: &mut Pull) -> Result<Value, Fail> {
    let mut value = shape(cx, pull)?;
    let fields = value.as_object_mut().expect("made as an object");
    for counted in ["additions", "deletions", "changed_files"] {
        fields.shift_remove(counted);
    }
    if !cx.app().is_forgejo() {
        value["merged_by"] = Value::Null;
    }
    Ok(value)
}

fn shape(cx: &InRepo<'_>, pull: &mut Pull) -> Result<Value, Fail> {
    let app = cx.app();
    let draft = is_draft(pull);
    let mergeable = match pull.state {
        State::Open => mergeability::verdict(app, pull)?.mergeable && !draft,
        State::Closed => pull.mergeable && !draft,
        State::Merged => true,
    };
    let page = format!("{}/pulls/{}", cx.web_url(), pull.number);
    let caller = cx.req.caller.as_ref().map(|caller| &caller.user);
    let poster = ops::users::by_id(app, pull.poster_id)?;
    let merged_by = match pull.merged_by {
        Some(id) => ops::users::by_id(app, id)?,
        None => None,
    };
    let counts = app.store.read(|c| {
        let comments = pulls::comments(c, pull.repo_id, pull.number)?.len();
        Ok::<_, ops::Error>(comments)
    })?;
    let spoken = reviews::list(app, pull)?;
    let spoken = spoken
        .iter()
        .filter(|review| !matches!(review.state.as_str(), "REQUEST_REVIEW" | "PENDING"));
    let review_comments = spoken.count();
    let merged = pull.state == State::Merged;
    let mut value = json!({
        "id": pull.id,
        "url": page,
        "number": pull.number,
        "user": poster.map(|poster| user(app, &poster, View::of(&poster, caller))),
        "title": pull.title,
        "body": pull.body,
        "labels": [],
        "milestone": null,
        "assignee": null,
        "assignees": null,
        "requested_reviewers": null,
        "requested_reviewers_teams": null,
        "state": if pull.state == State::Open { "open" } else { "closed" },
        "draft": draft,
        "is_locked": false,
        "comments": counts,
        "review_comments": review_comments,
        "additions": 0,
        "deletions": 0,
        "changed_files": 0,
        "html_url": page,
        "diff_url": format!("{page}.diff"),
        "patch_url": format!("{page}.patch"),
        "mergeable": mergeable,
        "merged": merged,
        "merged_at": if merged { opt_time(pull.closed_at) } else { None },
        "merge_commit_sha": pull.merge_sha,
        "merged_by": merged_by.map(|by| user(app, &by, View::Public)),
        "allow_maintainer_edit": pull.maintainer_edit,
        "base": base(cx, pull)?,
        "head": head(cx, pull)?,
        "merge_base": pull.merge_base,
        "due_date": null,
        "created_at": time(pull.created_at),
        "updated_at": time(pull.updated_at),
        "closed_at": opt_time(pull.closed_at),
        "pin_order": 0,
        "content_version": 0,
    });
    if app.is_forgejo() {
        let fields = value.as_object_mut().expect("made as an object");
        fields.shift_remove("content_version");
        let flow = i32::from(is_agit(app, pull)?);
        fields.insert("flow".to_owned(), json!(flow));
    }
    Ok(value)
}

fn base(cx: &InRepo<'_>, pull: &Pull) -> Result<Value, Fail> {
    let tip = cx.app().git(pull.repo_id).branch(&pull.base_branch)?;
    Ok(json!({
        "label": pull.base_branch,
        "ref": pull.base_branch,
        "sha": tip.unwrap_or(pull.base_sha),
        "repo_id": pull.repo_id,
        "repo": repo(cx.app(), &cx.found, cx.access)?,
    }))
}

fn head(cx: &InRepo<'_>, pull: &Pull) -> Result<Value, Fail> {
    let app = cx.app();
    let there = head_repo(app, pull)?;
    let tip = match &there {
        Some(found) => app.git(found.repo.id).branch(&pull.head_branch)?,
        None => None,
    };
    let gone = format!("refs/pull/{}/head", pull.number);
    let label = if is_agit(app, pull)? {
        ""
    } else {
        &pull.head_branch
    };
    Ok(json!({
        "label": label,
        "ref": if tip.is_some() { &pull.head_branch } else { &gone },
        "sha": tip.filter(|_| pull.state == State::Open).unwrap_or(pull.head_sha),
        "repo_id": pull.head_repo_id,
        "repo": match there {
            Some(found) => shown_repo(app, cx, &found)?,
            None => Value::Null,
        },
    }))
}

fn shown_repo(app: &App, cx: &InRepo<'_>, found: &Found) -> Result<Value, Fail> {
    let access = access::of(app, &found.repo, cx.req.caller.as_ref())?;
    repo(app, found, access)
}
