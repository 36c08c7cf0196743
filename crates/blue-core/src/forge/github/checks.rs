//! Statuses and check runs

use serde::{Deserialize, Serialize};

use super::{GitHub, PAGE_LIMIT};
use crate::forge::{
    ForgeError, Result,
    model::{Check, CheckState, Checks, RepoId, Sha, StatusOpts},
};

#[derive(Debug, Deserialize)]
struct Combined {
    #[serde(default)]
    statuses: Vec<WireStatus>,
    #[serde(default)]
    total_count: u64,
}

#[derive(Debug, Deserialize)]
struct WireStatus {
    context: String,
    state: String,
    description: Option<String>,
    target_url: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CheckRuns {
    #[serde(default)]
    check_runs: Vec<WireCheck>,
    #[serde(default)]
    total_count: u64,
}

#[derive(Debug, Deserialize)]
struct WireCheck {
    name: String,
    status: String,
    conclusion: Option<String>,
    html_url: Option<String>,
    output: Option<Output>,
}

#[derive(Debug, Deserialize)]
struct Output {
    title: Option<String>,
}

#[derive(Debug, Serialize)]
struct NewStatus<'a> {
    state: &'a str,
    context: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_url: Option<&'a str>,
}

impl GitHub {
    pub(super) async fn all_checks(&self, repo: &RepoId, sha: &Sha) -> Result<Checks> {
        let statuses =
            self.get(repo, &["commits", sha.as_str(), "status"])
                .all_of(PAGE_LIMIT, |answer| {
                    let part: Combined = answer.json()?;
                    Ok((part.statuses, Some(part.total_count)))
                });
        let runs = self
            .get(repo, &["commits", sha.as_str(), "check-runs"])
            .query("filter", "latest")
            .all_of(PAGE_LIMIT, |answer| {
                let part: CheckRuns = answer.json()?;
                Ok((part.check_runs, Some(part.total_count)))
            });
        let (statuses, runs) = tokio::try_join!(statuses, runs)?;
        let statuses = statuses.into_iter().map(of_status);
        Ok(Checks {
            items: statuses.chain(runs.into_iter().map(of_run)).collect(),
        })
    }

    pub(super) async fn report_status(
        &self,
        repo: &RepoId,
        sha: &Sha,
        opts: &StatusOpts,
    ) -> Result<()> {
        let state = match opts.state {
            // GitHub's statuses know no "skipped", which counts as passed anyway.
            CheckState::Success | CheckState::Skipped => "success",
            CheckState::Failure => "failure",
            CheckState::Pending => "pending",
        };
        let body = NewStatus {
            state,
            context: &opts.context,
            description: opts.description.as_deref(),
            target_url: opts.target_url.as_deref(),
        };
        let result = self
            .post(repo, &["statuses", sha.as_str()])
            .json(&body)
            .send()
            .await;
        match self.explained(repo, result).await {
            Err(ForgeError::Invalid { message, .. }) if message.contains("No commit found") => {
                Err(self
                    .not_found(format!("commit `{sha}` of `{repo}`"))
                    .answered(422))
            }
            other => other.map(|_| ()),
        }
    }
}

fn of_status(row: WireStatus) -> Check {
    let state = match row.state.as_str() {
        "success" => CheckState::Success,
        "failure" | "error" => CheckState::Failure,
        _ => CheckState::Pending,
    };
    Check {
        context: row.context,
        state,
        description: row.description.unwrap_or_default(),
        url: row.target_url.unwrap_or_default(),
    }
}

fn of_run(row: WireCheck) -> Check {
    let state = match (row.status.as_str(), row.conclusion.as_deref()) {
        ("completed", Some("success")) => CheckState::Success,
        ("completed", Some("neutral" | "skipped")) => CheckState::Skipped,
        (
            "completed",
            Some(
                "failure" | "cancelled" | "timed_out" | "action_required" | "startup_failure"
                | "stale",
            ),
        ) => CheckState::Failure,
        _ => CheckState::Pending,
    };
    Check {
        context: row.name,
        state,
        description: row.output.and_then(|o| o.title).unwrap_or_default(),
        url: row.html_url.unwrap_or_default(),
    }
}
