//! Everything that decides about a merge, read at once

use std::time::Duration;

use blue_base::load;
use blue_forge::{
    ForgeError, ForgeType, glob,
    model::{
        Check, Checks, MergeStyles, Mergeability, PrState, Protection, PullRequest, Review, Ruling,
    },
};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::{Cx, Repo, ToolError};

/// What was read longer ago than this is read again
const FRESH: Duration = Duration::from_secs(1);
/// How often a head may move under the reader
const ROUNDS: usize = 3;

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Facts {
    pub(super) pr: PullRequest,
    pub(super) mergeability: Mergeability,
    pub(super) rule: Protection,
    pub(super) reviews: Vec<Review>,
    pub(super) checks: Vec<Check>,
    /// There may be checks that the caller may not see
    pub(super) hidden_checks: bool,
    pub(super) behind: bool,
    /// Files that it changes and the rule protects
    pub(super) protected: Vec<String>,
    /// Another pull request must be merged first
    pub(super) waits: bool,
    /// Whether the caller may merge at all, where the forge tells
    pub(super) may_merge: Option<bool>,
    pub(super) archived: bool,
    /// Merge styles that repository and rule allow, where both are told
    pub(super) styles: Option<MergeStyles>,
    /// The caller may merge although rules are not met
    pub(super) may_bypass: bool,
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
        let mut now = facts.pr.clone();
        if begun.elapsed() >= FRESH && facts.is_open() {
            now = repo.forge.get_pr(&repo.id, number).await?;
        }
        // Everything else was read for the first look.
        let same = now.head.sha == pr.head.sha && now.base.branch == pr.base.branch;
        if same && now.state == pr.state && now.ruling == facts.pr.ruling {
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
            PrState::Open => forge.mergeability_of(id, pr.clone(), patience).await,
            PrState::Merged => Ok((Mergeability::Merged, pr.clone())),
            PrState::Closed => Ok((Mergeability::Closed, pr.clone())),
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
        let (patterns, paths) = (
            rule.protected_files.clone(),
            paths.flatten().collect::<Vec<_>>(),
        );
        let touched = load::offload(move || glob::named_files(&patterns, &paths)).await;
        Ok((rule, touched))
    };
    let checks = async {
        let Some(sha) = &pr.head.sha else {
            return Ok(Checks::default());
        };
        match forge.checks_of(id, sha).await {
            Err(ForgeError::NotFound { .. }) if !open => Ok(Checks::default()),
            other => other,
        }
    };
    // Gitea and Forgejo tell it with the branch.
    let permissions = async {
        if github && open {
            forge.permissions(id).await
        } else {
            Ok(None)
        }
    };
    let compare = async || match (behind(&pr), &pr.head.sha) {
        (Some(behind), _) => behind,
        (None, Some(head)) if open => forge
            .ahead(id, head.as_str(), &pr.base.branch)
            .await
            .is_ok_and(|more| more > 0),
        _ => false,
    };
    let made_on = pr.head.sha.as_ref().and_then(|head| forge.parents_of(head));
    let lag = async {
        match made_on {
            Some(_) => Ok(None),
            None => Ok(Some(compare().await)),
        }
    };
    let reviews = forge.reviews_of(id, &pr);
    let waits = async { Ok(open && forge.has_open_dependency(id, pr.number).await) };
    let ((mergeability, last), (rule, protected), checks, permissions, reviews, lag, waits) =
        tokio::try_join!(mergeability, rule, checks, permissions, reviews, lag, waits)?;
    let behind = match (lag, made_on, &rule.tip) {
        (Some(behind), ..) => behind,
        // The base is still where the head was made.
        (None, Some(parents), Some(tip)) if parents.contains(tip) => false,
        _ => compare().await,
    };
    let by_rule = rule.merge_styles.as_ref();
    let styles = last
        .styles
        .clone()
        .or_else(|| forge.recent_merge_styles(id))
        .map(|styles| styles.within(by_rule.map(Vec::as_slice)))
        .or_else(|| {
            by_rule.map(|allowed| MergeStyles {
                allowed: allowed.clone(),
                default: None,
            })
        });
    let unmet = matches!(last.ruling, Ruling::Blocked | Ruling::Behind);
    let may_bypass = open && unmet && forge.may_bypass(id, &rule).await;
    Ok(Facts {
        styles,
        may_bypass,
        archived: last.archived,
        may_merge: rule.can_merge.or(permissions.map(|may| may.push)),
        globs: !github,
        host: forge.host().to_string(),
        pr: last,
        mergeability,
        rule,
        reviews,
        checks: checks.items,
        hidden_checks: checks.partial,
        behind,
        protected,
        waits,
    })
}

/// Whether the base went on since the head left it, where the pull request itself tells
fn behind(pr: &PullRequest) -> Option<bool> {
    match (&pr.merge_base, &pr.base.sha) {
        (Some(left), Some(tip)) => Some(left != tip),
        _ => None,
    }
}
