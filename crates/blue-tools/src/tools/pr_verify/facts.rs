//! Everything that decides about a merge, read at once

use std::time::Duration;

use blue_core::forge::{
    ForgeError, ForgeType, glob,
    model::{Check, Mergeability, PrState, Protection, PullRequest, Review},
};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::{Cx, Repo, ToolError};

/// What was read longer ago than this is read again
const FRESH: Duration = Duration::from_secs(1);
/// How often a head may move under the reader
const ROUNDS: usize = 3;

#[derive(Debug)]
pub(super) struct Facts {
    pub(super) pr: PullRequest,
    pub(super) mergeability: Mergeability,
    pub(super) rule: Protection,
    pub(super) reviews: Vec<Review>,
    pub(super) checks: Vec<Check>,
    pub(super) behind: bool,
    /// Files that it changes and the rule protects
    pub(super) protected: Vec<String>,
    /// Whether the caller may merge at all, where the forge tells
    pub(super) may_merge: Option<bool>,
    pub(super) archived: bool,
    /// Required checks are patterns on this forge
    pub(super) globs: bool,
    pub(super) host: String,
}

impl Facts {
    pub(super) fn is_open(&self) -> bool {
        self.pr.state == PrState::Open
    }
}

pub(super) async fn gather(
    cx: &Cx,
    repo: &Repo,
    number: u64,
    patience: Duration,
) -> Result<Facts, ToolError> {
    let end = Instant::now() + patience;
    let mut pr = repo.forge.get_pr(&repo.id, number).await?;
    for _ in 1..ROUNDS {
        let begun = Instant::now();
        let left = end.saturating_duration_since(begun);
        let mut facts = told(cx, patience, read(repo, pr.clone(), left)).await?;
        if begun.elapsed() < FRESH || !facts.is_open() {
            return Ok(facts);
        }
        let now = repo.forge.get_pr(&repo.id, number).await?;
        let same = now.head.sha == pr.head.sha && now.base.branch == pr.base.branch;
        if same && now.state == pr.state {
            facts.behind = behind(&now).unwrap_or(facts.behind);
            facts.pr = now;
            return Ok(facts);
        }
        pr = now;
    }
    let left = end.saturating_duration_since(Instant::now());
    Ok(told(cx, patience, read(repo, pr, left)).await?)
}

/// Tell each second that it still takes time
async fn told<T>(cx: &Cx, patience: Duration, work: impl Future<Output = T>) -> T {
    let second = Duration::from_secs(1);
    let mut ticks = interval_at(Instant::now() + second, second);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut done = 0.0;
    tokio::pin!(work);
    loop {
        tokio::select! {
            result = &mut work => return result,
            _ = ticks.tick() => {
                done += 1.0;
                let said = "the forge is computing whether the branches merge";
                cx.progress(done, Some(patience.as_secs_f64().max(done)), said);
            }
        }
    }
}

async fn read(repo: &Repo, pr: PullRequest, patience: Duration) -> Result<Facts, ForgeError> {
    let (forge, id) = (&repo.forge, &repo.id);
    let open = pr.state == PrState::Open;
    let github = forge.forge_type() == ForgeType::GitHub;
    let mergeability = async {
        match pr.state {
            PrState::Open => forge.mergeability_of(id, &pr, patience).await,
            PrState::Merged => Ok(Mergeability::Merged),
            PrState::Closed => Ok(Mergeability::Closed),
        }
    };
    let rule = async {
        let rule = match forge.protection(id, &pr.base.branch).await {
            // Its branches may be gone by now, and nothing depends on them any more.
            Err(ForgeError::NotFound { .. }) if !open => Protection::none(),
            other => other?,
        };
        if !open || rule.protected_files.is_empty() {
            return Ok((rule, Vec::new()));
        }
        let files = forge.pr_files(id, pr.number).await?.into_iter();
        let paths = files.flat_map(|file| [Some(file.path), file.previous_path]);
        let protected = |path: &String| glob::names_file(&rule.protected_files, path);
        let touched = paths.flatten().filter(protected).collect();
        Ok((rule, touched))
    };
    let checks = async {
        let Some(sha) = &pr.head.sha else {
            return Ok(Vec::new());
        };
        match forge.checks_of(id, sha).await {
            Err(ForgeError::NotFound { .. }) if !open => Ok(Vec::new()),
            other => other.map(|checks| checks.items),
        }
    };
    // Gitea and Forgejo tell both with the branch and the pull request.
    let about = async {
        if github && open {
            forge.repository(id).await.map(Some)
        } else {
            Ok(None)
        }
    };
    let lag = async {
        match (behind(&pr), &pr.head.sha) {
            (Some(behind), _) => behind,
            (None, Some(head)) if open => forge
                .ahead(id, head.as_str(), &pr.base.branch)
                .await
                .is_ok_and(|more| more > 0),
            _ => false,
        }
    };
    let reviews = forge.reviews_of(id, &pr);
    let (mergeability, (rule, protected), checks, about, reviews, behind) =
        tokio::try_join!(mergeability, rule, checks, about, reviews, async {
            Ok(lag.await)
        },)?;
    let may_push = about
        .as_ref()
        .and_then(|about| about.permissions)
        .map(|may| may.push);
    Ok(Facts {
        archived: pr.archived || about.is_some_and(|about| about.archived),
        may_merge: rule.can_merge.or(may_push),
        globs: !github,
        host: forge.host().to_string(),
        pr,
        mergeability,
        rule,
        reviews,
        checks,
        behind,
        protected,
    })
}

/// Whether the base went on since the head left it, where the pull request itself tells
fn behind(pr: &PullRequest) -> Option<bool> {
    match (&pr.merge_base, &pr.base.sha) {
        (Some(left), Some(tip)) => Some(left != tip),
        _ => None,
    }
}
