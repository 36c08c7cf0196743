//! Reviews, as far as approvals need them

use std::collections::HashMap;

use super::{Error, Result, What, protection};
use crate::{
    app::App,
    git::Oid,
    store::{
        protections::Rule,
        pulls::Pull,
        repos::Repo,
        reviews::{self, LineComment, Review},
        users::User,
    },
};

pub(crate) fn list(app: &App, pull: &Pull) -> Result<Vec<Review>> {
    Ok(app.store.read(|c| reviews::of_pull(c, pull.id))?)
}

pub(crate) fn get(app: &App, pull: &Pull, id: i64) -> Result<Review> {
    app.store
        .read(|c| reviews::by_id(c, pull.id, id))?
        .ok_or(Error::NotFound(What::Review))
}

/// What a reviewer says
#[derive(Debug, Clone)]
pub(crate) struct Say {
    /// `APPROVED`, `REQUEST_CHANGES`, `COMMENT` or `PENDING`
    pub(crate) state: &'static str,
    pub(crate) body: String,
    pub(crate) commit: Option<Oid>,
    pub(crate) comments: Vec<LineComment>,
}

pub(crate) fn create(app: &App, repo: &Repo, pull: &Pull, user: &User, say: Say) -> Result<Review> {
    let judging = is_judging(say.state);
    if judging && user.id == pull.poster_id {
        return Err(Error::OwnReview);
    }
    app.store.write(|tx| {
        let rule = protection::for_branch(tx, repo.id, &pull.base_branch)?.map(|found| found.rule);
        let official = judging && protection::is_official(tx, repo, rule.as_ref(), user)?;
        if judging {
            // Only the last word of a reviewer counts, and it answers a request.
            for mut earlier in reviews::of_pull(tx, pull.id)? {
                if earlier.user_id == user.id {
                    if earlier.state == "REQUEST_REVIEW" {
                        reviews::delete(tx, earlier.id)?;
                        continue;
                    }
                    earlier.official = false;
                    earlier.dismissed |= is_judging(&earlier.state);
                    reviews::save(tx, &earlier)?;
                }
            }
        }
        let now = app.now_ms();
        let mut review = Review {
            id: 0,
            pull_id: pull.id,
            user_id: user.id,
            state: say.state.to_owned(),
            body: say.body,
            commit_id: say.commit.unwrap_or(pull.head_sha),
            official,
            dismissed: false,
            comments: say.comments,
            submitted_at: now,
            updated_at: now,
        };
        // A user has at most one pending review: the new content goes into the one that was begun.
        let begun = reviews::of_pull(tx, pull.id)?
            .into_iter()
            .find(|old| old.user_id == user.id && old.state == "PENDING");
        match begun {
            Some(mut old) => {
                old.comments.append(&mut review.comments);
                review.comments = old.comments;
                review.id = old.id;
                reviews::save(tx, &review)?;
            }
            None => review.id = reviews::insert(tx, &review)?,
        }
        app.due.notify_one();
        Ok(review)
    })
}

fn is_judging(state: &str) -> bool {
    matches!(state, "APPROVED" | "REQUEST_CHANGES")
}

/// Turn a pending review into a spoken one
pub(crate) fn submit(
    app: &App,
    repo: &Repo,
    pull: &Pull,
    user: &User,
    mut review: Review,
    say: Say,
) -> Result<Review> {
    let judging = is_judging(say.state);
    if judging && user.id == pull.poster_id {
        return Err(Error::OwnReview);
    }
    app.store.write(|tx| {
        let rule = protection::for_branch(tx, repo.id, &pull.base_branch)?.map(|found| found.rule);
        review.official = judging && protection::is_official(tx, repo, rule.as_ref(), user)?;
        say.state.clone_into(&mut review.state);
        if !say.body.is_empty() {
            review.body = say.body;
        }
        review.updated_at = app.now_ms();
        reviews::save(tx, &review)?;
        app.due.notify_one();
        Ok(review)
    })
}

pub(crate) fn set_dismissed(app: &App, mut review: Review, dismissed: bool) -> Result<Review> {
    review.dismissed = dismissed;
    review.updated_at = app.now_ms();
    app.store.write(|tx| reviews::save(tx, &review))?;
    app.due.notify_one();
    Ok(review)
}

pub(crate) fn delete(app: &App, review: &Review) -> Result<()> {
    Ok(app.store.write(|tx| reviews::delete(tx, review.id))?)
}

/// Ask people to review
pub(crate) fn request(app: &App, repo: &Repo, pull: &Pull, users: &[User]) -> Result<Vec<Review>> {
    app.store.write(|tx| {
        let rule = protection::for_branch(tx, repo.id, &pull.base_branch)?.map(|found| found.rule);
        let mut made = Vec::new();
        for user in users {
            let known = reviews::of_pull(tx, pull.id)?;
            if known
                .iter()
                .any(|review| review.user_id == user.id && review.state == "REQUEST_REVIEW")
            {
                continue;
            }
            let now = app.now_ms();
            let mut review = Review {
                id: 0,
                pull_id: pull.id,
                user_id: user.id,
                state: "REQUEST_REVIEW".to_owned(),
                body: String::new(),
                commit_id: pull.head_sha,
                official: protection::is_official(tx, repo, rule.as_ref(), user)?,
                dismissed: false,
                comments: Vec::new(),
                submitted_at: now,
                updated_at: now,
            };
            review.id = reviews::insert(tx, &review)?;
            made.push(review);
        }
        Ok(made)
    })
}

pub(crate) fn is_stale(pull: &Pull, review: &Review) -> bool {
    review.commit_id != pull.head_sha
}

/// How the reviews stand against a rule
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) approvals: i64,
    pub(crate) rejected: bool,
    pub(crate) requested: bool,
}

pub(crate) fn standing(app: &App, pull: &Pull, rule: &Rule) -> Result<Standing> {
    let mut last: HashMap<i64, Review> = HashMap::new();
    let mut standing = Standing::default();
    for review in list(app, pull)? {
        match review.state.as_str() {
            "REQUEST_REVIEW" => standing.requested |= review.official,
            "APPROVED" | "REQUEST_CHANGES" if review.official => {
                last.insert(review.user_id, review);
            }
            _ => {}
        }
    }
    for review in last.values().filter(|review| !review.dismissed) {
        if review.state == "REQUEST_CHANGES" {
            standing.rejected = true;
        } else if !(rule.ignore_stale_approvals && is_stale(pull, review)) {
            standing.approvals += 1;
        }
    }
    Ok(standing)
}
