//! Pull requests

use axum::response::Response;
use url::form_urlencoded;

use super::commit::{changes, rows, statuses, text};
use crate::{
    ops::{
        self,
        error::Block,
        mergeability::{self, Verdict},
    },
    store::pulls::{Pull, State as Stored},
    web::{
        view::{
            pulls::{self as view, PullRow, PullView, Readiness, ReviewRow, State},
            repo::Tab,
        },
        visit::{Trouble, Visit},
        when,
    },
};

pub(in crate::web) fn list(visit: &Visit<'_>, query: &str) -> Result<Response, Trouble> {
    let wanted = form_urlencoded::parse(query.as_bytes())
        .find(|(name, _)| name == "state")
        .map_or_else(|| "open".to_owned(), |(_, value)| value.into_owned());
    let mut shown = Vec::new();
    for pull in ops::pulls::list(visit.app, visit.repo())? {
        let open = pull.state == Stored::Open;
        if wanted == "all" || open == (wanted != "closed") {
            shown.push(row(visit, &pull)?);
        }
    }
    let content = view::list(&visit.head.link(), &shown, &wanted);
    Ok(visit.show(Tab::Pulls, "Pull requests", &content))
}

/// `pulls/{number}`, also with `.diff` or `.patch`
pub(in crate::web) fn one(visit: &Visit<'_>, number: &str) -> Result<Response, Trouble> {
    let (number, form) = number.split_once('.').unwrap_or((number, ""));
    let number = number.parse().map_err(|_| Trouble::NotFound)?;
    let mut pull = ops::pulls::get(visit.app, visit.repo(), number)?;
    match form {
        "diff" => return Ok(text(visit.git().patch(pull.merge_base, pull.head_sha)?)),
        "patch" => {
            return Ok(text(
                visit.git().format_patch(pull.merge_base, pull.head_sha)?,
            ));
        }
        _ => {}
    }
    let readiness = readiness(visit, &mut pull)?;
    let mut reviews = Vec::new();
    for review in ops::reviews::list(visit.app, &pull)? {
        let mut state = review.state;
        if review.dismissed {
            state.push_str(" (dismissed)");
        }
        reviews.push(ReviewRow {
            author: visit.login(review.user_id)?,
            state,
            body: review.body,
            when: when::milliseconds(review.submitted_at),
        });
    }
    let commits = ops::pulls::commits(visit.app, &pull)?;
    let shown = PullView {
        row: row(visit, &pull)?,
        head_here: pull.head_repo_id == Some(visit.repo().id)
            && visit.git().branch(&pull.head_branch)?.is_some(),
        body: pull.body.clone(),
        readiness,
        checks: statuses(visit, pull.head_sha)?,
        reviews,
        commits: rows(commits.iter()),
    };
    let files = changes(visit, pull.merge_base, pull.head_sha)?;
    let content = view::one(&visit.head.link(), &shown, &files);
    Ok(visit.show(
        Tab::Pulls,
        &format!("#{} {}", pull.number, pull.title),
        &content,
    ))
}

fn row(visit: &Visit<'_>, pull: &Pull) -> Result<PullRow, Trouble> {
    let head = match ops::pulls::head_repo(visit.app, pull)? {
        Some(head) if head.repo.id != visit.repo().id => {
            format!("{}:{}", head.owner.login, pull.head_branch)
        }
        _ => pull.head_branch.clone(),
    };
    Ok(PullRow {
        number: pull.number,
        title: pull.title.clone(),
        state: match pull.state {
            Stored::Merged => State::Merged,
            Stored::Closed => State::Closed,
            Stored::Open if ops::pulls::is_draft(pull) => State::Draft,
            Stored::Open => State::Open,
        },
        author: visit.login(pull.poster_id)?,
        head,
        base: pull.base_branch.clone(),
        created: when::milliseconds(pull.created_at),
    })
}

fn readiness(visit: &Visit<'_>, pull: &mut Pull) -> Result<Readiness, Trouble> {
    match pull.state {
        Stored::Closed => return Ok(Readiness::Over(None)),
        Stored::Merged => {
            let by = match pull.merged_by {
                Some(id) => visit.login(id)?,
                None => "somebody".to_owned(),
            };
            let sha = pull
                .merge_sha
                .map(|sha| sha.to_string())
                .unwrap_or_default();
            return Ok(Readiness::Over(Some(format!("Merged by {by} as {sha}"))));
        }
        Stored::Open => {}
    }
    let blocked = |why: &str| Ok(Readiness::Blocked(why.to_owned()));
    if ops::pulls::is_draft(pull) {
        return blocked("it is a draft");
    }
    match mergeability::verdict(visit.app, pull)? {
        Verdict { checking: true, .. } => return Ok(Readiness::Checking),
        Verdict {
            mergeable: false, ..
        } => return blocked("its branches conflict"),
        Verdict { empty: true, .. } => return blocked("there is nothing to merge"),
        _ => {}
    }
    Ok(match ops::merge::blocked(visit.app, visit.repo(), pull)? {
        None => Readiness::Ready,
        Some(block) => Readiness::Blocked(words(block).to_owned()),
    })
}

fn words(block: Block) -> &'static str {
    match block {
        Block::Checks => "not all required checks succeeded",
        Block::Approvals => "it does not have enough approvals",
        Block::RequestedChanges => "a reviewer asked for changes",
        Block::ReviewRequests => "a review that was asked for is missing",
        Block::Outdated => "its branch is behind the base branch",
        Block::ProtectedFiles => "it changes protected files",
        Block::Unsigned => "it cannot be signed",
    }
}
