//! Merge a pull request; bring its branch up to date

use super::{
    Outcome,
    body::Form,
    fail::{self, Fail},
    reply::Reply,
    request::InRepo,
};
use crate::{
    ops::{
        self, MergeError, What,
        access::Access,
        merge::{self, Ask},
        pulls,
        styles::Style,
    },
    store::pulls::{AutoMerge, State},
};

pub(super) fn answer(cx: &InRepo<'_>, number: i64) -> Outcome {
    match cx.req.verb() {
        "GET" => {
            let pull = pulls::get(cx.app(), cx.repo(), number)?;
            if pull.state == State::Merged {
                Ok(Reply::empty(204))
            } else {
                Err(Fail::not_found())
            }
        }
        "POST" => merge(cx, number),
        "DELETE" => cancel(cx, number),
        _ => Err(Fail::wrong_verb()),
    }
}

fn merge(cx: &InRepo<'_>, number: i64) -> Outcome {
    let user = cx.user()?;
    cx.need_unarchived()?;
    let (app, repo) = (cx.app(), cx.repo());
    let form = cx.req.form()?;
    let style = match either(&form, "do", "Do")? {
        None | Some("") => return Err(Fail::invalid("[Do]: Required")),
        Some("manually-merged") => {
            return Err(
                ops::Error::from(MergeError::StyleForbidden("manually-merged".to_owned())).into(),
            );
        }
        Some(name) => Style::parse(name).ok_or_else(|| Fail::invalid("[Do]: In"))?,
    };
    let owned = |text: Option<&str>| text.map(str::to_owned);
    // Forgejo takes a missing field for "no", Gitea for the repository's own default.
    let default_delete = repo.settings.delete_branch_after_merge && !app.is_forgejo();
    let ask = Ask {
        style,
        title: owned(either(&form, "merge_title_field", "MergeTitleField")?),
        message: owned(either(&form, "merge_message_field", "MergeMessageField")?),
        head: owned(form.opt_text("head_commit_id")?),
        force: form.flag("force_merge")?,
        when_checks_succeed: form.flag("merge_when_checks_succeed")?,
        delete_branch: form
            .opt_flag("delete_branch_after_merge")?
            .unwrap_or(default_delete),
    };
    let outcome = merge::merge(app, &cx.found, number, user, &ask).map_err(|error| match error {
        ops::Error::NotFound(What::Pull) => Fail::missing(
            "GetPullRequestByIndex",
            &[&format!(
                "pull request does not exist [id: 0, issue_id: 0, head_repo_id: 0, base_repo_id: {}, \
                 head_branch: , base_branch: ]",
                repo.id
            )],
        ),
        ops::Error::Merge(MergeError::AlreadyMerged) if app.is_forgejo() => Fail::new(405, ""),
        ops::Error::Merge(MergeError::Blocked(block)) if app.is_forgejo() => {
            fail::blocked_on_forgejo(block)
        }
        other => other.into(),
    })?;
    Ok(Reply::empty(match outcome {
        merge::Outcome::Merged(_) => 200,
        merge::Outcome::Scheduled => 201,
    }))
}

/// Two spellings of a field; the newer wins
fn either<'a>(form: &'a Form, new: &str, old: &str) -> Result<Option<&'a str>, Fail> {
    Ok(match form.opt_text(new)? {
        Some(text) if !text.is_empty() => Some(text),
        _ => form.opt_text(old)?,
    })
}

fn cancel(cx: &InRepo<'_>, number: i64) -> Outcome {
    let user = cx.user()?;
    cx.need_unarchived()?;
    let pull = pulls::get(cx.app(), cx.repo(), number)?;
    let by = pull.auto_merge.as_ref().map(|plan: &AutoMerge| plan.by);
    if by.is_some_and(|by| by != user.id) && cx.access < Access::Admin {
        return Err(Fail::forbidden(
            "user has no permission to cancel the scheduled auto merge",
        ));
    }
    merge::cancel(cx.app(), cx.repo(), number, user)?;
    Ok(Reply::empty(204))
}

pub(super) fn update(cx: &InRepo<'_>, number: i64) -> Outcome {
    let user = cx.user()?;
    cx.need_unarchived()?;
    let rebase = cx.req.query("style") == Some("rebase");
    merge::update(cx.app(), cx.repo(), number, user, rebase).map_err(|error| match error {
        ops::Error::Merge(MergeError::AlreadyMerged | MergeError::Closed) => {
            Fail::invalid("%!s(<nil>)")
        }
        ops::Error::Merge(MergeError::NotAllowed) => Fail::empty(403),
        ops::Error::Merge(MergeError::UpToDate) => {
            Fail::new(500, &format!("HeadBranch of PR {number} is up to date"))
        }
        ops::Error::Merge(MergeError::Conflict { .. }) if rebase => {
            Fail::new(409, "rebase failed because of conflict")
        }
        ops::Error::Merge(MergeError::Conflict { .. }) => {
            Fail::new(409, "merge failed because of conflict")
        }
        other => other.into(),
    })?;
    Ok(Reply::empty(200))
}
