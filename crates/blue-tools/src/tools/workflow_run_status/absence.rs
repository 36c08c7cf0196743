//! Whether CI that has not reported may still come

use std::time::Duration;

use blue_forge::{ForgeError, ForgeType, model::Page};
use futures_util::future;

use super::{
    look::{Of, Required},
    wait::APPEARS,
};
use crate::Repo;

/// Commits of the default branch whose statuses tell whether some CI reports here
const RECENT_COMMITS: u32 = 5;

/// Returns how long a first report may still take, counted from the last push; `None` where there is
/// no CI
///
/// There is none only if the commit has no workflow file, the base requires no check, and recent
/// commits of the default branch have no status. What cannot be read counts as CI.
pub(super) async fn time_to_appear(repo: &Repo, of: &Of) -> Option<Duration> {
    let Of::Commit(sha, required) = of else {
        return Some(APPEARS);
    };
    let (workflow, demanded, reported, pushed) = future::join4(
        has_workflow(repo, sha.as_str()),
        is_demanded(repo, required),
        reports_elsewhere(repo),
        repo.forge.since_last_push(&repo.id),
    )
    .await;
    if !workflow && !demanded && !reported {
        return None;
    }
    let age = pushed.ok().flatten().unwrap_or_default();
    Some(APPEARS.saturating_sub(age))
}

/// Whether a workflow file is in the commit
async fn has_workflow(repo: &Repo, commit: &str) -> bool {
    let folders: &[&str] = match repo.forge.forge_type() {
        ForgeType::GitHub => &[".github/workflows"],
        ForgeType::Forgejo => &[
            ".gitea/workflows",
            ".forgejo/workflows",
            ".github/workflows",
        ],
    };
    let lists = folders
        .iter()
        .map(|folder| repo.forge.list_dir(&repo.id, folder, Some(commit)));
    let is_workflow = |name: &str| matches!(name.rsplit_once('.'), Some((_, "yml" | "yaml")));
    future::join_all(lists)
        .await
        .into_iter()
        .any(|list| match list {
            Ok(entries) => entries.iter().any(|entry| is_workflow(&entry.name)),
            // A file of that name is no folder.
            Err(ForgeError::NotFound { .. } | ForgeError::Invalid { .. }) => false,
            Err(_) => true,
        })
}

async fn is_demanded(repo: &Repo, required: &Required) -> bool {
    match required {
        Required::Known(names) => !names.is_empty(),
        Required::Unreadable => true,
        Required::Unasked => {
            let Ok(default) = repo.forge.default_branch(&repo.id).await else {
                return true;
            };
            let rule = repo.forge.protection(&repo.id, &default).await;
            rule.map_or(true, |rule| !rule.required_checks.is_empty())
        }
    }
}

/// Whether something reports on commits of the default branch
async fn reports_elsewhere(repo: &Repo) -> bool {
    let page = Page::first(RECENT_COMMITS);
    let Ok(commits) = repo.forge.list_commits(&repo.id, None, None, page).await else {
        return true;
    };
    let checks = commits
        .items
        .iter()
        .map(|commit| repo.forge.checks_of(&repo.id, &commit.sha));
    future::join_all(checks)
        .await
        .into_iter()
        .any(|checks| checks.map_or(true, |checks| checks.partial || !checks.items.is_empty()))
}
