//! Merge a pull request

use serde::Deserialize;
use serde_json::json;

use super::super::cx::At;
use super::super::refusal::{Refusal, Result};
use super::super::reply::Reply;
use super::super::view::{commit::message, protection};
use super::title;
use crate::ops::error::Block;
use crate::ops::merge::{Ask, Outcome};
use crate::ops::repos::Found;
use crate::ops::styles::Style;
use crate::ops::{self, MergeError};
use crate::store::pulls::{self as rows, Pull, State};

pub(in crate::github) fn is_merged(at: &At<'_>, number: i64) -> Result<Reply> {
    let pull = ops::pulls::get(at.app(), &at.repo.row, number)?;
    if pull.state == State::Merged {
        return Ok(Reply::no_content());
    }
    Err(Refusal::not_found())
}

#[derive(Debug, Deserialize)]
struct Wanted {
    commit_title: Option<String>,
    commit_message: Option<String>,
    sha: Option<String>,
    #[serde(rename = "merge_method")]
    method: Option<String>,
}

const NOT_MERGEABLE: &str = "Pull Request is not mergeable";

pub(in crate::github) fn merge(at: &At<'_>, number: i64) -> Result<Reply> {
    let who = at.writer()?;
    let body: Wanted = at.ask().body()?;
    let style = match body.method.as_deref() {
        None | Some("" | "merge") => Style::Merge,
        Some("squash") => Style::Squash,
        Some("rebase") => Style::Rebase,
        Some(_) => return Err(Refusal::field("PullRequest", "merge_method", "invalid")),
    };
    let pull = ops::pulls::get(at.app(), &at.repo.row, number)?;
    let pin = body
        .sha
        .map(|sha| sha.to_ascii_lowercase())
        .filter(|sha| !sha.is_empty());
    if pull.state == State::Open
        && pin
            .as_ref()
            .is_some_and(|pin| *pin != pull.head_sha.to_string())
    {
        return Err(head_moved());
    }
    check_now(at, &pull)?;
    let rule = ops::protection::of_branch(at.app(), &at.repo.row, &pull.base_branch)?;
    if pull.state == State::Open
        && rule.is_some_and(|found| !protection::allows_method(&found.rule, style.name()))
    {
        let message = format!("`{}` is not an allowed merge method.", style.name());
        return Err(Refusal::not_allowed(format!(
            "Repository rule violations found\n\n{message}"
        )));
    }
    let (title, words) = words(at, &pull, style)?;
    let ask = Ask {
        style,
        title: if style == Style::Rebase {
            None
        } else {
            body.commit_title.or(Some(title))
        },
        message: if style == Style::Rebase {
            None
        } else {
            body.commit_message.or(Some(words))
        },
        head: pin,
        force: false,
        when_checks_succeed: false,
        delete_branch: at.repo.row.settings.delete_branch_after_merge,
    };
    let found = Found {
        repo: at.repo.row.clone(),
        owner: at.repo.owner.clone(),
        renamed: false,
    };
    match ops::merge::merge(at.app(), &found, number, who, &ask) {
        Ok(Outcome::Merged(oid)) => Ok(Reply::ok(&json!({
            "sha": oid.to_string(),
            "merged": true,
            "message": "Pull Request successfully merged",
        }))),
        Ok(Outcome::Scheduled) => Err(Refusal::not_allowed(NOT_MERGEABLE)),
        Err(error) => Err(refused(at, &pull, style, error)?),
    }
}

/// A merge does not wait for the check: it makes one
fn check_now(at: &At<'_>, pull: &Pull) -> Result<()> {
    if pull.state != State::Open || at.app().now_ms() >= pull.check_until {
        return Ok(());
    }
    at.app().store.write(|tx| {
        if let Some(mut row) = rows::by_id(tx, pull.id)? {
            (row.stale_until, row.check_until) = (0, 0);
            rows::save(tx, &row)?;
        }
        Ok::<_, rusqlite::Error>(())
    })?;
    Ok(())
}

fn head_moved() -> Refusal {
    Refusal::conflict("Head branch was modified. Review and try the merge again.")
}

/// Title and message of the commit where the caller gives none
fn words(at: &At<'_>, pull: &Pull, style: Style) -> Result<(String, String)> {
    let title = title(pull);
    if style != Style::Squash {
        let owner = match pull.head_repo_id {
            Some(id) => at.cx.show(id)?.map(|head| head.owner.login.clone()),
            None => None,
        };
        let owner = owner.unwrap_or_else(|| at.repo.owner.login.clone());
        let first = format!(
            "Merge pull request #{} from {owner}/{}",
            pull.number, pull.head_branch
        );
        return Ok((first, title.to_owned()));
    }
    let mut commits = ops::pulls::commits(at.app(), pull)?;
    commits.reverse();
    let told = match commits.as_slice() {
        [(_, only)] => {
            let text = message(&only.message);
            text.split_once('\n')
                .map_or("", |(_, rest)| rest.trim())
                .to_owned()
        }
        many => {
            let rows: Vec<String> = many
                .iter()
                .map(|(_, commit)| format!("* {}", message(&commit.message)))
                .collect();
            rows.join("\n\n")
        }
    };
    Ok((format!("{title} (#{})", pull.number), told))
}

fn refused(at: &At<'_>, pull: &Pull, style: Style, error: ops::Error) -> Result<Refusal> {
    let ops::Error::Merge(error) = error else {
        return Ok(match error {
            ops::Error::BranchMoved => {
                Refusal::not_allowed("Base branch was modified. Review and try the merge again.")
            }
            other => other.into(),
        });
    };
    Ok(match error {
        MergeError::HeadMoved => head_moved(),
        MergeError::Draft => Refusal::not_allowed("Pull Request is still a draft"),
        MergeError::NotAllowed => {
            Refusal::not_allowed("You're not authorized to push to this branch.")
        }
        MergeError::StyleForbidden(_) => Refusal::not_allowed(match style {
            Style::Squash => "Squash merges are not allowed on this repository.",
            Style::Rebase => "Rebase merges are not allowed on this repository.",
            _ => "Merge commits are not allowed on this repository.",
        }),
        MergeError::Conflict { .. } if style == Style::Rebase => {
            Refusal::not_allowed("This branch can't be rebased")
        }
        MergeError::Blocked(block) => Refusal::not_allowed(blocked(at, pull, block)?),
        _ => Refusal::not_allowed(NOT_MERGEABLE),
    })
}

fn blocked(at: &At<'_>, pull: &Pull, block: Block) -> Result<String> {
    let rule = ops::protection::of_branch(at.app(), &at.repo.row, &pull.base_branch)?;
    let rule = rule.map(|found| found.rule).unwrap_or_default();
    Ok(match block {
        Block::Checks => checks(at, pull, &rule.status_check_contexts)?,
        Block::Approvals if rule.required_approvals == 1 => {
            "At least 1 approving review is required by reviewers with write access.".to_owned()
        }
        Block::Approvals => format!(
            "At least {} approving reviews are required by reviewers with write access.",
            rule.required_approvals
        ),
        Block::RequestedChanges => "Changes requested by reviewers with write access.".to_owned(),
        Block::ReviewRequests => "Review required: a requested review is missing.".to_owned(),
        Block::Outdated => "The head branch is out-of-date with the base branch.".to_owned(),
        Block::ProtectedFiles => "Changes to protected files are restricted.".to_owned(),
        Block::Unsigned => "Commits must have verified signatures.".to_owned(),
    })
}

/// Which required checks are missing, running or red
fn checks(at: &At<'_>, pull: &Pull, required: &[String]) -> Result<String> {
    let statuses = ops::statuses::latest(at.app(), &at.repo.row, pull.head_sha)?;
    let mut open = Vec::new();
    for pattern in required {
        let mine: Vec<_> = statuses
            .iter()
            .filter(|status| crate::glob::matches(pattern, &status.context, &[]))
            .cloned()
            .collect();
        let word = match ops::statuses::combined(&mine) {
            "success" => continue,
            _ if mine.is_empty() => "expected",
            "failure" => "failing",
            _ => "pending",
        };
        open.push((pattern, word));
    }
    Ok(match open.as_slice() {
        [] => "Required status checks have not succeeded.".to_owned(),
        [(context, word)] => format!("Required status check \"{context}\" is {word}."),
        many => {
            let count = |word: &str| {
                let n = many.iter().filter(|(_, other)| *other == word).count();
                (n > 0).then(|| format!("{n} {word}"))
            };
            let parts: Vec<String> = ["expected", "pending", "failing"]
                .into_iter()
                .filter_map(count)
                .collect();
            format!(
                "{} of {} required status checks have not succeeded: {}.",
                many.len(),
                required.len(),
                parts.join(" and ")
            )
        }
    })
}
